"""What lecture 04 claims of trained models; `make claims LECTURE=04` runs it on fresh seeds."""

from functools import lru_cache, partial

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_utils.layers import FeedForward, LayerNorm, MultiHeadAttention, Rotary
from course_utils.lectures.l04_positions import experiments
from course_utils.masks import causal_mask
from course_utils.teaching.claims import Claim
from course_utils.training import TEST_SEED, train

__all__ = ["CLAIMS"]

PLACES, KINDS = 16, 8  # places to name, and kinds of tokens beside the start token
TEXTS = ALIKE, RANDOM, MARKED = "all tokens alike", "random tokens", "a start token, then alike"
TRAINED, LONGEST = 32, 256  # notes
NEAR, AWAY = 8, None  # kinds of keys: the answer stays near, or moves away


class Counter(nn.Module):
    """One causal attention layer without positions, and a feed-forward network: names places."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(KINDS + 1, 32)
        self.attention, self.norm = MultiHeadAttention(32, 4), LayerNorm(32)
        self.feedforward, self.output = FeedForward(32, 128), nn.Linear(32, PLACES)

    def forward(self, ids):
        """Return logits, (B, T, PLACES)."""
        x = self.tokens(ids)
        x = x + self.attention(x, may_attend=causal_mask(PLACES))[0]
        return self.output(x + self.feedforward(self.norm(x)))


def tokens_to_count(text, generator):
    """Draw 16 texts of one of the three kinds."""
    ids = torch.randint(KINDS if text == RANDOM else 1, (16, PLACES), generator=generator)
    if text == MARKED:
        ids[:, 0] = KINDS
    return (ids,)


def count_loss(model, ids):
    """The cross-entropy of the places."""
    return cross_entropy(model(ids).flatten(0, 1), torch.arange(PLACES).repeat(len(ids)))


@torch.no_grad()
def run_counting(seeds, steps):
    """The mean probability of the right place, for each kind of text."""
    found = [{} for _ in seeds]
    for text in TEXTS:
        batch = partial(tokens_to_count, text)
        [ids] = batch(torch.Generator().manual_seed(TEST_SEED))
        with torch.enable_grad():
            done = train(Counter, batch, count_loss, seeds=seeds, steps=steps, learning_rate=0.004)
        for numbers, model in zip(found, done.models, strict=True):
            chances = model(ids).softmax(dim=-1)  # (B, T, PLACES)
            numbers[text] = chances.diagonal(dim1=1, dim2=2).mean()
    return found


@lru_cache
def readers(scheme, seeds, steps):
    """Train the lecture's readers; several claims ask for the same ones."""
    notes = partial(experiments.recall_notes, 16, TRAINED)
    return train(
        partial(experiments.NoteReader, scheme),
        notes,
        experiments.note_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=0.004,
    ).models


def shares(scheme, seeds, steps, length, num_keys, rotary=None):
    """Return the share of right answers of each seed; `rotary` stretches RoPE for this test."""
    found = []
    for model in readers(scheme, tuple(seeds), steps):
        if rotary:
            experiments.stretch_rotary(model, rotary)  # pyright: ignore[reportArgumentType]
        found.append(experiments.recall_accuracy(model, [length], num_keys=num_keys).item())
        if rotary:
            experiments.stretch_rotary(model, Rotary())  # pyright: ignore[reportArgumentType]
    return found


def lost(scheme, seeds, steps, num_keys, rotary=None, length=LONGEST):
    """Return what each seed loses from the training length to a longer one."""
    before = shares(scheme, seeds, steps, TRAINED, num_keys)
    after = shares(scheme, seeds, steps, length, num_keys, rotary)
    return [a - b for a, b in zip(before, after, strict=True)]


def side_by_side(**columns):
    """Turn a list for each name into a dict for each seed."""
    names = [name.replace("_", " ") for name in columns]
    return [dict(zip(names, each, strict=True)) for each in zip(*columns.values(), strict=True)]


def run_without(seeds, steps):
    """No positions, after many steps; and RoPE after the lecture's."""
    return side_by_side(
        no_positions=shares("none", seeds, steps, TRAINED, NEAR),
        RoPE_after_350_steps=shares("rope", seeds, min(steps, 350), TRAINED, NEAR),
    )


def run_fixed(seeds, steps):
    """What is lost at twice the training length."""
    ways = "learned", "sinusoidal", "rope"
    learned, sinusoidal, rope = (lost(way, seeds, steps, NEAR, length=64) for way in ways)
    smaller = [min(pair) for pair in zip(learned, sinusoidal, strict=True)]
    return side_by_side(loss_of_the_better_one=smaller, loss_of_RoPE=rope)


def run_rope(seeds, steps):
    """What RoPE and ALiBi lose when the answer stays near."""
    return side_by_side(
        loss_of_RoPE=lost("rope", seeds, steps, NEAR),
        loss_of_ALiBi=lost("alibi", seeds, steps, NEAR),
    )


def run_rope_away(seeds, steps):
    """Where RoPE ends when the answer moves away, and where no positions do."""
    return side_by_side(
        RoPE=shares("rope", seeds, steps, LONGEST, AWAY),
        no_positions=shares("none", seeds, steps, LONGEST, AWAY),
    )


def run_alibi(seeds, steps):
    """What ALiBi loses in the two tests."""
    near, away = (lost("alibi", seeds, steps, keys) for keys in (NEAR, AWAY))
    return side_by_side(loss_near=near, loss_moving_away=away)


def run_interpolated(seeds, steps):
    """What interpolated RoPE loses in the two tests, and plain RoPE in the second."""
    stretched = Rotary(interpolation=LONGEST / TRAINED)
    near, away = (lost("rope", seeds, steps, keys, stretched) for keys in (NEAR, AWAY))
    plain = lost("rope", seeds, steps, AWAY)
    return side_by_side(loss_moving_away=away, loss_near=near, plain_RoPE_moving_away=plain)


def run_ntk(seeds, steps):
    """What NTK gains over plain RoPE, and what it is short of the best: the least of both tests."""
    ntk, interpolated = Rotary(ntk=LONGEST / TRAINED), Rotary(interpolation=LONGEST / TRAINED)
    best = (
        shares("alibi", seeds, steps, LONGEST, NEAR),
        shares("rope", seeds, steps, LONGEST, AWAY, interpolated),
    )
    gains, gaps = [], []
    for keys, top in zip((NEAR, AWAY), best, strict=True):
        scaled = shares("rope", seeds, steps, LONGEST, keys, ntk)
        plain = shares("rope", seeds, steps, LONGEST, keys)
        gains.append([a - b for a, b in zip(scaled, plain, strict=True)])
        gaps.append([a - b for a, b in zip(top, scaled, strict=True)])
    least_gain, least_gap = (
        [min(pair) for pair in zip(*each, strict=True)] for each in (gains, gaps)
    )
    return side_by_side(gain_over_plain_RoPE=least_gain, short_of_the_best=least_gap)


CLAIMS = (
    Claim(
        name="a_start_token_lets_it_count",
        sentence="Trained for 300 steps to name its place among 16, one causal layer without "
        "positions gives the right place a probability above 0.9 where a start token comes first, "
        "and 1/16 where all tokens are alike; random tokens lie in between.",
        run=run_counting,
        holds=lambda n: (
            n[MARKED] > 0.9 and abs(n[ALIKE] - 1 / PLACES) < 1e-3 and 0.1 < n[RANDOM] < 0.9
        ),
        effect=MARKED,
        baseline=ALIKE,
        budget=300,
        quick=20,
    ),
    Claim(
        name="without_positions_it_mixes",
        sentence="Without positions, no reader gets beyond 0.55 at 32 notes, even in 1,400 steps.",
        run=run_without,
        holds=lambda n: n["no positions"] < 0.55,
        effect="no positions",
        baseline="RoPE after 350 steps",
        budget=1400,
        quick=10,
    ),
    Claim(
        name="fixed_positions_fall_at_once",
        sentence="*Learned* and *sinusoidal* lose more than 0.2 at 64 notes already.",
        run=run_fixed,
        holds=lambda n: n["loss of the better one"] > 0.2,
        effect="loss of the better one",
        baseline="loss of RoPE",
        budget=350,
        quick=10,
    ),
    Claim(
        name="rope_falls",
        sentence="Plain RoPE loses more than 0.2 from 32 notes to 256 when the answer stays near.",
        run=run_rope,
        holds=lambda n: n["loss of RoPE"] > 0.2,
        effect="loss of RoPE",
        baseline="loss of ALiBi",
        budget=350,
        quick=10,
    ),
    Claim(
        name="rope_ends_where_none_does",
        sentence="When the answer moves away, plain RoPE ends within 0.1 of no positions at all.",
        run=run_rope_away,
        holds=lambda n: abs(n["RoPE"] - n["no positions"]) < 0.1,
        effect="RoPE",
        baseline="no positions",
        budget=350,
        quick=10,
    ),
    Claim(
        name="alibi_holds_near",
        sentence="ALiBi loses less than 0.05 when the answer stays near, and more than 0.3 when "
        "it moves away.",
        run=run_alibi,
        holds=lambda n: n["loss near"] < 0.05 and n["loss moving away"] > 0.3,
        effect="loss near",
        baseline="loss moving away",
        budget=350,
        quick=10,
    ),
    Claim(
        name="interpolated_rope_holds_away",
        sentence="Interpolated RoPE loses less than 0.15 when the answer moves away, and more than "
        "0.15 when it stays near.",
        run=run_interpolated,
        holds=lambda n: n["loss moving away"] < 0.15 < n["loss near"],
        effect="loss moving away",
        baseline="plain RoPE moving away",
        budget=350,
        quick=10,
    ),
    Claim(
        name="ntk_helps_and_is_not_best",
        sentence="NTK scaling ends above plain RoPE in both tests, and is best in neither.",
        run=run_ntk,
        holds=lambda n: n["gain over plain RoPE"] > 0 and n["short of the best"] > 0,
        effect="gain over plain RoPE",
        baseline="short of the best",
        budget=350,
        quick=10,
    ),
)
