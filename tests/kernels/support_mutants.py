"""Broken copies of the kernels, made from their source by changing a line or two."""

import importlib
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import course_utils.kernels

SOURCE = Path(course_utils.kernels.__file__).parent
PACKAGE = "course_utils.kernels"


@dataclass(frozen=True)
class Edit:
    """A pattern in one file, what takes its place, and how often it has to be there."""

    file: str
    pattern: str
    instead: str
    times: int = 1
    within: str = ""

    def apply(self, folder: Path) -> None:
        """Change the copy in a folder; fail if the source is not what the edit was written for."""
        path = folder / self.file
        text = path.read_text(encoding="utf-8")
        before, part, after = split(text, self.within)
        changed, times = re.subn(self.pattern, self.instead, part)
        assert times == self.times, f"{self.pattern!r} is {times} times in {self.file}"
        path.write_text(before + changed + after, encoding="utf-8")


def split(text: str, function: str) -> tuple[str, str, str]:
    """Cut a source into what stands before a function, the function, and the rest."""
    if not function:
        return "", text, ""
    start = re.search(rf"^( *)def {function}\(", text, re.MULTILINE)
    assert start, f"there is no function {function}"
    ends = re.compile(rf"^ {{0,{len(start[1])}}}(?:@|def |class )", re.MULTILINE)
    end = ends.search(text, start.end())
    stop = end.start() if end else len(text)
    return text[: start.start()], text[start.start() : stop], text[stop:]


@contextmanager
def broken_copy(folder: Path, edits: tuple[Edit, ...]) -> Iterator[ModuleType]:
    """A copy of the package under another name, with the edits made, as long as it is needed."""
    name = f"mutant_{abs(hash(edits))}"
    copy = folder / name
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(PACKAGE, name), encoding="utf-8")
    for edit in edits:
        edit.apply(copy)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
        for module in [one for one in sys.modules if one.split(".")[0] == name]:
            del sys.modules[module]
