"""What lecture 01 claims of random draws; `make claims LECTURE=01` runs it on fresh seeds."""

import torch
from torch import nn
from torch.nn.functional import cosine_similarity, layer_norm

from course_utils.lectures.l01_scaling.experiments.score_variance import draw_coordinates
from course_utils.models.encoder import Encoder
from course_utils.models.minilm_or_random import SENTENCES, random_encoder, read_text
from course_utils.teaching.claims import Claim

__all__ = ["CLAIMS"]

D_K, WIDTH = 64, 384
INITS = {
    "Xavier": nn.init.xavier_uniform_,
    "nn.Linear": lambda w, generator: nn.init.kaiming_uniform_(w, a=5**0.5, generator=generator),
    "BERT": lambda w, generator: nn.init.normal_(w, std=0.02, generator=generator),
}


def for_each_seed(measure):
    """Return a run that calls ``measure(generator, budget)`` once for each seed."""

    def run(seeds, budget):
        return [measure(torch.Generator().manual_seed(seed), budget) for seed in seeds]

    return run


def variances(generator, pairs):
    """The variance of a score for several distributions of the coordinates."""
    kinds = "normal", "±1 (coin flips)", "uniform", "normal, all equal"
    found = {}
    for kind in kinds:
        q, k = (draw_coordinates(kind, (pairs, D_K), generator) for _ in range(2))
        found[kind] = (q * k).sum(dim=1).var()
    return found


def largest_weights(generator, rows):
    """The largest of 64 weights, on average."""
    q, k = (torch.randn(count, D_K, generator=generator) for count in (rows, 64))
    return {
        name: (q @ k.T / divisor).softmax(dim=-1).amax(dim=-1).mean()
        for name, divisor in (("not divided", 1.0), ("divided", D_K**0.5))
    }


def near_right_angles(generator, pairs):
    """The share of pairs of random directions within five degrees of a right angle."""
    found = {}
    for name, width in (("64 dimensions", D_K), ("in the plane", 2)):
        q, k = (torch.randn(pairs, width, generator=generator) for _ in range(2))
        angles = torch.rad2deg(cosine_similarity(q, k).arccos())
        found[name] = ((angles - 90).abs() < 5).float().mean()
    return found


def fresh_variances(generator, draws):
    """The variance of a coordinate of q, over draws of W_q, for one input after LayerNorm."""
    x = layer_norm(torch.randn(WIDTH, generator=generator), (WIDTH,))
    found = {}
    for name, init in INITS.items():
        q = [init(torch.empty(WIDTH, WIDTH), generator=generator) @ x for _ in range(draws)]
        found[name] = torch.stack(q).square().mean()
    return found


def spread_of_heads(outputs):
    """Return the standard deviation of each head's divided scores over several texts."""
    layers = zip(*([q @ k.mT for q, k in zip(*each, strict=True)] for each in outputs), strict=True)
    spreads = [
        torch.cat([part.flatten(-2) for part in each], dim=-1).std(dim=-1) for each in layers
    ]
    return torch.stack(spreads) / 32**0.5


def run_fresh_encoders(seeds, sentences):
    """The largest spread of a fresh head, and the smallest of a trained one."""
    config = random_encoder().config
    readings = [read_text(text) for text in SENTENCES[:sentences]]
    trained = spread_of_heads([(each.queries, each.keys) for each in readings])
    found = []
    for seed in seeds:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            encoder = Encoder(config).eval()
            ids = [torch.randint(config.vocab_size, (1, len(each.tokens))) for each in readings]
            fresh = [encoder(each) for each in ids]
        spreads = spread_of_heads([(each.queries, each.keys) for each in fresh])
        found.append({"largest, fresh": spreads.max(), "smallest, trained": trained.min()})
    return found


CLAIMS = (
    Claim(
        name="score_variance_is_the_width",
        sentence="Coins and uniforms do as well as normals, with a variance of 64 within 5 %.",
        run=for_each_seed(variances),
        holds=lambda n: max(abs(n[kind] - 64) for kind in list(n)[:3]) < 0.05 * 64,
        effect="±1 (coin flips)",
        baseline="normal, all equal",
        budget=20_000,
        quick=100,
    ),
    Claim(
        name="undivided_rows_are_sharp",
        sentence="The largest of 64 weights averages about 0.8 without the division, and about 0.1 "
        "with it.",
        run=for_each_seed(largest_weights),
        holds=lambda n: 0.75 < n["not divided"] < 0.85 and 0.05 < n["divided"] < 0.15,
        effect="not divided",
        baseline="divided",
        budget=2000,
        quick=50,
    ),
    Claim(
        name="directions_are_nearly_orthogonal",
        sentence="In 64 dimensions half of all pairs of random directions meet within five degrees "
        "of a right angle.",
        run=for_each_seed(near_right_angles),
        holds=lambda n: 0.48 < n["64 dimensions"] < 0.55,
        effect="64 dimensions",
        baseline="in the plane",
        budget=20_000,
        quick=200,
    ),
    Claim(
        name="fresh_variance_is_the_initialisations",
        sentence="Over draws of the weights a coordinate of q has variance 1.00 under Xavier's "
        "initialisation, 0.33 under nn.Linear's default, and 0.15 under BERT's, each within 5 %.",
        run=for_each_seed(fresh_variances),
        holds=lambda n: all(
            abs(n[name] / expected - 1) < 0.05
            for name, expected in (("Xavier", 1.0), ("nn.Linear", 1 / 3), ("BERT", 0.1536))
        ),
        effect="Xavier",
        baseline="nn.Linear",
        budget=50,
        quick=2,
    ),
    Claim(
        name="trained_heads_spread_more_than_fresh",
        sentence="Every trained head lies above every head of a fresh encoder with nn.Linear's "
        "default.",
        run=run_fresh_encoders,
        holds=lambda n: n["smallest, trained"] > n["largest, fresh"],
        effect="largest, fresh",
        baseline="smallest, trained",
        budget=6,
        quick=1,
    ),
)
