"""Wrong answers to the exercises of the lectures, each beside words that its diagnosis must hold.

They are written anew, as a student would write them, not taken from the exercises.
"""

import torch
import torch.nn.functional as F

from course_utils.lectures.l01_scaling.mystery_models import HEAD_WIDTH, suspects


def attention_with(q, k, v, scale=None, weigh=None):
    """Textbook attention through torch, with one step replaced."""
    scores = (q @ k.transpose(0, 1)) * (q.size(1) ** -0.5 if scale is None else scale)
    weights = F.softmax(scores, 1) if weigh is None else weigh(scores)
    return torch.matmul(weights, v), weights


def two_sided_attention(q, k, v):
    weights = F.softmax(k.matmul(q.t()) / q.size(1) ** 0.5, 1)
    return weights.matmul(v), weights


def untransposed_attention(q, k, v):
    weights = F.softmax(q.matmul(k) / q.size(1) ** 0.5, 1)
    return weights.matmul(v), weights


WRONG_ATTENTION = {
    "no scale": (lambda q, k, v: attention_with(q, k, v, 1.0), "not scaled"),
    "divides by D": (lambda q, k, v: attention_with(q, k, v, 1 / 3), "divided by D = 3"),
    "multiplies by the root": (
        lambda q, k, v: attention_with(q, k, v, q.size(1) ** 0.5),
        "multiplied by √3 = 1.732",
    ),
    "divides by the root of T": (
        lambda q, k, v: attention_with(q, k, v, len(q) ** -0.5),
        "√T = 2.236, from the number of queries",
    ),
    "divides by the root of S": (
        lambda q, k, v: attention_with(q, k, v, len(k) ** -0.5),
        "√S = 2.646, from the number of keys",
    ),
    "divides by the root of E": (
        lambda q, k, v: attention_with(q, k, v, v.size(1) ** -0.5),
        "from the width of v",
    ),
    "scales after the softmax": (
        lambda q, k, v: attention_with(q, k, v, 1.0, lambda s: F.softmax(s, 1) / 3**0.5),
        "each row of weights sums to 0.5774",
    ),
    "softmax over the queries": (
        lambda q, k, v: attention_with(q, k, v, weigh=lambda s: F.softmax(s, 0)),
        "the first column of your weights sums to 1",
    ),
    "no softmax": (lambda q, k, v: attention_with(q, k, v, weigh=lambda s: s), "raw scaled scores"),
    "exponential without normalisation": (
        lambda q, k, v: attention_with(q, k, v, weigh=lambda s: s.exp()),
        "do not normalise",
    ),
    "sigmoid": (
        lambda q, k, v: attention_with(q, k, v, weigh=lambda s: 1 / (1 + torch.exp(-s))),
        "come from a sigmoid",
    ),
    "scores transposed": (two_sided_attention, "You compute `k @ q.T`"),
    "keys not transposed": (untransposed_attention, "`q @ k` multiplies (5, 3) by (7, 3)"),
    "weights transposed": (
        lambda q, k, v: (attention_with(q, k, v)[1].t() @ v, attention_with(q, k, v)[1]),
        "`weights.T @ v`",
    ),
    "mixes the keys": (
        lambda q, k, v: (attention_with(q, k, v)[1] @ k, attention_with(q, k, v)[1]),
        "an output of width 3",
    ),
    "only the output": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        "the weights are missing",
    ),
    "only the weights": (
        lambda q, k, v: F.softmax(q @ k.t() / 3**0.5, 1),
        "the output is missing",
    ),
    "swapped results": (
        lambda q, k, v: tuple(reversed(attention_with(q, k, v))),
        "in the other order",
    ),
}

WRONG_CROSSOVER = {
    "leading terms only": (lambda C: C, "you gave 7. N = C is the rule of thumb"),
    "no projections": (lambda C: 8 * 2 * C**2 / (2 * 2 * C), "28 = 4C"),
    "multiply-adds on one side": (lambda C: (16 * C**2 - 4 * C**2) / (2 * C), "42 = 6C"),
    "three projections": (lambda C: (16 * C**2 - 6 * C**2) / (4 * C), "17.5 = 2.5C"),
    "half an LSTM": (lambda C: (8 * C**2 - 8 * C**2) / (4 * C), "you gave 0: attention never"),
    "a plain recurrent layer": (lambda C: (4 * C**2 - 8 * C**2) / (4 * C), "a negative length"),
    "fraction upside down": (lambda C: C * 4 / 8, "3.5 = C/2"),
    "one less than where they meet": (lambda C: 2 * C - 1, "you gave 13, the last length"),
    "a width too many": (lambda C: C * (16 * C - 8 * C) / 4, "98 = 2C²"),
}

WRONG_SCORE_VARIANCE = {
    "ignores the variances": (lambda d, a, b: d, "is 64 = d_k."),
    "only the variance of q": (lambda d, a, b: a * d, "is 128 = d_k·σ²_q"),
    "only the variance of k": (lambda d, a, b: b * d, "is 192 = d_k·σ²_k"),
    "standard deviations instead of variances": (
        lambda d, a, b: d * a**0.5 * b**0.5,
        "is 156.8 = d_k·σ_q·σ_k",
    ),
    "standard deviation of the score": (
        lambda d, a, b: (d * a * b) ** 0.5,
        "is 19.6, the root of 384",
    ),
    "adds the variances": (lambda d, a, b: d * a + d * b, "is 320 = d_k·(σ²_q + σ²_k)"),
    "squares d_k": (lambda d, a, b: d * d * a * b, "is 24576, with d_k squared"),
    "forgets the sum": (lambda d, a, b: a * b, "is 6 = σ²_q·σ²_k"),
    "takes the mean of the products": (lambda d, a, b: a * b / d, "is 0.09375"),
    "squares the variances": (lambda d, a, b: d * (a * b) ** 2, "is 2304. You squared"),
}

WRONG_UNIT_NORM_SCALE = {
    "the usual division": (lambda d: d**-0.5, "0.125 = 1/√d_k"),
    "the variance, not its root": (lambda d: d, "64 = d_k"),
    "no scale": (lambda d: 1.0, "you gave 1."),
    "the variance of the cosine": (lambda d: 1 / d, "0.01562 = 1/d_k"),
    "split between q and k": (lambda d: d ** (1 / 4), "2.828, the fourth root"),
    "both norms squared": (lambda d: d * d, "4096 = d_k²"),
    "two vectors, two widths": (lambda d: (d + d) ** 0.5, "11.31 = √(2·d_k)"),
}


def divisors(models, keys):
    """What each model divides by, measured."""
    q, k = torch.ones(2, HEAD_WIDTH), torch.ones(keys, HEAD_WIDTH)
    return {name: (HEAD_WIDTH / model(q, k)[0, 0]).item() for name, model in models.items()}


def nearest(target, keys=7):
    """An answer that looks for the model whose divisor is nearest to `target`."""

    def find_suspect(models):
        found = divisors(models, keys)
        name = min(found, key=lambda each: abs(found[each] - target))
        return name, found[name]

    return find_suspect


def right_name_with(divisor):
    return lambda models: (nearest(512**0.5)(models)[0], divisor)


WRONG_SUSPECT = {
    "measures the first six only": (
        lambda models: (nearest(512**0.5)(suspects())[0], 22.6),
        "The check also shuffles the names",
    ),
    "accuses the right model": (nearest(8.0), "√64 = 8: it is the one that does it right"),
    "accuses the division by d_k": (nearest(64.0), "divides by d_k = 64 itself"),
    "accuses the model without a scale": (nearest(1.0), "does not divide at all"),
    "accuses the division by the root of the length": (
        nearest(7**0.5),
        "its divisor changes with the length; at 512 keys it happens to be 22.63",
    ),
    "accuses the multiplication": (nearest(1 / 8), "multiplies by √d_k = 8"),
    "measures at 512 keys only": (nearest(512**0.5, keys=512), "In one of the shuffles"),
    "gives the square": (right_name_with(512), "not d_model = 512 but the root of it"),
    "gives the factor": (right_name_with(0.0442), "what it multiplies by"),
    "gives the right model's divisor": (right_name_with(8), "8 = √64 is what it should divide by"),
    "gives the ratio to the right scale": (right_name_with(2.83), "= √8 is how much too large"),
}
