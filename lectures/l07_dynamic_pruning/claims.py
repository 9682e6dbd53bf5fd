"""What lecture 07 claims of trained models; `make claims LECTURE=07` runs it on fresh seeds."""

from typing import Any

import torch

from course_utils.teaching.claims import LONGER, RATES, Claim, ProgramClaim, Setting
from lectures.l07_dynamic_pruning.experiments import pruning

RULES = ("magnitude", "brain damage")
ROUNDS = (0.5, 0.7, 0.8, 0.9, 0.95)

LEARN = ("setup", "book", "steps", "learn")
EXPERTS = ("run-experts", "experts-class", "experts", "shared")
BOOK = (*LEARN, "dense", *EXPERTS)
CURES = (*LEARN, *EXPERTS, "collapse", "cure-ways", "cures")
STORY = ("setup", "book", "run-experts", "experts-class", "shared-part", "story-setup", "story")
FEW = {"HIDDEN": (32, 128)}
BOOK_RATES = (
    Setting("⅓ × rate", rate=1 / 3, arguments=FEW, seeds=3),
    Setting("3 × rate", rate=3.0, arguments=FEW, seeds=3),
)
FINER = Setting(
    "16 experts of 8 units, 4 for each name",
    arguments={**FEW, "COUNT": 16, "UNITS": 8, "VISITS": 4},
    seeds=3,
)
ONLY_THREE = {"COMMON": (3,)}  # times the rest
CURE_RATES = (
    Setting("⅓ × rate", rate=1 / 3, arguments=ONLY_THREE, seeds=3),
    Setting("3 × rate", rate=3.0, arguments=ONLY_THREE, seeds=3),
)
NO_COMMON_PART = Setting(
    "no common part",
    arguments=ONLY_THREE,
    edits={"layer.shared = times * SPREAD": "layer.shared = 0.0"},
    seeds=3,
)


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


def read_book(cell):
    """What dense layers and the experts know, and the experts' loads, of 1 where all are even."""
    loads = cell.loads(cell.layer) * cell.COUNT
    return {
        "32 units": cell.dense[32],
        "128 units": cell.dense[128],
        "experts": cell.experts_know,
        "busiest": loads.max(),
        "idlest": loads.min(),
    }


def read_cures(cell):
    """What the experts know without a common part, with one, and with each cure."""
    return {
        "no common part": cell.experts_know,
        "common part": cell.collapsed[3],
        "two busiest": cell.shares[-2:].sum(),
        "λ = 0.01": cell.cured["loss, λ = 0.01"],
        "λ = 0.1": cell.cured["loss, λ = 0.1"],
        "bias": cell.cured["bias, 0.001 a step"],
    }


def read_stories(cell):
    """The losses on new stories, and by how much the experts' is lower."""
    dense, experts = cell.told.values()
    return {"dense": dense, "experts": experts, "gain": dense - experts}


CLAIMS = (
    Claim(
        name="memory_grows_with_units",
        sentence="Of 4,096 numbers a feed-forward layer of 32 hidden units knows between 33 % and "
        "45 % after 500 steps, and one of 128 more than 97 %.",
        cells=BOOK,
        read=read_book,
        holds=lambda n: 0.33 < n["32 units"] < 0.45 and n["128 units"] > 0.97,
        effect="128 units",
        unit="of 1: share known",
        rival="32 units",
        control=Setting(
            "no hidden units",
            arguments=FEW,
            edits={"FeedForward(WIDTH, units) if units else nn.Identity()": "nn.Identity()"},
            seeds=3,
        ),
        quick={"STEPS": 3},
        settings=BOOK_RATES,
    ),
    Claim(
        name="experts_know_what_128_units_know",
        sentence="8 experts of 16 hidden units, two for each name, know at least 95 % as many of "
        "4,096 numbers after 500 steps as 128 hidden units, and more than twice as many as 32.",
        cells=BOOK,
        read=read_book,
        holds=lambda n: n["experts"] >= 0.95 * n["128 units"] and n["experts"] > 2 * n["32 units"],
        effect="experts",
        unit="of 1: share known",
        rival="32 units",
        control=Setting("two experts alone", arguments={**FEW, "COUNT": 2}, seeds=3),
        quick={"STEPS": 3},
        settings=(*BOOK_RATES, FINER),
    ),
    Claim(
        name="the_router_shares_the_work",
        sentence="Without any loss for it, the router of 8 experts, two for each of 4,096 names, "
        "gives after 500 steps none of them more than 1.5 times an even share of the choices, and "
        "none less than half of one.",
        cells=BOOK,
        read=read_book,
        holds=lambda n: n["busiest"] < 1.5 and n["idlest"] > 0.5,
        effect="busiest",
        unit="even shares",
        control="what makes it fail is a common part: `a_common_part_collapses`.",
        quick={"STEPS": 3},
        settings=(*BOOK_RATES, FINER),
    ),
    Claim(
        name="a_common_part_collapses",
        sentence="Where the router of 8 experts, two for each name, sees a common part three times "
        "as long as the rest, two experts get more than 95 % of the choices after 500 steps, and "
        "less than half of the numbers is known; without it more than 90 %.",
        cells=CURES,
        read=read_cures,
        holds=lambda n: (
            n["two busiest"] > 0.95 and n["common part"] < 0.5 and n["no common part"] > 0.9
        ),
        effect="common part",
        unit="of 1: share known",
        rival="no common part",
        control=NO_COMMON_PART,
        quick={"STEPS": 3},
        settings=CURE_RATES,
    ),
    Claim(
        name="papers_numbers_are_too_small",
        sentence="With a common part three times as long as the rest, 8 experts know less than 90 "
        "% of the numbers after 500 steps with a balance loss of λ = 0.01, and less than half "
        "with a bias of 0.001 a step.",
        cells=CURES,
        read=read_cures,
        holds=lambda n: n["λ = 0.01"] < 0.9 and n["bias"] < 0.5,
        effect="λ = 0.01",
        unit="of 1: share known",
        rival="bias",
        control=NO_COMMON_PART,
        quick={"STEPS": 3},
        settings=CURE_RATES,
    ),
    Claim(
        name="the_balance_loss_cures",
        sentence="With a common part three times as long as the rest, 8 experts know more than 80 "
        "% of the numbers after 500 steps with a balance loss of λ = 0.1, and less than half "
        "without one.",
        cells=CURES,
        read=read_cures,
        holds=lambda n: n["λ = 0.1"] > 0.8 and n["common part"] < 0.5,
        effect="λ = 0.1",
        unit="of 1: share known",
        rival="common part",
        control=Setting(
            "λ = 0",
            arguments=ONLY_THREE,
            edits={"weight * COUNT * (loads": "0 * weight * COUNT * (loads"},
            seeds=3,
        ),
        quick={"STEPS": 3},
        settings=CURE_RATES,
    ),
    Claim(
        name="experts_bring_nothing_to_stories",
        sentence="In a GPT of two blocks of width 64 on short stories, 8 experts of 128 units in "
        "place of 256 hidden units, two for each word, bring a loss that is lower by less than "
        "0.05 nats after 100 steps.",
        cells=(*STORY, "story-train"),
        read=read_stories,
        holds=lambda n: n["gain"] < 0.05,
        effect="experts",
        unit="nats",
        rival="dense",
        control="where the same kind of experts does help is the telephone book: "
        "`experts_know_what_128_units_know`.",
        quick={"STORY_STEPS": 3},
        settings=(
            Setting("⅓ × rate", arguments={"STORY_RATE": 0.005 / 3}, seeds=3),
            Setting("3 × rate", arguments={"STORY_RATE": 0.015}, seeds=3),
        ),
    ),
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
