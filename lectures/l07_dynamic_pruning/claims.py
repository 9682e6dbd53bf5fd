"""What lecture 07 claims of trained models; `make claims LECTURE=07` runs it on fresh seeds."""

from typing import Any

import torch

from course_utils.teaching.claims import LONGER, RATES, ProgramClaim, Setting
from lectures.l07_dynamic_pruning.experiments import experts, pruning

RULES = ("magnitude", "brain damage")
ROUNDS = (0.5, 0.7, 0.8, 0.9, 0.95)


def trained_readers(seeds, steps) -> list[Any]:
    """The readers of digits, before anything is pruned."""
    return pruning.train_digit_readers(seeds=seeds, steps=steps).models


def run_one_shot(seeds, steps):
    """Both rules at 70 %, in one shot."""
    readers = trained_readers(seeds, steps)
    found = pruning.pruned_accuracies(readers, (0.7,), rules=RULES)
    return [{rule: found[rule][row, 0] for rule in RULES} for row in range(len(seeds))]


def run_rounds(seeds, steps, between=150):
    """Both rules to 95 % in rounds, after a first training of so many steps."""
    readers = trained_readers(seeds, steps)
    found = pruning.pruned_in_rounds(
        readers, ROUNDS, seeds=seeds, steps=min(steps, between), rules=RULES
    )
    return [
        {f"{rule}, 95 % pruned": found[rule][row, -1] for rule in RULES}
        for row in range(len(seeds))
    ]


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


def run_untrained(seeds, draws, common=experts.COMMON, num_experts=4):
    """The largest share before any training: the mean of several routers for each seed."""
    return [
        {
            name: torch.stack(
                [
                    experts.share_at_start(draws * seed + draw, common=c, num_experts=num_experts)
                    for draw in range(draws)
                ]
            ).mean()
            for name, c in (("largest share", common), ("with nothing shared", 0.0))
        }
        for seed in seeds
    ]


def run_undoing(seeds, steps, common=experts.COMMON):
    """The largest share at the start, after a sixth of the steps, and at the end."""
    found = experts.follow_largest_share(
        "a shared coordinate", seeds=seeds, steps=steps, every=steps // 6, common=common
    )
    names = ("start", "a sixth of the steps", "largest share at the end")
    return [dict(zip(names, row[[0, 1, -1]], strict=True)) for row in found.shares]


def run_favourite(seeds, steps, router="the same, weights from 0"):
    """The largest share at an even start, and after so many steps."""
    found = experts.follow_largest_share(router, seeds=seeds, steps=steps, every=steps)
    return [{"largest share": row[-1], "at the start": row[0]} for row in found.shares]


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
            "worse of the two cures": max(loss[2], bias[2]),
            "better of the two cures": min(loss[2], bias[2]),
            "no cure": none[2],
            "nothing shared": apart[2],
        }
        for loss, bias, none, apart in zip(*cures, none, apart, strict=True)
    ]


def run_dense(seeds, steps):
    """Experts, cured, beside one network of as much work, and one of as many parameters."""
    cured = experts_of(seeds, steps, "loss")
    dense, wide = (
        experts_of(seeds, steps, "none", num_experts=1, hidden=hidden) for hidden in (16, 64)
    )
    return [
        {"four experts": a[2], "one network, same work": b[2], "four times as wide": c[2]}
        for a, b, c in zip(cured, dense, wide, strict=True)
    ]


CLAIMS = (
    ProgramClaim(
        name="brain_damage_one_shot",
        sentence="With 70 % of the weights pruned in one shot after 150 steps of training, brain "
        "damage keeps more accuracy than magnitude.",
        run=run_one_shot,
        holds=lambda n: n["brain damage"] > n["magnitude"],
        effect="brain damage",
        unit="accuracy",
        rival="magnitude",
        budget=150,
        quick=5,
        settings=(*RATES, LONGER),
    ),
    ProgramClaim(
        name="magnitude_one_shot_trained_longer",
        sentence="With 70 % of the weights pruned in one shot after 1,000 steps of training, "
        "magnitude keeps more accuracy than brain damage.",
        run=run_one_shot,
        holds=lambda n: n["magnitude"] > n["brain damage"],
        effect="magnitude",
        unit="accuracy",
        rival="brain damage",
        budget=1000,
        quick=5,
        settings=RATES,
    ),
    ProgramClaim(
        name="brain_damage_in_rounds",
        sentence="Pruned in five rounds to 95 %, with 150 steps of training before the first and "
        "after each, brain damage keeps more accuracy than magnitude.",
        run=run_rounds,
        holds=lambda n: n["brain damage, 95 % pruned"] > n["magnitude, 95 % pruned"],
        effect="brain damage, 95 % pruned",
        unit="accuracy",
        rival="magnitude, 95 % pruned",
        budget=150,
        quick=5,
        settings=(
            *RATES,
            Setting("4 × steps after each round", budget=4, arguments={"between": 600}),
        ),
    ),
    ProgramClaim(
        name="brain_damage_in_rounds_trained_longer",
        sentence="Pruned in five rounds to 95 %, with 1,000 steps of training before the first "
        "and 150 after each, brain damage keeps more accuracy than magnitude.",
        run=run_rounds,
        holds=lambda n: n["brain damage, 95 % pruned"] > n["magnitude, 95 % pruned"],
        effect="brain damage, 95 % pruned",
        unit="accuracy",
        rival="magnitude, 95 % pruned",
        budget=1000,
        quick=5,
        settings=(*RATES, Setting("4 × steps after each round", arguments={"between": 600})),
    ),
    ProgramClaim(
        name="rescaling_misleads_magnitudes",
        sentence="Rescaling the hidden units costs magnitude more than 0.05 of the accuracy with "
        "70 % pruned, and brain damage less than 0.01.",
        run=run_rescaled,
        holds=lambda n: n["magnitude"] > 0.05 and abs(n["brain damage"]) < 0.01,
        effect="magnitude",
        unit="accuracy lost",
        rival="brain damage",
        budget=150,
        quick=5,
        settings=(*RATES, LONGER),
    ),
    ProgramClaim(
        name="untrained_routers_prefer_one",
        sentence="Before any training, a router of four experts sends more than 60 % of the tokens "
        "to one of them, on average over 50 draws of its weights, if all tokens share a coordinate "
        "of 5; with nothing shared, it sends less than 50 % to any.",
        run=run_untrained,
        holds=lambda n: n["largest share"] > 0.6 and n["with nothing shared"] < 0.5,
        effect="largest share",
        unit="of the tokens",
        rival="with nothing shared",
        budget=50,
        quick=2,
        settings=(
            Setting("a coordinate of 1", arguments={"common": 1.0}),
            Setting("eight experts", arguments={"num_experts": 8}),
        ),
    ),
    ProgramClaim(
        name="training_undoes_the_preference",
        sentence="Without a cure and with a shared coordinate of 5, the busiest of four experts "
        "takes fewer tokens after 3,000 steps than after 500, and than before the first.",
        run=run_undoing,
        holds=lambda n: n["largest share at the end"] < min(n["a sixth of the steps"], n["start"]),
        effect="largest share at the end",
        unit="of the tokens",
        rival="start",
        budget=3000,
        quick=6,
        settings=(*RATES, Setting("a coordinate of 1", arguments={"common": 1.0})),
    ),
    ProgramClaim(
        name="training_makes_a_favourite",
        sentence="If the router's weights for the shared coordinate start at 0, the busiest of "
        "four experts takes at least 10 % more of all tokens after 200 steps than at the start.",
        run=run_favourite,
        holds=lambda n: n["largest share"] > n["at the start"] + 0.1,
        effect="largest share",
        unit="of the tokens",
        rival="at the start",
        budget=200,
        quick=5,
        settings=(
            *RATES,
            Setting("nothing shared", arguments={"router": "neither"}),
        ),
    ),
    ProgramClaim(
        name="experts_collapse",
        sentence="After 500 steps without a cure and with a shared coordinate of 5, one of four "
        "experts takes more than 60 % of the tokens.",
        run=run_collapse,
        holds=lambda n: n["largest share"] > 0.6,
        effect="largest share",
        unit="of the tokens",
        rival="with the balance loss",
        budget=500,
        quick=10,
        settings=(*RATES, LONGER),
    ),
    ProgramClaim(
        name="experts_cured",
        sentence="After 500 steps with the balance loss, and with the loss-free bias, every one of "
        "four experts takes between 12.5 % and 50 % of the tokens, and the error is lower than "
        "without a cure.",
        run=run_cures,
        holds=lambda n: (
            n["largest share"] < 0.5
            and n["smallest share"] > 0.125
            and n["worse of the two cures"] < n["no cure"]
        ),
        effect="worse of the two cures",
        unit="squared error; predicting zero costs 1",
        rival="no cure",
        budget=500,
        quick=10,
        settings=RATES,
    ),
    ProgramClaim(
        name="nothing_shared_beats_both_cures",
        sentence="After 500 steps with nothing shared and no cure, the error of four experts is "
        "below that of both cures with a shared coordinate of 5.",
        run=run_cures,
        holds=lambda n: n["nothing shared"] < n["better of the two cures"],
        effect="nothing shared",
        unit="squared error; predicting zero costs 1",
        rival="better of the two cures",
        budget=500,
        quick=10,
        settings=RATES,
    ),
    ProgramClaim(
        name="experts_beat_one_network",
        sentence="After 500 steps four experts with the balance loss, one for each token, have a "
        "lower error than one network of the same work.",
        run=run_dense,
        holds=lambda n: n["four experts"] < n["one network, same work"],
        effect="four experts",
        unit="squared error; predicting zero costs 1",
        rival="one network, same work",
        budget=500,
        quick=10,
        settings=(*RATES, LONGER),
    ),
    ProgramClaim(
        name="experts_beat_as_many_parameters",
        sentence="After 500 steps four experts with the balance loss have a lower error than one "
        "network four times as wide, which has about as many parameters and does four times the "
        "work.",
        run=run_dense,
        holds=lambda n: n["four experts"] < n["four times as wide"],
        effect="four experts",
        unit="squared error; predicting zero costs 1",
        rival="four times as wide",
        budget=500,
        quick=10,
        settings=(*RATES, LONGER),
    ),
)
