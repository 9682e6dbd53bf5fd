"""What lecture 07b claims of trained models; `make claims LECTURE=07b` runs it on fresh seeds.

The claims on LoRA and on shared heads start from one trained model, the small GPT: their seeds are
orders in which that model meets the text, not models.
"""

import torch

from course_utils.language_modeling import text_loss
from course_utils.models.small_gpt import load_small_gpt
from course_utils.teaching.claims import RATES, Claim, ProgramClaim, Setting
from lectures.l07b_sharing.experiments import adapting, depths
from lectures.l07b_sharing.experiments.shared_heads import share_heads

RANK_1_RATE, SLOW_BLOCKS = adapting.LORA_RATE, adapting.FULL_RATE / 3
NEWCOMERS = (
    *("setup", "book", "book-people", "book-learn"),
    *("thin", "newcomers-learn", "newcomers"),
)
LEARNED = ("rank 4", "rank 16", "all weights")
FEW = tuple(Setting(each.name, rate=each.rate, seeds=3) for each in RATES)
SLOWER_AND_LONGER = Setting("⅓ × rate and 4 × steps", rate=1 / 3, budget=4)


def run_shared_heads(seeds, steps):
    """What two heads cost just after pooling, and after some more training."""
    rows = []
    for seed in seeds:  # a GPT fills the processor by itself: side by side would be slower
        found = share_heads((4, 2), steps=steps, seeds=(seed,))
        lost = found[2].pooled_loss - found[4].pooled_loss
        left = (found[2].healed_losses - found[4].healed_losses).item()
        rows.append({"still lost": left, "lost after pooling": lost})
    return rows


def read_newcomers(cell):
    """Which share of the old book, and of the new names, three ways know in the end."""
    old = {way: cell.known(cell.done[way], cell.old) for way in LEARNED}
    return old | {f"new, {way}": cell.known(cell.done[way], cell.new) for way in LEARNED}


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
    Claim(
        name="thin_changes_forget_more",
        sentence="Of the ways that learn all newcomers, the thinner change forgets more: training "
        "all weights keeps more of the old book than rank 16, and that more than rank 4.",
        cells=NEWCOMERS,
        read=read_newcomers,
        at_stake=lambda n: min(n[f"new, {way}"] for way in LEARNED) == 1,
        holds=lambda n: n["all weights"] > n["rank 16"] > n["rank 4"],
        effect="rank 4",
        unit="of 1: share of the old book",
        rival="all weights",
        control=Setting(
            "rank 16 in place of all weights",
            edits={'"all weights": None': '"all weights": 16'},
            seeds=3,
        ),
        quick={"STEPS": 2, "BOOK_STEPS": 2},
        settings=(*FEW, Setting("4 × steps", budget=4, seeds=3)),
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
