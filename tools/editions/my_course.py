"""The reader's own copies of the lectures, in `my_course/`: made, brought up to date, never lost.

    python -m tools.editions.my_course              into my_course/ beside the lectures
    python -m tools.editions.my_course FOLDER       into another folder

A copy that nobody has worked in follows its lecture. One that was worked in stays as it is, byte
for byte; when its lecture changes, the new edition is put beside it. A copy that is deleted comes
back as new. Python alone is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from tools.editions.reader import reader_text
from tools.files import exclusive

__all__ = ["CopyError", "copies_of", "update_copies"]

ROOT = Path(__file__).resolve().parents[2]
LECTURES, MY_COURSE = ROOT / "notebooks", ROOT / "my_course"
RECORD = ".editions.json"  # a copy's file name → digest of the edition that was written there


class CopyError(Exception):
    """The copies could not be brought up to date; the message says why and what to do."""


def update_copies(lectures: Path, folder: Path) -> list[str]:
    """Bring the copies in `folder` up to date; return a line for each that the reader should know.

    Raises:
        CopyError: if something cannot be read or written. Each copy is then as it was, or new.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with exclusive(folder / ".lock", "Waiting for another update of these copies ..."):
            return _update_all(lectures, folder)
    except OSError as error:
        raise CopyError(
            f"Your copies of the lectures, in {folder}, could not be brought up to date: "
            f"{error.strerror or error}. Your work is untouched. Make the folder writable, leave "
            "some megabytes free on its disk, and run the same command again."
        ) from error


def copies_of(stem: str, folder: Path) -> list[Path]:
    """Return `04_positions.ipynb`, `04_positions (edition 2).ipynb`, …: those there, in order."""
    found: list[Path] = []
    while (path := _name(stem, folder, len(found) + 1)).exists():
        found.append(path)
    return found


def _name(stem: str, folder: Path, number: int) -> Path:
    return folder / (f"{stem}.ipynb" if number == 1 else f"{stem} (edition {number}).ipynb")


def _update_all(lectures: Path, folder: Path) -> list[str]:
    record = _read_record(folder)
    before = dict(record)
    try:
        return [
            line
            for lecture in sorted(lectures.glob("*.ipynb"))
            for line in _update(lecture, folder, record)
        ]
    finally:
        if record != before:
            _write(folder / RECORD, json.dumps(record, indent=1).encode())


def _update(lecture: Path, folder: Path, record: dict[str, str]) -> list[str]:
    """Bring a lecture's newest copy up to date, or put the new edition beside it and say so."""
    new = reader_text(json.loads(lecture.read_text(encoding="utf-8"))).encode()
    copies, said = copies_of(lecture.stem, folder), []
    target = copies[-1] if copies else _name(lecture.stem, folder, 1)
    old = target.read_bytes() if copies else b""
    if copies and _digest(old) not in (_digest(new), record.get(target.name)):  # it was worked in
        damaged = _work(old) is None
        if record.get(target.name) == _digest(new) and not damaged:
            return []
        worked_in, target = target, _name(lecture.stem, folder, len(copies) + 1)
        why = (
            "is damaged: it is no notebook" if damaged else "has your work, and its lecture changed"
        )
        said = [f"{worked_in.name} {why}. It stays as it is; {target.name} is the new edition."]
    if _digest(old) != _digest(new):
        _write(target, new)
    record[target.name] = _digest(new)
    return said


def _work(content: bytes) -> list | None:
    """Return what a reader may have worked on, cell by cell; None where this is no notebook.

    The rest, such as the kernel's name, JupyterLab saves unasked.
    """
    names = ("cell_type", "attachments", "outputs")
    try:
        cells = json.loads(content)["cells"]
        return [["".join(cell["source"]), *map(cell.get, names)] for cell in cells]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def _read_record(folder: Path) -> dict[str, str]:
    """Return what was written; where that is unknown, nothing: all then counts as worked in."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _digest(content: bytes) -> str:
    work = _work(content)
    content = content if work is None else json.dumps(work, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


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
