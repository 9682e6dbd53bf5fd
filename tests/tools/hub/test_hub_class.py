"""A class of two on the real hub: each has a copy and a kernel, and neither has the other's."""

import json

import pytest

from tests.tools.hub.support_hub import ROOT
from tests.tools.hub.support_student import NOTEBOOKS, Student

pytestmark = pytest.mark.hub
LECTURE = "01_scaling.ipynb"


def lecture_cells(text):
    """Return the code cells of a notebook as (id, source, whether it is to fail)."""
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return [
        (
            cell["id"],
            "".join(cell["source"]),
            "raises-exception" in cell["metadata"].get("tags", []),
        )
        for cell in cells
    ]


def surprises(kernel, cells):
    """Return the cells that did otherwise than they should, with what they raised."""
    answers = [(name, kernel.run(source).error, fails) for name, source, fails in cells]
    return [(name, error) for name, error, fails in answers if bool(error) != fails]


def test_a_wrong_password_and_a_stranger_stay_outside(hub):
    for name, password in ((hub.students[0], "wrong"), ("root", None), ("nobody-we-know", None)):
        with Student(hub, name) as student:
            answer = student.log_in(password) if password else student.log_in()
            assert answer.status_code == 403, name
            assert "Invalid username or password" in answer.text
            assert student.client.get("/hub/home").url.path == "/hub/login"


@pytest.mark.parametrize("student", ["ada", "ben"], indirect=True)
def test_each_student_has_a_copy_and_runs_lecture_01_in_it(hub, student):
    copy = student.api("GET", f"contents/{NOTEBOOKS}/{LECTURE}", params={"content": 1})
    assert copy.status_code == 200
    ours = (ROOT / "notebooks" / LECTURE).read_text(encoding="utf-8")
    assert [c["id"] for c in copy.json()["content"]["cells"]] == [
        c["id"] for c in json.loads(ours)["cells"]
    ]
    kernel = student.start_kernel(LECTURE)
    place = kernel.run("import os; print(os.getcwd()); print(os.getuid() == os.stat('.').st_uid)")
    assert place.text.split() == [str(hub.home(student.name) / NOTEBOOKS), "True"]
    cells = lecture_cells(ours)
    assert len(cells) > 20
    assert surprises(kernel, cells) == []
    # The same check sees a cell that fails, and one that should have failed.
    assert surprises(kernel, [("bad", "1 / 0", False), ("good", "1", True)]) != []
    assert kernel.run("import torch; torch.get_num_threads()").text == "2"
    kernel.stop()
