"""Files that are committed, or a reader's, are written whole or stay as they are."""

import contextlib
import json
import os
import stat
from types import SimpleNamespace

import pytest

from course_utils.files import write_whole
from tools.editions import colab, pictures, readme
from tools.files import SavedMeanwhileError, write_back
from tools.scripts import packaged
from tools.setup import lab
from tools.setup.environment import write_stamp
from tools.setup.place import Place

resource = pytest.importorskip("resource", reason="Windows limits no file's size")
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has other rights and links")


@contextlib.contextmanager
def full_disk(left):
    """A disk on which no file gets longer than `left` bytes; root is stopped by it too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def tables(folder, patch):
    """README and lecture 00, as `make outputs` writes them."""
    page, notebook = (folder / path.name for path in (readme.README, readme.MAP))
    for here, path in ((page, readme.README), (notebook, readme.MAP)):
        here.write_bytes(path.read_bytes())
    patch.setattr(readme, "README", page)
    patch.setattr(readme, "MAP", notebook)
    patch.setattr(readme, "lecture_cards", lambda: f"{readme.BEGIN}new{readme.END}")
    return readme.write_tables


def map_alone(folder, patch):
    """Lecture 00, where README has been written already."""
    write = tables(folder, patch)
    write()
    patch.setattr(readme, "course_map", lambda: "| other |\n")
    return write


def cards(folder, patch):
    """The picture of a card, taken again."""
    shot = SimpleNamespace(digest="of today")
    (folder / "card.webp").write_bytes(b"the picture of yesterday")
    (folder / "made_from.json").write_text('{"card.webp": "of yesterday"}')
    patch.setattr(pictures, "FOLDER", folder)
    patch.setattr(pictures, "MADE_FROM", folder / "made_from.json")
    patch.setattr(pictures, "wanted", lambda: {"card.webp": shot})
    patch.setattr(pictures, "_take", lambda shot: b"new" * 999)
    patch.setattr(pictures, "look_alike", lambda old, new: False)
    return pictures.write_pictures


def data(folder, patch):
    """A file of the package's data."""
    (folder / "runs.json").write_text("[1, 2]")
    patch.setattr(packaged, "DATA", folder)
    return lambda: packaged.write_packaged("runs.json", b"[3]" * 99)


def copies(folder, patch):
    """The copies for Colab."""
    colab.write_copies(folder, "owner/name", "v0")
    return lambda: colab.write_copies(folder, "owner/other", "v1")


def stamp(folder, patch):
    """What says that the environment is whole."""
    place = Place(folder)
    place.venv.mkdir()
    write_stamp(place, ["lab"], "pins")
    return lambda: write_stamp(place, ["lab"] * 99, "other pins")


@pytest.mark.parametrize("writer", [tables, map_alone, cards, data, copies, stamp])
def test_a_full_disk_leaves_what_was_there(writer, tmp_path, monkeypatch):
    write = writer(tmp_path, monkeypatch)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(OSError), full_disk(97):
        write()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    write()
    assert any(path.read_bytes() != content for path, content in before.items())


def test_settings_that_were_cut_off_do_not_stay(tmp_path):
    with pytest.raises(OSError), full_disk(3):
        lab.present_options(tmp_path)
    lab.present_options(tmp_path)
    files = [*tmp_path.rglob("*-settings")]
    assert files and all(json.loads(file.read_text()) for file in files)


@pytest.mark.parametrize("which", ["README", "MAP"])
def test_what_is_saved_while_tables_are_made_stays(which, tmp_path, monkeypatch):
    write = tables(tmp_path, monkeypatch)
    path, made = getattr(readme, which), {"README": "lecture_cards", "MAP": "course_map"}[which]
    table = getattr(readme, made)

    def slowly():
        path.write_text("a new paragraph")
        return table()

    monkeypatch.setattr(readme, made, slowly)
    with pytest.raises(SavedMeanwhileError, match=rf"{path.name} was saved .* run the same"):
        write()
    assert path.read_text() == "a new paragraph"


def test_a_picture_is_of_the_explorer_that_was_there_when_it_was_taken(tmp_path, monkeypatch):
    write = cards(tmp_path, monkeypatch)
    [shot] = pictures.wanted().values()

    def take(shot):
        shot.digest = "edited meanwhile"
        return b"new"

    monkeypatch.setattr(pictures, "_take", take)
    write()
    assert pictures.stale() == ["card.webp"]
    assert shot.digest == "edited meanwhile"


@posix
@pytest.mark.parametrize("mode", [0o600, 0o755])
def test_who_may_read_a_file_stays(tmp_path, mode):
    path = tmp_path / "mine"
    path.write_text("old")
    path.chmod(mode)
    assert write_whole(path, b"new")
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == mode


def test_a_deleted_file_does_not_come_back(tmp_path):
    path = tmp_path / "gone.md"
    with pytest.raises(SavedMeanwhileError):
        write_back(path, b"old", b"new")
    assert list(tmp_path.iterdir()) == []
