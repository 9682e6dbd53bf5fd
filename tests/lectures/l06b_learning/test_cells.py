"""The cells that look into heads: their weights, and a head that is switched off."""

import pytest
import torch

from lectures import find_lecture
from lectures.l06b_learning.exercises.silence import SILENCE
from lectures.l06b_learning.experiments.induction import induction_scores, repeated_tokens
from lectures.l06b_learning.experiments.induction_runs import INDUCTION_RUNS, load_induction_run
from lectures.l06b_learning.experiments.moments import load_moments
from lectures.parts import collect_parts
from tests.lectures.support_notebooks import notebook_of, read

CELLS = {cell.id: cell.source for cell in read(notebook_of(find_lecture("06b"))).cells}


@pytest.fixture(scope="module")
def names():
    """What the cells define, with the packaged moments in place of a training."""
    found = {}
    for name in ("setup", "stories", "patterns", "kinds"):
        exec(CELLS[name], found)
    exec("import copy", found)
    exec(CELLS["names"].split("print(")[0], found)  # the people, without a training
    for name in ("asked", "finder", "heads-off"):
        exec(CELLS[name], found)
    return found


@pytest.fixture(scope="module")
def model():
    """Our class with the weights of the last moment, and the library's model with the same."""
    theirs = load_moments()["500"]
    ours = collect_parts().MyGPT(V=180, P=64, C=64, L=2, H=4)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


@torch.no_grad()
def test_weights_on_the_finder_are_the_librarys(names, model):
    ours, theirs = model
    inputs, targets = names["others"]
    expected = torch.zeros(2, 4)
    asked = list(zip(names["row"].tolist(), names["t"].tolist(), strict=True))
    for block, heads in enumerate(theirs.trace(inputs).heads):
        for row, t in asked:
            for key in range(t + 1):
                if inputs[row, key] == targets[row, t]:
                    expected[block] += heads.weights[row, :, t, key] / len(asked)
    torch.testing.assert_close(
        names["weight_on"](names["finder"], ours), expected, atol=1e-4, rtol=0
    )


@torch.no_grad()
def test_a_head_that_is_off_writes_nothing_and_the_model_stays_whole(names, model):
    ours, _ = model
    before = ours.blocks[0].attention.output.weight.clone()
    silent = names["heads_off"](ours, 0, 1, 3).blocks[0].attention.output.weight
    expected = SILENCE.reference(SILENCE.reference(before, 1, 4), 3, 4)
    assert torch.equal(silent, expected)
    assert torch.equal(ours.blocks[0].attention.output.weight, before)


@torch.no_grad()
def test_scores_of_the_cell_are_the_induction_scores(names):
    found = dict(names)
    found["generator"] = torch.Generator().manual_seed(5)
    printed = []
    exec(CELLS["copy"], found | {"print": lambda *args: printed.append(" ".join(args))})
    rows = repeated_tokens(torch.Generator().manual_seed(5))
    for line, name in zip(printed, INDUCTION_RUNS, strict=True):
        best = induction_scores(load_induction_run(name), rows).max()
        assert line.startswith(name) and line.endswith(f"{best:.2f}")
