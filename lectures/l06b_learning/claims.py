"""What lecture 06b claims of random and trained models; `make claims LECTURE=06b` runs it again."""

from functools import cache

import torch

from course_utils.data.course_text import course_prose
from course_utils.language_modeling import split_text, text_loss
from course_utils.models.small_gpt import SMALL_GPT
from course_utils.teaching.claims import RATES, ProgramClaim, Setting
from course_utils.tokens import train_bpe
from course_utils.training import TEST_SEED, rate_factor
from lectures.l06b_learning import experiments

WARMUP, RATE = 30, 0.02
FRESH = (
    Setting("nn.Linear's initialisation", arguments={"xavier": False}),
    Setting("twice the width", arguments={"width": 64}),
)
DEEPER = Setting("8 blocks", arguments={"num_layers": 8})
WIDER = Setting("twice the width", arguments={"width": 64})
LATE = 20  # steps whose mean is a run's last loss


def table(**columns):
    """Return the numbers of each seed from one column of numbers for each name."""
    rows = zip(*columns.values(), strict=True)
    return [
        {name.replace("_", " "): x for name, x in zip(columns, row, strict=True)} for row in rows
    ]


def gradients(seeds, deep, **options):
    """The gradient norms of pre-LN and of post-LN stacks with 2 blocks and with `deep`."""
    return (
        experiments.gradient_norms((2, deep), norm_first=first, seeds=seeds, **options)
        for first in (True, False)
    )


def run_gradients_by_depth(seeds, deep, **options):
    """The last block's gradient in a deep stack, over that in one of two blocks."""
    pre, post = (of[deep][:, -1] / of[2][:, -1] for of in gradients(seeds, deep, **options))
    return table(pre_LN=pre, post_LN=post)


def run_one_token(seeds, deep, **options):
    """The same where the loss is that of one token."""
    return run_gradients_by_depth(seeds, deep, one_token=True, **options)


def run_gradients_apart(seeds, deep, **options):
    """The last block's gradient in post-LN, over that in pre-LN."""
    pre, post = gradients(seeds, deep, **options)
    deep_ratio, shallow_ratio = (post[depth][:, -1] / pre[depth][:, -1] for depth in (deep, 2))
    return table(post_LN_over_pre_LN=deep_ratio, in_two_blocks=shallow_ratio)


def run_ends(seeds, deep, **options):
    """The last block's gradient over the first's."""
    pre, post = (of[deep][:, -1] / of[deep][:, 0] for of in gradients(seeds, deep, **options))
    return table(pre_LN=pre, post_LN=post)


def last_losses(seeds, steps, num_layers, rate=RATE, warmups=(0,)):
    """The last losses of stacks of blocks, by the norm's place and the warm-up."""
    done = experiments.train_with_warmup(
        warmups, num_layers=num_layers, seeds=seeds, steps=steps, learning_rate=rate
    )
    return {of: each.losses[:, -10:].mean(dim=1) for of, each in done.items()}


def run_pre_ln(seeds, steps, num_layers=4):
    """Both stacks without a warm-up."""
    done = last_losses(seeds, steps, num_layers)
    return table(pre_LN=done["pre-LN", 0], post_LN=done["post-LN", 0])


def run_post_ln(seeds, steps, num_layers=4):
    """A post-LN stack without a warm-up and with one."""
    done = last_losses(seeds, steps, num_layers, warmups=(0, WARMUP))
    return table(no_warm_up=done["post-LN", 0], warm_up=done["post-LN", WARMUP])


def run_low_rate(seeds, steps, num_layers=4):
    """A post-LN stack without a warm-up, at a lower rate."""
    low, high = (
        last_losses(seeds, steps, num_layers, rate)["post-LN", 0] for rate in (0.003, RATE)
    )
    return table(low_rate=low, high_rate=high)


@cache
def course_tokens():
    """The course's prose in tokens: what to learn from, and what is held out."""
    learn, held_out = split_text(course_prose(), 0.9)
    tokenizer = train_bpe(learn, vocab_size=SMALL_GPT.vocab_size)
    return [torch.tensor(tokenizer.encode(part)) for part in (learn, held_out)]


def run_small_gpt(seeds, steps):
    """The small GPT of section 6 and a table of pairs, on the text that neither has seen."""
    ids, unseen = course_tokens()
    pairs = experiments.bigram_loss(ids, unseen, SMALL_GPT.vocab_size)
    models = [experiments.train_gpt(ids, seed=seed, steps=steps)[0] for seed in seeds]
    return [
        {"small GPT": text_loss(model, unseen, length=64), "table of pairs": pairs}
        for model in models
    ]


@cache
def runs_of_sizes(seeds, steps, one_rate, _rate_factor):
    """The exponent of each seed's four held-out losses, and by how much a size gains at least."""
    done = experiments.train_sizes(seeds=seeds, steps=steps, one_rate=one_rate)
    sizes, losses = experiments.final_losses(done)
    exponents = [experiments.fit_power_law(sizes, row).exponent for row in losses]
    return exponents, -losses.diff(dim=1).amax(dim=1)


def run_scaling(seeds, steps):
    """Four sizes at rates that fall with the width, and at one rate for all."""
    (exponents, gains), (at_one_rate, gains_at_one_rate) = (
        runs_of_sizes(tuple(seeds), steps, one_rate, rate_factor()) for one_rate in (False, True)
    )
    return table(
        exponent=exponents,
        exponent_at_one_rate=at_one_rate,
        least_gain=gains,
        least_gain_at_one_rate=gains_at_one_rate,
    )


def late(losses):
    """The mean of each run's last losses."""
    return losses[:, -LATE:].mean(dim=1)


def steps_of_the_fall(losses):
    """How many steps the mean of 20 losses takes from above 1.5 to below 0.5; all if it stays."""
    means = losses.unfold(1, LATE, 1).mean(dim=-1)
    found = []
    for run in means:
        below = (run < 0.5).nonzero()[:1].flatten().tolist()
        above = (run[: below[0]] > 1.5).nonzero().flatten().tolist() if below else []
        found.append(below[0] - above[-1] if above else len(run))
    return found


def repeaters(seeds, steps, num_layers=2, width=32):
    """The models of section 9."""
    return trained_repeaters(tuple(seeds), steps, num_layers, width, rate_factor())


@cache
def trained_repeaters(seeds, steps, num_layers, width, _rate_factor):
    """Train them; several claims ask for the same ones."""
    return experiments.train_induction(seeds=seeds, steps=steps, num_layers=num_layers, width=width)


def run_two_layers(seeds, steps, width=32):
    """The loss at the end, of two layers and of one."""
    two, one = (late(repeaters(seeds, steps, n, width).losses) for n in (2, 1))
    return table(two_layers=two, one_layer=one)


def run_one_layer(seeds, steps, width=32):
    """The least loss that one layer ever has, beside two layers after 1,000 steps."""
    one = repeaters(seeds, steps, 1, width).losses
    two = repeaters(seeds, min(steps, 1000), 2, width).losses
    return table(
        one_layer_least=one.unfold(1, LATE, 1).mean(dim=-1).amin(dim=1),
        two_layers_1000_steps=late(two),
    )


def run_fall(seeds, steps, width=32):
    """How many steps the fall takes, beside those that came before it."""
    losses = repeaters(seeds, steps, width=width).losses
    reached = (losses.unfold(1, LATE, 1).mean(dim=-1) < 0.5).float().argmax(dim=1)
    fall = steps_of_the_fall(losses)
    return table(steps_of_the_fall=fall, steps_until_its_end=reached, last_loss=late(losses))


def run_heads(seeds, steps, width=32):
    """What heads of the trained models do, and the losses without them."""
    rows = experiments.repeated_tokens(torch.Generator().manual_seed(TEST_SEED))
    return [heads_of(model, rows) for model in repeaters(seeds, steps, width=width).models]


@torch.no_grad()
def heads_of(model, rows):
    """Scores and losses, with and without the heads that have the highest scores."""
    scores = experiments.induction_scores(model, rows)[1]
    best = int(scores.argmax())
    looker = int(experiments.previous_token_scores(model, rows)[0].argmax())

    def without(*heads):
        return experiments.without_heads(model, heads)

    def loss(*heads):
        return experiments.repeat_loss(without(*heads), rows)

    def score(*heads):
        return experiments.induction_scores(without(*heads), rows)[1].max()

    return {
        "induction score": scores.max(),
        "loss without the head": loss((1, best)),
        "loss without the other": loss((1, 1 - best)),
        "loss without both": loss((1, 0), (1, 1)),
        "whole model": loss(),
        "score without the previous-token head": score((0, looker)),
        "score without layer 0's heads": score((0, 0), (0, 1)),
    }


CLAIMS = (
    ProgramClaim(
        name="last_gradient_by_depth",
        sentence="In fresh stacks with Xavier's initialisation, from 2 to 48 blocks the gradient "
        "of the last block's weights falls in pre-LN and grows in post-LN.",
        run=run_gradients_by_depth,
        holds=lambda n: n["pre LN"] < 1 < n["post LN"],
        effect="pre LN",
        unit="times that of 2 blocks",
        rival="post LN",
        budget=48,
        quick=4,
        settings=FRESH,
    ),
    ProgramClaim(
        name="last_gradient_of_one_token",
        sentence="In fresh stacks with Xavier's initialisation and the loss of a single token, "
        "from 2 to 48 blocks the gradient of the last block's weights falls to less than half in "
        "pre-LN and changes by less than a factor of two in post-LN.",
        run=run_one_token,
        holds=lambda n: n["pre LN"] < 0.5 < n["post LN"] < 2,
        effect="pre LN",
        unit="times that of 2 blocks",
        rival="post LN",
        budget=48,
        quick=4,
        settings=FRESH,
    ),
    ProgramClaim(
        name="gradients_near_the_output",
        sentence="In fresh stacks of 48 blocks with Xavier's initialisation, the gradient of the "
        "last block's weights is more than four times as large in post-LN as in pre-LN.",
        run=run_gradients_apart,
        holds=lambda n: n["post LN over pre LN"] > 4,
        effect="post LN over pre LN",
        unit="times as large",
        rival="in two blocks",
        budget=48,
        quick=4,
        settings=FRESH,
    ),
    ProgramClaim(
        name="first_and_last_gradient",
        sentence="In fresh pre-LN stacks of 48 blocks with Xavier's initialisation, the gradient "
        "of the first block's weights is more than twice that of the last block's.",
        run=run_ends,
        holds=lambda n: n["pre LN"] < 0.5,
        effect="pre LN",
        unit="times the first block's gradient",
        rival="post LN",
        budget=48,
        quick=4,
        settings=FRESH,
    ),
    ProgramClaim(
        name="pre_ln_needs_no_warmup",
        sentence="Without a warm-up and at a learning rate of 0.02, a pre-LN stack of four blocks "
        "has a loss below 1 nat after 60 steps of training.",
        run=run_pre_ln,
        holds=lambda n: n["pre LN"] < 1,
        effect="pre LN",
        unit="nats",
        rival="post LN",
        budget=60,
        quick=3,
        settings=(*RATES, DEEPER),
    ),
    ProgramClaim(
        name="post_ln_needs_warmup",
        sentence="At a learning rate of 0.02, a post-LN stack of four blocks has a loss above 2.2 "
        "nats after 300 steps of training without a warm-up, where guessing costs 2.4, and below 1 "
        "nat with a warm-up of 30 steps.",
        run=run_post_ln,
        holds=lambda n: n["no warm up"] > 2.2 and n["warm up"] < 1,
        effect="no warm up",
        unit="nats",
        rival="warm up",
        budget=300,
        quick=3,
        settings=(*RATES, DEEPER),
    ),
    ProgramClaim(
        name="post_ln_at_a_low_rate",
        sentence="At a learning rate of 0.003, a post-LN stack of four blocks without a warm-up "
        "has a loss below 0.5 nats after 150 steps of training.",
        run=run_low_rate,
        holds=lambda n: n["low rate"] < 0.5,
        effect="low rate",
        unit="nats",
        rival="high rate",
        budget=150,
        quick=3,
        settings=(*RATES, DEEPER),
    ),
    ProgramClaim(
        name="small_gpt_beats_pairs",
        sentence="After 600 steps of training on the course's prose, a GPT of two layers and width "
        "128 has a lower loss on unseen prose than a table of pairs of tokens counted in the same "
        "text.",
        run=run_small_gpt,
        holds=lambda n: n["small GPT"] < n["table of pairs"],
        effect="small GPT",
        unit="nats",
        rival="table of pairs",
        budget=600,
        quick=3,
        settings=RATES,
    ),
    ProgramClaim(
        name="small_exponent",
        sentence="A power law that is fitted to the losses of four GPTs of 4,000 to 120,000 "
        "parameters, after 150 steps at learning rates that fall with the width, has an exponent "
        "above 0 and below 0.05.",
        run=run_scaling,
        holds=lambda n: 0 < n["exponent"] < 0.05,
        effect="exponent",
        unit="(power of N)",
        rival="exponent at one rate",
        budget=150,
        quick=3,
        settings=RATES,
    ),
    ProgramClaim(
        name="one_rate_for_all_sizes",
        sentence="A power law that is fitted to the losses of four GPTs of 4,000 to 120,000 "
        "parameters, after 150 steps at one learning rate of 0.02 for all, has a negative "
        "exponent: larger models are worse.",
        run=run_scaling,
        holds=lambda n: n["exponent at one rate"] < 0,
        effect="exponent at one rate",
        unit="(power of N)",
        rival="exponent",
        budget=150,
        quick=3,
        settings=RATES,
    ),
    ProgramClaim(
        name="each_size_gains",
        sentence="Of four GPTs of 4,000 to 120,000 parameters, each has a lower loss on unseen "
        "text than the next smaller one, after 150 steps at learning rates that fall with the "
        "width.",
        run=run_scaling,
        holds=lambda n: n["least gain"] > 0,
        effect="least gain",
        unit="nats",
        rival="least gain at one rate",
        budget=150,
        quick=3,
        settings=RATES,
    ),
    ProgramClaim(
        name="two_layers_learn_induction",
        sentence="After 1,000 steps of training at a learning rate of 0.005, a GPT of two layers "
        "continues repeated rows of random tokens with a loss below 0.5 nats.",
        run=run_two_layers,
        holds=lambda n: n["two layers"] < 0.5,
        effect="two layers",
        unit="nats",
        rival="one layer",
        budget=1000,
        quick=30,
        settings=(*RATES, WIDER),
    ),
    ProgramClaim(
        name="one_layer_does_not",
        sentence="In 4,000 steps of training at a learning rate of 0.005, a GPT of one layer of "
        "width 32 with two heads never continues repeated rows of random tokens with a loss of 1.2 "
        "nats or less.",
        run=run_one_layer,
        holds=lambda n: n["one layer least"] > 1.2,
        at_stake=lambda n: n["two layers 1000 steps"] < 1.2,  # else nothing learns
        effect="one layer least",
        unit="nats",
        rival="two layers 1000 steps",
        budget=4000,
        quick=30,
        settings=(*RATES, WIDER),
    ),
    ProgramClaim(
        name="induction_comes_suddenly",
        sentence="Where a GPT of two layers learns to continue repeated rows of random tokens "
        "within 1,000 steps at a learning rate of 0.005, its loss falls from 1.5 to 0.5 nats "
        "within 200 of them.",
        run=run_fall,
        holds=lambda n: n["steps of the fall"] < 200,
        at_stake=lambda n: n["steps until its end"] > 0,  # else it has not learned
        effect="steps of the fall",
        unit="steps; 981 means never",
        rival="steps until its end",
        budget=1000,
        quick=30,
        settings=(*RATES, WIDER),
    ),
    ProgramClaim(
        name="an_induction_head",
        sentence="After 1,000 steps of training at a learning rate of 0.005, a GPT of two layers "
        "that was trained to continue repeated rows of random tokens has a head in layer 1 with an "
        "induction score above 0.8.",
        run=run_heads,
        holds=lambda n: n["induction score"] > 0.8,
        effect="induction score",
        unit="of 1: mean weight",
        budget=1000,
        quick=30,
        settings=(*RATES, WIDER),
    ),
    ProgramClaim(
        name="one_head_carries_it",
        sentence="Where a GPT of two layers that was trained to continue repeated rows of random "
        "tokens has a head in layer 1 with an induction score above 0.8, its loss without that "
        "head is above 1 nat.",
        run=run_heads,
        holds=lambda n: n["loss without the head"] > 1,
        at_stake=lambda n: n["induction score"] > 0.8,
        effect="loss without the head",
        unit="nats",
        rival="loss without the other",
        budget=1000,
        quick=30,
        settings=(*RATES, WIDER),
    ),
    ProgramClaim(
        name="layer_1_carries_it",
        sentence="Where a GPT of two layers has learned to continue repeated rows of random tokens "
        "with a loss below 0.5 nats, its loss without both heads of layer 1 is above 2.1 nats, "
        "which is about ln 8.",
        run=run_heads,
        holds=lambda n: n["loss without both"] > 2.1,
        at_stake=lambda n: n["whole model"] < 0.5,
        effect="loss without both",
        unit="nats",
        rival="whole model",
        budget=1000,
        quick=30,
        settings=(*RATES, WIDER),
    ),
    ProgramClaim(
        name="layer_0_marks_the_place",
        sentence="Where a GPT of two layers that was trained to continue repeated rows of random "
        "tokens has a head in layer 1 with an induction score above 0.3, no head of layer 1 has "
        "one of 0.3 or more without the heads of layer 0.",
        run=run_heads,
        holds=lambda n: n["score without layer 0's heads"] < 0.3,
        at_stake=lambda n: n["induction score"] > 0.3,
        effect="score without layer 0's heads",
        unit="of 1: mean weight",
        rival="induction score",
        budget=1000,
        quick=30,
        settings=(*RATES, WIDER),
    ),
    ProgramClaim(
        name="one_previous_token_head",
        sentence="Where a GPT of two layers that was trained to continue repeated rows of random "
        "tokens has a head in layer 1 with an induction score above 0.8, no head of layer 1 has "
        "one of 0.3 or more without the head of layer 0 that attends most to the previous token.",
        run=run_heads,
        holds=lambda n: n["score without the previous-token head"] < 0.3,
        at_stake=lambda n: n["induction score"] > 0.8,
        effect="score without the previous-token head",
        unit="of 1: mean weight",
        rival="induction score",
        budget=1000,
        quick=30,
        settings=(*RATES, WIDER),
    ),
)
