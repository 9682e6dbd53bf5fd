"""A class of two on the real hub: each has a copy and a kernel, and neither has the other's."""

import pytest

from tests.tools.hub.support_hub import ROOT
from tests.tools.hub.support_student import NOTEBOOKS, Student
from tools.notebook_file import read_cells

pytestmark = pytest.mark.hub
LECTURE = "01_scaling.ipynb"


def test_wrong_passwords_and_strangers(hub):
    for name, password in ((hub.students[0], "wrong"), ("root", None), ("nobody-we-know", None)):
        with Student(hub, name) as student:
            answer = student.log_in(password) if password else student.log_in()
            assert answer.status_code == 403, name
            assert "Invalid username or password" in answer.text
            assert student.client.get("/hub/home").url.path == "/hub/login"


@pytest.mark.parametrize("name", ["ada", "ben"])
def test_lecture_01_in_ones_own_copy(hub, request, name):
    student = request.getfixturevalue(name)
    copy = student.api("GET", f"contents/{NOTEBOOKS}/{LECTURE}", params={"content": 1})
    assert copy.status_code == 200
    ours = [c for c in read_cells(ROOT / "notebooks" / LECTURE) if c.slide_type != "notes"]
    assert [c["id"] for c in copy.json()["content"]["cells"]] == [cell.id for cell in ours]
    kernel = student.start_kernel(LECTURE)
    place = kernel.run("import os; print(os.getcwd()); print(os.getuid() == os.stat('.').st_uid)")
    assert place.text.split() == [str(hub.home(student.name) / NOTEBOOKS), "True"]
    for cell in ours:
        if cell.kind == "code":
            assert not (error := kernel.run(cell.source).error), (cell.name, error)
    assert kernel.run("import os; os.environ['OMP_NUM_THREADS']").text == "'2'"
    kernel.stop()
