"""The symbols of a GPT-2, each checked against the running model.

A formula's letters are promises: of a shape, of numbers that are learned, of work. The table has a
row for each, with what the model's sizes say beside what one run of it did. Shapes and parameters
are read from the modules by hooks, floating-point operations from each matrix product as it runs.
Where the two disagree there is no row, but an error.
"""

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from torch import Tensor

from course_utils.models.gpt2 import GPT2
from course_utils.shapes import Int
from lectures.l06_gpt2_block.experiments.symbol_run import (
    Seen,
    Shape,
    Symbol,
    expect,
    formulas,
    run,
)


@dataclass(frozen=True)
class SymbolRow:
    """One symbol.

    Attributes:
        part: where it belongs: ``"embeddings"``, ``"block 1"``, ``"output"``.
        symbol: its letter; an underscore begins an index.
        meaning: what it is.
        shape_formula: its shape in the course's letters; F is the hidden width, P the positions.
        shape_by_formula: the same in numbers.
        shape: as it was in the run.
        learned: whether training changes it; the others are computed anew in each run.
        parameters: how many numbers are learned.
        flops_formula: floating-point operations of the matrix product behind it; "" if none.
        flops: the same, counted in the run.
    """

    part: str
    symbol: str
    meaning: str
    shape_formula: str
    shape_by_formula: Shape
    shape: Shape
    learned: bool
    parameters: int
    flops_formula: str
    flops: int


@dataclass(frozen=True)
class SymbolTable:
    """The symbols of one run, as a table.

    Attributes:
        rows: one for each symbol; the blocks after the first have one row together.
        sizes: the letters of the formulas, in numbers.
    """

    rows: tuple[SymbolRow, ...]
    sizes: dict[str, int]

    @property
    def parameters(self) -> int:
        """Numbers learned in all."""
        return sum(row.parameters for row in self.rows)

    @property
    def flops(self) -> int:
        """Floating-point operations of all matrix products."""
        return sum(row.flops for row in self.rows)

    def __repr__(self) -> str:
        return (
            f"SymbolTable: {len(self.rows)} rows, {self.parameters:,} parameters, "
            f"{self.flops:,} FLOPs, all as the formulas say"
        )

    def _repr_markdown_(self) -> str:
        lines = [_HEADINGS, ("---",) * 6 + ("---:", "---", "---:")]
        for part, rows in self._parts():
            lines += [(f"**{part}**", *[""] * 8), *(_cells(row) for row in rows)]
        lines.append(self._totals())
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{self._legend()}\n\n{table}"

    def _repr_html_(self) -> str:
        lines = [_html_line(_HEADINGS, "th")]
        for part, rows in self._parts():
            heading = f'<th colspan="9" style="text-align: left; padding-top: 1em;">{part}</th>'
            lines += [f"<tr>{heading}</tr>", *(_html_line(_cells(row), "td") for row in rows)]
        lines.append(_html_line(self._totals(), "th"))
        table = f"<table>{''.join(lines)}</table>"
        return f'<p>{self._legend()}</p><div style="overflow-x: auto;">{table}</div>'

    def _parts(self) -> Iterator[tuple[str, Iterator[SymbolRow]]]:
        return groupby(self.rows, key=lambda row: row.part)

    def _totals(self) -> tuple[str, ...]:
        return ("total", *[""] * 5, f"{self.parameters:,}", "", f"{self.flops:,}")

    def _legend(self) -> str:
        return ", ".join(f"{letter} = {size}" for letter, size in self.sizes.items())


_HEADINGS = (
    "symbol",
    "meaning",
    "shape",
    "by formula",
    "as run",
    "learned",
    "parameters",
    "FLOPs",
    "counted",
)
_NUMBERS = ("parameters", "counted")


def _cells(row: SymbolRow) -> tuple[str, ...]:
    return (
        row.symbol,
        row.meaning,
        row.shape_formula,
        str(row.shape_by_formula),
        str(row.shape),
        "yes" if row.learned else "",
        f"{row.parameters:,}" if row.parameters else "",
        row.flops_formula,
        f"{row.flops:,}" if row.flops else "",
    )


def _html_line(cells: tuple[str, ...], tag: str) -> str:
    line = ""
    for heading, cell in zip(_HEADINGS, cells, strict=True):
        side = "right" if heading in _NUMBERS else "left"
        # Without the line height a subscript would push its line apart.
        sub = r'\1<sub style="line-height: 0;">\2</sub>'
        text = re.sub(r"(?<!\w)(\w)_(\w+)", sub, html.escape(cell))
        style = f"text-align: {side}; white-space: nowrap; padding: 1px 8px;"
        line += f'<{tag} style="{style}">{text}</{tag}>'
    return f"<tr>{line}</tr>"


def symbol_table(
    model: GPT2,  # with "attend", which forms the weights
    token_ids: Int[Tensor, "B T"],
) -> SymbolTable:
    """Run the model once and return its symbols, each checked: shape, parameters, operations.

    A formula that disagrees with the model, or a parameter or a matrix product that no formula
    knows of, is an error that names it.
    """
    config = model.config
    B, T = token_ids.shape
    H, C = config.num_heads, config.width
    sizes = {"B": B, "T": T, "S": T, "H": H, "D": C // H, "C": C}
    sizes |= {"F": config.hidden, "P": config.max_positions, "V": config.vocab_size}
    symbols = list(formulas(config.num_layers))
    seen = {name: Seen(tuple(weight.shape)) for name, weight in model.named_parameters()}
    _check_weights(seen, symbols, sizes)
    ran, flops = run(model, token_ids)
    seen |= ran
    rows = [_row(part, prefix, symbol, seen, sizes) for part, prefix, symbol in symbols]
    table = SymbolTable((*_with_joined_blocks(rows, config.num_layers),), sizes)
    expect("the model", "parameters by formula", config.parameters, table.parameters)
    expect("the model", "FLOPs by formula", table.flops, flops)
    return table


def _check_weights(
    seen: dict[str, Seen], symbols: list[tuple[str, str, Symbol]], sizes: dict[str, int]
) -> None:
    """Check before the run: what is wrong with a layer is best told by its weights."""
    known = {prefix + symbol.place for _, prefix, symbol in symbols}
    for name, weight in seen.items():
        if name not in known:
            expect(name, "a symbol, and parameters by formula", 0, math.prod(weight.shape))
    for part, prefix, symbol in symbols:
        if symbol.learned:
            _row(part, prefix, symbol, seen, sizes)


def _row(
    part: str, prefix: str, symbol: Symbol, seen: dict[str, Seen], sizes: dict[str, int]
) -> SymbolRow:
    found = seen.get(prefix + symbol.place)
    shape = tuple(sizes[letter] for letter in symbol.axes.split())
    formula = f"({', '.join(symbol.axes.split())}{',' if len(shape) == 1 else ''})"
    name = f"{symbol.symbol} of {part}"
    expect(name, f"shape {formula}", shape, found.shape if found else "nothing")
    assert found is not None
    flops = math.prod(sizes.get(factor) or int(factor) for factor in (symbol.flops or "0").split())
    expect(name, f"FLOPs {symbol.flops}", flops, found.flops)
    return SymbolRow(
        part=part,
        symbol=symbol.symbol,
        meaning=symbol.meaning,
        shape_formula=formula,
        shape_by_formula=shape,
        shape=found.shape,
        learned=symbol.learned,
        parameters=math.prod(found.shape) if symbol.learned else 0,
        flops_formula=symbol.flops.replace(" ", "·"),
        flops=found.flops,
    )


def _with_joined_blocks(rows: list[SymbolRow], num_layers: int) -> Iterator[SymbolRow]:
    """Yield the rows, those of the blocks after the first as one."""
    hidden = {f"block {number}" for number in range(2, num_layers + 1)}
    others = [row for row in rows if row.part in hidden]
    several = len(hidden) > 1
    for row in rows:
        if row.part not in hidden:
            yield row
        elif row is others[-1]:
            symbols = f"{len(others) // len(hidden)} symbols"
            yield replace(
                row,
                part=f"blocks 2 to {num_layers}" if several else row.part,
                meaning=f"{symbols}{' each' if several else ''}, as above",
                learned=True,
                parameters=sum(other.parameters for other in others),
                flops=sum(other.flops for other in others),
            )
