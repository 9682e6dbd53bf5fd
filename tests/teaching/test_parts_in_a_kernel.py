"""A reader's copy runs in a real kernel: functions and classes of cells are kept as parts."""

import json

import nbformat
from nbclient import NotebookClient

from course_utils.teaching.parts import my_parts
from tests.teaching.support_reader import MIX_CELL, SHARES_CELL, TWICE_CELL, X
from tools.editions.my_course import update_copies

SETUP = """
import torch
import torch.nn.functional as F
from torch import nn
from tests.teaching.support_reader import EXERCISES as exercises
"""
CELLS = [
    SETUP,
    SHARES_CELL + "\n" + "width = 3\n\n" + TWICE_CELL.replace("return 2 *", "return 3 *"),
    "exercises.check_Twice(Twice)",  # thrice: wrong
    "# the second try, in a cell that IPython changes first\n%time width = 3\n" + TWICE_CELL,
    "exercises.check_shares(shares)",
    "exercises.check_Twice(Twice)",
    MIX_CELL.replace("x.T", "flipped(x)"),
    "flipped = lambda x: x.T",
    "exercises.check_mix_rows(mix_rows)",
    "from my_gpt import shares\nexercises.check_shares(shares)",
    "%%time\n" + SHARES_CELL,
    "exercises.check_shares(shares)",
]


def test_parts_are_kept_from_a_real_kernel(tmp_path):
    lecture = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in CELLS])
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "00_a.ipynb").write_text(json.dumps(lecture), encoding="utf-8")
    folder = tmp_path / "my_course"
    update_copies(tmp_path / "notebooks", folder, ["00_a"])
    notebook = nbformat.read(folder / "00_a.ipynb", as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, timeout=120).execute()
    results = (out for cell in notebook.cells for out in cell.outputs if "data" in out)
    said = [out["data"]["text/plain"] for out in results]

    assert not said[0].startswith("Passed.")
    kept = "Passed. Right. Kept as `{}` in my_gpt.py."
    assert said[1:3] == [kept.format("shares"), kept.format("Twice")]
    assert said[3].endswith("cell and this one again: the definition of `flipped`.")
    assert said[4] == "Passed. Right. `shares` is in my_gpt.py."
    assert said[5].startswith("Passed. Right. Not kept in my_gpt.py: its code was run by a magic")
    mine = my_parts(folder)
    assert (mine["Twice"](3)(X) == 2 * X).all() and "mix" not in mine
