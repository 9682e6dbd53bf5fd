"""The font of the formulas, cut down to the characters that the pages use.

A browser sets MathML well only with a font that has a MATH table, and a reader's machine may have
none. STIX Two Math comes with the package ziamath, under the SIL Open Font License.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

MATH = re.compile(r"<math\b.*?</math>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
ROOT = "√"
ALWAYS = "0123456789+-=()[]{}|,." + ROOT  # a root's sign stands in no formula: the element means it


def characters(pages: Iterable[str]) -> set[str]:
    """Every character that a formula of the pages shows, in the upright and the italic form.

    >>> sorted(characters(["<p>a</p><math><mi>x</mi><mo>&lt;</mo></math>"]) - set(ALWAYS))
    ['<', 'x', '𝑥']
    """
    shown = set(ALWAYS)
    for page in pages:
        for formula in MATH.findall(page):
            shown |= set(html.unescape(TAG.sub("", formula)))
    return shown | {italic(sign) for sign in shown}


def italic(sign: str) -> str:
    """The mathematical italic of a letter, which a browser takes for a variable.

    >>> italic("x"), italic("h"), italic("α"), italic("+")
    ('𝑥', 'ℎ', '𝛼', '+')
    """
    if sign == "h":
        return "ℎ"
    for first, last, italics in (("A", "Z", 0x1D434), ("a", "z", 0x1D44E), ("Α", "Ω", 0x1D6E2),
                                 ("α", "ω", 0x1D6FC)):  # fmt: skip
        if first <= sign <= last:
            return chr(italics + ord(sign) - ord(first))
    return {"∂": "𝜕", "ϵ": "𝜖", "ϑ": "𝜗", "ϕ": "𝜙"}.get(sign, sign)


def write_font(signs: set[str], path: Path) -> None:
    """Write the font with these characters, and what its MATH table makes of them.

    Raises:
        RuntimeError: when the font lacks a character.
    """
    source = files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
    font = TTFont(str(source), recalcTimestamp=False)  # the same pages give the same bytes
    held = font.getBestCmap() or {}
    missing = {sign for sign in signs if ord(sign) not in held and not sign.isspace()}
    missing -= {"\N{FUNCTION APPLICATION}", "\N{INVISIBLE TIMES}"}
    if missing:
        raise RuntimeError(f"STIX Two Math has no {', '.join(sorted(missing))}")
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    options = Options()
    options.layout_features = ["*"]
    options.name_IDs = list(range(15))  # the licence travels in the file
    cutter = Subsetter(options)
    cutter.populate(unicodes=[ord(sign) for sign in signs])
    cutter.subset(font)
    even_roots(font)
    font.flavor = "woff"
    path.parent.mkdir(parents=True, exist_ok=True)
    font.save(path)


def even_roots(font: TTFont) -> None:
    """Make every size of the root's sign as wide as the smallest.

    A browser keeps room beside each root for the widest size there is, and so leaves a gap after
    the small ones in a line: "√d , and".
    """
    smallest = (font.getBestCmap() or {})[ord(ROOT)]
    width, _ = font["hmtx"][smallest]
    variants = font["MATH"].table.MathVariants
    sizes = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(smallest)]
    names = {each.VariantGlyph for each in sizes.MathGlyphVariantRecord}
    names |= {part.glyph for part in sizes.GlyphAssembly.PartRecords}
    for name in names - {smallest}:
        glyph = font["glyf"][name]
        glyph.coordinates.scale((width / font["hmtx"][name][0], 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        glyph.removeHinting()
        font["hmtx"][name] = (width, glyph.xMin)
