"""A reader's copy of the course, and the reader."""

import sys

import pytest

from tests.teaching.support_reader import Reader, make_copies


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a reader's copy; this process runs in it, as a kernel would."""
    monkeypatch.delitem(sys.modules, "my_gpt", raising=False)  # what another test has imported
    monkeypatch.chdir(make_copies(tmp_path / "Zoë's copies"))
    return tmp_path / "Zoë's copies"


@pytest.fixture
def reader(folder):
    return Reader(folder)
