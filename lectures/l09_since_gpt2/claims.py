"""What lecture 09 claims of trained models; `make claims LECTURE=09` runs its cells."""

from course_utils.teaching.claims import RATES, Claim, Setting

GPTS = ("setup", "rms", "heads", "changes", "make", "gpt", "train", "measure", "qk-runs")
TABLE = (*GPTS, "windowed", "three-train", "three")
SINKS = ("setup", "absent", "sink-head", "sink-attend", "sink-train", "sinks")
STATES = ("setup", "rules", "delta", "pair-rows", "recall", "recall-train", "recalled")
FEW = tuple(Setting(each.name, rate=each.rate, seeds=3) for each in RATES)
SINK_SETTINGS = (
    *(Setting(each.name, arguments={"SINK_RATE": 0.005 * each.rate}, seeds=3) for each in RATES),
    Setting("4 × steps", arguments={"SINK_STEPS": 4000}, seeds=3),
)
STATE_SETTINGS = (
    *(Setting(each.name, arguments={"RECALL_RATE": 0.01 * each.rate}, seeds=3) for each in RATES),
    Setting("4 × steps", arguments={"RECALL_STEPS": 1600}, seeds=3),
)
EIGHT = Setting("eight people in the list", edits={"listed=2": "listed=8"}, seeds=3)
USUAL, TWICE, FAST, PUT_ON = range(4)  # the columns of the table


def read_tests(cell):
    """What each GPT lost in the tests."""
    names = ("as GPT-2", "RMSNorm", "RoPE", "QK-norm", "window")
    columns = {"usual": USUAL, "twice as long": TWICE, "rate × 10": FAST, "put on": PUT_ON}
    return {
        f"{name.removeprefix('as ')}, {column}": cell.tests[name][place]
        for name in names
        for column, place in columns.items()
    }


def read_sinks(cell):
    """Which share of the answers is right where nobody is found, and what the first token gets."""
    found: dict[str, float] = {name: right[1] for name, right in cell.right.items()}
    found["weight, somebody"], found["weight, nobody"] = cell.on_first
    return found


def read_states(cell):
    """Which share of three lists each rule knows."""
    lists = ("16 people", "64 people", "named twice")
    return {
        f"{rule}, {name}": share
        for rule, shares in cell.known.items()
        for name, share in zip(lists, shares, strict=True)
    }


CLAIMS = (
    Claim(
        name="qk_norm_bears_ten_times_the_rate",
        sentence="At ten times the learning rate, after 150 steps on short stories, a GPT of two "
        "blocks loses at least 0.5 nats more than one with QK-norm, and the one with QK-norm at "
        "most 0.3 nats more than at the rate itself.",
        cells=TABLE,
        read=read_tests,
        holds=lambda n: (
            n["GPT-2, rate × 10"] > n["QK-norm, rate × 10"] + 0.5
            and n["QK-norm, rate × 10"] < n["QK-norm, usual"] + 0.3
        ),
        effect="QK-norm, rate × 10",
        unit="nats",
        rival="GPT-2, rate × 10",
        control=Setting(
            "no norm in QK-norm",
            edits={"return self.query_norm(q), self.key_norm(k)": "return q, k"},
            seeds=3,
        ),
        quick={"STEPS": 2},
        settings=FEW,
    ),
    Claim(
        name="rope_reads_twice_as_long",
        sentence="After 150 steps on rows of 64 words, a GPT of two blocks with learned positions "
        "loses at least 0.4 nats more on words 65 to 128 than one with RoPE, and at most 0.3 nats "
        "more than it on words 1 to 64.",
        cells=TABLE,
        read=read_tests,
        holds=lambda n: (
            n["GPT-2, twice as long"] > n["RoPE, twice as long"] + 0.4
            and n["GPT-2, usual"] < n["RoPE, usual"] + 0.3
        ),
        effect="RoPE, twice as long",
        unit="nats",
        rival="GPT-2, twice as long",
        control=Setting(
            "RoPE that does not rotate",
            edits={
                "return apply_rope(q, positions), apply_rope(k, positions)": "return q, k",
                "if RoPE in changes:": "if False:",
            },
            seeds=3,
        ),
        quick={"STEPS": 2},
        settings=FEW,
    ),
    Claim(
        name="a_window_reads_twice_as_long",
        sentence="After 150 steps on rows of 64 words, a GPT of two blocks with windows of 8 words "
        "loses at least 0.5 nats less on words 65 to 128 than one without; and windows of 8 that "
        "are put on the other after its training cost it at least 0.25 nats.",
        cells=TABLE,
        read=read_tests,
        holds=lambda n: (
            n["window, twice as long"] < n["GPT-2, twice as long"] - 0.5
            and n["GPT-2, put on"] > n["GPT-2, usual"] + 0.25
        ),
        effect="window, twice as long",
        unit="nats",
        rival="GPT-2, twice as long",
        control=Setting(
            "windows of 1,000 words", edits={"(model, window=8)": "(model, window=1000)"}, seeds=3
        ),
        quick={"STEPS": 2},
        settings=FEW,
    ),
    Claim(
        name="the_sink_is_missed",
        sentence="A head that has learned to say nobody, from two people and a first token whose "
        "value is 0, has more than half of its weight on that token where nobody is found and "
        "less than a fifth where somebody is; without the token it is right about nobody at "
        "least ten points less often.",
        cells=SINKS,
        read=read_sinks,
        holds=lambda n: (
            n["weight, nobody"] > 0.5
            and n["weight, somebody"] < 0.2
            and n["first token gone"] < n["first token kept"] - 0.1
        ),
        at_stake=lambda n: n["first token kept"] > 0.9,
        effect="first token gone",
        unit="of 1: share right",
        rival="first token kept",
        control=EIGHT,
        quick={"SINK_STEPS": 2},
        settings=SINK_SETTINGS,
    ),
    Claim(
        name="a_place_is_needed",
        sentence="A head that never had a place for nothing is right about nobody less than nine "
        "times in ten where the list has two people; with a learned sink it is so more than 95 "
        "times in a hundred.",
        cells=SINKS,
        read=read_sinks,
        holds=lambda n: n["never had one"] < 0.9 and n["learned sink"] > 0.95,
        effect="never had one",
        unit="of 1: share right",
        rival="learned sink",
        control=EIGHT,
        quick={"SINK_STEPS": 2},
        settings=SINK_SETTINGS,
    ),
    Claim(
        name="a_state_is_full",
        sentence="After 400 steps, with a state of 16 × 16 numbers, the sum and the delta rule "
        "know more than three quarters of sixteen pairs and fewer than a quarter of sixty-four, "
        "where softmax knows more than nine in ten of these.",
        cells=STATES,
        read=read_states,
        holds=lambda n: (
            min(n["linear, 16 people"], n["delta, 16 people"]) > 0.75
            and max(n["linear, 64 people"], n["delta, 64 people"]) < 0.25
            and n["softmax, 64 people"] > 0.9
        ),
        effect="delta, 64 people",
        unit="of 1: share known",
        rival="softmax, 64 people",
        control=Setting(
            "softmax in the place of both",
            edits={'linear_rule, "delta": delta_rule': 'softmax_rule, "delta": softmax_rule'},
            seeds=3,
        ),
        quick={"RECALL_STEPS": 2},
        settings=STATE_SETTINGS,
    ),
    Claim(
        name="the_delta_rule_overwrites",
        sentence="After 400 steps on lists that name each of sixteen people twice, the delta rule "
        "knows more than three quarters of the second numbers, and softmax without positions and "
        "the sum know fewer than two thirds.",
        cells=STATES,
        read=read_states,
        holds=lambda n: (
            n["delta, named twice"] > 0.75
            and max(n["softmax, named twice"], n["linear, named twice"]) < 2 / 3
        ),
        effect="delta, named twice",
        unit="of 1: share known",
        rival="linear, named twice",
        control=Setting(
            "softmax in the place of both",
            edits={'linear_rule, "delta": delta_rule': 'softmax_rule, "delta": softmax_rule'},
            seeds=3,
        ),
        quick={"RECALL_STEPS": 2},
        settings=STATE_SETTINGS,
    ),
)
