"""What a reader who goes back to an earlier section relies on, and what the text says beside it."""

import re

from tools.claims.cells import run_cells
from tools.notebook_file import LECTURES, read_cells

NOTEBOOK = LECTURES / "09_since_gpt2.ipynb"


def test_going_back_trains_as_before():
    """A constant is assigned once: no later section makes an earlier one train longer."""
    cells = read_cells(NOTEBOOK)
    code = "\n".join(cell.source for cell in cells if cell.kind == "code")
    for name in ("SEED", "STEPS", "RATE", "SINK_STEPS", "SINK_RATE", "RECALL_STEPS", "RECALL_RATE"):
        assert len(re.findall(rf"^(?:\w+, )*{name}(?:, \w+)* = ", code, re.MULTILINE)) == 1, name


def test_other_three_are_trained_when_their_cell_runs_again():
    cells = ("setup", "rms", "heads", "changes", "make", "gpt", "train", "measure", "qk-runs")
    cell = run_cells(NOTEBOOK, (*cells, "windowed", "three-train"), {"STEPS": lambda _: 2})
    before = dict(cell.trained)
    again = next(each.source for each in read_cells(NOTEBOOK) if each.id == "three-train")
    exec(again, vars(cell))
    assert [key for key in before if cell.trained[key] is not before[key]] == [
        ("yours", 1),
        ("yours", 10),
    ]


def test_with_positions_softmax_knows_the_second_number():
    """Section 6 says so beside its table: without them it knows about half."""
    cells = ("setup", "rules", "delta", "pair-rows", "recall", "recall-train")
    reads, learns = "self.people(who) + self.numbers(numbers)", "        self.rule = rule\n"
    places = {
        reads: f"{reads} + self.places.weight[: who.shape[1]]",
        learns: f"{learns}        self.places = nn.Embedding(32, 32)\n",
    }
    known = {}
    for name, edits in (("without", None), ("with", places)):
        cell = run_cells(NOTEBOOK, cells, edits=edits)
        known[name] = cell.share_known(cell.softmax_rule, 16, 2)
    assert known["without"] < 0.6 and known["with"] > 0.95


def test_eight_people_need_no_sink():
    """Section 4 says so: an even mixture of eight values says nobody."""
    cells = ("setup", "absent", "sink-head", "sink-attend", "sink-train", "sinks")
    few = {
        'tries["never had one"] = (train_sink(), False)\n': "",
        'tries["learned sink"] = (train_sink(learned_sink=True), False)\n': "",
    }
    cell = run_cells(NOTEBOOK, cells, edits={"listed=2": "listed=8", **few})
    assert cell.right["first token gone"][1] > cell.right["first token kept"][1] - 0.02
    assert cell.right["first token gone"][1] > 0.95
