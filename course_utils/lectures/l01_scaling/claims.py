"""What lecture 01 claims of random draws; `make claims LECTURE=01` runs it on fresh seeds."""

from functools import wraps

import torch
from torch import nn
from torch.nn.functional import cosine_similarity, layer_norm

from course_utils.lectures.l01_scaling.experiments.score_variance import draw_coordinates
from course_utils.models.encoder import Encoder
from course_utils.models.minilm_or_random import SENTENCES, random_encoder, read_text
from course_utils.seeds import own_random_numbers
from course_utils.teaching.claims import Claim, Setting

__all__ = ["CLAIMS"]

D_K, WIDTH = 64, 384
INITS = {
    "Xavier": nn.init.xavier_uniform_,
    "nn.Linear": lambda w, generator: nn.init.kaiming_uniform_(w, a=5**0.5, generator=generator),
    "BERT": lambda w, generator: nn.init.normal_(w, std=0.02, generator=generator),
}
COINS, UNIFORM = "±1 (coin flips)", "uniform"


def drawn_as(kind):
    """A setting in which coordinates are drawn from another distribution."""
    return Setting(f"coordinates {kind}", arguments={"kind": kind})


def for_each_seed(measure):
    """Return a run that calls ``measure(generator, budget, …)`` once for each seed."""

    @wraps(measure)  # what is kept of a run has its name
    def run(seeds, budget, **arguments):
        return [measure(torch.Generator().manual_seed(seed), budget, **arguments) for seed in seeds]

    return run


def variances(generator, pairs, width=D_K):
    """The variance of a score, over d_k, for several distributions of the coordinates."""
    found = {}
    for kind in ("normal", COINS, UNIFORM, "normal, all equal"):
        q, k = (draw_coordinates(kind, (pairs, width), generator) for _ in range(2))
        found[kind] = (q * k).sum(dim=1).var() / width
    return found


def largest_weights(generator, rows, tokens=64, kind="normal"):
    """The largest of 64 weights, on average."""
    q, k = (draw_coordinates(kind, (count, D_K), generator) for count in (rows, tokens))
    return {
        name: (q @ k.T / divisor).softmax(dim=-1).amax(dim=-1).mean()
        for name, divisor in (("not divided", 1.0), ("divided", D_K**0.5))
    }


def near_right_angles(generator, pairs, kind="normal"):
    """The share of pairs of random directions within five degrees of a right angle."""
    found = {}
    for name, width in (("64 dimensions", D_K), ("in the plane", 2)):
        q, k = (draw_coordinates(kind, (pairs, width), generator) for _ in range(2))
        angles = torch.rad2deg(cosine_similarity(q, k).arccos())
        found[name] = ((angles - 90).abs() < 5).float().mean()
    return found


def fresh_variances(generator, draws, width=WIDTH):
    """The variance of a coordinate of q, over draws of W_q, for one input after LayerNorm."""
    x = layer_norm(torch.randn(width, generator=generator), (width,))
    found = {}
    for name, init in INITS.items():
        q = [init(torch.empty(width, width), generator=generator) @ x for _ in range(draws)]
        found[name] = torch.stack(q).square().mean()
    expected = {"Xavier": 1, "nn.Linear": 1 / 3, "BERT": width * 0.02**2}
    found["largest error"] = max(abs(found[name] / expected[name] - 1) for name in INITS)
    return found


def spread_of_heads(outputs):
    """Return the standard deviation of each head's divided scores over several texts."""
    layers = zip(*([q @ k.mT for q, k in zip(*each, strict=True)] for each in outputs), strict=True)
    spreads = [
        torch.cat([part.flatten(-2) for part in each], dim=-1).std(dim=-1) for each in layers
    ]
    return torch.stack(spreads) / 32**0.5


def run_fresh_encoders(seeds, sentences, init="nn.Linear"):
    """The largest spread of a fresh head, and the smallest of a trained one."""
    config = random_encoder().config
    readings = [read_text(text) for text in SENTENCES[:sentences]]
    trained = spread_of_heads([(each.queries, each.keys) for each in readings])
    found = []
    for seed in seeds:
        with own_random_numbers(seed), torch.no_grad():
            encoder = Encoder(config).eval()
            if init != "nn.Linear":
                for part in encoder.modules():
                    if isinstance(part, nn.Linear):
                        INITS[init](part.weight, generator=None)
            ids = [torch.randint(config.vocab_size, (1, len(each.tokens))) for each in readings]
            fresh = [encoder(each) for each in ids]
        spreads = spread_of_heads([(each.queries, each.keys) for each in fresh])
        found.append({"largest, fresh": spreads.max(), "smallest, trained": trained.min()})
    return found


CLAIMS = (
    Claim(
        name="score_variance_is_the_width",
        sentence="Where the coordinates of q and k are independent with mean 0 and variance 1, be "
        "they normal, coin flips of ±1 or uniform, the variance of 20,000 scores q · k is d_k "
        "within 5 %, at d_k = 64.",
        run=for_each_seed(variances),
        holds=lambda n: max(abs(n[kind] - 1) for kind in list(n)[:3]) < 0.05,
        effect=COINS,
        unit="times d_k",
        rival="normal, all equal",
        budget=20_000,
        quick=100,
        settings=tuple(Setting(f"d_k = {d}", arguments={"width": d}) for d in (8, 512)),
    ),
    Claim(
        name="undivided_rows_are_sharp",
        sentence="For random queries and 64 random keys of 64 dimensions, the largest weight of a "
        "query averages between 0.75 and 0.85 if scores are not divided by √d_k, and between 0.05 "
        "and 0.15 if they are.",
        run=for_each_seed(largest_weights),
        holds=lambda n: 0.75 < n["not divided"] < 0.85 and 0.05 < n["divided"] < 0.15,
        effect="not divided",
        unit="of 1: largest weight",
        rival="divided",
        budget=2000,
        quick=50,
        settings=(drawn_as(COINS), Setting("128 keys", arguments={"tokens": 128})),
    ),
    Claim(
        name="directions_are_nearly_orthogonal",
        sentence="In 64 dimensions, between 48 % and 55 % of all pairs of random directions are "
        "within five degrees of a right angle.",
        run=for_each_seed(near_right_angles),
        holds=lambda n: 0.48 < n["64 dimensions"] < 0.55,
        effect="64 dimensions",
        unit="of 1: share of pairs",
        rival="in the plane",
        budget=20_000,
        quick=200,
        settings=(drawn_as(UNIFORM), drawn_as(COINS)),
    ),
    Claim(
        name="fresh_variance_is_the_initialisations",
        sentence="For one input of mean square 1 and over draws of a square W_q of width 384, a "
        "coordinate of q has variance 1 under Xavier's initialisation, 1/3 under nn.Linear's "
        "default, and 0.0004 times the width, 0.15, under BERT's, each within 5 %.",
        run=for_each_seed(fresh_variances),
        holds=lambda n: n["largest error"] < 0.05,
        effect="Xavier",
        unit="(variance)",
        rival="nn.Linear",
        budget=50,
        quick=2,
        settings=tuple(Setting(f"width {C}", arguments={"width": C}) for C in (128, 768)),
    ),
    Claim(
        name="trained_heads_spread_more_than_fresh",
        sentence="On six sentences, each of MiniLM's 72 heads has a larger standard deviation of "
        "divided scores than every head of an encoder of its shape with nn.Linear's default "
        "initialisation, which reads random tokens.",
        run=run_fresh_encoders,
        holds=lambda n: n["smallest, trained"] > n["largest, fresh"],
        effect="largest, fresh",
        unit="(standard deviation)",
        rival="smallest, trained",
        budget=6,
        quick=1,
        settings=(
            Setting("BERT's initialisation", arguments={"init": "BERT"}),
            Setting("Xavier's initialisation", arguments={"init": "Xavier"}),
        ),
    ),
)
