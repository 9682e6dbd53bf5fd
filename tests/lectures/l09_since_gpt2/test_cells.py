"""What a reader who goes back to an earlier section relies on."""

import re

from tools.notebook_file import LECTURES, read_cells


def test_going_back_trains_as_before():
    """A constant is assigned once: no later section makes an earlier one train longer."""
    cells = read_cells(LECTURES / "09_since_gpt2.ipynb")
    code = "\n".join(cell.source for cell in cells if cell.kind == "code")
    for name in ("SEED", "STEPS", "RATE", "SINK_STEPS", "SINK_RATE", "RECALL_STEPS", "RECALL_RATE"):
        assert len(re.findall(rf"^(?:\w+, )*{name}(?:, \w+)* = ", code, re.MULTILINE)) == 1, name
