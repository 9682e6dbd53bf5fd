"""What lecture 03 claims of its trained models; `make claims LECTURE=03` runs its cells again."""

from course_utils.teaching.claims import LONGER, RATES, Claim, Setting
from lectures.l03_heads.experiments import dates

WIDER = Setting("width 64", arguments={"WIDTH": 64})
TEN_TIMES = Setting(  # the head that cannot; the two others take their time as before
    "10 × steps",
    budget=10,
    edits={"True), STEPS)": "True), STEPS // 10)", "STEPS // 5)": "STEPS // 50)"},
    seeds=3,
)
COPYING = "setup", "head", "copier", "loop", "train"
FOUR = "setup", "head", "looped", "fused", "train", "many", "many-loop", "many-train"
WIDER_FOUR = Setting("width 64", arguments={"WIDTH": 64}, edits={"16, 32)": "16, 64)"})
ONE_HEAD_EACH = Setting("one head in all layers", edits={"Layer(H)": "Layer(1)"})
SHORT = {"STEPS": 20}


def turned_round(name: str) -> Setting:
    """The control of three claims with the same cells; `name` says what each model loses."""
    return Setting(
        name,
        edits={
            '"one head": (Copier(1), STEPS)': '"one head": (Copier(2), STEPS)',
            "from_tokens=True": "from_tokens=False",
            "Copier(1, network=network)": "Copier(1)",
        },
    )


def read_free(cell):
    """The shares of both right: of one head, of one that sees tokens, of one with a network."""
    one, tokens, network = (
        [shares[0] for shares in cell.curves[name]]
        for name in ("one head", "one head, tokens too", "one head, network")
    )
    return {
        "one head, its best": max(one),
        "one head": one[-1],
        "tokens too": tokens[-1],
        "network": network[-1],
        "one head, as many steps": one[len(network) - 1],
    }


def read_fours(cell):
    """The shares of all four right: at the end and after two thirds of the steps."""
    on_the_way = {heads: seen[2 * len(seen) // 3] for heads, seen in cell.fours.items()}
    return {
        "one head": cell.fours[1][-1],
        "four heads": cell.fours[4][-1],
        "four heads, earlier": on_the_way[4],
        "heads of width 1, earlier": on_the_way[max(on_the_way)],
    }


def read_dates(cell):
    """How much of cross-attention is on the token that gives the answer; dates right."""
    places = dates.places_to_read(cell.source)
    _, weights = cell.translator.translate(cell.source)
    there = weights[:, 0].gather(-1, places.clamp(min=0)[..., None])[..., 0]
    return {
        "weight on the right token": there[places >= 0].mean(),
        "dates right": cell.learned[-1],
    }


MISMATCHED = """def mismatched(count, generator):
    source, target = experiments.date_pairs(count, generator)
    return source, target.flip(0)


def date_loss"""
CLAIMS = (
    Claim(
        name="two_heads_copy",
        sentence="After 300 steps of training, one layer of two heads whose weights depend on "
        "positions alone names both the token one back and the token three back at more than 95 % "
        "of the places.",
        cells=(*COPYING, "task-train"),
        read=lambda cell: {
            "two heads": cell.curves["two heads"][-1][0],
            "one head": cell.curves["one head"][-1][0],
        },
        holds=lambda n: n["two heads"] > 0.95,
        effect="two heads",
        unit="of 1: share right",
        rival="one head",
        control=Setting("a single head", edits={'("two heads", 2)': '("two heads", 1)'}),
        quick=SHORT,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="one_head_by_position_cannot",
        sentence="In 3,000 steps of training, one layer of one head whose weights depend on "
        "positions alone, with a linear readout, never names both the token one back and the token "
        "three back at 40 % of the places or more.",
        cells=(*COPYING, "free-train"),
        read=read_free,
        holds=lambda n: n["one head, its best"] < 0.4,
        at_stake=lambda n: n["tokens too"] > 0.15,  # else nothing learns
        effect="one head, its best",
        unit="of 1: share right",
        rival="tokens too",
        control=turned_round("two heads instead of one"),
        quick=SHORT,
        settings=(*RATES, WIDER, TEN_TIMES),
    ),
    Claim(
        name="one_head_escapes",
        sentence="After 3,000 steps of training, one layer of one head whose weights depend on the "
        "tokens too, with a linear readout, names both the token one back and the token three back "
        "at more than 80 % of the places.",
        cells=(*COPYING, "free-train"),
        read=read_free,
        holds=lambda n: n["tokens too"] > 0.8,
        effect="tokens too",
        unit="of 1: share right",
        rival="one head",
        control=turned_round("weights by position alone"),
        quick=SHORT,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="feedforward_reads_one_mixture",
        sentence="After 600 steps of training, one layer of one head whose weights depend on "
        "positions alone, with a network of one hidden layer between it and the linear readout, "
        "names both the token one back and the token three back at more than 80 % of the places.",
        cells=(*COPYING, "free-train"),
        read=read_free,
        holds=lambda n: n["network"] > 0.8,
        effect="network",
        unit="of 1: share right",
        rival="one head, as many steps",
        control=turned_round("no network"),
        quick=SHORT,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="wrong_split_trains",
        sentence="A layer of four heads that splits vectors into heads with one reshape and no "
        "transpose, and merges them in the same way, has a loss between 0.55 and 0.60 nats after "
        "400 steps of training to name the token one back.",
        cells=("setup", "head", "looped", "fused", "train", "previous", "previous-train"),
        read=lambda cell: {name: cell.losses[name][-1] for name in ("both wrong", "both right")},
        holds=lambda n: 0.55 < n["both wrong"] < 0.60,
        effect="both wrong",
        unit="nats",
        rival="both right",
        control=Setting(
            "both right",
            edits={'"both wrong": (view_split, view_merge)': '"both wrong": (split, merge)'},
        ),
        quick=SHORT,
        settings=(*RATES, WIDER, LONGER),
    ),
    Claim(
        name="wrong_split_hides",
        sentence="A layer of four heads that splits vectors into heads with one reshape and no "
        "transpose, but merges them correctly, has a loss below 0.02 nats after 400 steps of "
        "training to name the token one back.",
        cells=("setup", "head", "looped", "fused", "train", "previous", "previous-train"),
        read=lambda cell: {
            "wrong split, right merge": cell.losses["split wrong, merge right"][-1],
            "both right": cell.losses["both right"][-1],
        },
        holds=lambda n: n["wrong split, right merge"] < 0.02,
        effect="wrong split, right merge",
        unit="nats",
        rival="both right",
        control=Setting(
            "the merge wrong too",
            edits={"= view_split, merge\n": "= view_split, view_merge\n"},
        ),
        quick=SHORT,
        settings=(*RATES, WIDER),
    ),
    Claim(
        name="four_heads_learn_sooner",
        sentence="After 300 steps of training to name the last four tokens, a layer of four heads "
        "and a network of one hidden layer is right about all four at more than 90 % of the "
        "places; the same with one head at less than 40 %.",
        cells=FOUR,
        read=read_fours,
        holds=lambda n: n["four heads"] > 0.9 and n["one head"] < 0.4,
        effect="four heads",
        unit="of 1: share right",
        rival="one head",
        control=ONE_HEAD_EACH,
        quick=SHORT,
        settings=(*RATES, WIDER_FOUR),
    ),
    Claim(
        name="heads_of_width_1_are_late",
        sentence="After 200 steps of training to name the last four tokens, a layer with as many "
        "heads as its width has numbers is right about all four at fewer places than a layer of "
        "four heads, by more than a tenth of all places.",
        cells=FOUR,
        read=read_fours,
        holds=lambda n: n["four heads, earlier"] > n["heads of width 1, earlier"] + 0.1,
        effect="heads of width 1, earlier",
        unit="of 1: share right",
        rival="four heads, earlier",
        control=ONE_HEAD_EACH,
        quick=SHORT,
        settings=(*RATES, WIDER_FOUR),
    ),
    Claim(
        name="dates_are_aligned",
        sentence="After 300 steps of training to rewrite dates, cross-attention puts more than 0.8 "
        "of its weight on the source token that gives the answer, where there is one, and more "
        "than 95 % of unseen dates are right from end to end.",
        cells=("setup", "train", "dates-train"),
        read=read_dates,
        holds=lambda n: n["weight on the right token"] > 0.8 and n["dates right"] > 0.95,
        effect="weight on the right token",
        unit="of 1: mean weight",
        rival="dates right",
        control=Setting(
            "each date beside another's answer",
            edits={"*experiments.date_pairs(32": "*mismatched(32", "def date_loss": MISMATCHED},
        ),
        quick=SHORT,
        settings=RATES,
    ),
)
