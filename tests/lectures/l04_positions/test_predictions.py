"""What comes out over the guess that is drawn is what the lecture's cells have printed."""

import re

from lectures import find_lecture
from tests.lectures.support_notebooks import notebook_of, read
from tools.editions.notebook_outputs import texts

LECTURE = find_lecture("04")
CELLS = {cell.id: cell for cell in read(notebook_of(LECTURE)).cells}


def printed(name):
    """All that a cell has in its stored output."""
    return " ".join(text for output in CELLS[name].outputs for text in texts(output))


def test_rope_on_longer_lists_than_trained():
    curve = LECTURE.module("exercises").PREDICTIONS["rope-longer"].curve
    trained = re.findall(r"0\.\d\d", printed("far-first"))[-1]
    longest = re.findall(r"the answer stays near:.*?RoPE (0\.\d\d)", printed("far-figure"))[0]
    assert (curve.truth[0], curve.truth[-1]) == (float(trained), float(longest))
    assert list(curve.truth) == sorted(curve.truth, reverse=True)


def test_which_pair_helps_most():
    asked = LECTURE.module("exercises").PREDICTIONS["which-pair"]
    rows = re.findall(r"^(\w+(?: \d)?) +÷.* moves away (0\.\d\d)$", printed("pairs"), re.M)
    away = {name: float(share) for name, share in rows}
    single = {name: share for name, share in away.items() if name.startswith("pair ")}
    best = max(single, key=single.__getitem__)
    assert len(single) == 8 and asked.truth.startswith(f"{best}:")
    said = [float(number) for number in re.findall(r"0\.\d\d", asked.answer)]
    assert said == [away["none"], away[best]]
