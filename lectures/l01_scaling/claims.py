"""What lecture 01 claims of random draws; `make claims LECTURE=01` runs its cells again."""

from course_utils.teaching.claims import LONGER, RATES, Claim, Setting

QUERIES, KEYS = "torch.randn(2000, width)", "torch.randn(KEYS, width)"
DIRECTIONS = "torch.randn(2, 8000, width)"
UNTRAINED = "untrained = Encoder(models.random_encoder().config).eval()"


def started_by(name, init):
    """A setting in which the matrices of the untrained encoder are drawn otherwise."""
    line = "[{}(part.weight) for part in untrained.modules() if type(part) is torch.nn.Linear]"
    return Setting(f"{name} initialisation", edits={UNTRAINED: f"{UNTRAINED}\n{line.format(init)}"})


def _gradients(cell):
    """What one query in ten, the median and nine in ten receive, by width."""
    plain, divided = (
        {width: cell.received[name, width] for width in (4, 64, 1024)}
        for name in ("not divided", "divided by √d")
    )
    return {
        "lower tenth, d = 64": plain[64][0],
        "upper tenth, d = 64": plain[64][2],
        "lower tenth, d = 64, divided": divided[64][0],
        "upper tenth, d = 64, divided": divided[64][2],
        "median, d = 1024": plain[1024][1],
        "lower tenth, d = 1024": plain[1024][0],
        "upper over lower, divided": max(high / low for low, _, high in divided.values()),
    }


CLAIMS = (
    Claim(
        name="gradients_become_unequal",
        sentence="For 2,000 random queries, 64 random keys and a random wish for each weight, take "
        "the length of the gradient at a query's scores. Not divided, one query in ten receives "
        "less than 0.01 at 64 dimensions and one in ten 1.5 times what the upper tenth does "
        "divided; at 1,024 the median is below 0.01, the lower tenth below a billionth. Divided by "
        "√d_k, upper and lower tenth are within a factor of 3 at 4, 64 and 1,024 dimensions.",
        cells=("setup", "gradient"),
        read=_gradients,
        holds=lambda n: (
            n["lower tenth, d = 64"] < 0.01
            and n["upper tenth, d = 64"] > 1.5 * n["upper tenth, d = 64, divided"]
            and n["median, d = 1024"] < 0.01
            and n["lower tenth, d = 1024"] < 1e-9
            and n["upper over lower, divided"] < 3
        ),
        effect="lower tenth, d = 64",
        unit="(length of a gradient)",
        rival="lower tenth, d = 64, divided",
        control=Setting("√d left out", edits={'"divided by √d": width**0.5': '"divided by √d": 1'}),
        settings=(
            Setting("coin flips", edits={each: f"{each}.sign()" for each in (QUERIES, KEYS)}),
            Setting("128 keys", arguments={"KEYS": 128}),
        ),
    ),
    Claim(
        name="undivided_queries_stay_stuck",
        sentence="Give each of 1,000 random queries of 64 numbers one of 64 random keys as its "
        "right one, and take 200 steps of gradient descent, at a rate of 10, that raise its "
        "weight. Divided by √d_k, more than 90 % of the queries end with more than half of their "
        "weight on their right key. Not divided, fewer than 40 % do, and fewer than 25 % of the "
        "200 that began surest of one key.",
        cells=("setup", "stuck"),
        read=lambda cell: {
            "not divided": cell.found["not divided"][0],
            "not divided, surest": cell.found["not divided"][1],
            "divided": cell.found["divided by √d"][0],
        },
        holds=lambda n: (
            n["divided"] > 0.9 and n["not divided"] < 0.4 and n["not divided, surest"] < 0.25
        ),
        effect="not divided",
        unit="of 1: share of queries",
        rival="divided",
        control=Setting("√d left out", edits={'"divided by √d": WIDTH**0.5': '"divided by √d": 1'}),
        quick={"STEPS": 20},
        settings=(*RATES, Setting("width 256", arguments={"WIDTH": 256}), LONGER),
    ),
    Claim(
        name="undivided_rows_are_sharp",
        sentence="For 2,000 random queries and 64 random keys, the largest weight of a query "
        "averages between 0.75 and 0.85 at 64 dimensions and more at 1,024 if scores are not "
        "divided; divided by √d_k it averages between 0.05 and 0.15 at 4, 64 and 1,024 dimensions.",
        cells=("setup", "divide"),
        read=lambda cell: {
            "not divided": cell.largest[64][0],
            "not divided, d = 1024": cell.largest[1024][0],
            "divided": cell.largest[64][1],
            "smallest, divided": min(root for _, root, _ in cell.largest.values()),
            "largest, divided": max(root for _, root, _ in cell.largest.values()),
        },
        holds=lambda n: (
            0.75 < n["not divided"] < 0.85
            and n["not divided, d = 1024"] > n["not divided"]
            and n["smallest, divided"] > 0.05
            and n["largest, divided"] < 0.15
        ),
        effect="not divided",
        unit="of 1: largest weight",
        rival="divided",
        control=Setting("√d left out", edits={"(1, width**0.5, width)": "(1, 1, width)"}),
        settings=(
            Setting("coin flips", edits={each: f"{each}.sign()" for each in (QUERIES, KEYS)}),
            Setting("128 keys", arguments={"KEYS": 128}),
        ),
    ),
    Claim(
        name="directions_are_nearly_orthogonal",
        sentence="In 64 dimensions, between 45 % and 55 % of 8,000 pairs of random directions are "
        "within five degrees of a right angle.",
        cells=("setup", "cosines"),
        read=lambda cell: {"64 dimensions": cell.near[64], "in the plane": cell.near[2]},
        holds=lambda n: 0.45 < n["64 dimensions"] < 0.55,
        effect="64 dimensions",
        unit="of 1: share of pairs",
        rival="in the plane",
        control=Setting("all in the plane", edits={DIRECTIONS: "torch.randn(2, 8000, 2)"}),
        settings=(
            Setting("uniform numbers", edits={DIRECTIONS: "torch.rand(2, 8000, width) - 0.5"}),
            Setting("coin flips", edits={DIRECTIONS: f"{DIRECTIONS}.sign()"}),
        ),
    ),
    Claim(
        name="trained_heads_spread_more_than_fresh",
        sentence="On six sentences, each of MiniLM's 72 heads has a larger standard deviation of "
        "divided scores than every head of an encoder of its shape with nn.Linear's default "
        "initialisation, which reads random tokens.",
        cells=("setup", "trained", "trained-spreads"),
        read=lambda cell: {
            "largest, fresh": cell.fresh.max(),
            "smallest, trained": cell.trained.min(),
        },
        holds=lambda n: n["smallest, trained"] > n["largest, fresh"],
        effect="largest, fresh",
        unit="(standard deviation)",
        rival="smallest, trained",
        control=Setting(
            "the other one untrained too",
            edits={"spreads(models.read_text)\n": "spreads(read_untrained)\n"},
        ),
        settings=(
            started_by("BERT's", "(lambda w: torch.nn.init.normal_(w, std=0.02))"),
            started_by("Xavier's", "torch.nn.init.xavier_uniform_"),
        ),
    ),
)
