"""Exercise 2 of lecture 06: count a GPT-2's parameters, for any sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from course_utils.teaching.closeness import as_array
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict

__all__ = ["COUNT", "check_count"]


def _count(
    V: int,
    P: int,
    C: int,
    L: int,
    F: int,
    *,
    embeddings: Callable[..., int] = lambda V, P, C: V * C + P * C,
    attention: Callable[[int], int] = lambda C: 4 * (C * C + C),
    feedforward: Callable[[int, int], int] = lambda C, F: (C * F + F) + (F * C + C),
    norms: Callable[[int], int] = lambda C: 2 * (2 * C),
    last_norm: Callable[[int], int] = lambda C: 2 * C,
) -> int:
    """The count, with each part to be replaced by a wrong one; L blocks have the middle three."""
    block = attention(C) + feedforward(C, F) + norms(C)
    return embeddings(V, P, C) + L * block + last_norm(C)


def _with(**parts: Callable[..., int]) -> Callable[..., int]:
    return lambda V, P, C, L, F: _count(V, P, C, L, F, **parts)


def _off(wrong: Callable[..., int]) -> Callable[..., int]:
    """The count and what is too many in it; too few is negative."""
    return lambda V, P, C, L, F: _count(V, P, C, L, F) + wrong(V, P, C, L, F)


def _without_biases(V, P, C, L, F):
    return V * C + P * C + L * (4 * C * C + 2 * C * F + 2 * C) + C


def _in_words(count: float) -> str:
    """A count with its thousands apart."""
    return f"{count:,.0f}" if count == round(count) else f"{count:,.4g}"


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    V, P, C, L, F = inputs.values()
    right = _count(**inputs)
    numbers = {
        "right": right,
        "VC": V * C,
        "PC": P * C,
        "block": (right - (V + P + 2) * C) // L,
        "CC": C * C,
        "CF": C * F,
        "wide": 4 * C,
        "gave": float(as_array(got, "count")),
    }
    off = numbers["gave"] - right
    facts = {name: _in_words(number) for name, number in numbers.items()}
    facts["off"] = f"{_in_words(abs(off))} too {'many' if off > 0 else 'few'}"
    return facts | {"sizes": f"With V = {V}, P = {P}, C = {C}, L = {L}, F = {F}"}


_GAVE = "{sizes} you gave {gave}: {off}. "
_COMES = "{sizes} you gave {gave}, expected {right}. "

# What is forgotten together, each with what it is off by, and how it is said in one breath.
_PIECES: dict[str, tuple[Callable[..., int], str]] = {
    "the output matrix again": (
        lambda V, P, C, L, F: V * C,
        "V·C = {VC} too many, the output matrix, which is tied to the embeddings",
    ),
    "no positions": (
        lambda V, P, C, L, F: -P * C,
        "P·C = {PC} too few, the learned table of positions",
    ),
    "no last norm": (
        lambda V, P, C, L, F: -2 * C,
        "2·C too few, the norm after the last block",
    ),
    "4C of each block missing": (
        lambda V, P, C, L, F: -4 * C * L,
        "4·C too few in each block, the biases of attention or the two norms",
    ),
    "no biases in the feed-forward": (
        lambda V, P, C, L, F: -(F + C) * L,
        "F + C too few in each block, the biases of the feed-forward",
    ),
}

# Pairs that have words of their own: all norms, and all biases.
_SAID_ABOVE = (
    ("no last norm", "4C of each block missing"),
    ("4C of each block missing", "no biases in the feed-forward"),
)


def _two_at_once(one: str, other: str) -> Mistake:
    (wrong, said), (wrong_too, said_too) = _PIECES[one], _PIECES[other]
    return Mistake(
        f"{one}; {other}",
        _off(lambda *sizes: wrong(*sizes) + wrong_too(*sizes)),
        f"{_GAVE}Two things come together: {said}; and {said_too}.",
    )


COUNT = Exercise(
    title="Count the parameters",
    difficulty=2,
    minutes=10,
    reference=_count,
    probes=(
        {"V": 50257, "P": 1024, "C": 768, "L": 12, "F": 3072},
        {"V": 101, "P": 17, "C": 6, "L": 5, "F": 13},
        {"V": 23, "P": 97, "C": 11, "L": 3, "F": 7},
    ),
    parts=("count",),
    facts=_facts,
    tolerance=Tolerance(relative=0, absolute=0.5),
    praise="124,439,808 for GPT-2, 7,087,872 in each block. At these sizes the embeddings are "
    "nearly a third, in large models next to nothing; the number of heads is in no term.",
    mistakes=(
        Mistake(
            "the output matrix counted again",
            _off(lambda V, P, C, L, F: V * C),
            _GAVE + "That is V·C, the output matrix counted again. The logits are made with the "
            "token embeddings, transposed: tied, so they cost nothing more.",
        ),
        Mistake(
            "the output matrix with a bias",
            _off(lambda V, P, C, L, F: V * C + V),
            _GAVE + "That is V·C + V, an output layer of its own with a bias. The logits are made "
            "with the token embeddings, tied, and no bias is added.",
        ),
        Mistake(
            "a bias on the logits",
            _off(lambda V, P, C, L, F: V),
            _GAVE + "That is V, a bias for each logit. `LN(h) @ W_e.T` has none.",
        ),
        Mistake(
            "no token embeddings",
            _off(lambda V, P, C, L, F: -V * C),
            _GAVE + "That is V·C, the token embeddings. They are shared with the output, so they "
            "are counted once, not never.",
        ),
        Mistake(
            "no positions",
            _off(lambda V, P, C, L, F: -P * C),
            _GAVE + "That is P·C, the table of positions. In GPT-2 it is learned, a vector for "
            "each place. (The sinusoids of the first transformer cost nothing.)",
        ),
        Mistake(
            "positions in every block",
            _off(lambda V, P, C, L, F: (L - 1) * P * C),
            _GAVE + "You count the table of positions, {PC} numbers, in every block. It is added "
            "once, to the embeddings.",
        ),
        Mistake(
            "no embeddings",
            _with(embeddings=lambda V, P, C: 0),
            _GAVE + "That is (V + P)·C: both tables, of tokens and of positions, are missing.",
        ),
        Mistake(
            "embeddings multiplied by each other",
            _with(embeddings=lambda V, P, C: V * P * C),
            _COMES + "You multiply the two tables. They are two: V rows for tokens and P rows for "
            "positions, (V + P)·C numbers.",
        ),
        Mistake(
            "one block",
            lambda V, P, C, L, F: _count(V, P, C, 1, F),
            _GAVE + "You count one block, {block} numbers. Each of L = {L} has its own.",
        ),
        Mistake(
            "the blocks alone",
            _with(embeddings=lambda V, P, C: 0, last_norm=lambda C: 0),
            _GAVE + "Your count of the blocks is right. Before them stand two tables, (V + P)·C "
            "numbers, and after them a last norm, 2·C.",
        ),
        Mistake(
            "the last norm missing",
            _with(last_norm=lambda C: 0),
            _GAVE + "That is 2·C, the norm after the last block. The stream of a pre-LN model is "
            "never normalised on its way, so there is one more at its end.",
        ),
        Mistake(
            "the last norm in every block",
            _off(lambda V, P, C, L, F: (L - 1) * 2 * C),
            _GAVE + "You count three norms in each block. There are two; the third stands once, "
            "after the last block.",
        ),
        Mistake(
            "no norms at all",
            _with(norms=lambda C: 0, last_norm=lambda C: 0),
            _GAVE + "All norms are missing. Each has a gain and a shift, 2·C numbers, and there "
            "are two in each block and one at the end: (2·L + 1)·2·C. (Attention's biases and the "
            "last norm together have the same size.)",
        ),
        Mistake(
            "one norm in each block",
            _with(norms=lambda C: 2 * C),
            _GAVE + "That is L·2·C: one norm in each block is missing, or all their shifts. A "
            "block has two norms, each with a gain and a shift: 4·C.",
        ),
        Mistake(
            "norms without shift",
            _with(norms=lambda C: 2 * C, last_norm=lambda C: C),
            _GAVE + "You count C numbers for each norm. A LayerNorm has a gain and a shift: 2·C. "
            "(RMSNorm has the gain alone.)",
        ),
        Mistake(
            "4C of each block missing",
            _off(lambda V, P, C, L, F: -4 * C * L),
            _GAVE + "That is 4·C = {wide} in each block. Two things have that size: the biases of "
            "attention's four projections, and the two norms with gain and shift each. One of "
            "them is missing.",
        ),
        Mistake(
            "the biases of q, k and v missing",
            _off(lambda V, P, C, L, F: -3 * C * L),
            _GAVE + "That is 3·C in each block, the biases of the projections to q, k and v. "
            "GPT-2 has them; many later models do without.",
        ),
        Mistake(
            "C of each block missing",
            _off(lambda V, P, C, L, F: -C * L),
            _GAVE + "That is C in each block, the bias of one layer that ends in the stream: of "
            "attention's output, or the second one of the feed-forward, which has C numbers, not "
            "F.",
        ),
        Mistake(
            "the inner bias of the feed-forward missing",
            _off(lambda V, P, C, L, F: -F * L),
            _GAVE + "That is F in each block, the first bias of the feed-forward.",
        ),
        Mistake(
            "the biases of the feed-forward missing",
            _with(feedforward=lambda C, F: 2 * C * F),
            _GAVE + "That is F + C in each block, the two biases of the feed-forward.",
        ),
        Mistake(
            "both biases of the feed-forward of width F",
            _with(feedforward=lambda C, F: 2 * (C * F + F)),
            _COMES + "You give both layers of the feed-forward a bias of F numbers. A bias has as "
            "many numbers as its layer gives out: F the first, C the second.",
        ),
        Mistake(
            "all biases missing but those of the norms",
            _with(attention=lambda C: 4 * C * C, feedforward=lambda C, F: 2 * C * F),
            _GAVE + "All biases are missing. GPT-2 has them on every layer: 4·C in attention and "
            "F + C in the feed-forward of each block.",
        ),
        Mistake(
            "all biases missing, the norms' too",
            _without_biases,
            _GAVE + "All biases are missing, the shifts of the norms too. In each block there are "
            "4·C in attention, F + C in the feed-forward, 2·C in the norms; and C at the end.",
        ),
        Mistake(
            "matrices alone",
            lambda V, P, C, L, F: (V + P) * C + L * (4 * C * C + 2 * C * F),
            _GAVE + "You count the matrices, which is nearly everything. Biases and norms are "
            "missing: 4·C, F + C and 4·C in each block, and 2·C at the end.",
        ),
        Mistake(
            "the rule of thumb",
            lambda V, P, C, L, F: 12 * L * C * C,
            _COMES + "12·L·C² is the rule of thumb: the matrices of the blocks when F = 4·C. "
            "Embeddings, biases and norms are missing.",
        ),
        Mistake(
            "the rule of thumb and embeddings",
            lambda V, P, C, L, F: (V + P) * C + 12 * L * C * C,
            _COMES + "12·L·C² is the rule of thumb for the blocks: matrices alone, with F = 4·C. "
            "Biases and norms are missing, and F is a size of its own.",
        ),
        Mistake(
            "F taken for 4C",
            lambda V, P, C, L, F: _count(V, P, C, L, 4 * C),
            _COMES + "Right where F = 4·C = {wide}, as in GPT-2. F is a size of its own.",
        ),
        Mistake(
            "no output projection",
            _with(attention=lambda C: 3 * (C * C + C)),
            _GAVE + "That is C² + C in each block, attention's output projection. q, k, v and the "
            "output: four.",
        ),
        Mistake(
            "no output projection, no biases in attention",
            _with(attention=lambda C: 3 * C * C),
            _COMES + "You count 3·C² for attention. There are four matrices, q, k, v and the "
            "output, of {CC} numbers each, and GPT-2 gives each a bias of C.",
        ),
        Mistake(
            "no attention",
            _with(attention=lambda C: 0),
            _GAVE + "That is 4·(C² + C) in each block: attention's four projections.",
        ),
        Mistake(
            "one matrix in the feed-forward",
            _with(feedforward=lambda C, F: C * F + F + C),
            _GAVE + "That is C·F = {CF} in each block. The feed-forward has two matrices, from C "
            "to F and back.",
        ),
        Mistake(
            "no feed-forward",
            _with(feedforward=lambda C, F: 0),
            _GAVE + "The feed-forward is missing, 2·C·F + F + C in each block: about two thirds "
            "of the block when F = 4·C.",
        ),
        Mistake(
            "three matrices in the feed-forward",
            _with(feedforward=lambda C, F: 3 * C * F),
            _COMES + "You count 3·C·F for the feed-forward: that is SwiGLU. GPT-2's has two "
            "matrices, and two biases.",
        ),
        Mistake(
            "the feed-forward square",
            _with(feedforward=lambda C, F: (C * F + F) + (F * F + F)),
            _COMES + "Your second layer of the feed-forward goes from F to F. It goes back to the "
            "stream, from F to C.",
        ),
        Mistake(
            "bytes",
            lambda *sizes: 4 * _count(*sizes),
            _COMES + "That is 4 times as many: bytes in float32. Asked for are numbers.",
        ),
        *(
            _two_at_once(*pair)
            for pair in itertools.combinations(_PIECES, 2)
            if pair not in _SAID_ABOVE
        ),
    ),
)


def check_count(count_parameters: Any) -> Verdict:
    """Judge ``count_parameters(V, P, C, L, F)``: the numbers that a GPT-2 learns.

    V is the vocabulary, P the number of positions, C the width, L the number of blocks, F the
    hidden width of the feed-forward. The same as ``models.gpt2.GPT2Config.parameters``.

    >>> check_count(lambda V, P, C, L, F: (V + P) * C + L * (12 * C * C + 13 * C) + 2 * C)
    Not yet. With V = 101, P = 17, C = 6, L = 5, F = 13 you gave 3,270, expected 2,555. Right where\
 F = 4·C = 24, as in GPT-2. F is a size of its own.
    """
    return COUNT.check(count_parameters)
