"""The reader's GPT: `my_gpt.py`, beside the reader's copies, keeps the parts that pass their check.

An exercise with ``kept_as`` builds a `Part`, and may set another file with ``kept_in``. Its code is
kept once it passes the check a second time, run from the file and without the notebook. It brings
along what it uses: functions and classes of other cells, and imports. What the reader writes into
the file stays.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any

from course_utils.files import write_whole
from course_utils.teaching.part_source import (
    Brought,
    bring,
    code_of,
    find,
    is_without_text,
    source_of,
    with_code,
    with_imports,
)
from course_utils.teaching.time_limit import OutOfTimeError, within
from course_utils.teaching.usual_torch import usual_torch
from course_utils.teaching.verdict import Verdict

SECONDS = 30.0  # for the file, and for the check of each part
FILE = "my_gpt.py"
COPY = b'"course_edition"'  # in the metadata of a reader's copy, and of no other notebook
HEADER = '''\
"""Your GPT: each part is what you wrote in a lecture, and it passed its check.

The file is yours to change. `make parts` shows which parts are here and whether they still pass.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
'''


@dataclass(frozen=True)
class PartsFile:
    """A file of parts beside the reader's copies.

    Attributes:
        name: of the file.
        header: what it begins with.
    """

    name: str
    header: str

    @property
    def replaced(self) -> str:
        """The file with what was replaced."""
        return self.name.replace(".py", "_replaced.py")


MY_GPT = PartsFile(FILE, HEADER)


@dataclass(frozen=True)
class Part:
    """A part of the reader's GPT.

    Attributes:
        name: of its function or class.
        file: that keeps it.
        origin: the lecture and the exercise that it comes from, in words.
        check: what judges it in the notebook, such as ``exercises.check_softmax``.
        judge: the same without keeping it.
    """

    name: str
    file: PartsFile
    origin: str
    check: str
    judge: Callable[[Any], Verdict]


class PartsError(Exception):
    """A part cannot be kept, or the file cannot be run; the message says why and what to do."""


def folder_of_copies() -> Path | None:
    """The folder in which this Python runs, if the reader's copies of the lectures are there."""
    try:
        here = Path.cwd()
        notebooks = (path for path in here.glob("*.ipynb") if path.is_file())
        return here if any(COPY in path.read_bytes() for path in notebooks) else None
    except OSError:  # the folder was deleted or moved
        return None


def my_parts(folder: Path | None = None, file: str = FILE) -> dict[str, Any]:
    """Run a file of parts and return what it defines, by name; nothing where there is none.

    It is then a module, ``my_gpt``, as after an import.

    Raises:
        PartsError: if the file cannot be read or stops.
    """
    folder = folder or folder_of_copies()
    path = folder / file if folder else None
    try:
        content = _read(path) if path else None
    except OSError as error:
        raise PartsError(f"it cannot be read ({error.strerror}).") from error
    return _run(_text(content), path) if path and content else {}


def judge_alone(part: Part, answer: Any) -> Verdict:
    """Judge the answer to a part that comes from the file.

    Raises:
        PartsError: if that takes longer than `SECONDS`.
    """
    try:
        return within(SECONDS, lambda: part.judge(answer))
    except OutOfTimeError:
        raise PartsError(
            f"run from the file, `{part.name}` was stopped after {SECONDS:g} s: look for a loop "
            "in it that never ends."
        ) from None


def keep(part: Part, answer: Any, folder: Path, replace: bool) -> str:
    """Keep an answer that passed as a part; return the sentence that its verdict adds."""
    file = part.file.name
    try:
        return _keep(part, answer, folder, replace)
    except PartsError as error:
        return f"Not kept in {file}: {error}"
    except OSError as error:
        return f"Not kept in {file}: it cannot be read or written ({error.strerror})."
    except Exception as error:  # whatever it is, the answer has passed
        return f"Not kept in {file}: {type(error).__name__}: {error}."


def _keep(part: Part, answer: Any, folder: Path, replace: bool) -> str:
    name, file = part.name, part.file.name
    path = folder / file
    _must_have_code(answer, name)
    before = _read(path)
    text = _text(before or b"")
    text = text if text.strip() else part.file.header
    brought = bring(answer, name, text)
    _must_be_complete(brought)
    there = {each: old for each in brought.definitions if (old := code_of(text, each))}
    others = [each for each, old in there.items() if not _same(old, brought.definitions[each])]
    if len(there) == len(brought.definitions) and not (others or brought.imports):
        return f"`{name}` is in {file}."
    if others and not replace:
        call = f"{part.check}({answer.__name__}, replace=True)"
        return f"{file} has another {_listed(others)}. To replace it by this one, run `{call}`."
    if before is not None and not path.stat().st_mode & stat.S_IWUSR:
        raise PartsError("the file is read-only.")
    text = _with_definitions(part, text, brought, others)
    with _module_put_back(path.stem):
        _must_pass_alone(part, text, path)
    if others:
        with open(folder / part.file.replaced, "a", encoding="utf-8", newline="") as stream:
            stream.writelines(f"{there[other].rstrip()}\n\n\n" for other in others)
    _write(path, text.encode(), before)
    helpers = [each for each in brought.definitions if each not in there and each != name]
    also = f", with {_listed(helpers)}" if helpers else ""
    moved = f" The other one is now in {part.file.replaced}." if others else ""
    return f"Kept as `{name}` in {file}{also}.{moved}"


def _must_have_code(answer: Any, name: str) -> None:
    """Whether the reader wrote it: at the left edge of a cell, and where Python keeps its text."""
    ours = str(getattr(answer, "__module__", "")).startswith("course_utils.")
    if not ours and source_of(answer, name):
        return
    if not ours and is_without_text(answer):
        raise PartsError(
            "its code was run by a magic such as `%%time` or by `exec`, and cannot be found. Run "
            "it in a cell without that, then this one again."
        )
    raise PartsError(
        f"write it yourself, as `def {name}` or `class {name}` at the left edge of a cell."
    )


def _must_be_complete(brought: Brought) -> None:
    if brought.missing:
        user = next(iter(brought.missing.values()))
        missing = ", ".join(f"the definition of `{name}`" for name in brought.missing)
        raise PartsError(
            f"`{user}` uses names from elsewhere in the notebook. Write this inside it, then run "
            f"its cell and this one again: {missing}."
        )


def _with_definitions(part: Part, text: str, brought: Brought, others: Sequence[str]) -> str:
    """The file with what is new: at its end, or above the part if the part is there."""
    text = with_imports(text, brought.imports)
    for name in others:
        text = with_code(text, name, brought.definitions[name])
    new = [source for name, source in brought.definitions.items() if not find(text, name)]
    if find(text, part.name):
        above = "".join(f"{source}\n\n" for source in new)
        return with_code(text, part.name, above + code_of(text, part.name))
    return f"{text}\n\n# {part.name}: {part.origin}\n" + "\n\n".join(new)


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same code, whatever their spaces and comments are."""
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _must_pass_alone(part: Part, text: str, path: Path) -> None:
    """Run the file with the new part, and check that part as the exercise does."""
    verdict = judge_alone(part, _run(text, path)[part.name])
    if not verdict.passed:
        raise PartsError(f"run from that file, `{part.name}` does not pass. {verdict.message}")


def _run(text: str, path: Path) -> dict[str, Any]:
    """Run the file as an import does; return its names. It is the reader's own code."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    code = compile(text, str(path), "exec", dont_inherit=True)
    try:
        with usual_torch():
            within(SECONDS, lambda: exec(code, vars(module)))
    except BaseException as error:
        sys.modules.pop(path.stem, None)
        if isinstance(error, OutOfTimeError):
            inside = [at for at in extract_tb(error.__traceback__) if at.filename == str(path)]
            raise PartsError(
                f"the file was stopped after {SECONDS:g} s, in line {inside[-1].lineno}: look for "
                "a loop there that never ends."
            ) from None
        if isinstance(error, KeyboardInterrupt):
            raise
        why = f"{type(error).__name__}: {error}"
        raise PartsError(f"the file stops with {why}. Fix that first.") from error
    return vars(module)


@contextlib.contextmanager
def _module_put_back(name: str) -> Iterator[None]:
    """Afterwards the module of that name is the one that the reader has imported, or none."""
    before = sys.modules.get(name)
    try:
        yield
    finally:
        sys.modules.pop(name, None)
        if before:
            sys.modules[name] = before


def _read(path: Path) -> bytes | None:
    """What the file holds; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _text(content: bytes) -> str:
    """The file as text, which is known to be Python."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PartsError("the file is not saved as UTF-8. Save it as UTF-8 first.") from None
    try:
        compile(text, FILE, "exec", dont_inherit=True)
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise PartsError(f"the file is not valid Python ({error}). Fix that first.") from error
    return text


def _write(path: Path, content: bytes, before: bytes | None) -> None:
    """Write the file, unless it is no longer what was read. A link of the reader's stays one."""
    write_whole(path.resolve(), content, unless=lambda: _read(path) != before)
    if _read(path) != content:
        raise PartsError("the file changed while this cell ran. Run it again.")
