"""What lecture 04 claims of trained models; `make claims LECTURE=04` runs it on fresh seeds."""

from functools import lru_cache, partial

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from course_utils.layers import FeedForward, LayerNorm, MultiHeadAttention, Rotary
from course_utils.lectures.l04_positions import experiments
from course_utils.masks import causal_mask
from course_utils.teaching.claims import RATES, Claim, Setting
from course_utils.training import TEST_SEED, rate_factor, train

__all__ = ["CLAIMS"]

PLACES, KINDS = 16, 8  # places to name, and kinds of tokens beside the start token
TEXTS = ALIKE, RANDOM, MARKED = "all tokens alike", "random tokens", "a start token, then alike"
TRAINED, LONGEST = 32, 256  # notes
NEAR, AWAY = 8, None  # kinds of keys: the answer stays near, or moves away
# Readers of another width.
WIDER = Setting("twice the width", arguments={"width": 128})
NARROWER = Setting("half the width", arguments={"width": 32})
RIGHT, LOST = "of 1: share right", "of 1"


class Counter(nn.Module):
    """One causal attention layer without positions, and a feed-forward network: names places."""

    def __init__(self, width):
        super().__init__()
        self.tokens = nn.Embedding(KINDS + 1, width)
        self.attention, self.norm = MultiHeadAttention(width, 4), LayerNorm(width)
        self.feedforward, self.output = FeedForward(width, 4 * width), nn.Linear(width, PLACES)

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
def run_counting(seeds, steps, width=32):
    """The mean probability of the right place, for each kind of text."""
    found = [{} for _ in seeds]
    for text in TEXTS:
        batch = partial(tokens_to_count, text)
        [ids] = batch(torch.Generator().manual_seed(TEST_SEED))
        with torch.enable_grad():
            done = train(
                partial(Counter, width),
                batch,
                count_loss,
                seeds=seeds,
                steps=steps,
                learning_rate=0.004,
            )
        for numbers, model in zip(found, done.models, strict=True):
            chances = model(ids).softmax(dim=-1)  # (B, T, PLACES)
            numbers[text] = chances.diagonal(dim1=1, dim2=2).mean()
    return found


@lru_cache
def readers(scheme, seeds, steps, width, _rate_factor):
    """Train the lecture's readers; several claims ask for the same ones."""
    notes = partial(experiments.recall_notes, 16, TRAINED)
    return train(
        partial(experiments.NoteReader, scheme, width=width),
        notes,
        experiments.note_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=0.004,
    ).models


def shares(scheme, seeds, steps, length, num_keys, rotary=None, width=64, fresh_every=None):
    """Return the share of right answers of each seed; `rotary` stretches RoPE for this test."""
    found = []
    for model in readers(scheme, tuple(seeds), steps, width, rate_factor()):
        if rotary:
            experiments.stretch_rotary(model, rotary)  # pyright: ignore[reportArgumentType]
        keys = {"num_keys": num_keys, "fresh_every": fresh_every}
        found.append(experiments.recall_accuracy(model, [length], **keys).item())
        if rotary:
            experiments.stretch_rotary(model, Rotary())  # pyright: ignore[reportArgumentType]
    return found


def lost(scheme, seeds, steps, num_keys, rotary=None, length=LONGEST, width=64):
    """Return what each seed loses from the training length to a longer one."""
    before = shares(scheme, seeds, steps, TRAINED, num_keys, width=width)
    after = shares(scheme, seeds, steps, length, num_keys, rotary, width)
    return [a - b for a, b in zip(before, after, strict=True)]


def rows(columns):
    """Turn a list for each name into a dict for each seed."""
    return [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]


def run_without(seeds, steps, width=64):
    """No positions, after many steps; and RoPE after the lecture's."""
    none = shares("none", seeds, steps, TRAINED, NEAR, width=width)
    rope = shares("rope", seeds, min(steps, 350), TRAINED, NEAR, width=width)
    return rows({"no positions": none, "RoPE after 350 steps": rope})


def run_fixed(seeds, steps, width=64):
    """What is lost at twice the training length."""
    ways = "learned", "sinusoidal", "rope"
    learned, sinusoidal, rope = (
        lost(way, seeds, steps, NEAR, length=64, width=width) for way in ways
    )
    smaller = [min(pair) for pair in zip(learned, sinusoidal, strict=True)]
    return rows({"the better of the two, accuracy lost": smaller, "RoPE, accuracy lost": rope})


def run_rope(seeds, steps, width=64):
    """What RoPE and ALiBi lose when the answer stays near."""
    rope, alibi = (lost(way, seeds, steps, NEAR, width=width) for way in ("rope", "alibi"))
    return rows({"RoPE, accuracy lost": rope, "ALiBi, accuracy lost": alibi})


def run_few_rivals(seeds, steps, width=64):
    """What plain and interpolated RoPE lose where neither distance nor notes of a key grow."""
    before = shares("rope", seeds, steps, TRAINED, NEAR, width=width)
    stretched = Rotary(interpolation=LONGEST / TRAINED)
    found = {}
    for name, rotary in (("RoPE, accuracy lost", None), ("interpolated", stretched)):
        after = shares("rope", seeds, steps, LONGEST, NEAR, rotary, width, fresh_every=TRAINED)
        found[name] = [a - b for a, b in zip(before, after, strict=True)]
    return rows(found)


def run_rope_away(seeds, steps, width=64):
    """Where RoPE ends when the answer moves away, and where no positions do."""
    rope, none = (shares(way, seeds, steps, LONGEST, AWAY, width=width) for way in ("rope", "none"))
    trained = shares("rope", seeds, steps, TRAINED, AWAY, width=width)
    return rows({"RoPE": rope, "no positions": none, "RoPE at 32 notes": trained})


def run_alibi(seeds, steps, width=64):
    """What ALiBi loses in the two tests."""
    near, away = (lost("alibi", seeds, steps, keys, width=width) for keys in (NEAR, AWAY))
    return rows({"near, accuracy lost": near, "moving away, accuracy lost": away})


def run_interpolated(seeds, steps, width=64):
    """What interpolated RoPE loses in the two tests, and plain RoPE in the second."""
    stretched = Rotary(interpolation=LONGEST / TRAINED)
    near, away = (lost("rope", seeds, steps, keys, stretched, width=width) for keys in (NEAR, AWAY))
    names = "moving away, accuracy lost", "near, accuracy lost", "plain RoPE, moving away"
    plain = lost("rope", seeds, steps, AWAY, width=width)
    return rows(dict(zip(names, (away, near, plain), strict=True)))


def run_ntk(seeds, steps, width=64):
    """What NTK gains over plain RoPE, and what it is short of the best: the least of both tests."""
    ntk, interpolated = Rotary(ntk=LONGEST / TRAINED), Rotary(interpolation=LONGEST / TRAINED)

    def ends(scheme, keys, rotary=None):
        return shares(scheme, seeds, steps, LONGEST, keys, rotary, width)

    best = ends("alibi", NEAR), ends("rope", AWAY, interpolated)
    gains, gaps = [], []
    for keys, top in zip((NEAR, AWAY), best, strict=True):
        scaled, plain = ends("rope", keys, ntk), ends("rope", keys)
        gains.append([a - b for a, b in zip(scaled, plain, strict=True)])
        gaps.append([a - b for a, b in zip(top, scaled, strict=True)])
    least_gain, least_gap = (
        [min(pair) for pair in zip(*each, strict=True)] for each in (gains, gaps)
    )
    return rows({"gain over plain RoPE": least_gain, "short of the best": least_gap})


CLAIMS = (
    Claim(
        name="a_start_token_lets_it_count",
        sentence="Trained for 300 steps to name its place among 16, one causal layer without "
        "positions gives the right place a mean probability above 0.9 where a start token comes "
        "first, 1/16 within 0.001 where all tokens are alike, and between 0.1 and 0.9 where tokens "
        "are random.",
        run=run_counting,
        holds=lambda n: (
            n[MARKED] > 0.9 and abs(n[ALIKE] - 1 / PLACES) < 1e-3 and 0.1 < n[RANDOM] < 0.9
        ),
        effect=MARKED,
        unit="of 1: mean probability",
        rival=RANDOM,
        budget=300,
        quick=20,
        settings=(*RATES, Setting("twice the width", arguments={"width": 64})),
    ),
    Claim(
        name="without_positions_it_mixes",
        sentence="In 1,400 steps of training, a one-layer reader without positions does not learn "
        "to recall the last value of a key from 32 notes: it is right at fewer than 55 % of the "
        "places where order matters.",
        run=run_without,
        holds=lambda n: n["no positions"] < 0.55,
        at_stake=lambda n: n["RoPE after 350 steps"] > 0.55,  # else nothing learns
        effect="no positions",
        unit=RIGHT,
        rival="RoPE after 350 steps",
        budget=1400,
        quick=10,
        settings=(*RATES, NARROWER),
    ),
    Claim(
        name="fixed_positions_fall_at_once",
        sentence="Readers with learned and with sinusoidal positions, trained for 350 steps to "
        "recall the last value of a key from 32 notes, both lose more than 0.2 of their accuracy "
        "at 64 notes when the answer stays near.",
        run=run_fixed,
        holds=lambda n: n["the better of the two, accuracy lost"] > 0.2,
        effect="the better of the two, accuracy lost",
        unit=LOST,
        rival="RoPE, accuracy lost",
        budget=350,
        quick=10,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="rope_falls",
        sentence="A reader with RoPE, trained for 350 steps to recall the last value of a key from "
        "32 notes, loses more than 0.2 of its accuracy at 256 notes of the same 8 keys.",
        run=run_rope,
        holds=lambda n: n["RoPE, accuracy lost"] > 0.2,
        effect="RoPE, accuracy lost",
        unit=LOST,
        rival="ALiBi, accuracy lost",
        budget=350,
        quick=10,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="few_rivals_rope_loses_little",
        sentence="A reader with RoPE, trained for 350 steps to recall the last value of a key from "
        "32 notes, loses less than 0.15 of its accuracy at 256 notes when every 32 notes have 8 "
        "keys of their own, so that neither the distance of the answer nor the notes of a key "
        "become more; interpolated for 256, it loses more than 0.15.",
        run=run_few_rivals,
        holds=lambda n: n["RoPE, accuracy lost"] < 0.15 < n["interpolated"],
        effect="RoPE, accuracy lost",
        unit=LOST,
        rival="interpolated",
        budget=350,
        quick=10,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="rope_ends_where_none_does",
        sentence="Of readers trained for 350 steps to recall the last value of a key from 32 "
        "notes, one with plain RoPE and one without positions are right equally often, within 0.1, "
        "at 256 notes of 64 keys, where the answer is further away.",
        run=run_rope_away,
        holds=lambda n: abs(n["RoPE"] - n["no positions"]) < 0.1,
        at_stake=lambda n: n["RoPE at 32 notes"] > 0.55,  # else RoPE has learned nothing to lose
        effect="RoPE",
        unit=RIGHT,
        rival="no positions",
        budget=350,
        quick=10,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="alibi_holds_near",
        sentence="A reader with ALiBi, trained for 350 steps to recall the last value of a key "
        "from 32 notes, loses less than 0.05 of its accuracy at 256 notes when the answer stays "
        "near, and more than 0.3 when it moves away.",
        run=run_alibi,
        holds=lambda n: n["near, accuracy lost"] < 0.05 and n["moving away, accuracy lost"] > 0.3,
        effect="near, accuracy lost",
        unit=LOST,
        rival="moving away, accuracy lost",
        budget=350,
        quick=10,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="interpolated_rope_holds_away",
        sentence="A reader with RoPE, trained for 350 steps to recall the last value of a key from "
        "32 notes and interpolated for 256, loses less than 0.15 of its accuracy at 256 notes when "
        "the answer moves away, and more than 0.15 when it stays near.",
        run=run_interpolated,
        holds=lambda n: n["moving away, accuracy lost"] < 0.15 < n["near, accuracy lost"],
        effect="moving away, accuracy lost",
        unit=LOST,
        rival="plain RoPE, moving away",
        budget=350,
        quick=10,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="ntk_helps_and_is_not_best",
        sentence="A reader with RoPE, trained for 350 steps to recall the last value of a key from "
        "32 notes, is right more often at 256 notes with NTK scaling than without, whether the "
        "answer stays near or moves away; but less often than ALiBi when it stays near, and than "
        "interpolated RoPE when it moves away.",
        run=run_ntk,
        holds=lambda n: n["gain over plain RoPE"] > 0 and n["short of the best"] > 0,
        effect="gain over plain RoPE",
        unit="of 1: share right, the smaller of two tests",
        budget=350,
        quick=10,
        settings=(*RATES, WIDER),
    ),
)
