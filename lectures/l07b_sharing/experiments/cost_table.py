"""The closing table of lecture 07b: six ways to leave something out of one block, side by side.

Every number stands there because two ways to get it agree: the formula (``cost_formulas``), and a
measurement on a running block. The measurements:

- parameters: counted tensor by tensor, and those that training changes likewise;
- active: the tokens are read one by one, and hooks note which modules each of them meets;
- FLOPs: torch's ``FlopCounterMode``, which counts the matrix products of one pass over T tokens;
- cache: the bytes in the ``KVCache`` after the tokens were read one by one.

Time is measured too if asked for, and compared with nothing: it belongs to the machine.
"""

import copy
import html
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from course_utils.attention import top_k_attend
from course_utils.layers import (
    AttentionTrace,
    KVCache,
    MultiHeadAttention,
    merge_heads,
    split_heads,
)
from course_utils.layers.lora import add_lora
from course_utils.layers.mod import MixtureOfDepths, kept_tokens
from course_utils.layers.moe import MixtureOfExperts
from course_utils.layers.pruning import magnitude_mask, prune
from course_utils.models.gpt2 import INITIAL_STD, GPT2Block, GPT2Config
from course_utils.seeds import own_random_numbers
from course_utils.shapes import Bool, Float
from course_utils.threads import one_thread
from lectures.l07b_sharing.experiments.cost_formulas import (
    VARIANTS,
    Costs,
    Sizes,
    formula_costs,
)

_HEADINGS = ("", "what is left out", "decided", "parameters", "active", "trained")
_REPEATS = 15


class CostMismatchError(ValueError):
    """A formula and a measurement differ."""


@dataclass(frozen=True)
class PruningTable:
    """Costs of one block, variant by variant, each by formula and by measurement alike.

    Attributes:
        sizes: of the block.
        costs: of each variant.
        milliseconds: of one pass over T tokens on one thread, the least of several; empty if not
            asked for.
    """

    sizes: Sizes
    costs: dict[str, Costs]
    milliseconds: dict[str, float]

    def rows(self) -> list[list[str]]:
        """Return the table's cells as texts, the headings first."""
        T = self.sizes.length
        headings = [*_HEADINGS, f"FLOPs, {T} tokens", f"cache bytes, {T} tokens"]
        rows = [[*headings, "ms"] if self.milliseconds else headings]
        for name, costs in self.costs.items():
            row = [name, *VARIANTS[name], *(f"{number:,.0f}" for number in costs)]
            rows.append([*row, f"{self.milliseconds[name]:.2f}"] if self.milliseconds else row)
        return rows

    def html(self) -> str:
        """Return the table in HTML; on a narrow page it scrolls by itself."""
        head, *rows = self.rows()
        lines = [_html_line(head, "th"), *(_html_line(row, "td") for row in rows)]
        return f'<div style="overflow-x: auto;"><table>{"".join(lines)}</table></div>'

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if column < 3 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": str(self)}


def _html_line(cells: list[str], tag: str) -> str:
    sides = ["left"] * 3 + ["right"] * (len(cells) - 3)
    style = "white-space: nowrap; padding: 1px 7px; text-align:"
    parts = (
        f'<{tag} style="{style} {side};">{html.escape(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    )
    return f"<tr>{''.join(parts)}</tr>"


def pruning_table(
    sizes: Sizes | None = None,
    names: Iterable[str] = tuple(VARIANTS),  # of the variants that are wanted
    *,
    timed: bool = False,
) -> PruningTable:
    """Build variants of the block, measure what each costs, and compare with the formulas.

    Where a formula and its measurement differ, a `CostMismatchError` names the cell.
    """
    sizes = Sizes() if sizes is None else sizes
    names, formulas = set(names), formula_costs(sizes)
    costs = {name: each for name, each in formulas.items() if name in names}
    blocks, x = _blocks_and_tokens(sizes)
    for name, formula in costs.items():
        _compare(name, formula, measured_costs(blocks[name], x))
    wanted = {name: blocks[name] for name in costs}
    return PruningTable(sizes, costs, _times(wanted, x) if timed else {})


def measured_costs(
    block: nn.Module,  # of (tokens, cache), as GPT2Block
    x: Float[Tensor, "1 T C"],
) -> Costs:
    """Return what a block costs, by running it: see the top of this file."""
    with torch.no_grad():
        with FlopCounterMode(display=False) as counter:
            block(x, KVCache())
        met, cache = _read_one_by_one(block, x)
    parameters = list(block.parameters())
    trained = [each for each in parameters if each.requires_grad]
    return Costs(
        parameters=sum(each.numel() for each in parameters),
        active=met / x.shape[1],
        trained=sum(_not_zeroed(each) for each in trained),
        flops=counter.get_total_flops(),
        cache_bytes=cache.bytes,
    )


def _read_one_by_one(block: nn.Module, x: Tensor) -> tuple[int, KVCache]:
    """Return how many parameters the tokens meet, summed over them, and the cache they leave."""
    met, cache = 0, KVCache()
    own = {
        module: sum(_not_zeroed(each) for each in module.parameters(recurse=False))
        for module in block.modules()
    }

    def note(module: nn.Module, *_: object) -> None:
        nonlocal met
        met += own[module]

    handles = [module.register_forward_hook(note) for module in block.modules()]
    try:
        for token in x.split(1, dim=1):
            block(token, cache)
    finally:
        for handle in handles:
            handle.remove()
    return met, cache


def _not_zeroed(parameter: Tensor) -> int:
    """Entries of a matrix that are not zero. Biases are never pruned, and some start at zero."""
    return int(parameter.count_nonzero()) if parameter.ndim == 2 else parameter.numel()


def _compare(name: str, formula: Costs, measured: Costs) -> None:
    for column, expected, found in zip(Costs._fields, formula, measured, strict=True):
        if expected != found:
            raise CostMismatchError(
                f"{column} of {name}: the formula gives {expected:,}, measured {found:,}"
            )


def _times(blocks: dict[str, nn.Module], x: Tensor) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in blocks}
    with torch.no_grad(), one_thread():
        for repeat in range(_REPEATS + 1):
            for name, block in blocks.items():  # in turn, so that a slow moment meets all alike
                start = time.perf_counter()
                block(x)
                if repeat:  # the first one warms up
                    found[name].append(1000 * (time.perf_counter() - start))
    return {name: min(each) for name, each in found.items()}  # other programs only add


# The blocks.


class _TopKAttention(MultiHeadAttention):
    """Multi-head attention in which a query keeps its best keys alone."""

    def __init__(self, width: int, num_heads: int, keys_kept: int) -> None:
        super().__init__(width, num_heads)
        self.keys_kept = keys_kept

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        *,
        may_attend: Bool[Tensor, "T S"] | None = None,
        cache: KVCache | None = None,
    ) -> tuple[Float[Tensor, "B T C"], AttentionTrace]:
        """Let each token of x attend to its best keys."""
        q = split_heads(self.query(x), self.num_heads)
        k, v = (split_heads(part(x), self.num_heads) for part in (self.key, self.value))
        if cache is not None:
            k, v = cache.append(k, v)
        k_keep = min(self.keys_kept, k.shape[2])
        out, weights = top_k_attend(q, k, v, k_keep=k_keep, may_attend=may_attend)
        return self.output(merge_heads(out)), AttentionTrace(weights, q, k)


class _Experts(MixtureOfExperts):
    """In the place of a feed-forward network, which returns no routing."""

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Return the experts' output alone."""
        return super().forward(x)[0]


class _Predicted(MixtureOfDepths):
    """Tokens chosen by the predictor, as when a text is written."""

    def forward(
        self, x: Float[Tensor, "1 T C"], cache: KVCache | None = None
    ) -> tuple[Tensor, object]:
        """Return the tokens, those chosen changed; and who was."""
        return super().forward(x, cache, routing="predicted")


def _blocks_and_tokens(sizes: Sizes) -> tuple[dict[str, nn.Module], Tensor]:
    """Return each variant of the block, with random weights, and a sequence for it."""
    C, H = sizes.width, sizes.num_heads
    config = GPT2Config(width=C, num_heads=H)
    with own_random_numbers(0):
        x = torch.randn(1, sizes.length, C)
        dense = GPT2Block(config)
        top_k, experts = copy.deepcopy(dense), copy.deepcopy(dense)
        top_k.attention = _TopKAttention(C, H, sizes.keys_kept)
        experts.add_module(
            "feedforward",
            _Experts(C, 4 * C, sizes.num_experts, sizes.experts_per_token, activation="gelu_tanh"),
        )
        depths = _Predicted(copy.deepcopy(dense), sizes.capacity, C)
        blocks = {
            "dense": dense,
            "top-k attention": top_k,
            "pruned weights": copy.deepcopy(dense),
            "MoE": experts,
            "GQA": GPT2Block(GPT2Config(width=C, num_heads=H, num_kv_heads=sizes.num_kv_heads)),
            "LoRA": add_lora(dense, sizes.rank),
            "MoD": depths,
        }
        for block in blocks.values():
            for parameter in block.parameters():
                if parameter.ndim == 2:  # as in a GPT-2; LoRA's B too, as if it had learned
                    nn.init.normal_(parameter, std=INITIAL_STD)
    pruned = blocks["pruned weights"]
    blocks["pruned weights"] = prune(pruned, magnitude_mask(pruned, sizes.sparsity))
    _let_through(depths, x, kept_tokens(sizes.length, sizes.capacity))
    return blocks, x


@torch.no_grad()
def _let_through(layer: MixtureOfDepths, x: Tensor, K: int) -> None:
    """Shift the predictor's threshold so that it lets K tokens of x through.

    An untrained predictor knows no share; a trained one has learned the capacity.
    """
    first, _, last = layer.predictor
    first.bias -= first(x).amin(dim=(0, 1))  # no unit is off, or tokens could score alike
    logits = layer.predictor(x).flatten().sort(descending=True).values
    below = logits[K] if len(logits) > K else logits[-1] - 1
    last.bias -= (logits[K - 1] + below) / 2
