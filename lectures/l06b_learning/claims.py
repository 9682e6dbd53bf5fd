"""What lecture 06b claims of trained models; `make claims LECTURE=06b` runs its cells."""

from course_utils.teaching.claims import RATES, Claim, Setting

LOOP = ("setup", "stories", "muon", "steps", "loop")
MAIN = (*LOOP, "patterns", "kinds", "shares", "train")
FAULTS = (*LOOP, "runs", "overfit", "wrong")
EVERY = 50  # steps between two measurements
NAMES, PLACES, SMALL = "who found it", "where it is", "small words"
WIDER = Setting("width 96", arguments={"WIDTH": 96}, seeds=3)
ADAM = Setting("Adam alone", edits={"use_muon=True": "use_muon=False"}, seeds=3)
# Every name of a story is another one each time it is said: who found it cannot be known.
ANYBODY = Setting(
    "names that do not agree",
    edits={
        'f"\\n{tell(dice, SHORT_STORIES)}\\n"': (
            '"\\n" + " ".join(dice.choice(("Ann", "Meg", "Tom", "Ben")) if word.istitle() and word '
            'not in {"He", "She", "It", "Who", "What", "Where", "Nobody"} else word '
            'for word in tell(dice, SHORT_STORIES).words) + "\\n"'
        )
    },
    seeds=3,
)


def late(losses):
    """The mean of the last ten losses."""
    return sum(losses[-10:]) / 10


def read_arrivals(cell):
    """Shares that are right at some steps, and how many steps the names took to come."""
    names = cell.shares[NAMES]
    last = next((i for i, share in enumerate(names) if share > 0.5), 0)
    first = max((i for i, share in enumerate(names[:last]) if share < 0.2), default=0)
    return {
        "small words early": cell.shares[SMALL][min(3, len(names) - 1)],
        "names early": names[min(3, len(names) - 1)],
        "names at the end": names[-1],
        "places at the end": cell.shares[PLACES][-1],
        "steps of the rise": EVERY * (last - first) if last else len(names) * EVERY,
        "first loss": cell.losses[0],
    }


def read_faults(cell):
    """The last losses of the four trainings, and that of four stories by heart."""
    return {name: late(losses) for name, losses in cell.runs.items()} | {
        "by heart": cell.by_heart[-1]
    }


def read_norms(cell):
    """The last losses of the four stacks."""
    return {name: late(losses) for name, losses in cell.norms.items()}


CLAIMS = (
    Claim(
        name="names_come_late",
        sentence="A GPT of two blocks that learns short stories has more than 90 % of the small "
        "words right after 150 steps and fewer than 20 % of the answers to who found the thing; "
        "after 500 steps more than half of these, and fewer than a quarter of those to where it "
        "is.",
        cells=MAIN,
        read=read_arrivals,
        holds=lambda n: (
            n["small words early"] > 0.9
            and n["names early"] < 0.2
            and n["names at the end"] > 0.5
            and n["places at the end"] < 0.25
        ),
        effect="names at the end",
        unit="of 1: share right",
        rival="places at the end",
        control=ANYBODY,
        quick={"STEPS": 3},
        settings=(*RATES, ADAM),
    ),
    Claim(
        name="names_come_suddenly",
        sentence="A GPT of two blocks that learns short stories has more than half of the answers "
        "to who found the thing right after 500 steps, and their share rises from below 20 % to "
        "above half within 150 steps.",
        cells=MAIN,
        read=read_arrivals,
        holds=lambda n: n["names at the end"] > 0.5 and n["steps of the rise"] <= 150,
        effect="steps of the rise",
        unit="steps",
        control=ANYBODY,
        quick={"STEPS": 3},
        settings=(*RATES, ADAM),
    ),
    Claim(
        name="unshifted_is_below_the_entropy",
        sentence="After 80 steps, a GPT whose targets are not shifted has a loss below 0.52 nats, "
        "the entropy of the stories, and one whose targets are shifted a loss above it.",
        cells=FAULTS,
        read=read_faults,
        holds=lambda n: n["not shifted"] < 0.52 < n["right"],
        effect="not shifted",
        unit="nats",
        rival="right",
        control=Setting("shifted targets", edits={"draws(shifted=False)": "draws()"}, seeds=3),
        quick={"FEW": 3},
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="a_high_rate_sticks",
        sentence="After 80 steps, a GPT that learns at 30 times the rate has a loss above 2.5 "
        "nats, one at a hundredth of it a loss above 4.5, and one at the rate itself below 2.",
        cells=FAULTS,
        read=read_faults,
        holds=lambda n: n["rate × 30"] > 2.5 and n["rate / 100"] > 4.5 and n["right"] < 2,
        effect="rate × 30",
        unit="nats",
        rival="right",
        control=Setting("the rate itself", edits={"rate=30 * RATE": "rate=RATE"}, seeds=3),
        quick={"FEW": 3},
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="four_stories_by_heart",
        sentence="A GPT that is trained on the same four stories again and again has a loss below "
        "0.3 nats after 40 steps.",
        cells=FAULTS,
        read=read_faults,
        holds=lambda n: n["by heart"] < 0.3,
        effect="by heart",
        unit="nats",
        rival="right",
        control=Setting(
            "new stories at each step",
            edits={"a_run(lambda: four, 40)": "a_run(draws(), 40)"},
            seeds=3,
        ),
        quick={"FEW": 3},
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="post_ln_needs_a_warmup",
        sentence="At a rate of 0.01 under Adam, four post-LN blocks have a loss above 3.3 nats "
        "after 80 steps without a warm-up, and below 3 nats with one of 30 steps; pre-LN has a "
        "loss below 2.6 nats without one.",
        cells=(*LOOP, "runs", "post-ln", "post-run"),
        read=read_norms,
        holds=lambda n: (
            n["post-LN, none"] > 3.3 and n["post-LN, warm-up"] < 3 and n["pre-LN, none"] < 2.6
        ),
        effect="post-LN, none",
        unit="nats",
        rival="post-LN, warm-up",
        control=Setting(
            "pre-LN in both", edits={'(True, "post-LN")': '(False, "post-LN")'}, seeds=3
        ),
        quick={"FEW": 3},
        settings=(*RATES, Setting("8 blocks", edits={"C=32, L=4": "C=32, L=8"}, seeds=3)),
    ),
)
