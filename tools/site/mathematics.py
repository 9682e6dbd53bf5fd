"""A Sphinx extension: formulas become MathML while the pages are built.

A browser lays MathML out by itself, so a page needs no script for its mathematics and reads the
same with JavaScript off. Pandoc translates, all formulas of a document in one go. Browsers leave
out the thin space that TeX puts beside the name of a function ("x sin a"), so it is put in here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import pypandoc
from docutils import nodes
from sphinx.application import Sphinx

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
APPLIED = "\N{FUNCTION APPLICATION}"
THIN = "0.167em"
SCRIPTS = ("msub", "msup", "msubsup", "munder", "mover", "munderover")
ORDINARY = ("mi", "mn", "mrow", "mfrac", "msqrt", *SCRIPTS)

ElementTree.register_namespace("", NAMESPACE)


def to_mathml(formulas: Sequence[tuple[str, bool]]) -> list[str]:
    """Translate TeX formulas, each with whether it stands on a line of its own, to MathML.

    Raises:
        ValueError: for a formula that is not understood.
    """
    if not formulas:
        return []
    math = [
        {"t": "Math", "c": [{"t": "DisplayMath" if display else "InlineMath"}, on_one_line(tex)]}
        for tex, display in formulas
    ]
    document = {
        "pandoc-api-version": [1, 23],
        "meta": {},
        "blocks": [{"t": "Plain", "c": [each]} for each in math],
    }
    page = pypandoc.convert_text(
        json.dumps(document), "html", format="json", extra_args=["--mathml", "--wrap=none"]
    )
    lines = page.splitlines()
    for (tex, _), line in zip(formulas, lines, strict=True):
        if not line.startswith("<math"):  # pandoc leaves what it cannot read as it is
            raise ValueError(f"a formula must be TeX that pandoc can read; got {tex!r}")
    return [spaced(line) for line in lines]


def on_one_line(tex: str) -> str:
    """A formula without its line breaks, which mean nothing to TeX: one line, one formula."""
    return " ".join(tex.split())


def spaced(mathml: str) -> str:
    """Put a thin space beside the name of a function, where TeX has one."""
    root = ElementTree.fromstring(mathml)
    for annotation in root.iter(f"{{{NAMESPACE}}}semantics"):
        del annotation[1:]  # the TeX source, which is kept as the element's title
    for parent in list(root.iter()):
        if not _is_name(parent) and _tag(parent) in ("mrow", "mtd", "semantics"):
            _space_children(parent)
    return ElementTree.tostring(root, encoding="unicode")


def _space_children(parent: ElementTree.Element) -> None:
    children = list(parent)
    for index in range(len(children) - 1, 0, -1):
        before, after = children[index - 1], children[index]
        if (_is_function(before) and _is_operand(after, "prefix")) or (
            _is_function(after) and _is_operand(before, "postfix")
        ):
            parent.insert(index, ElementTree.Element(f"{{{NAMESPACE}}}mspace", width=THIN))


def _tag(element: ElementTree.Element) -> str:
    return element.tag.removeprefix(f"{{{NAMESPACE}}}")


def _is_name(element: ElementTree.Element) -> bool:
    return _tag(element) == "mrow" and len(element) > 0 and element[-1].text == APPLIED


def _is_function(element: ElementTree.Element) -> bool:
    """Whether this is sin, or max with something under it."""
    if _tag(element) not in SCRIPTS:
        return _is_name(element)
    name = element[0]
    return _is_name(name) or (_tag(name) == "mi" and len(name.text or "") > 1)


def _is_operand(element: ElementTree.Element, bracket: str) -> bool:
    """Whether TeX would put a space between a function's name and this.

    It puts none before an opening bracket, and none after a closing one that is a function's own.
    """
    if _tag(element) == "mo":
        return bracket == "postfix" and element.get("form") == "postfix"
    return _tag(element) in ORDINARY and not _opens(element)


def _opens(element: ElementTree.Element) -> bool:
    """Whether an element begins with a bracket, as a bracketed row does."""
    while len(element) and not _is_name(element):
        element = element[0]
    return _tag(element) == "mo" and element.get("form") == "prefix"


def _translate(app: Sphinx, doctree: nodes.document) -> None:
    found = [
        node
        for node in doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block))
        if isinstance(node, nodes.Element)
    ]
    translated = to_mathml([(node.astext(), isinstance(node, nodes.math_block)) for node in found])
    for node, mathml in zip(found, translated, strict=True):
        node["mathml"] = mathml


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<span class="formula">{node["mathml"]}</span>')
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    # Wide formulas scroll in a box of their own; tabindex lets a keyboard scroll it.
    attributes = 'class="formula" role="group" aria-label="formula" tabindex="0"'
    writer.body.append(f"<div {attributes}>{node['mathml']}</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer. It translates before any collector copies titles."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("doctree-read", _translate, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
