"""The reference as pages: one for each part of the package, from its docstrings."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "course_utils"
CODE = re.compile(r"``.+?``|`[^`]+`")
SIGNS = re.compile(r"[|*\\]|(?<=\w)_(?!\w)")
# What runs the course; no lecture is about it.
ENGINE = ("checks", "explorers", "files", "lectures", "teaching", "threads", "widgets")
# Modules that a machine without Triton cannot import.
NEED_TRITON = ("kernels.tiled_triton", "kernels.inspect")


def modules() -> dict[str, list[str]]:
    """Every public module, by the part of the package it belongs to, both without its name.

    What the lectures have for themselves, and what runs them, is no part of the reference.

    >>> "masks" in modules(), "layers.heads" in modules()["layers"]
    (True, True)
    """
    found: dict[str, list[str]] = {}
    folder = ROOT / PACKAGE
    for module in pkgutil.walk_packages([str(folder)]):
        if module.name.split(".")[0] in ENGINE:
            continue
        names = [
            f"{module.name}.{each.name}"
            for each in pkgutil.iter_modules([str(folder / module.name)])
            if not each.name.startswith("_") and not each.ispkg
        ]
        if "." not in module.name:
            found[module.name] = names
    return found


def purpose(module: str) -> str:
    """The first line of a module's docstring."""
    path = ROOT / PACKAGE / Path(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def write_reference(folder: Path) -> None:
    """Write the pages and their index as reStructuredText."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = modules()
    for part, inner in parts.items():
        (folder / f"{part}.rst").write_text(part_page(part, inner), encoding="utf-8")
    (folder / "index.rst").write_text(index_page(list(parts)), encoding="utf-8")


def part_page(part: str, inner: list[str]) -> str:
    """The page of one module, or of a package with a section for each of its modules."""
    blocks = [heading(f"{PACKAGE}.{part}", "="), automodule(part, members=not inner)]
    for name in inner:
        blocks += [heading(name, "-"), automodule(name, members=True)]
    return "\n".join(blocks)


def index_page(parts: list[str]) -> str:
    """The list of all parts, each with what it is for."""
    lines = [heading("Reference", "="), "What the lectures import by name, from its docstrings.\n"]
    lines += [".. list-table::", "   :widths: 25 75\n"]
    for part in parts:
        lines += [f"   * - :doc:`{part}`", f"     - {escaped(purpose(part))}"]
    lines += ["", ".. toctree::", "   :hidden:", "   :maxdepth: 1", ""]
    # In the sidebar each goes by its own name: that of the package before it leaves no room.
    return "\n".join([*lines, *(f"   {part} <{part}>" for part in parts), ""])


def escaped(text: str) -> str:
    r"""Text of a docstring in which, outside code, each sign is the sign it looks like.

    |x| is a length, W_q· a product, * a product as well. reStructuredText would take the bars for
    a substitution, the underscore for a link and the star for emphasis. It also wants `x`s, code
    and the s of a plural, apart.

    >>> print(escaped("|x| is `a * b`s"))
    \|x\| is `a * b`\ s
    """
    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [SIGNS.sub(r"\\\g<0>", text[end : code.start()]), code.group()]
        end = code.end()
        if text[end : end + 1].isalnum():
            parts.append("\\ ")
    return "".join([*parts, SIGNS.sub(r"\\\g<0>", text[end:])])


def heading(text: str, sign: str) -> str:
    """A heading, underlined.

    >>> print(heading("masks", "-"))
    masks
    -----
    <BLANKLINE>
    """
    return f"{text}\n{sign * len(text)}\n"


def automodule(name: str, *, members: bool) -> str:
    """What makes Sphinx read a module's docstrings, or a sentence where it could not."""
    if name in NEED_TRITON and importlib.util.find_spec("triton") is None:
        return "This module needs Triton, which was not there when these pages were made.\n"
    option = "   :members:\n" if members else ""
    return f".. automodule:: {PACKAGE}.{name}\n{option}"
