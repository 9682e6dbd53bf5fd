"""What lecture 07 claims of trained models; `make claims LECTURE=07` runs it on fresh seeds."""

from typing import Any

import torch

from course_utils.language_modeling import text_loss
from course_utils.lectures.l07_dynamic_pruning.experiments import adapting, depths, experts, pruning
from course_utils.lectures.l07_dynamic_pruning.experiments.sharing import share_heads
from course_utils.models.small_gpt import load_small_gpt
from course_utils.teaching.claims import Claim

__all__ = ["CLAIMS"]

RULES = ("magnitude", "brain damage")
ROUNDS = (0.5, 0.7, 0.8, 0.9, 0.95)


def trained_readers(seeds, steps) -> list[Any]:
    """The readers of digits, before anything is pruned."""
    return pruning.train_digit_readers(seeds=seeds, steps=steps).models


def run_one_shot(seeds, steps):
    """Both rules at 70 %, at one go."""
    readers = trained_readers(seeds, steps)
    found = pruning.pruned_accuracies(readers, (0.7,), rules=RULES)
    return [{rule: found[rule][row, 0] for rule in RULES} for row in range(len(seeds))]


def run_rounds(seeds, steps):
    """Both rules to 95 % in rounds, after a first training of so many steps."""
    readers = trained_readers(seeds, steps)
    found = pruning.pruned_in_rounds(
        readers, ROUNDS, seeds=seeds, steps=min(steps, 150), rules=RULES
    )
    return [
        {f"{rule}, {share:.0%}": found[rule][row, place] for rule in RULES
         for place, share in enumerate(ROUNDS)}
        for row in range(len(seeds))
    ]  # fmt: skip


def run_rescaled(seeds, steps):
    """What the rescaling of units costs each rule at 70 %."""
    readers = trained_readers(seeds, steps)
    streams = [torch.Generator().manual_seed(seed) for seed in seeds]
    rescaled = [pruning.rescale_units(*each) for each in zip(readers, streams, strict=True)]
    before, after = (
        pruning.pruned_accuracies(each, (0.7,), rules=RULES) for each in (readers, rescaled)
    )
    return [
        {rule: before[rule][row, 0] - after[rule][row, 0] for rule in RULES}
        for row in range(len(seeds))
    ]


def experts_of(seeds, steps, balance, **model):
    """Return the largest and the smallest share, and the error, for each seed."""
    (done,) = experts.train_experts((balance,), seeds=seeds, steps=steps, **model).values()
    shares = [experts.expert_shares(each) for each in done.models]
    errors = [experts.plane_error(each) for each in done.models]
    return [(s.max(), s.min(), e) for s, e in zip(shares, errors, strict=True)]


def run_collapse(seeds, steps):
    """The largest share with no cure, and with the balance loss."""
    none, cured = (experts_of(seeds, steps, balance) for balance in ("none", "loss"))
    return [
        {"largest share": a[0], "with the balance loss": b[0]}
        for a, b in zip(none, cured, strict=True)
    ]


def run_cures(seeds, steps):
    """Shares and errors with either cure, beside no cure, and beside no cure and nothing shared."""
    cures = [experts_of(seeds, steps, balance) for balance in ("loss", "bias")]
    none = experts_of(seeds, steps, "none")
    apart = experts_of(seeds, steps, "none", common=0.0)
    return [
        {
            "largest share": max(loss[0], bias[0]),
            "smallest share": min(loss[1], bias[1]),
            "error, worse of two cures": max(loss[2], bias[2]),
            "error, better of two cures": min(loss[2], bias[2]),
            "error, no cure": none[2],
            "error, nothing shared": apart[2],
            "largest share, nothing shared": apart[0],
        }
        for loss, bias, none, apart in zip(*cures, none, apart, strict=True)
    ]


def run_dense(seeds, steps):
    """Experts, cured, beside one network of as much work, and one of as many numbers."""
    cured = experts_of(seeds, steps, "loss")
    dense, wide = (
        experts_of(seeds, steps, "none", num_experts=1, hidden=hidden) for hidden in (16, 64)
    )
    return [
        {"four experts": a[2], "one network, same work": b[2], "four times as wide": c[2]}
        for a, b, c in zip(cured, dense, wide, strict=True)
    ]


def run_shared_heads(seeds, steps):
    """What two heads cost just after pooling, and after some more training."""
    rows = []
    for seed in seeds:  # a GPT fills the processor by itself: side by side would be slower
        found = share_heads((4, 2), steps=steps, seeds=(seed,))
        lost = found[2].pooled_loss - found[4].pooled_loss
        left = (found[2].healed_losses - found[4].healed_losses).item()
        rows.append({"nats still lost": left, "lost after pooling": lost})
    return rows


def run_lora(seeds, steps):
    """Which share of the gain of the same matrices, trained in full, ranks 1 and 16 reach."""
    before = text_loss(load_small_gpt(), adapting.course_tokens().code_unseen, length=64)
    kinds = {1: {}, 16: {}, None: {"only_matrices": True}}
    rows = []
    for seed in seeds:
        done = {
            rank: adapting.adapt_to_code(rank, steps=steps, seeds=(seed,), **kind)
            for rank, kind in kinds.items()
        }
        gains = {rank: before - each.code_losses.item() for rank, each in done.items()}
        rows.append(
            {
                "share of the gain, rank 1": gains[1] / gains[None],
                "rank 16": gains[16] / gains[None],
                "prose, rank 1": done[1].prose_losses.item(),
                "prose, blocks": done[None].prose_losses.item(),
            }
        )
    return rows


def run_spectrum(seeds, steps):
    """The energy in the 16 largest singular values, and what cutting to them leaves."""
    model, unseen = load_small_gpt(), adapting.course_tokens().code_unseen
    before = text_loss(model, unseen, length=64)
    rows = []
    for seed in seeds:
        done = adapting.adapt_to_code(None, steps=steps, seeds=(seed,))
        (trained,) = done.training.models
        changes = adapting.matrix_changes(model, trained)
        energies = [torch.linalg.svdvals(each).square() for each in changes.values()]
        cut = text_loss(adapting.cut_changes(model, trained, 16), unseen, length=64)
        rows.append(
            {
                "least energy in 16": min(e[:16].sum() / e.sum() for e in energies),
                "a random matrix": 0.24,
                "share of the gain": (before - cut) / (before - done.code_losses.item()),
            }
        )
    return rows


def run_early_router(seeds, steps):
    """The share of the sums that each router keeps."""
    found = depths.train_card_readers(("router", "router, late"), seeds=seeds, steps=steps)
    early, late = ([depths.card_scores(m).sums_kept for m in f.models] for f in found.values())
    return [{"sums kept": a, "router, late": b} for a, b in zip(early, late, strict=True)]


def run_late_router(seeds, steps):
    """The losses of the late router, of random choice and of the oracle."""
    ways = ("router, late", "random", "oracle")
    found = depths.train_card_readers(ways, seeds=seeds, steps=steps)
    rows = [[depths.card_scores(m).loss for m in found[way].models] for way in ways]
    return [dict(zip(ways, each, strict=True)) for each in zip(*rows, strict=True)]


CLAIMS = (
    Claim(
        name="brain_damage_one_shot",
        sentence="At 70 %, at one go and after 150 steps of training, brain damage keeps more "
        "accuracy than magnitude in {held} of {tried} fresh runs.",
        run=run_one_shot,
        holds=lambda n: n["brain damage"] > n["magnitude"],
        effect="brain damage",
        baseline="magnitude",
        budget=150,
        quick=5,
    ),
    Claim(
        name="magnitude_one_shot_trained_longer",
        sentence="After 1,000 steps it is magnitude that keeps more, in {held} of {tried}.",
        run=run_one_shot,
        holds=lambda n: n["magnitude"] > n["brain damage"],
        effect="magnitude",
        baseline="brain damage",
        budget=1000,
        quick=5,
    ),
    Claim(
        name="brain_damage_in_rounds",
        sentence="In rounds to 95 %, brain damage keeps more than magnitude in {held} of {tried} "
        "fresh runs.",
        run=run_rounds,
        holds=lambda n: n["brain damage, 95%"] > n["magnitude, 95%"],
        effect="brain damage, 95%",
        baseline="magnitude, 95%",
        budget=150,
        quick=5,
    ),
    Claim(
        name="brain_damage_in_rounds_trained_longer",
        sentence="Trained for 1,000 steps before the first round, it does so in {held} of {tried}.",
        run=run_rounds,
        holds=lambda n: n["brain damage, 95%"] > n["magnitude, 95%"],
        effect="brain damage, 95%",
        baseline="magnitude, 95%",
        budget=1000,
        quick=5,
    ),
    Claim(
        name="rescaling_misleads_magnitudes",
        sentence="Rescaling costs magnitude more than 0.05 of the accuracy at 70 %, and brain "
        "damage less than 0.01.",
        run=run_rescaled,
        holds=lambda n: n["magnitude"] > 0.05 and abs(n["brain damage"]) < 0.01,
        effect="magnitude",
        baseline="brain damage",
        budget=150,
        quick=5,
    ),
    Claim(
        name="experts_collapse",
        sentence="Without a cure, one expert takes more than 60 % of the tokens in {held} of "
        "{tried} fresh runs.",
        run=run_collapse,
        holds=lambda n: n["largest share"] > 0.6,
        effect="largest share",
        baseline="with the balance loss",
        budget=500,
        quick=10,
    ),
    Claim(
        name="experts_cured",
        sentence="With either cure, every share lies between half of 25 % and twice that, and the "
        "error is lower than without.",
        run=run_cures,
        holds=lambda n: (
            n["largest share"] < 0.5
            and n["smallest share"] > 0.125
            and n["error, worse of two cures"] < n["error, no cure"]
        ),
        effect="error, worse of two cures",
        baseline="error, no cure",
        budget=500,
        quick=10,
    ),
    Claim(
        name="nothing_shared_no_collapse",
        sentence="With nothing shared and no cure, every share is below one half, and in {held} of "
        "{tried} fresh runs the error is below that of both cures.",
        run=run_cures,
        holds=lambda n: (
            n["largest share, nothing shared"] < 0.5
            and n["error, nothing shared"] < n["error, better of two cures"]
        ),
        effect="error, nothing shared",
        baseline="error, better of two cures",
        budget=500,
        quick=10,
    ),
    Claim(
        name="experts_beat_one_network",
        sentence="For the same work, four experts with the balance loss have a lower error than "
        "one network.",
        run=run_dense,
        holds=lambda n: n["four experts"] < n["one network, same work"],
        effect="four experts",
        baseline="one network, same work",
        budget=500,
        quick=10,
    ),
    Claim(
        name="experts_beat_as_many_numbers",
        sentence="One network of four times the width, which stores about as many numbers and does "
        "four times the work, has the higher error in {held} of {tried} fresh runs.",
        run=run_dense,
        holds=lambda n: n["four experts"] < n["four times as wide"],
        effect="four experts",
        baseline="four times as wide",
        budget=500,
        quick=10,
    ),
    Claim(
        name="shared_heads_heal",
        sentence="With G = 2, 30 steps of training bring back more than half of what pooling cost.",
        run=run_shared_heads,
        holds=lambda n: n["nats still lost"] < n["lost after pooling"] / 2,
        effect="nats still lost",
        baseline="lost after pooling",
        budget=30,
        quick=1,
    ),
    Claim(
        name="thin_changes_learn_most",
        sentence="Rank 1 brings more than 70 % of what *blocks* gains and forgets less of the "
        "prose; rank 16 brings more than 85 %.",
        run=run_lora,
        holds=lambda n: (
            n["share of the gain, rank 1"] > 0.7
            and n["rank 16"] > 0.85
            and n["prose, rank 1"] < n["prose, blocks"]
        ),
        effect="share of the gain, rank 1",
        baseline="rank 16",
        budget=60,
        quick=1,
    ),
    Claim(
        name="full_changes_are_thin",
        sentence="In every matrix the 16 largest hold more than half of the energy, and with all "
        "changes cut to rank 16 more than 90 % of the gain is left.",
        run=run_spectrum,
        holds=lambda n: n["least energy in 16"] > 0.5 and n["share of the gain"] > 0.9,
        effect="least energy in 16",
        baseline="a random matrix",
        budget=60,
        quick=1,
    ),
    Claim(
        name="early_router_keeps_no_sum",
        sentence="A router that chooses from the first step on keeps not a single sum in {held} of "
        "{tried} fresh runs, each four times as long as here.",
        run=run_early_router,
        holds=lambda n: n["sums kept"] < 0.005,
        effect="sums kept",
        baseline="router, late",
        budget=800,
        quick=6,
    ),
    Claim(
        name="late_router_beats_chance",
        sentence="With an oracle the loss is below 0.05, random choice loses 0.30 nats within "
        "0.05, and the late router loses less than random choice.",
        run=run_late_router,
        holds=lambda n: (
            n["oracle"] < 0.05
            and abs(n["random"] - depths.expected_loss(0.25, "random")) < 0.05
            and n["router, late"] < n["random"]
        ),
        effect="router, late",
        baseline="random",
        budget=200,
        quick=6,
    ),
)
