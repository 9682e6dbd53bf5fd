"""What lecture 00 claims of its layers; `make claims LECTURE=00` runs its cells again."""

import math

from course_utils.teaching.claims import LONGER, RATES, Claim, Setting

RECALL = "setup", "recall-rows"
REACH = "setup", "reach-by-hand", "reach-starts"
OTHER_WIDTHS = tuple(Setting(f"width {each}", arguments={"WIDTH": each}) for each in (16, 128))
AS_PYTORCH_STARTS = Setting(
    "both as PyTorch starts them",
    edits={
        "torch.nn.init.orthogonal_(orthogonal.weight_hh_l0)": "",
        "keeping.bias_ih_l0.data[WIDTH : 2 * WIDTH] += 3": "",
    },
)


def read_powers(cell):
    """The power of ten of the gradient that is left 30 steps back, by layer."""
    return {name: math.log10(share) for name, share in cell.left.items()}


CLAIMS = (
    Claim(
        name="start_decides_the_reach_of_an_rnn",
        sentence="In a fresh RNN of width 32 the input 30 steps back gets less than 1e-7 of the "
        "last input's gradient with PyTorch's initialisation, and more than 1e-5 with an "
        "orthogonal recurrent matrix.",
        cells=REACH,
        read=read_powers,
        holds=lambda n: n["RNN"] < -7 and n["RNN, orthogonal"] > -5,
        effect="RNN",
        unit="powers of ten",
        rival="RNN, orthogonal",
        control=AS_PYTORCH_STARTS,
        settings=OTHER_WIDTHS,
    ),
    Claim(
        name="start_decides_the_reach_of_an_lstm",
        sentence="In a fresh LSTM of width 32 the input 30 steps back gets less than 1e-5 of the "
        "last input's gradient with PyTorch's initialisation, and more than a tenth with a forget "
        "bias of 3.",
        cells=REACH,
        read=read_powers,
        holds=lambda n: n["LSTM"] < -5 and n["LSTM, forget bias 3"] > -1,
        effect="LSTM",
        unit="powers of ten",
        rival="LSTM, forget bias 3",
        control=AS_PYTORCH_STARTS,
        settings=OTHER_WIDTHS,
    ),
    Claim(
        name="forget_bias_trains",
        sentence="After 800 steps of training, an LSTM with a forget bias of 3 names the first of "
        "31 tokens right in more than 80 % of unseen sequences, and one with PyTorch's "
        "initialisation in fewer than 20 %, where guessing gets 12.5 %.",
        cells=(*RECALL, "recall-loop", "first-token", "first-token-train"),
        read=lambda cell: {"forget bias 3": cell.right[3], "PyTorch's start": cell.right[0]},
        holds=lambda n: n["forget bias 3"] > 0.8 and n["PyTorch's start"] < 0.2,
        effect="forget bias 3",
        unit="of 1: share right",
        rival="PyTorch's start",
        control=Setting("no bias in either", edits={"] += forget_bias": "] += 0 * forget_bias"}),
        quick={"STEPS": 20},
        settings=(*RATES, Setting("state of 64", arguments={"STATE": 64}), LONGER),
    ),
    Claim(
        name="small_state_learns_few_pairs",
        sentence="After 3,000 steps of training at a learning rate of 0.003, an LSTM with a state "
        "of size 8 knows fewer than 4 of 16 pairs, and one with a state of 64 more than 12.",
        cells=(*RECALL, "recall-lstm", "recall-loop", "recall-train", "recall-64"),
        read=lambda cell: {"state of 8": cell.small[-1], "state of 64": cell.large[-1]},
        holds=lambda n: n["state of 8"] < 4 and n["state of 64"] > 12,
        effect="state of 64",
        unit="pairs of 16",
        rival="state of 8",
        control=Setting(
            "a state of 8 again", edits={"RecallLSTM(state=64)": "RecallLSTM(state=8)"}
        ),
        quick={"STEPS": 20, "EVERY": 10},
        settings=RATES,
    ),
    Claim(
        name="attention_knows_all_pairs",
        sentence="After 300 steps of training, attention with one head of width 16 knows more than "
        "15.9 of 16 pairs.",
        cells=(*RECALL, "recall-loop", "recall-head", "recall-head-train"),
        read=lambda cell: {"after 300 steps": cell.known[-1], "after 20 steps": cell.known[1]},
        holds=lambda n: n["after 300 steps"] > 15.9,
        effect="after 300 steps",
        unit="pairs of 16",
        rival="after 20 steps",
        control=Setting(
            "the query does not know who is asked for",
            edits={"self.query(self.people(asked))": "self.query(0 * self.people(asked))"},
        ),
        quick={"STEPS": (0, 5, 5)},
        settings=(*RATES, Setting("half the width", arguments={"WIDTH": 8})),
    ),
    Claim(
        name="learned_kernel_beats_the_best_static_one",
        sentence="On 150 noisy points of a curve that is flat and then waves, attention with a "
        "learned query has a smaller squared error against the true curve than the static kernel "
        "with the best of 12 bandwidths.",
        cells=("setup", "kernel-learned"),
        read=lambda cell: {"attention": cell.learned, "best static kernel": min(cell.fixed)},
        holds=lambda n: n["attention"] < n["best static kernel"],
        effect="attention",
        unit="(mean squared error)",
        rival="best static kernel",
        control=Setting(
            "each bandwidth at the mirrored place",
            edits={"error(precision), [": "error(precision.flip(0)), ["},
        ),
        quick={"STEPS": 20},
        settings=(*RATES, Setting("half the noise", arguments={"NOISE": 0.2})),
    ),
)
