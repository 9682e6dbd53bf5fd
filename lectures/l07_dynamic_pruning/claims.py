"""What lecture 07 claims of trained models; `make claims LECTURE=07` runs it on fresh seeds.

The claims on LoRA and on shared heads start from one trained model, the small GPT: their seeds are
orders in which that model meets the text, not models.
"""

from typing import Any

import torch

from course_utils.language_modeling import text_loss
from course_utils.models.small_gpt import load_small_gpt
from course_utils.teaching.claims import LONGER, RATES, ProgramClaim, Setting
from lectures.l07_dynamic_pruning.experiments import adapting, depths, experts, pruning
from lectures.l07_dynamic_pruning.experiments.shared_heads import share_heads

RULES = ("magnitude", "brain damage")
ROUNDS = (0.5, 0.7, 0.8, 0.9, 0.95)
RANK_1_RATE, SLOW_BLOCKS = adapting.LORA_RATE, adapting.FULL_RATE / 3
SLOWER_AND_LONGER = Setting("⅓ × rate and 4 × steps", rate=1 / 3, budget=4)


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


def run_shared_heads(seeds, steps):
    """What two heads cost just after pooling, and after some more training."""
    rows = []
    for seed in seeds:  # a GPT fills the processor by itself: side by side would be slower
        found = share_heads((4, 2), steps=steps, seeds=(seed,))
        lost = found[2].pooled_loss - found[4].pooled_loss
        left = (found[2].healed_losses - found[4].healed_losses).item()
        rows.append({"still lost": left, "lost after pooling": lost})
    return rows


def before_code() -> float:
    """The small GPT's loss on code that nobody trains on."""
    return text_loss(load_small_gpt(), adapting.course_tokens().code_unseen, length=64)


def run_lora(seeds, steps):
    """Which share of the gain of the same matrices, trained in full, ranks 1 and 16 reach."""
    before = before_code()
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
                "rank 1": gains[1] / gains[None],
                "rank 16": gains[16] / gains[None],
                "prose, rank 1": done[1].prose_losses.item(),
                "prose, blocks": done[None].prose_losses.item(),
            }
        )
    return rows


def run_slow_blocks(seeds, steps, rank_1_rate=RANK_1_RATE):
    """The blocks' matrices in full at a third of their rate, beside rank 1."""
    rows = []
    for seed in seeds:
        blocks = adapting.adapt_to_code(
            None, steps=steps, seeds=(seed,), only_matrices=True, learning_rate=SLOW_BLOCKS
        )
        thin = adapting.adapt_to_code(1, steps=steps, seeds=(seed,), learning_rate=rank_1_rate)
        rows.append(
            {
                "code, blocks at ⅓ of their rate": blocks.code_losses.item(),
                "rank 1": thin.code_losses.item(),
                "prose, blocks": blocks.prose_losses.item(),
                "prose, rank 1": thin.prose_losses.item(),
            }
        )
    return rows


def energy_in_16(matrix):
    """The share of the squared norm that the 16 largest singular values hold."""
    squares = torch.linalg.svdvals(matrix).square()
    return squares[:16].sum() / squares.sum()


def run_spectrum(seeds, steps):
    """The least energy in 16 singular values, beside a random matrix of that shape; and cuts."""
    model, unseen = load_small_gpt(), adapting.course_tokens().code_unseen
    before = before_code()
    rows = []
    for seed in seeds:
        done = adapting.adapt_to_code(None, steps=steps, seeds=(seed,))
        (trained,) = done.training.models
        least = min(adapting.matrix_changes(model, trained).values(), key=energy_in_16)
        generator = torch.Generator().manual_seed(seed)
        row = {
            "least energy in 16": energy_in_16(least),
            "a random matrix": energy_in_16(torch.randn(least.shape, generator=generator)),
        }
        for rank in (0, 16):
            cut = text_loss(adapting.cut_changes(model, trained, rank), unseen, length=64)
            row[f"cut to rank {rank}"] = (before - cut) / (before - done.code_losses.item())
        rows.append(row)
    return rows


def run_early_router(seeds, steps):
    """The share of the sums that each router keeps."""
    found = depths.train_card_readers(("router", "router, late"), seeds=seeds, steps=steps)
    early, late = ([depths.card_scores(m).sums_kept for m in f.models] for f in found.values())
    return [{"early router": a, "late router": b} for a, b in zip(early, late, strict=True)]


def run_routers(seeds, steps, gate="one"):
    """The losses of both routers, of random choice and of the oracle."""
    ways = {
        "router": "early router",
        "router, late": "late router",
        "random": "random choice",
        "oracle": "oracle",
    }
    found = depths.train_card_readers(ways, seeds=seeds, steps=steps, gate=gate)
    rows = [[depths.card_scores(m).loss for m in found[way].models] for way in ways]
    return [dict(zip(ways.values(), each, strict=True)) for each in zip(*rows, strict=True)]


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
    ProgramClaim(
        name="shared_heads_heal",
        sentence="With two key/value heads instead of four, 30 steps of training recover more than "
        "half of the loss that pooling cost the small GPT.",
        run=run_shared_heads,
        holds=lambda n: n["still lost"] < n["lost after pooling"] / 2,
        effect="still lost",
        unit="nats",
        rival="lost after pooling",
        budget=30,
        quick=1,
        settings=RATES,
    ),
    ProgramClaim(
        name="thin_changes_learn_most",
        sentence="On code, after 60 steps, LoRA of rank 1 gains more than 70 % of what training "
        "the same matrices in full gains, and rank 16 more than 85 %; rank 1 forgets less prose.",
        run=run_lora,
        holds=lambda n: (
            n["rank 1"] > 0.7 and n["rank 16"] > 0.85 and n["prose, rank 1"] < n["prose, blocks"]
        ),
        effect="rank 1",
        unit="of the gain in full",
        rival="rank 16",
        budget=60,
        quick=1,
        settings=RATES,
    ),
    ProgramClaim(
        name="slow_blocks_beat_rank_1",
        sentence="Trained in full at a third of their learning rate, the same matrices have a "
        "lower loss than rank 1 on code, which both learn, and on prose, which both forget.",
        run=run_slow_blocks,
        holds=lambda n: (
            n["code, blocks at ⅓ of their rate"] < n["rank 1"]
            and n["prose, blocks"] < n["prose, rank 1"]
        ),
        effect="code, blocks at ⅓ of their rate",
        unit="nats",
        rival="rank 1",
        budget=60,
        quick=1,
        settings=(
            Setting("rank 1 at ⅓ of its rate", arguments={"rank_1_rate": RANK_1_RATE / 3}),
            Setting("rank 1 at 3 × its rate", arguments={"rank_1_rate": RANK_1_RATE * 3}),
        ),
    ),
    ProgramClaim(
        name="full_changes_are_thin",
        sentence="In every matrix that a full fine-tune on code changes, the 16 largest of 128 "
        "singular values of the change hold more than half of its squared norm.",
        run=run_spectrum,
        holds=lambda n: n["least energy in 16"] > 0.5,
        effect="least energy in 16",
        unit="of the squared norm",
        rival="a random matrix",
        budget=60,
        quick=1,
        settings=RATES,
    ),
    ProgramClaim(
        name="thin_changes_keep_the_gain",
        sentence="A full fine-tune whose matrices' changes are cut to rank 16 keeps more than 90 % "
        "of its gain on code; cut to rank 0, less than half.",
        run=run_spectrum,
        holds=lambda n: n["cut to rank 16"] > 0.9 and n["cut to rank 0"] < 0.5,
        effect="cut to rank 16",
        unit="of the gain",
        rival="cut to rank 0",
        budget=60,
        quick=1,
        settings=RATES,
    ),
    ProgramClaim(
        name="early_router_keeps_no_sum",
        sentence="A router that chooses from the first step on keeps not a single sum after 800 "
        "steps.",
        run=run_early_router,
        holds=lambda n: n["early router"] < 0.005,
        effect="early router",
        unit="of the sums kept",
        rival="late router",
        budget=800,
        quick=6,
        settings=RATES,
    ),
    ProgramClaim(
        name="early_router_beats_chance",
        sentence="After 200 steps a router that chooses from the first step on loses less than "
        "random choice.",
        run=run_routers,
        holds=lambda n: n["early router"] < n["random choice"],
        effect="early router",
        unit="nats",
        rival="random choice",
        budget=200,
        quick=6,
        settings=(*RATES, SLOWER_AND_LONGER),
    ),
    ProgramClaim(
        name="late_router_beats_chance",
        sentence="After 200 steps the oracle loses less than 0.05 nats, random choice 0.30 within "
        "0.05, and a router that chooses after a third of the steps less than random choice.",
        run=run_routers,
        holds=lambda n: (
            n["oracle"] < 0.05
            and abs(n["random choice"] - depths.expected_loss(0.25, "random")) < 0.05
            and n["late router"] < n["random choice"]
        ),
        effect="late router",
        unit="nats",
        rival="random choice",
        budget=200,
        quick=6,
        settings=(
            *RATES,
            SLOWER_AND_LONGER,
            Setting("the paper's gate", arguments={"gate": "weight"}),
        ),
    ),
)
