"""What the formulas say of a GPT-2's symbols, and what one run of the model has in their places.

``symbols.symbol_table`` compares the two. The shapes are noted by hooks on the modules, and at each
matrix product, with its floating-point operations, while it runs.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from course_utils.models.gpt2 import GPT2
from course_utils.shapes import Int

Shape = tuple[int, ...]


def expect(symbol: str, what: str, expected: object, found: object) -> None:
    """Raise an error where the running model has something else than a formula says."""
    if found != expected:
        raise ValueError(f"{symbol} must have {what} = {expected}, got {found}")


class Symbol(NamedTuple):
    """What the formulas say of a symbol, and the place where the model keeps it."""

    symbol: str
    meaning: str
    axes: str
    place: str
    flops: str = ""

    @property
    def learned(self) -> bool:
        """Whether the place is a parameter's."""
        return self.place.endswith(("weight", "bias"))


def _norm(index: str, place: str, reads: str, gives: str) -> tuple[Symbol, ...]:
    return (
        Symbol(f"γ{index}", "the norm's scale", "C", f"{place}.weight"),
        Symbol(f"β{index}", "the norm's shift", "C", f"{place}.bias"),
        Symbol(gives, f"LN({reads})", "B T C", place),
    )


def _heads(letter: str, place: str, what: str) -> tuple[Symbol, ...]:
    return (
        Symbol(f"W_{letter}", f"makes {what}", "C C", f"{place}.weight"),
        Symbol(f"b_{letter}", "its bias", "C", f"{place}.bias"),
        Symbol(letter, f"{what} of each head", "B H T D", place, "2 B T C C"),
    )


# In the order of the computation. Matrices have a row for each number they give, as torch has it.
_EMBEDDINGS = (
    Symbol("u", "token ids", "B T", "ids"),
    Symbol("W_e", "a vector for each token", "V C", "tokens.weight"),
    Symbol("W_p", "a vector for each position", "P C", "positions.weight"),
    Symbol("h_0", "the stream: W_e[u] + W_p", "B T C", "blocks.0 input"),
)
_BLOCK = (
    *_norm("_1", "attention_norm", "h", "a"),
    *_heads("q", "attention.query", "queries"),
    *_heads("k", "attention.key", "keys"),
    *_heads("v", "attention.value", "values"),
    Symbol("A", "weights: softmax(q·k / √D)", "B H T S", "weights", "2 B H T S D"),
    Symbol("o", "mixtures: A v", "B H T D", "mixtures", "2 B H T S D"),
    Symbol("W_o", "joins the heads", "C C", "attention.output.weight"),
    Symbol("b_o", "its bias", "C", "attention.output.bias"),
    Symbol("m", "what attention adds", "B T C", "attention.output", "2 B T C C"),
    Symbol("x", "the stream: h + m", "B T C", "feedforward_norm input"),
    *_norm("_2", "feedforward_norm", "x", "n"),
    Symbol("W_1", "widens", "F C", "feedforward.expand.weight"),
    Symbol("b_1", "its bias", "F", "feedforward.expand.bias"),
    Symbol("f", "W_1 n + b_1", "B T F", "feedforward.expand", "2 B T C F"),
    Symbol("g", "gelu(f)", "B T F", "feedforward.contract input"),
    Symbol("W_2", "narrows", "C F", "feedforward.contract.weight"),
    Symbol("b_2", "its bias", "C", "feedforward.contract.bias"),
    Symbol("y", "what the network adds", "B T C", "feedforward.contract", "2 B T C F"),
)
_PRODUCTS = tuple(symbol.place for symbol in _BLOCK if symbol.flops)
_OUTPUT = (
    *_norm("", "norm", "h_L", "z"),
    Symbol("logits", "scores: W_e z, by W_e again", "B T V", "logits", "2 B T C V"),
)


def formulas(num_layers: int) -> Iterator[tuple[str, str, Symbol]]:
    """Yield every symbol of the model, with the part and the module that it belongs to."""
    yield from (("embeddings", "", symbol) for symbol in _EMBEDDINGS)
    for number in range(1, num_layers + 1):
        part, prefix = f"block {number}", f"blocks.{number - 1}."
        yield from ((part, prefix, symbol) for symbol in _BLOCK)
        yield part, "", Symbol(f"h_{number}", "the stream: x + y", "B T C", prefix[:-1])
    yield from (("output", "", symbol) for symbol in _OUTPUT)


class Seen(NamedTuple):
    """What the run had at a place."""

    shape: Shape
    flops: int = 0


class _Product(NamedTuple):
    """A matrix product: the shapes of its factors (and a bias) and of the result, and its cost."""

    factors: tuple[Shape, ...]
    out: Shape
    flops: int


class _Products(TorchFunctionMode):
    """Notes each matrix product, in order, with the shapes that the code has there.

    Deeper down, where the operations are counted, the heads have been folded into the batch.
    """

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter, self.noted = counter, []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        before = self.counter.get_total_flops()
        out = func(*args, **(kwargs or {}))
        if flops := self.counter.get_total_flops() - before:
            factors = tuple(tuple(part.shape) for part in args if isinstance(part, Tensor))
            self.noted.append(_Product(factors, tuple(out.shape), flops))
        return out


def run(model: GPT2, token_ids: Int[Tensor, "B T"]) -> tuple[dict[str, Seen], int]:
    """Run the model once; return what was at each place, and the operations in all."""
    counter, seen, handles = FlopCounterMode(display=False), {}, []
    products = _Products(counter)

    def watch(name: str) -> None:
        def before(_part: nn.Module, inputs: tuple) -> None:
            seen[f"{name} input"] = Seen(tuple(inputs[0].shape))

        def after(_part: nn.Module, _inputs: tuple, out: Tensor | tuple) -> None:
            stream = out[0] if isinstance(out, tuple) else out
            seen[name] = Seen(tuple(stream.shape))
            if name in blocks:
                seen.update(_of_block(name, products.noted))
                products.noted.clear()

        part = model.get_submodule(name)
        handles.extend((part.register_forward_pre_hook(before), part.register_forward_hook(after)))

    blocks = [f"blocks.{number}" for number in range(len(model.blocks))]
    norms = [f"{block}.{place}_norm" for block in blocks for place in ("attention", "feedforward")]
    try:
        for name in (*blocks, *norms, "norm"):
            watch(name)
        with torch.no_grad(), counter, products:
            model(token_ids)
    finally:
        for handle in handles:
            handle.remove()
    expect("the output", "a number of matrix products", 1, len(products.noted))
    (last,) = products.noted
    seen |= {"ids": Seen(tuple(token_ids.shape)), "logits": Seen(last.out, last.flops)}
    return seen, counter.get_total_flops()


def _of_block(name: str, noted: list[_Product]) -> dict[str, Seen]:
    """Put each product in its place. What a projection gives is seen where the heads read it."""
    expect(name, "a number of matrix products", len(_PRODUCTS), len(noted))
    made = dict(zip(_PRODUCTS, noted, strict=True))
    (q, keys_transposed), (A, v) = made["weights"].factors, made["mixtures"].factors
    *batch, D, S = keys_transposed
    shapes = {place: product.out for place, product in made.items()} | {
        "attention.query": q,
        "attention.key": (*batch, S, D),
        "attention.value": v,
        "weights": A,
    }
    seen = {f"{name}.{place}": Seen(shapes[place], made[place].flops) for place in made}
    seen[f"{name}.feedforward.contract input"] = Seen(made["feedforward.contract"].factors[0])
    return seen
