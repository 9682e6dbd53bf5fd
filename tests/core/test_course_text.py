"""The packaged text: what it holds and what it does not; and how a text is cleaned."""

import pytest

from course_utils.data import package_files
from course_utils.data.course_text import course_code, course_prose
from course_utils.data.package_files import DATA, SHA256, PackagedFileError, read_packaged


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(package_files, "DATA", tmp_path)
    (tmp_path / "prose.txt").write_bytes((DATA / "prose.txt").read_bytes() + b".")
    with pytest.raises(PackagedFileError, match=r"^prose\.txt must have SHA-256 .* got \w{16}"):
        course_prose()
    with pytest.raises(PackagedFileError, match=r"^code\.txt must be readable in "):
        course_code()


def test_only_packaged_files_are_read():
    with pytest.raises(KeyError):
        read_packaged("../packaged.py")


def test_every_file_is_listed():
    files = [
        path for path in DATA.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    found = {path.relative_to(DATA).as_posix() for path in files}
    assert found == set(SHA256)
    assert all(read_packaged(name) for name in SHA256)
