"""The course changes in mid-term: copies follow it, and what a student wrote stays."""

import json

import pytest

from tests.tools.hub.support_hub import wait_for
from tests.tools.hub.support_student import NOTEBOOKS

pytestmark = pytest.mark.hub


def first_text(student, name):
    """A copy, and the text of its first cell."""
    notebook = student.api("GET", f"contents/{NOTEBOOKS}/{name}").json()["content"]
    return notebook, notebook["cells"][0]["source"]


def write_upstream(hub, name, text):
    """Change a lecture, as an instructor does."""
    lecture = hub.folder / "course" / "notebooks" / name
    notebook = json.loads(lecture.read_text(encoding="utf-8"))
    notebook["cells"][0]["source"] = [text]
    lecture.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def restart(student):
    """Stop the server and start it, as on the hub's control panel."""
    user = f"/hub/api/users/{student.name}"
    headers = {"X-XSRFToken": student.cookies("/hub/")["_xsrf"], "Referer": student.hub.url}
    student.client.delete(f"{user}/server", headers=headers)

    def is_stopped() -> bool:
        return not student.client.get(user, headers=headers).json()["servers"]

    wait_for(is_stopped, "the stop", 60)
    student.open_server()


def test_copies_follow_and_keep_what_the_student_wrote(ada, hub):
    mine, _ = first_text(ada, "02_softmax.ipynb")
    mine["cells"][0]["source"] = "Ada's own words."
    model = {"type": "notebook", "format": "json", "content": mine}
    assert ada.api("PUT", f"contents/{NOTEBOOKS}/02_softmax.ipynb", json=model).status_code == 200
    own = {"type": "file", "format": "text", "content": "mine"}
    assert ada.api("PUT", f"contents/{NOTEBOOKS}/own.txt", json=own).status_code == 201

    for name in ("02_softmax.ipynb", "03_heads.ipynb"):
        write_upstream(hub, name, "The instructor's words.")
    restart(ada)

    assert first_text(ada, "02_softmax.ipynb")[1] == "Ada's own words."
    assert first_text(ada, "02_softmax (edition 2).ipynb")[1] == "The instructor's words."
    assert first_text(ada, "03_heads.ipynb")[1] == "The instructor's words."
    assert ada.api("GET", f"contents/{NOTEBOOKS}/own.txt").json()["content"] == "mine"
