"""One string of JavaScript from ES modules, without a bundler.

A widget is sent to the browser as one string, in which relative imports fail. So each module
becomes a function that returns its exports, in the order in which they need each other. The files
stay real modules: node runs them as they are.

What a file may say: `import name from`, `import { a, b as c } from`, `import * as name from`,
`export const`, `export function`, `export class`, `export default`, one statement to a line start.
A stylesheet that is imported becomes its text. Comments that begin a line, and indentation, stay
behind: no text of a module may span lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

KIT = sorted((Path(__file__).parent / "kit").glob("*.js"))

_IMPORT = re.compile(r'^import\s+([^"\';]+?)\s+from\s+"(\.[^"]+)";?$', re.MULTILINE)
_EXPORT = re.compile(r"^export (const|let|function\*?|async function|class) (\w+)", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_OTHER = re.compile(r"^(import\b.*|export\b(?! default ).*)$", re.MULTILINE)
_INDENT = re.compile(r"^[ ]+", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(/\*.*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)


def link(
    entry: Path,
    ending: str = "export default entry.default;",
    elsewhere: Mapping[Path, str] | None = None,
) -> str:
    """A module and all that it imports as one string.

    Args:
        entry: the module to start from.
        ending: the last line, which has the entry's exports as `entry`.
        elsewhere: modules that the page has already, each with the expression for its exports.

    Raises:
        ValueError: for a form of import or export that is not linked, or a circle of imports.
    """
    parts, names = _parts([entry], elsewhere or {})
    return "\n".join([*parts, f"const entry = {names[entry.resolve()]};", ending, ""])


def shelf(entries: Sequence[Path]) -> str:
    """Several modules, and all that they import, as one expression: file name → exports."""
    parts, names = _parts(entries, {})
    held = ", ".join(f"{json.dumps(entry.name)}: {names[entry.resolve()]}" for entry in entries)
    return "\n".join(["(() => {", *parts, f"return {{ {held} }};", "})()"])


def kit_on(shelf: str) -> dict[Path, str]:
    """The modules of the kit, each with the expression for its exports on a shelf."""
    return {module: f'{shelf}["{module.name}"]' for module in KIT}


def _parts(
    entries: Sequence[Path], elsewhere: Mapping[Path, str]
) -> tuple[list[str], dict[Path, str]]:
    """Modules as constants in the order in which they need each other, and their names."""
    order: dict[Path, str] = {}
    for entry in entries:
        _visit(entry.resolve(), order, (), elsewhere)
    names = {path: f"m{index}" for index, path in enumerate(order)}
    known = {**elsewhere, **names}
    return [_as_function(path, source, known) for path, source in order.items()], known


def _visit(
    path: Path, order: dict[Path, str], above: tuple[Path, ...], elsewhere: Mapping[Path, str]
) -> None:
    """Put a module into the order, after those that it imports."""
    if path in above:
        circle = " → ".join(module.name for module in (*above[above.index(path) :], path))
        raise ValueError(f"imports must not form a circle, got {circle}")
    if path in order or path in elsewhere:
        return
    source = _COMMENT.sub("", path.read_text(encoding="utf-8")) if path.suffix == ".js" else ""
    for _, where in _IMPORT.findall(source):
        _visit((path.parent / where).resolve(), order, (*above, path), elsewhere)
    order[path] = source


def _as_function(path: Path, source: str, names: dict[Path, str]) -> str:
    """One module as a constant that holds its exports."""
    if path.suffix == ".css":
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        style = json.dumps(re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"\s+", " ", text.strip())))
        return f"const {names[path]} = {{ default: {style} }};"

    def linked(found: re.Match[str]) -> str:
        return _constants(found[1], names[(path.parent / found[2]).resolve()])

    exported = [name for _, name in _EXPORT.findall(source)]
    body = _INDENT.sub("", _EXPORT.sub(r"\1 \2", _IMPORT.sub(linked, source)))
    if other := _OTHER.search(body):
        raise ValueError(f"{path.name} must import and export by name, got {other[0]!r}")
    if _DEFAULT.search(body):
        body = _DEFAULT.sub("const _default = ", body)
        exported.append("default: _default")
    return f"const {names[path]} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();"


def _constants(what: str, module: str) -> str:
    """The constants that an import stands for."""
    if what.startswith("*"):
        return f"const {what.split()[-1]} = {module};"
    if what.startswith("{"):
        renamed = re.sub(r"(\w+)\s+as\s+(\w+)", r"\1: \2", what)
        return f"const {renamed} = {module};"
    return f"const {what} = {module}.default;"
