"""The course changes in mid-term: the link brings it, and keeps what a student wrote."""

import dataclasses
import json
from urllib.parse import urlencode

import pytest

from tests.tools.hub.support_hub import commit, git
from tests.tools.hub.support_student import NOTEBOOKS

pytestmark = pytest.mark.hub
LECTURE = f"{NOTEBOOKS}/02_softmax.ipynb"


def pull(student, hub):
    """Open the link that README describes, and return what the page then does and shows."""
    asked = {
        "repo": f"file://{hub.folder / 'course.git'}",
        "branch": "main",
        "urlpath": f"lab/tree/{LECTURE}",
        "targetPath": "attention-course",
    }
    page = student.client.get(f"/hub/user-redirect/git-pull?{urlencode(asked)}")
    assert page.status_code == 200 and f"/user/{student.name}/git-pull" in str(page.url)
    asked["targetpath"] = asked.pop("targetPath")
    place = f"/user/{student.name}/git-pull/api"
    headers = {"X-XSRFToken": student.cookies(place)["_xsrf"]}
    events = student.client.get(place, params=asked, headers=headers).text
    lines = [line[6:] for line in events.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines]


def first_text(student):
    """Return the notebook, and its first cell."""
    notebook = student.api("GET", f"contents/{LECTURE}").json()["content"]
    return notebook, notebook["cells"][0]


def write_upstream(hub, text):
    """Publish a changed lecture and a new file, as an instructor does."""
    course = hub.folder / "course"
    lecture = course / "notebooks" / "02_softmax.ipynb"
    notebook = json.loads(lecture.read_text(encoding="utf-8"))
    notebook["cells"][0]["source"] = text
    notebook["cells"][1]["source"] = text
    lecture.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    (course / "notebooks" / "news.md").write_text(text, encoding="utf-8")
    commit(course, text)
    git(course, "push", "-q", "origin", "main")


def test_a_pull_brings_news_and_keeps_what_the_student_wrote(hub, ada):
    notebook, cell = first_text(ada)
    cell["source"] = "Ada's own words."
    model = {"type": "notebook", "format": "json", "content": notebook}
    assert ada.api("PUT", f"contents/{LECTURE}", json=model).status_code == 200
    own = {"type": "file", "format": "text", "content": "mine"}
    assert ada.api("PUT", f"contents/{NOTEBOOKS}/own.txt", json=own).status_code == 201

    write_upstream(hub, "The instructor's words.")
    events = pull(ada, hub)
    assert events[-1]["phase"] == "finished", events

    _, cell = first_text(ada)
    assert cell["source"] == "Ada's own words."
    assert ada.api("GET", f"contents/{NOTEBOOKS}/own.txt").json()["content"] == "mine"
    news = ada.api("GET", f"contents/{NOTEBOOKS}/news.md").json()["content"]
    assert news == "The instructor's words."


def test_a_repository_that_is_not_there_is_named(hub, ada):
    events = pull(ada, dataclasses.replace(hub, folder=hub.folder / "elsewhere"))
    assert events[-1]["phase"] == "error"
