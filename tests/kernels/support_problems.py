"""Problems for the suite: sizes, layouts in memory, and a set of cases that covers their pairs."""

from collections.abc import Callable
from itertools import combinations, product
from math import ceil
from typing import Any

import torch
from support_oracle import Problem
from torch import Tensor

Shape = tuple[int, int, int, int]


def contiguous(shape: Shape, random: Callable) -> Tensor:
    return random(*shape)


def transposed(shape: Shape, random: Callable) -> Tensor:
    """The heads inside the sequence, as a projection of the model leaves them."""
    B, H, T, D = shape
    return random(B, T, H, D).transpose(1, 2)


def upright(shape: Shape, random: Callable) -> Tensor:
    """The coordinates of a head far apart, the positions side by side."""
    B, H, T, D = shape
    return random(B, H, D, T).mT


def sliced(shape: Shape, random: Callable) -> Tensor:
    """A part of something larger; starts at an odd address, steps over what is not its own."""
    B, H, T, D = shape
    return random(B, 2 * H + 1, T + 2, D + 5)[:, 1::2, 1 : T + 1, 3 : D + 3]


def expanded(shape: Shape, random: Callable) -> Tensor:
    """One sequence and one head that stand for all of them, with a stride of 0."""
    B, H, T, D = shape
    return random(1, 1, T, D).expand(B, H, T, D)


# Of q, k and v. In the last one no stride of q fits k, and none of k fits v.
LAYOUTS = {
    "contiguous": (contiguous, contiguous, contiguous),
    "transposed": (transposed, transposed, transposed),
    "upright": (upright, upright, upright),
    "sliced": (sliced, sliced, sliced),
    "expanded": (contiguous, expanded, expanded),
    "mixed": (contiguous, transposed, sliced),
}


def make_problem(
    lengths: tuple[int, int],
    heads: tuple[int, int, int],
    width: int,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    causal: bool = False,
    scale: float | None = None,
    layout: str = "contiguous",
    seed: int = 0,
) -> Problem:
    """Normally distributed inputs. The numbers are those of the seed on every device."""
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(dtype).to(device)

    (T, S), (B, H, G) = lengths, heads
    q, k, v = (
        lay(shape, random)
        for lay, shape in zip(
            LAYOUTS[layout], ((B, H, T, width), (B, G, S, width), (B, G, S, width)), strict=True
        )
    )
    wide = torch.promote_types(dtype, torch.float32)
    dout, dlse = random(B, H, T, width), random(B, H, T).to(wide)
    return Problem(q, k, v, dout, dlse, causal, width**-0.5 if scale is None else scale)


# (T, S): alone, in front of many, around the edges of tiles of 64 and 128, and far apart.
LENGTHS = [
    *((1, 1), (1, 17), (17, 1), (2, 3), (3, 1024), (1024, 3), (1, 1024), (16, 16)),
    *((31, 33), (63, 65), (64, 64), (65, 63), (113, 203), (203, 113), (127, 129)),
    *((128, 128), (129, 127), (300, 7), (191, 257)),
]
# Many tiles: one head is enough, and the interpreter takes seconds for each.
LONG = [(512, 512), (1024, 1023), (641, 1024)]
WIDTHS = [16, 32, 40, 64, 80, 96, 128, 1, 17]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
# (B, H, G)
HEADS = [(1, 1, 1), (2, 3, 3), (1, 6, 2), (2, 4, 1)]
# What a kernel is compiled for, so that on a GPU each further kind takes seconds.
KIND = {
    "dtype": DTYPES,
    "causal": [True, False],
    "width": WIDTHS,
    "heads": HEADS,
    "layout": list(LAYOUTS),
}
# Pairs that need not all be there: what a head's width does has nothing to do with where it lies.
APART = ({"width", "heads"}, {"width", "layout"})
# Tiles of 128 by 128 in a case of several heads: the interpreter should not take minutes.
MOST_TILES = 12


def covering_cases() -> list[dict[str, Any]]:
    """Few cases in which all kinds occur, and each lengths with each dtype, causal and not."""
    kinds = covering_kinds()
    cases = []
    for turn, (lengths, dtype) in enumerate(product(LENGTHS, DTYPES)):
        causal = turn % 2 == 0
        fitting = [kind for kind in kinds if (kind["dtype"], kind["causal"]) == (dtype, causal)]
        short = [kind for kind in fitting if not too_long(lengths, kind["heads"])]
        if short:  # the one that waits longest, which then goes to the end of the queue
            kinds.remove(short[0])
            kinds.append(short[0])
            cases.append({"lengths": lengths, **short[0]})
        else:
            cases.append({"lengths": lengths, **fitting[0], "heads": (1, 1, 1)})
    return cases


def too_long(lengths: tuple[int, int], heads: tuple[int, int, int]) -> bool:
    (T, S), (B, H, _) = lengths, heads
    return B * H > 1 and B * H * ceil(T / 128) * ceil(S / 128) > MOST_TILES


def covering_kinds() -> list[dict[str, Any]]:
    """Few kinds in which each value of one factor meets each value of another."""
    missing = dict.fromkeys(
        ((one, i), (other, j))
        for one, other in combinations(sorted(KIND), 2)
        if {one, other} not in APART
        for i, j in product(range(len(KIND[one])), range(len(KIND[other])))
    )
    kinds = []
    while missing:
        kind = dict(next(iter(missing)))
        for name in KIND:
            if name not in kind:
                kind[name] = _most_new(kind, name, missing, turn=len(kinds))
        for pair in combinations(sorted(kind.items()), 2):
            missing.pop(pair, None)
        kinds.append({name: KIND[name][index] for name, index in kind.items()})
    return kinds


def _most_new(kind: dict[str, int], name: str, missing: dict, turn: int) -> int:
    """The value that brings the most pairs still missing; the next in turn if several do."""
    count = len(KIND[name])

    def merit(index: int) -> tuple[int, int]:
        pairs = (tuple(sorted([(name, index), item])) for item in kind.items())
        return sum(pair in missing for pair in pairs), -((index - turn) % count)

    return max(range(count), key=merit)


def is_telling(params: dict[str, Any]) -> bool:
    """Whether these parameters of a test are among those most likely to show a defect.

    Causal with T unlike S; grouped heads, an odd width or float16; strides that differ. bfloat16
    is float32 in Triton's interpreter.
    """
    case = {"causal": True, "lengths": (5, 7), "dtype": None, "width": 17, "heads": (1, 2, 1)}
    case |= params.get("case", {"layout": "mixed"} | params)
    (T, S), (_, H, G) = case["lengths"], case["heads"]
    if not case["causal"] or T == S or case["dtype"] == torch.bfloat16:
        return False
    if "case" not in params:
        return case["width"] % 2 == 1 and case["layout"] == "mixed"
    return H > G or case["width"] % 2 == 1 or case["dtype"] == torch.float16


def title(case: dict[str, Any]) -> str:
    """The case as pytest shows it."""
    T, S = case["lengths"]
    B, H, G = case["heads"]
    dtype = str(case["dtype"]).removeprefix("torch.")
    causal = "-causal" if case["causal"] else ""
    return f"T{T}-S{S}-B{B}-H{H}-G{G}-D{case['width']}-{dtype}-{case['layout']}{causal}"
