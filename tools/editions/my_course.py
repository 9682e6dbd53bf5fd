"""The reader's own copies of the lectures, in `my_course/`: made, brought up to date, never lost.

    python -m tools.editions.my_course              into my_course/ beside the lectures
    python -m tools.editions.my_course FOLDER       into another folder

A copy says in its metadata which edition it came from, by a digest. So it is known without any
record whether somebody has worked in it: its digest is then another. A copy that nobody has worked
in follows its lecture. One that was worked in stays as it is, byte for byte; when its lecture
changes, the new edition is put beside it. The picture that a copy came with is no part of the
digest: a new one goes into untouched copies, and makes no edition. A copy that is deleted comes
back as new. Python alone is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course_utils.files import write_whole
from lectures import COURSE
from tools.editions.reader import SNAPSHOT, reader_text
from tools.files import exclusive

ROOT = Path(__file__).resolve().parents[2]
LECTURES, MY_COURSE = ROOT / "notebooks", ROOT / "my_course"
STEMS = tuple(lecture.stem for lecture in COURSE)
EDITION = "course_edition"  # the place in a copy's metadata
# What front ends write unasked, for the notebook and for a cell.
UNASKED = (
    *("kernelspec", "language_info", "widgets", "vscode", "colab"),
    *("trusted", "execution", "ExecuteTime", "collapsed", "scrolled", "jupyter"),
)


class CopyError(Exception):
    """The copies could not be brought up to date; the message says why and what to do."""


def update_copies(lectures: Path, folder: Path, stems: Iterable[str] = STEMS) -> list[str]:
    """Bring the copies in `folder` up to date; return a line for each that the reader should know.

    Raises:
        CopyError: if nothing can be written there. Each copy is then as it was, or new.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder / ".lock", "Waiting for another update of these copies ..."):
            return [line for stem in stems for line in _update(stem, lectures, folder)]
    except OSError as error:
        raise CopyError(
            f"Your copies of the lectures, in {folder}, could not be brought up to date: "
            f"{error.strerror or error}. Your work is untouched. Make the folder writable, leave "
            "some megabytes free on its disk, and run the same command again."
        ) from error


def copies_of(stem: str, folder: Path) -> list[Path]:
    """Return `04_positions.ipynb`, `04_positions (edition 2).ipynb`, …: those there, in order."""
    found: list[Path] = []
    while os.path.lexists(path := _name(stem, folder, len(found) + 1)):
        found.append(path)
    return found


def _name(stem: str, folder: Path, number: int) -> Path:
    return folder / (f"{stem}.ipynb" if number == 1 else f"{stem} (edition {number}).ipynb")


def _update(stem: str, lectures: Path, folder: Path) -> list[str]:
    """Bring a lecture's newest copy up to date, or put the new edition beside it and say so."""
    source = lectures / f"{stem}.ipynb"
    try:
        new = stamped(reader_text(json.loads(source.read_text(encoding="utf-8"))))
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return [f"{source} cannot be read ({error}). Your copy stays as it is."]
    copies = copies_of(stem, folder)
    if not copies:
        write_whole(_name(stem, folder, 1), new)
        return []
    newest, old = copies[-1], _read(copies[-1])
    same_edition = edition_of(old) == edition_of(new)
    if same_edition and (not is_untouched(old) or pictures(old) == pictures(new)):
        return []
    if not is_untouched(old):
        why = "has your work, and its lecture changed" if work(old) else "is damaged: no notebook"
        target = _name(stem, folder, len(copies) + 1)
        write_whole(target, new)
        return [f"{newest.name} {why}. It stays as it is; {target.name} is the new edition."]
    # What was saved in the meantime is found at the next update.
    write_whole(newest, new, unless=lambda: _read(newest) != old)
    return []


def _read(path: Path) -> bytes:
    """Return what a copy holds; nothing where it cannot be read, such as a link to nowhere."""
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def stamped(text: str) -> bytes:
    """Return a reader's copy that says which edition it is."""
    notebook = json.loads(text)
    notebook["metadata"][EDITION] = _digest(text.encode())
    return (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def edition_of(content: bytes) -> str | None:
    """Return which edition a copy came from; None where it does not say."""
    try:
        return json.loads(content)["metadata"].get(EDITION)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def is_untouched(content: bytes) -> bool:
    """Return whether nobody has worked in a copy since it was written."""
    edition = edition_of(content)
    return edition is not None and edition == _digest(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(json.dumps(work(content), sort_keys=True).encode()).hexdigest()


def work(content: bytes) -> list[Any] | None:
    """Return what a reader may have worked on, cell by cell; None where this is no notebook."""
    names = ("cell_type", "attachments")
    try:
        notebook = json.loads(content)
        cells = [
            ["".join(cell["source"]), *map(cell.get, names), _made(cell), _own(cell["metadata"])]
            for cell in notebook["cells"]
        ]
        return [_own(notebook["metadata"]), *cells]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def _made(cell: dict[str, Any]) -> list[Any] | None:
    """Return the outputs that a reader's run has made."""
    outputs = cell.get("outputs")
    return outputs and [output for output in outputs if not _is_snapshot(output)]


def _is_snapshot(output: dict[str, Any]) -> bool:
    return SNAPSHOT in output.get("metadata", {})


def pictures(content: bytes) -> list[str]:
    """Return the pictures that a copy came with, as text; its reader may have cleared them."""
    return [
        "".join(output.get("data", {}).get("image/png", "")).strip()
        for cell in json.loads(content)["cells"]
        for output in cell.get("outputs", [])
        if _is_snapshot(output)
    ]


def _own(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata without what front ends write unasked."""
    return {k: v for k, v in metadata.items() if k not in (*UNASKED, EDITION)}


def main(arguments: list[str]) -> int:
    """Bring the copies up to date; return the exit status."""
    try:
        for line in update_copies(LECTURES, Path(*arguments[:1] or [MY_COURSE])):
            print(line)
    except CopyError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
