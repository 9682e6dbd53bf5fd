"""Wrong answers to the exercises of lecture 06, each beside words that its diagnosis must hold.

They are written anew, as a student would write them: the block line by line, the count as one
polynomial (``support_count_06``), the tied matrix by every assignment that looks as if it shared,
top-p by how many are kept.
"""

import copy

import torch
from torch import nn

from tests.teaching.support_exercises import defined


def block_of(*lines):
    """A block written out in lines; it returns x."""
    body = "".join(f"    {line}\n" for line in lines)
    return defined(f"def block(x, n1, att, n2, ff):\n{body}    return x\n", "block")


FIRST, SECOND = "x = x + att(n1(x))", "x = x + ff(n2(x))"

WRONG_BLOCK = {
    "post-LN": (
        block_of("x = n1(x + att(x))", "x = n2(x + ff(x))"),
        "size (root mean square) of 2.126, should leave with 2.21, and leaves with 0.8583. You",
    ),
    "post-LN in the first sublayer": (
        block_of("x = n1(x + att(x))", SECOND),
        "Attention's sum is normalised, the feed-forward's is not",
    ),
    "post-LN in the second sublayer": (
        block_of(FIRST, "x = n2(x + ff(x))"),
        "In the second you normalise the sum",
    ),
    "no residual": (
        block_of("x = att(n1(x))", "x = ff(n2(x))"),
        "leaves with 0.5769. Nothing is added",
    ),
    "first residual missing": (
        block_of("x = att(n1(x))", SECOND),
        "Attention's output replaces the stream",
    ),
    "second residual missing": (
        block_of(FIRST, "x = ff(n2(x))"),
        "The feed-forward's output replaces the stream",
    ),
    "residuals from the normalised stream": (
        block_of("x = n1(x)", "x = x + att(x)", "x = n2(x)", "x = x + ff(x)"),
        "You add to `norm(x)` instead of to `x`, both times",
    ),
    "first residual from the normalised stream": (
        block_of("x = n1(x)", "x = x + att(x)", SECOND),
        "Attention's output is added to `norm_1(x)`",
    ),
    "second residual from the normalised stream": (
        block_of(FIRST, "x = n2(x)", "x = x + ff(x)"),
        "The feed-forward's output is added to `norm_2(x)`",
    ),
    "no second norm": (
        block_of(FIRST, "x = x + ff(x)"),
        "The feed-forward reads the sum as it is, with a size of 2.125",
    ),
    "no first norm": (
        block_of("x = x + att(x)", SECOND),
        "Attention reads `x` as it is, with a size of 2.126",
    ),
    "no norms": (block_of("x = x + att(x)", "x = x + ff(x)"), "neither norm is used"),
    "norm_1 twice": (block_of(FIRST, "x = x + ff(n1(x))"), "`norm_1` is used twice"),
    "norm_2 twice": (block_of("x = x + att(n2(x))", SECOND), "`norm_2` is used twice"),
    "norms exchanged": (
        block_of("x = x + att(n2(x))", "x = x + ff(n1(x))"),
        "One number of the output is -0.249, expected -0.6971. The norms are exchanged",
    ),
    "side by side": (
        block_of("a, f = att(n1(x)), ff(n2(x))", "x = x + a + f"),
        "as in GPT-NeoX",
    ),
    "side by side, one norm": (
        block_of("h = n1(x)", "x = x + att(h) + ff(h)"),
        "Both sublayers read the same `norm_1(x)`",
    ),
    "the feed-forward reads attention's output alone": (
        block_of("a = att(n1(x))", "x = x + a", "x = x + ff(n2(a))"),
        "what attention gave, before it is added",
    ),
    "attention's output not kept": (
        block_of("h = x + att(n1(x))", "x = x + ff(n2(h))"),
        "The second sum starts from the `x` that came in",
    ),
    "x added twice": (
        block_of("h = x + att(n1(x))", "x = x + h + ff(n2(h))"),
        "`x` is in your sum twice",
    ),
    "feed-forward first": (block_of(SECOND, FIRST), "the feed-forward first and attention then"),
    "norms of the outputs": (
        block_of("x = x + n1(att(x))", "x = x + n2(ff(x))"),
        "You normalise what the sublayers give",
    ),
    "attention alone": (block_of(FIRST), "That is the first half"),
    "the sublayers' outputs alone": (
        block_of("a = att(n1(x))", "x = a + ff(n2(x + a))"),
        "without the `x` that it adds to",
    ),
}


def returned(change):
    """A `tie` that changes the model in place and returns it."""

    def tie(model):
        change(model)
        return model

    return tie


def copied(model):
    with torch.no_grad():
        model.head.weight.copy_(model.embedding.weight)


def one_memory(model):
    model.head.weight.data = model.embedding.weight.data


def frozen(model):
    one_memory(model)
    model.head.weight.requires_grad_(False)


def other_way_round(model):
    model.embedding.weight = model.head.weight


def other_way_round_copied(model):
    model.embedding.load_state_dict(model.head.state_dict())


def with_softmax(model):
    model.head.weight = model.embedding.weight
    model.head.register_forward_hook(lambda layer, inputs, logits: torch.softmax(logits, -1))


def transposed(model):
    model.head.weight = nn.Parameter(copy.deepcopy(model.embedding.weight.data).t())


def assigned_tensor(model):
    model.head.weight = model.embedding.weight.clone()


def head_is_embedding(model):
    model.head = model.embedding


def embedding_is_head(model):
    model.embedding = model.head


def head_is_parameter(model):
    model.head = model.embedding.weight


def without_return(model):
    model.head.weight = model.embedding.weight


WRONG_TIE = {
    "nothing changed": (
        returned(lambda model: model.train()),
        "140 parameters, 85 when tied. The head still has",
    ),
    "a copy": (returned(copied), "After one step of training the two differ by up to 0.09993"),
    "two parameters over one memory": (
        returned(one_memory),
        "0 instead of 0.1209 on row 10, a token never read",
    ),
    "a frozen head": (returned(frozen), "learns nothing (0); tied, the logits teach it as well"),
    "the embedding takes the head's matrix": (
        returned(other_way_round),
        "Shared, 85 parameters, and the numbers kept are the head's",
    ),
    "the embedding gets a copy of the head's matrix": (
        returned(other_way_round_copied),
        "The embedding has a copy of the head's matrix",
    ),
    "a softmax behind it": (returned(with_softmax), "each row of your logits sums to 1"),
    "transposed": (returned(transposed), "A linear layer from 5 to 11 keeps its weight as (11, 5)"),
    "a tensor instead of the parameter": (returned(assigned_tensor), "torch wants a parameter"),
    "the embedding layer as head": (returned(head_is_embedding), "looks rows up by token id"),
    "the head as embedding layer": (returned(embedding_is_head), "given token ids to look up"),
    "a parameter as head": (returned(head_is_parameter), "the matrix is `model.head.weight`"),
    "nothing returned": (without_return, "You return nothing."),
}


def nucleus_of(*lines, sort="descending=True"):
    """Top-p in lines, from sorted probabilities `s` and their places `i`."""
    body = [f"s, i = torch.sort(probabilities, {sort})", "V = len(s)", *lines]
    source = "".join(f"    {line}\n" for line in body)
    return defined(f"def nucleus(probabilities, p):\n{source}", "nucleus")


COUNT_NEEDED = "n = 1 + int((s.cumsum(0) < p).sum())"
BACK = "out = torch.zeros(V)", "out[i[:n]] = s[:n]", "return out / out.sum()"

right_nucleus = nucleus_of(COUNT_NEEDED, *BACK)


def unsorted_nucleus(condition):
    return nucleus_of(
        f"kept = probabilities * ({condition})",
        "return kept / kept.sum()",
    )


WRONG_NUCLEUS = {
    "the token that reaches p dropped": (
        nucleus_of("n = int((s.cumsum(0) <= p).sum())", *BACK),
        "2 tokens are needed, 0.7 in all; you drop the last of them, and 0.4 is less than p",
    ),
    "the token that reaches p dropped, strictly": (
        nucleus_of("n = int((s.cumsum(0) < p).sum())", *BACK),
        "You keep those whose sum, themselves included, is still below p",
    ),
    "one too many": (
        nucleus_of("n = 1 + int((s.cumsum(0)[:-1] <= p).sum())", *BACK),
        "p = 0.75: 2 tokens reach p exactly, and you keep one more",
    ),
    "not divided by the sum": (
        nucleus_of(COUNT_NEEDED, *BACK[:2], "return out"),
        "the right 2 are kept, and they sum to 0.7. Divide",
    ),
    "divided by p": (
        nucleus_of(COUNT_NEEDED, *BACK[:2], "return out / p"),
        "they hold 0.7, mostly more than p, so your result sums to 1.167",
    ),
    "another softmax": (
        nucleus_of(COUNT_NEEDED, BACK[0], "out[i[:n]] = torch.softmax(s[:n], 0)", "return out"),
        "which makes them nearly equal",
    ),
    "softmax of everything": (
        nucleus_of(COUNT_NEEDED, *BACK[:2], "return torch.softmax(out, 0)"),
        "exp(0) = 1, so they come back",
    ),
    "left in order of size": (
        nucleus_of(COUNT_NEEDED, "s[n:] = 0", "return s / s.sum()"),
        "the right 2 are kept, but sorted",
    ),
    "put back the wrong way": (
        nucleus_of(COUNT_NEEDED, "s[n:] = 0", "return s.index_select(0, i) / s.sum()"),
        "`kept[order]` reads where one has to write",
    ),
    "not sorted": (
        unsorted_nucleus("probabilities.cumsum(0) - probabilities < p"),
        "in the order of the vocabulary, and keep 4 that hold 0.85",
    ),
    "not sorted, and the last dropped": (
        unsorted_nucleus("torch.cumsum(probabilities, 0) <= p"),
        "And the token that takes the sum over p is kept",
    ),
    "smallest first": (
        nucleus_of(COUNT_NEEDED, *BACK, sort="dim=0"),
        "you keep 4, the least likely first",
    ),
    "p as a threshold": (
        unsorted_nucleus("probabilities >= p"),
        "the likeliest 2 hold 0.7 together",
    ),
    "p of the largest": (
        unsorted_nucleus("probabilities / probabilities.max() >= p"),
        "you keep 1: those with at least p times the largest probability, 0.5",
    ),
    "a share of the vocabulary": (
        nucleus_of("n = round(V * p)", *BACK),
        "you keep 3 of 5: a share p of the tokens",
    ),
    "the tail that holds 1 − p": (
        nucleus_of(COUNT_NEEDED, BACK[0], "out[i[n:]] = s[n:]", BACK[2]),
        "you keep the tail, 0.3 in all, and drop the nucleus",
    ),
    "a mask": (
        nucleus_of(COUNT_NEEDED, BACK[0], "out[i[:n]] = 1", "return out"),
        "you return ones for the 2 that are kept",
    ),
}
