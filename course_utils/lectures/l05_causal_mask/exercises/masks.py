"""Exercise 1 of lecture 05: five masks from their definitions."""

from __future__ import annotations

from typing import Any

from course_utils.lectures.l05_causal_mask.exercises.mask_mistakes import (
    PARTS,
    PROBES,
    Truths,
    as_numbers,
    mask_facts,
    right_masks,
    still_open,
    wrong,
)
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.verdict import Verdict

__all__ = ["MASKS", "check_masks"]

MASKS = Exercise(
    title="Five masks from their definitions",
    difficulty=2,
    minutes=15,
    reference=right_masks,
    probes=PROBES,
    parts=PARTS,
    facts=mask_facts,
    tolerance=Truths(),
    praise="One comparison each, and every one of them holds for T ≠ S too, because the query's "
    "place S − T + t was put in once.",
    mistakes=(
        wrong(
            "causal",
            "aligned at the top left",
            lambda g: g.key <= g.row,
            "{causal}You compare the key with the row t. The queries are the last {T} of {S} "
            "tokens: row t stands at place t + S − T, {before} further on.",
        ),
        wrong(
            "causal",
            "without itself",
            lambda g: g.key < g.place,
            "{causal}A token may read itself: the key may be equal to the place, `<=`.",
        ),
        wrong(
            "causal",
            "one ahead",
            lambda g: g.key <= g.place + 1,
            "{causal}That is one key too many, and it is the future: the leak that training finds.",
        ),
        wrong(
            "causal",
            "the other polarity",
            lambda g: ~g.causal,
            "{causal}True stands where reading is forbidden, as in PyTorch's "
            "`nn.MultiheadAttention`. Here True means: may read.",
        ),
        wrong(
            "causal",
            "the future instead of the past",
            lambda g: g.key >= g.place,
            "{causal}The comparison is the wrong way round: you let the future through and hide "
            "the past.",
        ),
        wrong(
            "causal",
            "the offset subtracted",
            lambda g: g.key <= g.row - (g.S - g.T),
            "{causal}You subtract S − T = {before}. The queries are the last {T} of {S} tokens, so "
            "row t stands at place t + S − T.",
        ),
        wrong(
            "sliding",
            "one key too many",
            lambda g: g.causal & (g.key >= g.place - g.window),
            "{sliding}That is {window} keys and itself. The window of {window} counts the token "
            "itself: key > place − window.",
        ),
        wrong(
            "sliding",
            "one key too few",
            lambda g: g.causal & (g.key > g.place - g.window + 1),
            "{sliding}That is one key too few: the window of {window} holds {window} keys, the "
            "token itself among them.",
        ),
        wrong(
            "sliding",
            "sees the future",
            lambda g: g.key > g.place - g.window,
            "{sliding}The window has its far end and not its near one: it must be causal too.",
        ),
        wrong(
            "sliding",
            "both sides",
            lambda g: (g.key - g.place).abs() < g.window,
            "{sliding}Your window reaches to both sides, as in an encoder. Here it is causal: "
            "nothing after the place of the query.",
        ),
        wrong(
            "sliding",
            "without its far end",
            lambda g: g.causal,
            "{sliding}That is the causal mask. Keys that lie `window` places back or more are out.",
        ),
        wrong(
            "sliding",
            "outside instead of inside",
            lambda g: g.causal & (g.key <= g.place - g.window),
            "{sliding}You keep what is older than the window and drop the window itself.",
        ),
        wrong(
            "sliding",
            "either instead of both",
            lambda g: g.causal | (g.key > g.place - g.window),
            "{sliding}With `|` one of the two conditions is enough, and every key meets one. Both "
            "must hold: `&`.",
        ),
        wrong(
            "sliding",
            "aligned at the top left",
            lambda g: (g.key <= g.row) & (g.key > g.row - g.window),
            "{sliding}The window follows the row t. Let it follow the place t + S − T, {before} "
            "further on.",
        ),
        wrong(
            "prefixed",
            "both instead of either",
            lambda g: g.causal & (g.key < g.prefix),
            "{prefixed}With `&` a query reads the part of the prefix that it has passed, and "
            "nothing else. It may read the prefix or the past: `|`.",
        ),
        wrong(
            "prefixed",
            "the prefix alone",
            lambda g: (g.key < g.prefix).expand(g.T, g.S),
            "{prefixed}The prefix is open to all, and behind it a query reads its past as before: "
            "`causal | ...`.",
        ),
        wrong(
            "prefixed",
            "one key too many",
            lambda g: g.causal | (g.key <= g.prefix),
            "{prefixed}The first {prefix} keys have the numbers 0 to prefix − 1, so key < prefix.",
        ),
        wrong(
            "prefixed",
            "one key too few",
            lambda g: g.causal | (g.key < g.prefix - 1),
            "{prefixed}The prefix holds {prefix} keys, 0 to prefix − 1; yours has one less.",
        ),
        wrong(
            "prefixed",
            "causal",
            lambda g: g.causal,
            "{prefixed}That is the causal mask. The first {prefix} keys are open to every query, "
            "those that stand before them too.",
        ),
        wrong(
            "prefixed",
            "everything after the prefix",
            lambda g: g.causal | (g.key >= g.prefix),
            "{prefixed}You open what comes after the prefix, which is the future. The prefix is "
            "key < prefix.",
        ),
        wrong(
            "padding",
            "one key too many",
            lambda g: g.key <= g.length,
            "{padding}Keys count from 0, so a sequence of length n has the keys 0 to n − 1: "
            "key < length.",
        ),
        wrong(
            "padding",
            "the other polarity",
            lambda g: g.key >= g.length,
            "{padding}True stands on the padding, as in PyTorch's `key_padding_mask`. Here True "
            "means: may read.",
        ),
        wrong(
            "padding",
            "padded on the left",
            lambda g: g.key >= g.S - g.length,
            "{padding}You take the padding to be on the left. Here the real tokens come first.",
        ),
        wrong(
            "padding",
            "causal too",
            lambda g: (g.key < g.length) & g.causal,
            "Your `padding` has shape ({B}, {T}, {S}) and is causal too. Keep it to the padding "
            "alone, ({B}, 1, {S}): who wants both writes `padding & causal`.",
        ),
        wrong(
            "padding",
            "spelt out for every query",
            lambda g: (g.key < g.length).expand(-1, g.T, -1),
            "`padding` is right, and written out {T} times for each sequence. It is the same for "
            "every query: shape ({B}, 1, {S}) broadcasts.",
        ),
        wrong(
            "padding",
            "no axis for the queries",
            lambda g: g.key < g.lengths[:, None],
            "`padding` has shape ({B}, {S}). Beside scores of shape ({B}, T, S) the {B} sequences "
            "would be taken for queries. It needs an axis for them: `lengths[:, None, None]`.",
        ),
        wrong(
            "padding",
            "no new axes",
            lambda g: g.key < g.lengths,
            "In `padding` you compare {S} keys with {B} lengths, number by number. To compare each "
            "with each, the lengths need axes of their own: `lengths[:, None, None]`.",
        ),
        wrong(
            "padding",
            "queries instead of keys",
            lambda g: g.row < g.length,
            "Your `padding` has shape ({B}, {T}, 1): it hides rows, which are queries. Nobody may "
            "read the padding: it is the keys that are hidden, shape ({B}, 1, {S}).",
        ),
        wrong(
            "packed",
            "not causal",
            lambda g: g.same,
            "{packed}A query stays in its document now, and reads ahead in it. It must be causal "
            "too: `causal & ...`.",
        ),
        wrong(
            "packed",
            "smaller numbers too",
            lambda g: g.causal & (g.document <= g.document[g.place]),
            "{packed}With `<=` every document of a smaller number comes in as well. The two "
            "numbers must be equal.",
        ),
        wrong(
            "packed",
            "the other documents",
            lambda g: g.causal & ~g.same,
            "{packed}You let through the other documents, and shut out its own: `==`, not `!=`.",
        ),
        wrong(
            "packed",
            "causal",
            lambda g: g.causal,
            "{packed}That is the causal mask. A query must not read another document: compare the "
            "document of the key with that of the query.",
        ),
        wrong(
            "packed",
            "documents of the first rows",
            lambda g: g.causal & (g.document[: g.T, None] == g.document),
            "{packed}You take the document of row t from `document[t]`. Row t stands at place "
            "t + S − T, {before} further on: `document[place]`.",
        ),
        wrong(
            "packed",
            "a document for each query, and causal",
            lambda g: g.causal & (g.document[:, None] == g.document),
            "In `packed` you compare all {S} tokens with all {S}: a ({S}, {S}) grid, where the "
            "causal mask is ({T}, {S}). It fits when T = S alone. The queries are the last ones: "
            "`document[place]`.",
        ),
        wrong(
            "packed",
            "a document for each query",
            lambda g: g.document[:, None] == g.document,
            "Your `packed` has shape ({S}, {S}): one row for each token. There are {T} queries, "
            "the last ones: `document[place]`, and causal.",
        ),
        *(mistake for part in PARTS for mistake in as_numbers(part)),
        *(still_open(part) for part in PARTS),
    ),
)


def check_masks(five_masks: Any) -> Verdict:
    """Judge ``five_masks(T, S, window, prefix, lengths, document)``: five boolean masks.

    The T queries are the last T of S tokens; True means that a query may read a key. In order:
    ``causal``, ``sliding`` (causal, the newest ``window`` keys, itself included), ``prefixed``
    (causal, and the first ``prefix`` keys for all), ``padding`` (B, 1, S) for sequences with
    ``lengths`` (B,) real tokens in front, ``packed`` (causal, within a document; ``document`` (S,)
    holds the number of each token's). All but ``padding`` have the shape (T, S).

    >>> check_masks(lambda *inputs: (..., ..., ..., ..., ...)).started
    False
    """
    return MASKS.check(five_masks)
