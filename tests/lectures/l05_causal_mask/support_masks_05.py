"""Masks as a student would write them, right and wrong: in loops over places.

Each wrong one stands beside words that its diagnosis must hold.
"""

import torch

MASK_NAMES = ("causal", "sliding", "prefixed", "padding", "packed")


def grid(T, S, may_read):
    """A mask (T, S) made place by place: `may_read(place, key)`."""
    return torch.tensor([[bool(may_read(t + S - T, s)) for s in range(S)] for t in range(T)])


def right_mask(name, T, S, window, prefix, lengths, document):
    document = document.tolist()
    return {
        "causal": lambda: grid(T, S, lambda p, s: p >= s),
        "sliding": lambda: grid(T, S, lambda p, s: s in range(p - window + 1, p + 1)),
        "prefixed": lambda: grid(T, S, lambda p, s: s < max(prefix, p + 1)),
        "padding": lambda: torch.stack([grid(1, S, lambda p, s, n=n: s < n) for n in lengths]),
        "packed": lambda: grid(T, S, lambda p, s: s <= p and document[s] == document[p]),
    }[name]()


def right_masks(*inputs):
    return tuple(right_mask(name, *inputs) for name in MASK_NAMES)


def other_mask(which, make):
    """The right masks but for one: `make(T, S, window, prefix, lengths, document)`."""

    def five_masks(*inputs):
        masks = {name: right_mask(name, *inputs) for name in MASK_NAMES}
        return tuple((masks | {which: make(*inputs)}).values())

    return five_masks


def causal(may_read):
    return other_mask("causal", lambda T, S, *rest: grid(T, S, lambda p, s: may_read(p, s, S - T)))


def sliding(may_read):
    return other_mask(
        "sliding", lambda T, S, w, *rest: grid(T, S, lambda p, s: may_read(p, s, w, S - T))
    )


def prefixed(may_read):
    return other_mask(
        "prefixed", lambda T, S, w, n, *rest: grid(T, S, lambda p, s: may_read(p, s, n))
    )


def padding(make):
    return other_mask("padding", lambda T, S, w, n, lengths, document: make(T, S, lengths))


def packed(may_read):
    return other_mask(
        "packed",
        lambda T, S, w, n, lengths, ids: grid(T, S, lambda p, s: may_read(p, s, ids, S - T)),
    )


def per_sequence(may_read):
    """The padding mask (B, 1, S) of `may_read(key, length, S)`."""

    def make(T, S, lengths):
        rows = [[bool(may_read(s, int(n), S)) for s in range(S)] for n in lengths]
        return torch.tensor(rows).unsqueeze(1)

    return padding(make)


def left_open(*names):
    def five_masks(*inputs):
        return tuple(... if n in names else right_mask(n, *inputs) for n in MASK_NAMES)

    return five_masks


def in_numbers(which):
    return other_mask(which, lambda *inputs: right_mask(which, *inputs) * 1.0)


def to_be_added(which):
    def make(*inputs):
        mask = right_mask(which, *inputs)
        return torch.where(mask, torch.tensor(0.0), torch.tensor(-torch.inf))

    return other_mask(which, make)


def every_token_with_every_token(T, S, window, prefix, lengths, document):
    same = torch.stack([document == number for number in document])
    return grid(T, S, lambda p, s: s <= p) & same


WRONG_MASKS = {
    "causal: aligned at the top left": (
        other_mask("causal", lambda T, S, *rest: torch.ones(T, S).tril() > 0),
        "In `causal` the query in row 0, at place 6, reads key 0 alone; it may read keys 0 to 6. "
        "You compare the key with the row t",
    ),
    "causal: without itself": (
        causal(lambda p, s, _: p - s >= 1),
        "at place 6, reads keys 0 to 5; it may read keys 0 to 6. A token may read itself",
    ),
    "causal: one ahead": (
        other_mask("causal", lambda T, S, *rest: torch.ones(T, S).tril(S - T + 1) == 1),
        "reads keys 0 to 7; it may read keys 0 to 6. That is one key too many",
    ),
    "causal: the other polarity": (
        other_mask("causal", lambda T, S, *rest: torch.ones(T, S).triu(S - T + 1).bool()),
        "True stands where reading is forbidden",
    ),
    "causal: the future instead of the past": (
        causal(lambda p, s, _: p <= s),
        "The comparison is the wrong way round",
    ),
    "causal: the offset subtracted": (
        causal(lambda p, s, before: s <= p - 2 * before),
        "You subtract S − T = 6",
    ),
    "sliding: one key too many": (
        sliding(lambda p, s, w, _: 0 <= p - s <= w),
        "reads keys 3 to 6; it may read keys 4 to 6. That is 3 keys and itself",
    ),
    "sliding: one key too few": (
        sliding(lambda p, s, w, _: 0 <= p - s < w - 1),
        "reads keys 5 and 6; it may read keys 4 to 6. That is one key too few",
    ),
    "sliding: sees the future": (
        sliding(lambda p, s, w, _: p - s < w),
        "reads keys 4 to 10; it may read keys 4 to 6. The window has its far end",
    ),
    "sliding: both sides": (
        sliding(lambda p, s, w, _: -w < p - s < w),
        "Your window reaches to both sides",
    ),
    "sliding: without its far end": (
        sliding(lambda p, s, w, _: p - s >= 0),
        "That is the causal mask. Keys that lie `window` places back",
    ),
    "sliding: outside instead of inside": (
        sliding(lambda p, s, w, _: p - s >= w),
        "You keep what is older than the window",
    ),
    "sliding: either instead of both": (
        sliding(lambda p, s, w, _: s <= p or p - s < w),
        "With `|` one of the two conditions is enough",
    ),
    "sliding: aligned at the top left": (
        sliding(lambda p, s, w, before: 0 <= p - before - s < w),
        "The window follows the row t",
    ),
    "prefixed: both instead of either": (
        prefixed(lambda p, s, n: s <= p and s < n),
        "With `&` a query reads the part of the prefix that it has passed",
    ),
    "prefixed: the prefix alone": (
        prefixed(lambda p, s, n: s < n),
        "In `prefixed` the query in row 3, at place 9, reads keys 0 to 8; it may read keys 0 to 9",
    ),
    "prefixed: one key too many": (
        prefixed(lambda p, s, n: s <= p or s <= n),
        "The first 9 keys have the numbers 0 to prefix − 1",
    ),
    "prefixed: one key too few": (
        prefixed(lambda p, s, n: s <= p or s + 1 < n),
        "The prefix holds 9 keys, 0 to prefix − 1; yours has one less",
    ),
    "prefixed: causal": (
        prefixed(lambda p, s, n: s <= p),
        "The first 9 keys are open to every query",
    ),
    "prefixed: everything after the prefix": (
        prefixed(lambda p, s, n: s <= p or s >= n),
        "reads keys 0, 1, 2, 3, 4, 5, 6, 9 and 10; it may read keys 0 to 8. You open what comes",
    ),
    "padding: one key too many": (
        per_sequence(lambda s, n, S: s <= n),
        "In `padding` a sequence of length 7 reads keys 0 to 7; it may read keys 0 to 6",
    ),
    "padding: the other polarity": (
        per_sequence(lambda s, n, S: s >= n),
        "True stands on the padding",
    ),
    "padding: padded on the left": (
        per_sequence(lambda s, n, S: S - s <= n),
        "You take the padding to be on the left",
    ),
    "padding: causal too": (
        padding(
            lambda T, S, lengths: torch.stack(
                [grid(T, S, lambda p, s, n=n: s < n and s <= p) for n in lengths]
            )
        ),
        "has shape (3, 5, 11) and is causal too",
    ),
    "padding: spelt out for every query": (
        padding(
            lambda T, S, lengths: torch.stack(
                [grid(T, S, lambda p, s, n=n: s < n) for n in lengths]
            )
        ),
        "`padding` is right, and written out 5 times",
    ),
    "padding: no axis for the queries": (
        padding(lambda T, S, lengths: torch.arange(S) < lengths.unsqueeze(1)),
        "the 3 sequences would be taken for queries",
    ),
    "padding: no new axes": (
        padding(lambda T, S, lengths: torch.arange(S).lt(lengths)),
        "In `padding` you compare 11 keys with 3 lengths",
    ),
    "padding: queries instead of keys": (
        padding(lambda T, S, lengths: torch.arange(T)[None, :, None] < lengths.view(-1, 1, 1)),
        "Your `padding` has shape (3, 5, 1): it hides rows",
    ),
    "packed: not causal": (
        packed(lambda p, s, ids, _: ids[p] == ids[s]),
        "In `packed` the query in row 0, at place 6, reads keys 4 to 7; it may read keys 4 to 6",
    ),
    "packed: smaller numbers too": (
        packed(lambda p, s, ids, _: s <= p and ids[s] <= ids[p]),
        "With `<=` every document of a smaller number comes in",
    ),
    "packed: the other documents": (
        packed(lambda p, s, ids, _: s <= p and ids[s] != ids[p]),
        "You let through the other documents",
    ),
    "packed: causal": (
        packed(lambda p, s, ids, _: s <= p),
        "A query must not read another document",
    ),
    "packed: documents of the first rows": (
        packed(lambda p, s, ids, before: s <= p and ids[s] == ids[p - before]),
        "You take the document of row t from `document[t]`",
    ),
    "packed: a document for each query, and causal": (
        other_mask("packed", every_token_with_every_token),
        "a (5, 5) grid, where the causal mask is (1, 5)",
    ),
    "packed: a document for each query": (
        other_mask("packed", lambda *inputs: inputs[-1].unsqueeze(1).eq(inputs[-1])),
        "Your `packed` has shape (11, 11): one row for each token",
    ),
}
for name in MASK_NAMES:
    WRONG_MASKS[f"{name}: ones and zeros"] = (
        in_numbers(name),
        f"`{name}` holds the right ones and zeros",
    )
    WRONG_MASKS[f"{name}: zeros and −∞"] = (to_be_added(name), f"`{name}` holds 0 and −∞")
for name in MASK_NAMES:
    WRONG_MASKS[f"{name}: still open"] = (left_open(name), f"`{name}` is still `...`")
