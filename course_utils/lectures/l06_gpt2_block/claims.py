"""What lecture 06 claims of random and trained models; `make claims LECTURE=06` runs it again."""

from functools import cache

import torch

from course_utils.data.course_text import course_prose
from course_utils.language_modeling import split_text, text_loss
from course_utils.lectures.l06_gpt2_block import experiments
from course_utils.models.small_gpt import SMALL_GPT
from course_utils.teaching.claims import Claim
from course_utils.tokens import train_bpe
from course_utils.training import TEST_SEED

__all__ = ["CLAIMS"]

WARMUP, RATE = 30, 0.02
LATE = 20  # steps whose mean is a run's last loss


def table(**columns):
    """Return the numbers of each seed from one column of numbers for each name."""
    rows = zip(*columns.values(), strict=True)
    return [
        {name.replace("_", " "): x for name, x in zip(columns, row, strict=True)} for row in rows
    ]


def gradients(seeds, deep, *, one_token=False):
    """The gradient norms of pre-LN and of post-LN stacks with 2 blocks and with `deep`."""
    return (
        experiments.gradient_norms((2, deep), norm_first=first, seeds=seeds, one_token=one_token)
        for first in (True, False)
    )


def run_gradients_by_depth(seeds, deep, one_token=False):
    """The last block's gradient in a deep stack, over that in one of two blocks."""
    pre, post = (
        of[deep][:, -1] / of[2][:, -1] for of in gradients(seeds, deep, one_token=one_token)
    )
    return table(pre_LN=pre, post_LN=post)


def run_one_token(seeds, deep):
    """The same where the loss is that of one token."""
    return run_gradients_by_depth(seeds, deep, one_token=True)


def run_gradients_apart(seeds, deep):
    """The last block's gradient in post-LN, over that in pre-LN."""
    pre, post = gradients(seeds, deep)
    return table(
        deep=post[deep][:, -1] / pre[deep][:, -1], two_blocks=post[2][:, -1] / pre[2][:, -1]
    )


def run_ends(seeds, deep):
    """The last block's gradient over the first's."""
    pre, post = (of[deep][:, -1] / of[deep][:, 0] for of in gradients(seeds, deep))
    return table(pre_LN=pre, post_LN=post)


def last_losses(seeds, steps, rate=RATE):
    """The last losses of stacks of four blocks, by the norm's place and the warm-up."""
    done = experiments.train_with_warmup(
        (0, WARMUP), num_layers=4, seeds=seeds, steps=steps, learning_rate=rate
    )
    return {of: each.losses[:, -10:].mean(dim=1) for of, each in done.items()}


def run_pre_ln(seeds, steps):
    """Both stacks without a warm-up."""
    done = last_losses(seeds, steps)
    return table(pre_LN=done["pre-LN", 0], post_LN=done["post-LN", 0])


def run_post_ln(seeds, steps):
    """A post-LN stack without a warm-up and with one."""
    done = last_losses(seeds, steps)
    return table(no_warm_up=done["post-LN", 0], warm_up=done["post-LN", WARMUP])


def run_low_rate(seeds, steps):
    """A post-LN stack without a warm-up, at a lower rate."""
    low, high = (last_losses(seeds, steps, rate)["post-LN", 0] for rate in (0.003, RATE))
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
def runs_of_sizes(seeds, steps, one_rate):
    """The exponent of each seed's four held-out losses, and by how much a size gains at least."""
    done = experiments.train_sizes(seeds=seeds, steps=steps, one_rate=one_rate)
    sizes, losses = experiments.final_losses(done)
    exponents = [experiments.fit_power_law(sizes, row).exponent for row in losses]
    return exponents, -losses.diff(dim=1).amax(dim=1)


def run_scaling(seeds, steps):
    """Four sizes at rates that fall with the width, and at one rate for all."""
    exponents, gains = runs_of_sizes(tuple(seeds), steps, one_rate=False)
    at_one_rate, gains_at_one_rate = runs_of_sizes(tuple(seeds), steps, one_rate=True)
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


@cache
def trained_repeaters(seeds, steps, num_layers=2):
    """The models of section 9."""
    return experiments.train_induction(seeds=seeds, steps=steps, num_layers=num_layers)


def run_two_layers(seeds, steps):
    """The loss at the end, of two layers and of one."""
    two, one = (late(trained_repeaters(tuple(seeds), steps, n).losses) for n in (2, 1))
    return table(two_layers=two, one_layer=one)


def run_one_layer(seeds, steps):
    """The least loss that one layer ever has, beside two layers after 1,000 steps."""
    one = trained_repeaters(tuple(seeds), steps, 1).losses
    two = trained_repeaters(tuple(seeds), min(steps, 1000)).losses
    return table(
        one_layer_least=one.unfold(1, LATE, 1).mean(dim=-1).amin(dim=1),
        two_layers_1000_steps=late(two),
    )


def run_fall(seeds, steps):
    """How many steps the fall takes, beside those that came before it."""
    losses = trained_repeaters(tuple(seeds), steps).losses
    reached = (losses.unfold(1, LATE, 1).mean(dim=-1) < 0.5).float().argmax(dim=1)
    fall = steps_of_the_fall(losses)
    return table(steps_of_the_fall=fall, steps_until_its_end=reached, last_loss=late(losses))


def run_heads(seeds, steps):
    """What heads of the trained models do, and the losses without them."""
    rows = experiments.repeated_tokens(torch.Generator().manual_seed(TEST_SEED))
    return [heads_of(model, rows) for model in trained_repeaters(tuple(seeds), steps).models]


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
        "even weights": 1 / 16,
        "loss without the head": loss((1, best)),
        "loss without the other": loss((1, 1 - best)),
        "loss without both": loss((1, 0), (1, 1)),
        "whole model": loss(),
        "score without the previous-token head": score((0, looker)),
        "score without layer 0's heads": score((0, 0), (0, 1)),
    }


CLAIMS = (
    Claim(
        name="last_gradient_by_depth",
        sentence="From 2 to 48 blocks, the last block's gradient falls in pre-LN and grows in "
        "post-LN.",
        run=run_gradients_by_depth,
        holds=lambda n: n["pre LN"] < 1 < n["post LN"],
        effect="pre LN",
        baseline="post LN",
        budget=48,
        quick=4,
    ),
    Claim(
        name="last_gradient_of_one_token",
        sentence="For one token it falls to less than half in pre-LN, and changes by less than a "
        "factor of two in post-LN.",
        run=run_one_token,
        holds=lambda n: n["pre LN"] < 0.5 < n["post LN"] < 2,
        effect="pre LN",
        baseline="post LN",
        budget=48,
        quick=4,
    ),
    Claim(
        name="gradients_near_the_output",
        sentence="At 48 blocks, post-LN's last block has more than four times the gradient of "
        "pre-LN's.",
        run=run_gradients_apart,
        holds=lambda n: n["deep"] > 4,
        effect="deep",
        baseline="two blocks",
        budget=48,
        quick=4,
    ),
    Claim(
        name="first_and_last_gradient",
        sentence="In pre-LN the first block's gradient is larger than the last one's.",
        run=run_ends,
        holds=lambda n: n["pre LN"] < 1,
        effect="pre LN",
        baseline="post LN",
        budget=48,
        quick=4,
    ),
    Claim(
        name="pre_ln_needs_no_warmup",
        sentence="Without a warm-up, the pre-LN stack gets below 1 nat in 60 steps.",
        run=run_pre_ln,
        holds=lambda n: n["pre LN"] < 1,
        effect="pre LN",
        baseline="post LN",
        budget=60,
        quick=3,
    ),
    Claim(
        name="post_ln_needs_warmup",
        sentence="Without one, the post-LN stack still guesses after 300 steps; with one of 30 "
        "steps it is below 1 nat by then.",
        run=run_post_ln,
        holds=lambda n: n["no warm up"] > 2.2 and n["warm up"] < 1,
        effect="no warm up",
        baseline="warm up",
        budget=300,
        quick=3,
    ),
    Claim(
        name="post_ln_at_a_low_rate",
        sentence="At a rate of 0.003 the post-LN stack learns without a warm-up, too: it is below "
        "0.5 nats after 150 steps.",
        run=run_low_rate,
        holds=lambda n: n["low rate"] < 0.5,
        effect="low rate",
        baseline="high rate",
        budget=150,
        quick=3,
    ),
    Claim(
        name="small_gpt_beats_pairs",
        sentence="On text that neither has seen, the small GPT pays less than the table of pairs.",
        run=run_small_gpt,
        holds=lambda n: n["small GPT"] < n["table of pairs"],
        effect="small GPT",
        baseline="table of pairs",
        budget=600,
        quick=3,
    ),
    Claim(
        name="small_exponent",
        sentence="Each run's exponent is above 0 and below 0.05, where Kaplan's is 0.076.",
        run=run_scaling,
        holds=lambda n: 0 < n["exponent"] < 0.05,
        effect="exponent",
        baseline="exponent at one rate",
        budget=150,
        quick=3,
    ),
    Claim(
        name="one_rate_for_all_sizes",
        sentence="At one rate for all four sizes the exponent is negative: larger is worse.",
        run=run_scaling,
        holds=lambda n: n["exponent at one rate"] < 0,
        effect="exponent at one rate",
        baseline="exponent",
        budget=150,
        quick=3,
    ),
    Claim(
        name="each_size_gains",
        sentence="In {held} of {tried} runs each size pays less than the one before.",
        run=run_scaling,
        holds=lambda n: n["least gain"] > 0,
        effect="least gain",
        baseline="least gain at one rate",
        budget=150,
        quick=3,
    ),
    Claim(
        name="two_layers_learn_induction",
        sentence="In {held} of {tried} runs two layers pay less than 0.5 nats after 1,000 steps.",
        run=run_two_layers,
        holds=lambda n: n["two layers"] < 0.5,
        effect="two layers",
        baseline="one layer",
        budget=1000,
        quick=30,
    ),
    Claim(
        name="one_layer_does_not",
        sentence="One layer never gets below 1.2 nats, even in 4,000 steps.",
        run=run_one_layer,
        holds=lambda n: n["one layer least"] > 1.2,
        effect="one layer least",
        baseline="two layers 1000 steps",
        budget=4000,
        quick=30,
    ),
    Claim(
        name="induction_comes_suddenly",
        sentence="In {held} of {tried} runs the loss falls from 1.5 to 0.5 nats within 200 of the "
        "1,000 steps.",
        run=run_fall,
        holds=lambda n: n["steps of the fall"] < 200,
        effect="steps of the fall",
        baseline="steps until its end",
        budget=1000,
        quick=30,
    ),
    Claim(
        name="an_induction_head",
        sentence="In {held} of {tried} runs a head of layer 1 has a score above 0.8.",
        run=run_heads,
        holds=lambda n: n["induction score"] > 0.8,
        effect="induction score",
        baseline="even weights",
        budget=1000,
        quick=30,
    ),
    Claim(
        name="one_head_carries_it",
        sentence="In {held} of {tried} there is such a head, and without it alone the loss is "
        "above 1 nat.",
        run=run_heads,
        holds=lambda n: n["induction score"] > 0.8 and n["loss without the head"] > 1,
        effect="loss without the head",
        baseline="loss without the other",
        budget=1000,
        quick=30,
    ),
    Claim(
        name="layer_1_carries_it",
        sentence="Without both heads of layer 1 the loss is above ln 8 = 2.1 nats.",
        run=run_heads,
        holds=lambda n: n["loss without both"] > 2.1,
        effect="loss without both",
        baseline="whole model",
        budget=1000,
        quick=30,
    ),
    Claim(
        name="layer_0_marks_the_place",
        sentence="Without the heads of layer 0, no head of layer 1 has a score above 0.3.",
        run=run_heads,
        holds=lambda n: n["score without layer 0's heads"] < 0.3,
        effect="score without layer 0's heads",
        baseline="induction score",
        budget=1000,
        quick=30,
    ),
    Claim(
        name="one_previous_token_head",
        sentence="In {held} of {tried} one previous-token head is enough for that: without it "
        "alone, a score above 0.8 falls below 0.3.",
        run=run_heads,
        holds=lambda n: (
            n["induction score"] > 0.8 and n["score without the previous-token head"] < 0.3
        ),
        effect="score without the previous-token head",
        baseline="induction score",
        budget=1000,
        quick=30,
    ),
)
