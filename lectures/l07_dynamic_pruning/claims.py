"""What lecture 07 claims of trained models; `make claims LECTURE=07` runs it on fresh seeds."""

from typing import Any

import torch

from course_utils.teaching.claims import LONGER, RATES, ProgramClaim, Setting
from lectures.l07_dynamic_pruning.experiments import pruning

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
)
