"""What lecture 00 claims of fresh and trained layers; `make claims LECTURE=00` runs it."""

from course_utils.lectures.l00_start_here.experiments.fixed_state import (
    AttentionRecall,
    LSTMRecall,
    pairs_known,
    train_first_token,
    train_recall,
)
from course_utils.lectures.l00_start_here.experiments.gradient_reach import powers_left
from course_utils.lectures.l00_start_here.experiments.kernel_regression import compare_on_data_sets
from course_utils.teaching.claims import RATES, Claim, Setting

__all__ = ["CLAIMS"]

OTHER_WIDTHS = (
    Setting("width 16", arguments={"width": 16}),
    Setting("width 128", arguments={"width": 128}),
)


def run_starts(seeds, distance, width=32):
    """The power of ten of the gradient that is left, by layer and start."""
    starts = {
        "RNN": ("rnn", {}),
        "RNN, orthogonal": ("rnn", {"orthogonal": True}),
        "LSTM": ("lstm", {}),
        "LSTM, forget bias 3": ("lstm", {"forget_bias": 3.0}),
    }
    return [
        {
            name: powers_left(kind, distance, width=width, seed=seed, **start)
            for name, (kind, start) in starts.items()
        }
        for seed in seeds
    ]


def run_first_token(seeds, steps, state=32):
    """The share of first tokens that is named after 30 others."""
    kept, default = (
        train_first_token(bias, seeds=seeds, steps=steps, state=state).scores[:, -1]
        for bias in (3.0, 0.0)
    )
    names = "forget bias 3", "PyTorch's start"
    return [dict(zip(names, each, strict=True)) for each in zip(kept, default, strict=True)]


def known(model, pairs, seeds, steps, state, rate=0.01):
    """Return how many of the pairs each trained model knows."""
    done = train_recall(model, pairs, state=state, seeds=seeds, steps=steps, learning_rate=rate)
    shares = done.scores[:, -1]
    return [pairs_known(share, pairs) for share in shares.tolist()]


def run_states(seeds, steps):
    """Sixteen pairs, in a small state and in a large one, at a learning rate that suits both."""
    small, large = (known(LSTMRecall, 16, seeds, steps, state, rate=0.003) for state in (8, 64))
    names = "state of 8, pairs known", "state of 64"
    return [dict(zip(names, each, strict=True)) for each in zip(small, large, strict=True)]


def run_attention(seeds, steps, width=16):
    """Sixteen pairs in a head of width 16, and an LSTM with a state of 16."""
    attention, lstm = (
        known(model, 16, seeds, steps, width) for model in (AttentionRecall, LSTMRecall)
    )
    names = "attention, pairs known", "LSTM with a state of that width"
    return [dict(zip(names, each, strict=True)) for each in zip(attention, lstm, strict=True)]


def run_kernels(seeds, steps, noise=0.4):
    """Errors against the true curve; the static kernel has the best of its bandwidths."""
    static, attention = compare_on_data_sets(seeds, noise=noise)
    names = "attention's error", "best static kernel's"
    return [dict(zip(names, each, strict=True)) for each in zip(attention, static, strict=True)]


CLAIMS = (
    Claim(
        name="start_decides_the_reach_of_an_rnn",
        sentence="In a fresh RNN of width 32 the input 30 steps back gets less than 1e-7 of the "
        "last input's gradient with PyTorch's initialisation, and more than 1e-5 with an "
        "orthogonal recurrent matrix.",
        run=run_starts,
        holds=lambda n: n["RNN"] < -7 and n["RNN, orthogonal"] > -5,
        effect="RNN",
        unit="powers of ten",
        rival="RNN, orthogonal",
        budget=30,
        quick=5,
        settings=OTHER_WIDTHS,
    ),
    Claim(
        name="start_decides_the_reach_of_an_lstm",
        sentence="In a fresh LSTM of width 32 the input 30 steps back gets less than 1e-5 of the "
        "last input's gradient with PyTorch's initialisation, and more than a tenth with a forget "
        "bias of 3.",
        run=run_starts,
        holds=lambda n: n["LSTM"] < -5 and n["LSTM, forget bias 3"] > -1,
        effect="LSTM",
        unit="powers of ten",
        rival="LSTM, forget bias 3",
        budget=30,
        quick=5,
        settings=OTHER_WIDTHS,
    ),
    Claim(
        name="forget_bias_trains",
        sentence="After 800 steps of training, an LSTM with a forget bias of 3 names the first of "
        "31 tokens right in more than 95 % of unseen sequences, and one with PyTorch's "
        "initialisation in fewer than 20 %, where guessing gets 12.5 %.",
        run=run_first_token,
        holds=lambda n: n["forget bias 3"] > 0.95 and n["PyTorch's start"] < 0.2,
        effect="forget bias 3",
        unit="of 1: share right",
        rival="PyTorch's start",
        budget=800,
        quick=3,
        settings=(*RATES, Setting("twice the width", arguments={"state": 64})),
    ),
    Claim(
        name="small_state_learns_few_pairs",
        sentence="After 3,000 steps of training at a learning rate of 0.003, an LSTM with a state "
        "of size 8 knows fewer than 4 of 16 pairs, and one with a state of 64 more than 12.",
        run=run_states,
        holds=lambda n: n["state of 8, pairs known"] < 4 and n["state of 64"] > 12,
        effect="state of 8, pairs known",
        unit="pairs of 16",
        rival="state of 64",
        budget=3000,
        quick=5,
        settings=RATES,
    ),
    Claim(
        name="attention_knows_all_pairs",
        sentence="After 300 steps of training, attention with one head of width 16 knows more than "
        "15.9 of 16 pairs.",
        run=run_attention,
        holds=lambda n: n["attention, pairs known"] > 15.9,
        effect="attention, pairs known",
        unit="pairs of 16",
        rival="LSTM with a state of that width",
        budget=300,
        quick=5,
        settings=(*RATES, Setting("half the width", arguments={"width": 8})),
    ),
    Claim(
        name="learned_kernel_beats_the_best_static_one",
        sentence="On 150 noisy points of a curve that is flat and then waves, attention with a "
        "learned query has a smaller squared error against the true curve than the static kernel "
        "with the best of 12 bandwidths.",
        run=run_kernels,
        holds=lambda n: n["attention's error"] < n["best static kernel's"],
        effect="attention's error",
        unit="(mean squared error)",
        rival="best static kernel's",
        budget=200,
        quick=200,
        settings=(*RATES, Setting("half the noise", arguments={"noise": 0.2})),
    ),
)
