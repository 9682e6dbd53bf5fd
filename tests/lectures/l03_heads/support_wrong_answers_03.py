"""Answers to the exercises of lecture 03, the wrong ones beside words of their diagnosis.

They are written anew, as a student would write them, not taken from the exercises.
"""

import torch
import torch.nn.functional as F


def dealt_out(x, num_heads):
    return torch.stack([x[..., h::num_heads] for h in range(num_heads)], dim=1)


def columns(x, num_heads):
    return torch.stack([piece.mT for piece in x.chunk(num_heads, -1)], 1)


WRONG_SPLIT_HEADS = {
    "viewed as heads first": (
        lambda x, H: x.view(len(x), H, x.size(1), -1),
        "entry [0, 0, 1, 0] holds channel 7 of token 0, sentence 0, and should hold channel 0",
    ),
    "not transposed": (lambda x, H: x.unflatten(2, (H, -1)), "You return (2, 5, 3, 7)"),
    "channels dealt out": (
        dealt_out,
        "[0, 0, 0, 1] holds channel 3 of token 0, sentence 0, and should hold channel 1",
    ),
    "number and width of the heads exchanged": (
        lambda x, H: x.view(*x.shape[:2], x.size(2) // H, H).swapaxes(1, 2),
        "You make 7 heads of width 3",
    ),
    "tokens last": (columns, "a token is a column"),
    "transposed before the cut": (
        lambda x, H: x.mT.contiguous().view(len(x), H, x.size(1), -1),
        "A reshape to sizes that fit is not a transpose",
    ),
    "heads in front of the batch": (
        lambda x, H: torch.stack(x.chunk(H, dim=2)),
        "(H, B, T, D). The course's layout",
    ),
    "a tuple of heads": (
        lambda x, H: x.split(x.size(-1) // H, dim=-1),
        "they are a tuple of 3 tensors",
    ),
}

RIGHT_SPLIT_HEADS = {
    "view and transpose": lambda x, H: x.view(*x.shape[:2], H, -1).transpose(1, 2),
    "chunks on a new axis": lambda x, H: torch.stack(x.chunk(H, -1), 1),
    "channels first": lambda x, H: x.mT.reshape(len(x), H, -1, x.size(1)).mT,
}

WRONG_MERGE_HEADS = {
    "not transposed back": (
        lambda heads: heads.view(len(heads), heads.size(2), heads.size(1) * heads.size(3)),
        "entry [0, 0, 7] holds channel 0 of token 1, sentence 0, and should hold channel 7",
    ),
    "view of what does not lie in order": (
        lambda heads: heads.permute(0, 2, 1, 3).view(len(heads), heads.size(2), -1),
        "a view moves nothing",
    ),
    "heads still apart": (lambda heads: heads.swapaxes(1, 2), "You return (2, 5, 3, 7)"),
    "channels interleaved": (
        lambda heads: torch.stack(list(heads.unbind(1)), -1).flatten(2),
        "entry [0, 0, 1] holds channel 7 of token 0",
    ),
    "tokens and channels exchanged": (
        lambda heads: heads.mT.reshape(len(heads), heads.size(2), -1),
        "It is heads and tokens that change places",
    ),
    "heads below each other": (
        lambda heads: torch.cat(list(heads.unbind(1)), dim=1),
        "You return (2, 15, 7): the heads stand below each other",
    ),
    "heads added": (lambda heads: torch.sum(heads, 1), "You add the heads up, to width 7"),
    "heads averaged": (lambda heads: heads.mean(1), "You average the heads, to width 7"),
}

RIGHT_MERGE_HEADS = {
    "transpose and reshape": lambda heads: heads.swapaxes(1, 2).reshape(
        len(heads), heads.size(2), -1
    ),
    "side by side": lambda heads: torch.cat(list(heads.unbind(1)), dim=-1),
    "a view of a copy": lambda heads: (
        heads.swapaxes(1, 2).contiguous().view(len(heads), heads.size(2), -1)
    ),
}


def sources(q="x", k="m", v="m"):
    """Cross-attention through torch, each part from the source that is named."""

    def cross_attention(x, memory, may_attend, w_q, w_k, w_v):
        named = {"x": x, "m": memory}
        return steps()(named[q] @ w_q, named[k] @ w_k, named[v] @ w_v, may_attend.unsqueeze(1))

    return cross_attention


def steps(root=None, score=None, weigh=None):
    """Textbook attention on q, k, v and a mask (B, 1, S), one step replaced."""

    def attention(q, k, v, mask):
        scores = torch.einsum("btd,bsd->bts", q, k) / (q.size(-1) ** 0.5 if root is None else root)
        if weigh is not None:
            weights = weigh(scores, mask)
        else:
            scores = torch.where(mask, scores, -torch.inf) if score is None else score(scores, mask)
            weights = scores.softmax(-1)
        return torch.bmm(weights, v), weights

    return attention


def with_steps(mask_of=lambda m: m.unsqueeze(1), root_of=lambda w: w.size(1) ** 0.5, **replaced):
    """Cross-attention with one step, the mask or the root replaced."""

    def cross_attention(x, memory, may_attend, w_q, w_k, w_v):
        attention = steps(root_of(w_q), **replaced)
        return attention(x @ w_q, memory @ w_k, memory @ w_v, mask_of(may_attend))

    return cross_attention


right_cross_attention = with_steps()


def emptied_values(x, memory, may_attend, w_q, w_k, w_v):
    v = torch.where(may_attend.unsqueeze(-1), memory @ w_v, 0.0)
    return steps()(x @ w_q, memory @ w_k, v, torch.tensor(True))


def emptied_memory(x, memory, may_attend, w_q, w_k, w_v):
    memory = torch.where(may_attend.unsqueeze(-1), memory, 0.0)
    return steps()(x @ w_q, memory @ w_k, memory @ w_v, torch.tensor(True))


def low(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def by_query(may_attend):
    return may_attend.unsqueeze(-1)


WRONG_CROSS_ATTENTION = {
    "keys from x": (sources(k="x"), "Your keys are made from x"),
    "values from x": (sources(v="x"), "then you mix values of x"),
    "self-attention of x": (sources(k="x", v="x"), "You never read the memory"),
    "self-attention of the memory": (sources(q="m"), "Your queries are made from the memory"),
    "the memory asks x": (sources("m", "x", "x"), "the memory asks and x answers"),
    "w_q and w_k exchanged": (
        lambda x, m, mask, w_q, w_k, w_v: right_cross_attention(x, m, mask, w_k, w_q, w_v),
        "Both have shape (7, 3)",
    ),
    "no scale": (with_steps(root_of=lambda w: 1.0), "√D = √3 = 1.732 before the softmax"),
    "divides by the root of C": (
        with_steps(root_of=lambda w: len(w) ** 0.5),
        "divided by √C = 2.646",
    ),
    "divides by the root of T": (
        lambda x, *others: with_steps(root_of=lambda w: x.size(1) ** 0.5)(x, *others),
        "divided by √5 = 2.236, from the number of tokens",
    ),
    "divides by the root of E": (
        lambda *inputs: with_steps(root_of=lambda w: inputs[-1].size(1) ** 0.5)(*inputs),
        "divided by √E = 1.414, from the width of v",
    ),
    "divides by D": (with_steps(root_of=lambda w: w.size(1)), "divided by D = 3; the scale is"),
    "keys not transposed": (
        lambda x, m, mask, w_q, w_k, w_v: torch.bmm(x @ w_q, m @ w_k) / w_k.size(1) ** 0.5,
        "`q @ k` multiplies (5, 3) by (5, 3)",
    ),
    "the mask ignored": (
        with_steps(score=lambda scores, mask: scores),
        "The memory has 3 real tokens of 5",
    ),
    "the opposite mask": (
        with_steps(score=lambda scores, mask: scores.masked_fill(mask, -1e4)),
        "Your mask is the other way round: padding gets 1 of the first",
    ),
    "the mask on the queries": (
        with_steps(mask_of=by_query),
        "rows of weights are hidden as a whole, and become NaN",
    ),
    "the mask on the queries, with a low number": (
        with_steps(mask_of=by_query, score=low),
        "gives each key 1/5",
    ),
    "hidden after the softmax": (
        with_steps(weigh=lambda scores, mask: torch.where(mask, scores.softmax(-1), 0.0)),
        "the first row sums to 0.1014",
    ),
    "−∞ after the softmax": (
        with_steps(weigh=lambda scores, mask: torch.where(mask, scores.softmax(-1), -torch.inf)),
        "You set weights to −∞",
    ),
    "hidden scores set to 0": (
        with_steps(score=lambda scores, mask: torch.where(mask, scores, 0.0)),
        "padding gets 0.7942 of the first",
    ),
    "the mask added": (
        with_steps(score=lambda scores, mask: scores + mask.float()),
        "padding keeps 0.7652 of the first",
    ),
    "the values of padding set to 0": (emptied_values, "You empty the values of padding"),
    "the memory's padding set to 0": (emptied_memory, "You set the padding of the memory to 0"),
    "softmax over the queries": (
        with_steps(weigh=lambda scores, mask: torch.where(mask, scores, -torch.inf).softmax(1)),
        "a hidden column, −∞ throughout, becomes NaN",
    ),
    "softmax over the queries, with a low number": (
        with_steps(weigh=lambda scores, mask: low(scores, mask).softmax(1)),
        "the first row to 0.4563",
    ),
    "softmax over the sentences": (
        with_steps(weigh=lambda scores, mask: torch.where(mask, scores, -torch.inf).softmax(0)),
        "or NaN where −∞ has no rival",
    ),
    "softmax over the sentences, with a low number": (
        with_steps(weigh=lambda scores, mask: low(scores, mask).softmax(0)),
        "all weights are 1, also on padding",
    ),
    "only the output": (
        lambda x, m, mask, w_q, w_k, w_v: F.scaled_dot_product_attention(
            x @ w_q, m @ w_k, m @ w_v, attn_mask=mask[:, None]
        ),
        "the weights are missing",
    ),
    "only the weights": (
        lambda *inputs: right_cross_attention(*inputs)[1],
        "the output is missing",
    ),
    "swapped results": (
        lambda *inputs: tuple(reversed(right_cross_attention(*inputs))),
        "in the other order",
    ),
    "a mask without an axis for the queries": (
        with_steps(mask_of=lambda m: m),
        "each query gets another sentence's mask",
    ),
    "the first sentence's mask for all": (
        with_steps(mask_of=lambda m: m[0]),
        "the padding of the first sentence in every sentence",
    ),
    "what is padding anywhere": (
        with_steps(mask_of=lambda m: m.prod(0).bool()),
        "as soon as it is padding in one",
    ),
    "what is real anywhere": (
        with_steps(mask_of=lambda m: m.sum(0) > 0),
        "only if it is padding in all",
    ),
}


def through_torch(x, memory, may_attend, w_q, w_k, w_v):
    q, k, v, mask = x @ w_q, memory @ w_k, memory @ w_v, may_attend.unsqueeze(1)
    weights = F.scaled_dot_product_attention(
        q, k, torch.eye(k.size(1)).expand(len(k), -1, -1), mask
    )
    return F.scaled_dot_product_attention(q, k, v, mask), weights


def one_sentence_at_a_time(x, memory, may_attend, w_q, w_k, w_v):
    outs, tables = [], []
    for own, other, real in zip(x, memory, may_attend, strict=True):
        weights = torch.zeros(len(own), len(other))
        scores = own @ w_q @ (other[real] @ w_k).T / w_q.size(1) ** 0.5
        weights[:, real] = scores.softmax(1)
        outs.append(weights @ (other @ w_v))
        tables.append(weights)
    return torch.stack(outs), torch.stack(tables)


RIGHT_CROSS_ATTENTION = {
    "by hand": right_cross_attention,
    "with a low number": with_steps(score=low),
    "with an additive mask": with_steps(
        score=lambda scores, mask: scores + (1 - mask.float()) * -1e9
    ),
    "through torch": through_torch,
    "one sentence at a time": one_sentence_at_a_time,
    "as a list": lambda *inputs: list(right_cross_attention(*inputs)),
}


def reads(weights, distance):
    """Mean weight of each head on the key that is `distance` places on, by a loop."""
    L, H, T, _ = weights.shape
    table = torch.zeros(L, H)
    for layer in range(L):
        for head in range(H):
            own = weights[layer, head]
            inside = [t for t in range(T) if 0 <= t + distance < T]
            table[layer, head] = sum(own[t, t + distance] for t in inside) / len(inside)
    return table


def place(table):
    """Layer and head of the largest number of a table, by a search."""
    rows = table.tolist()
    return max(
        ((layer, head) for layer, row in enumerate(rows) for head in range(len(row))),
        key=lambda at: rows[at[0]][at[1]],
    )


def wrapping(weights):
    T = weights.size(-1)
    return place(sum(weights[:, :, t, t - 1] for t in range(T)) / T)


def counting(weights):
    table = torch.zeros(weights.shape[:2])
    for t in range(1, weights.size(-1)):
        table += weights[:, :, t].argmax(-1) == t - 1
    return place(table)


def flat_place(weights):
    return torch.argmax(reads(weights, -1))


def in_the_best_layer(weights):
    table = reads(weights, -1)
    best = table.sum(1).argmax()
    return best, table[best].argmax()


WRONG_PREVIOUS_TOKEN = {
    "the next token": (lambda w: place(reads(w, 1)), "Yours reads the *next* one, with 0.9143"),
    "the token itself": (lambda w: place(reads(w, 0)), "Yours reads the token itself, with 0.9143"),
    "the token before the previous": (lambda w: place(reads(w, -2)), "two places back"),
    "the first token": (lambda w: place(w.mean(2)[..., 0]), "with 0.8286 on average"),
    "one row alone": (
        lambda w: place(torch.stack([w[:, :, t, t - 1] for t in range(1, w.size(-1))]).amax(0)),
        "In one row yours puts 0.99 there",
    ),
    "row 0 wraps around": (wrapping, "the last: 0.98 in your head"),
    "counts the rows": (counting, "You count the rows"),
    "the place in the flattened table": (flat_place, "You gave 11, the place in the flattened"),
    "divided by the number of layers": (
        lambda w: (flat_place(w) // len(w), flat_place(w) % len(w)),
        "divided by the number of layers, 3",
    ),
    "head and layer exchanged": (
        lambda w: list(reversed(place(reads(w, -1)))),
        "You gave layer 1, head 2, and layer 2, head 1 is right",
    ),
    "layer and head chosen apart": (
        lambda w: (reads(w, -1).sum(1).argmax(), reads(w, -1).sum(0).argmax()),
        "That place may be no good head itself",
    ),
    "the best head of the best layer": (in_the_best_layer, "You first choose the layer"),
    "the first layer alone": (lambda w: place(reads(w[:1], -1)), "You look at layer 0 alone"),
    "the last layer alone": (
        lambda w: (len(w) - 1, reads(w[-1:], -1).argmax().item()),
        "You look at the last layer alone",
    ),
    "a table of means": (lambda w: reads(w, -1), "The means are right, one for each of 3·5 heads"),
}

RIGHT_PREVIOUS_TOKEN = {
    "by a loop": lambda w: place(reads(w, -1)),
    "as tensors": lambda w: torch.unravel_index(reads(w, -1).argmax(), w.shape[:2]),
    "by a shifted slice": lambda w: divmod(
        int(torch.einsum("lhtt->lh", w[:, :, 1:, :-1]).argmax()), w.size(1)
    ),
}
