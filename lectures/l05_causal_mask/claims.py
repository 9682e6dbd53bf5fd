"""What lecture 05 claims of fresh and trained models; `make claims LECTURE=05` runs its cells."""

from course_utils.teaching.claims import RATES, Claim, Setting


def read_late(cell):
    """The share of the pairs of an output and a later token that leak."""
    pairs = cell.T * (cell.T - 1) / 2
    return {"pairs that leak": (cell.ahead > 0).sum() / pairs, "largest": cell.ahead.max()}


def read_leak(cell):
    """The worst of three runs in training, by their last ten steps, and the loss of one in use."""
    return {
        "in training": max(sum(losses[-10:]) / 10 for _, losses in cell.leaky),
        "in use": cell.loss,
    }


def read_unshifted(cell):
    """The loss at the end, what the swap test says, and the share of texts that only repeat."""
    repeats = (cell.written == cell.written[:, :1]).all(dim=1)
    return {
        "in training": cell.losses[-1],
        "outputs that change": (cell.change[:-1] > 0).sum(),
        "repeat": repeats.float().mean(),
    }


CLAIMS = (
    Claim(
        name="late_masks_leak",
        sentence="In an attention layer with random weights that masks after the softmax, each of "
        "12 outputs has a gradient other than 0 with respect to each later token.",
        cells=("setup", "leak-model", "leak-figure", "late"),
        read=read_late,
        holds=lambda n: n["pairs that leak"] == 1,
        effect="pairs that leak",
        unit="of 1: share of pairs",
        rival="largest",
        control=Setting(
            "masked before the softmax",
            edits={
                "scores.softmax(dim=-1).tril()": (
                    "scores.masked_fill(~ones.tril(), -torch.inf).softmax(dim=-1)"
                )
            },
        ),
        quick={"T": 7},
        settings=(
            Setting("width 32", arguments={"C": 32}),
            Setting("24 tokens", arguments={"T": 24}),
        ),
    ),
    Claim(
        name="a_leak_trains_too_well",
        sentence="Three models of random tokens of 11 kinds whose mask is off by one have a loss "
        "below 0.2 nats after 150 steps of training, and the first of them above 4 nats when it is "
        "used, under the causal mask.",
        cells=("setup", "good-train", "good-figure"),
        read=read_leak,
        holds=lambda n: n["in training"] < 0.2 and n["in use"] > 4,
        effect="in use",
        unit="nats",
        rival="in training",
        control=Setting(
            "a causal mask",
            edits={"leaky = [train(ones.tril(1), seed)": "leaky = [train(ones.tril(), seed)"},
        ),
        quick={"STEPS": 10},
        settings=(*RATES, Setting("width 64", arguments={"WIDTH": 64})),
    ),
    Claim(
        name="unshifted_targets_repeat",
        sentence="A causal model of random tokens of 11 kinds whose targets are its inputs has a "
        "loss below 0.1 nats after 150 steps of training. A swap of the last token changes no "
        "output before it, and from each of the 11 tokens it writes that token nine times.",
        cells=("setup", "good-train", "unshifted"),
        read=read_unshifted,
        holds=lambda n: (
            n["in training"] < 0.1 and n["outputs that change"] == 0 and n["repeat"] == 1
        ),
        effect="repeat",
        unit="of 1: share of texts",
        control=Setting("shifted targets", edits={"ahead=0": "ahead=1"}),
        quick={"STEPS": 10},
        settings=(*RATES, Setting("width 64", arguments={"WIDTH": 64})),
    ),
)
