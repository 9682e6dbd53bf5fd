"""Answers to the exercises of lecture 02, the wrong ones beside words of their diagnosis.

They are written anew, as a student would write them, not taken from the exercises.
"""

import math

import torch
import torch.nn.functional as F


def two_lines(shift=None, share=None, power=math.e):
    """The textbook softmax, one step replaced: `shift(scores)` is subtracted, `share` divides."""

    def softmax(scores):
        e = power ** (scores if shift is None else scores - shift(scores))
        return e / e.sum(-1, keepdim=True) if share is None else share(e)

    return softmax


def top(scores):
    return scores.max(-1, keepdim=True)[0]


def softmax_of_columns(scores):
    e = (scores - scores.max(0, keepdim=True).values).exp()
    return e / e.sum(0, keepdim=True)


def softmax_of_a_matrix(scores):
    e = (scores - scores.max(1, keepdim=True).values).exp()
    return e / e.sum(1, keepdim=True)


def half_shifted(scores):
    return (scores - top(scores)).exp() / scores.exp().sum(-1, keepdim=True)


def pair(scores):
    e = torch.exp(scores - torch.max(scores, -1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def without_keepdim(scores):
    e = torch.exp(scores - top(scores))
    return e / torch.sum(e, -1)


def with_epsilon(scores):
    e = scores.exp()
    return e / (1e-12 + e.sum(-1, keepdim=True))


def without_nan(scores):
    weights = two_lines()(scores)
    return torch.where(weights.isnan(), 0.0, weights)


def shifted(scores):
    return two_lines(top)(scores)


WRONG_SOFTMAX = {
    "over the first axis": (softmax_of_columns, "sums over it are 1, and the row (-1.401, -1.235"),
    "over the second axis": (softmax_of_a_matrix, "became (0.8608, 0.2717, 0.02816, 0.1317, 0.89"),
    "not normalised": (two_lines(top, share=lambda e: e), "which sums to 2.632. The largest is 1"),
    "exponentials alone": (two_lines(share=lambda e: e), "You return exp(scores)"),
    "divided by one sum for all rows": (
        two_lines(lambda scores: scores.max(), share=lambda e: e / e.sum()),
        "Your weights sum to 1 over the whole tensor",
    ),
    "shifted by rows, divided by one sum": (
        two_lines(top, share=lambda e: e / e.sum()),
        "then divide by one sum for the whole tensor",
    ),
    "maximum in the numerator alone": (half_shifted, "in the numerator and not in the denominator"),
    "powers of two": (two_lines(top, power=2), "Your exponentials have base 2"),
    "shares of the scores": (
        lambda scores: scores / scores.sum(-1, keepdim=True),
        "without an exponential",
    ),
    "logarithms of the weights": (
        lambda scores: scores - scores.logsumexp(-1, keepdim=True),
        "You return the logarithms",
    ),
    "selected by a mask": (
        lambda scores: shifted(scores[~scores.isinf()]),
        "drops the axes of a tensor",
    ),
    "the pair that max returns": (pair, "returns a pair, the largest scores and their places"),
    "axis dropped": (without_keepdim, "(5, 7) becomes (5,)"),
    "no maximum subtracted": (two_lines(), "(1000, 998, 1001) became (NaN, NaN, NaN)"),
    "one maximum for all rows": (
        two_lines(lambda scores: scores.max()),
        "You subtract 1001, the largest score of the whole tensor",
    ),
    "the largest absolute value": (
        two_lines(lambda scores: top(scores.abs())),
        "In the row (-1000, -1001, -999.5) that is above the largest score, -999.5",
    ),
    "the minimum": (
        two_lines(lambda scores: scores.min(-1, keepdim=True)[0]),
        "The row (-1000, 1000, 999) became (0, NaN, NaN)",
    ),
    "the mean": (
        two_lines(lambda scores: scores.mean(-1, keepdim=True)),
        "while a row stays within 88 of it",
    ),
    "the maximum added": (two_lines(lambda scores: -top(scores)), "You add the maximum"),
    "clipped scores": (
        lambda scores: two_lines()(torch.clip(scores, -70, 70)),
        "became (0.3333, 0.3333, 0.3333), and (0.2595, 0.03512, 0.7054) is right",
    ),
    "a small number in the denominator": (with_epsilon, "A small number in the denominator"),
    "NaN replaced": (without_nan, "became (0, 0, 0), of sum 0"),
    "float64 instead of a maximum": (
        lambda scores: two_lines()(scores.to(torch.float64)).float(),
        "from 88.7 to 709.8, and no further",
    ),
    "a hidden score counted as 0": (
        lambda scores: shifted(torch.where(scores.isinf(), 0.0, scores)),
        "became (0.1199, 0.0727, 0.5371, 0.0727, 0.1976)",
    ),
    "NaN from −∞": (
        lambda scores: shifted(scores.isfinite() * scores),
        "(0.5, −∞, 2, −∞, 1) gave (NaN, NaN, NaN, NaN, NaN)",
    ),
}

RIGHT_SOFTMAX = {
    "by hand": shifted,
    "by log-sum-exp": lambda scores: (scores - scores.logsumexp(-1, keepdim=True)).exp(),
    "in powers of two": lambda scores: F.softmax(scores, -1),
    "with an epsilon that does no harm": lambda scores: two_lines(
        top, share=lambda e: e / (e.sum(-1, keepdim=True) + 1e-9)
    )(scores),
    "−∞ as a very low number": lambda scores: shifted(scores.clamp(min=-1e9)),
}


def rows_of(p, u):
    return torch.einsum("...s,...s->...", p, u).unsqueeze(-1)


WRONG_PRODUCT = {
    "the diagonal matrix alone": (torch.mul, "your row sums to -0.43. Weights keep the sum 1"),
    "the other sign": (lambda p, u: rows_of(p, u) * p - p * u, "gave -0.1632 first, and 0.1632"),
    "a plus": (lambda p, u: p * u + p * rows_of(p, u), "your row sums to -0.86"),
    "the sum instead of the dot product": (
        lambda p, u: p * u - p * u.sum(-1, True),
        "the plain sum of u, 5.799",
    ),
    "the mean instead of the dot product": (
        lambda p, u: p * (u - u.mean(-1, True)),
        "the plain mean of u, 0.8284",
    ),
    "the diagonal of the Jacobian": (
        lambda p, u: (p - p**2) * u,
        "−p_i·p_j, are missing, and your row sums to -0.0874",
    ),
    "p missing behind the dot product": (
        lambda p, u: p * u - rows_of(p, u),
        "your row sums to 2.58 instead of 0",
    ),
    "p missing in front": (lambda p, u: u - rows_of(p, u), "as it is, to 6.837"),
    "the log-softmax instead": (lambda p, u: u - u.sum(-1, True) * p, "through *log*-softmax"),
    "one dot product for all rows": (
        lambda p, u: p * (u - torch.sum(p * u)),
        "You subtract one number from all rows",
    ),
    "dot products down the columns": (
        lambda p, u: p * u - p * (p * u).sum(0, keepdim=True),
        "run over the first axis",
    ),
    "softmax applied again": (
        lambda p, u: F.softmax(p, -1) * (u - rows_of(F.softmax(p, -1), u)),
        "p holds weights already",
    ),
    "axis dropped": (lambda p, u: p * u - p * torch.sum(p * u, -1), "(5, 7) becomes (5,)"),
    "a matrix product for the dot products": (
        lambda p, u: p * u - p * torch.matmul(p, u),
        "(5, 7) by (5, 7) does not fit",
    ),
}


def matrix_product(p, u):
    jacobian = torch.diag_embed(p) - torch.einsum("...s,...t->...st", p, p)
    return torch.einsum("...st,...t->...s", jacobian, u)


def outer_product(p, u):
    return p * u - torch.einsum("...st,...t->...s", p.unsqueeze(-1) * p.unsqueeze(-2), u)


def by_autograd(p, u):
    z = p.log().requires_grad_()
    return torch.autograd.grad(z.softmax(-1), z, u)[0]


RIGHT_PRODUCT = {
    "by hand": lambda p, u: p * u - rows_of(p, u) * p,
    "centred": lambda p, u: p * (u - (u * p).sum(-1, keepdim=True)),
    "by autograd": by_autograd,
}


def entropy_with(rule, log=torch.log, axis=-1):
    """The gradient from p, its logarithms and H, put together by `rule`."""

    def entropy_gradient(z):
        p = torch.softmax(z, axis)
        H = torch.sum(-p * log(p), axis, keepdim=True)
        return rule(p, log(p), H)

    return entropy_gradient


def dropped(z):
    p = z.softmax(-1)
    return -p * (p.log() - (p * p.log()).sum(-1))


def long_way_round(z):
    p = z.softmax(-1)
    return RIGHT_PRODUCT["centred"](p, -(p.log() + 1))


def safe(rule):
    def entropy_gradient(z):
        logs = F.log_softmax(z, -1)
        return rule(logs.exp(), logs, -(logs.exp() * logs).sum(-1, keepdim=True))

    return entropy_gradient


def own_logarithms(z):
    logs = z - z.exp().sum(-1, keepdim=True).log()
    return -logs.exp() * (logs - (logs.exp() * logs).sum(-1, keepdim=True))


WRONG_ENTROPY_GRADIENT = {
    "by the weights instead of the scores": (
        entropy_with(lambda p, log_p, H: -1 - log_p),
        "the derivative by p. Asked for",
    ),
    "the derivative by p, times p": (
        entropy_with(lambda p, log_p, H: -p - p * log_p),
        "a gradient that sums to 0.4661",
    ),
    "the derivative by p, times p(1 − p)": (
        entropy_with(lambda p, log_p, H: (p**2 - p) * (1 + log_p)),
        "sums to 0.3782 instead of 0",
    ),
    "the other sign": (
        entropy_with(lambda p, log_p, H: p * log_p + p * H),
        "gave (-0.04284, 0.06383",
    ),
    "no H": (entropy_with(lambda p, log_p, H: -p * log_p), "sums to 1.396 = H"),
    "H without its minus": (
        entropy_with(lambda p, log_p, H: p * (H - log_p)),
        "You subtract H = 1.396 in the bracket",
    ),
    "p missing": (entropy_with(lambda p, log_p, H: -H - log_p), "multiplied by its p: a score"),
    "in bits": (
        entropy_with(lambda p, log_p, H: -p * (log_p + H), log=torch.log2),
        "1.443 = 1/ln 2 times too large",
    ),
    "the entropy itself": (
        lambda z: torch.distributions.Categorical(logits=z).entropy(),
        "one number a row. Its gradient",
    ),
    "the entropy itself, as a column": (
        entropy_with(lambda p, log_p, H: H),
        "one number a row, as a column",
    ),
    "effective tokens": (
        entropy_with(lambda p, log_p, H: torch.exp(H) * -p * (log_p + H)),
        "with H = 1.396. The chain rule is right",
    ),
    "divided by the number of scores": (
        entropy_with(lambda p, log_p, H: -p * (log_p + H) / p.size(-1)),
        "not a mean",
    ),
    "one entropy for all rows": (
        entropy_with(lambda p, log_p, H: -p * (log_p - (p * log_p).sum())),
        "You take one H for all rows",
    ),
    "softmax over the first axis": (
        entropy_with(lambda p, log_p, H: -p * (log_p + H), axis=0),
        "Your softmax and sums run over the first axis",
    ),
    "axis dropped": (dropped, "(5, 7) becomes (5,)"),
    "0 times the logarithm of 0": (
        entropy_with(lambda p, log_p, H: -p * (log_p + H)),
        "the row (0, -200, 1) gave (NaN, NaN, NaN)",
    ),
    "log-sum-exp without the maximum": (own_logarithms, "the row (1000, 1001) gave (NaN, NaN)"),
}


def entropy_by_autograd(z):
    z = z.clone().requires_grad_()
    H = safe(lambda p, log_p, H: H)(z)
    return torch.autograd.grad(H.sum(), z)[0]


RIGHT_ENTROPY_GRADIENT = {
    "by hand": safe(lambda p, log_p, H: -p * (log_p + H)),
    "through exercise 2": safe(lambda p, log_p, H: RIGHT_PRODUCT["by hand"](p, -(log_p + 1))),
    "with a lowest weight": entropy_with(
        lambda p, log_p, H: -p * (log_p + H), log=lambda p: p.clamp(min=1e-30).log()
    ),
    "by autograd": entropy_by_autograd,
}
