"""A map of the reader's GPT: each part in its place, lit where it is the reader's own.

Inline SVG, since an image would not follow the notebook's light or dark theme. What a part's colour
says, its mark and the words below the map say too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from course_utils.teaching.part_source import find
from course_utils.teaching.parts import FILE

YOURS, OURS, BROKEN = "yours", "ours", "broken"

# Where each part is: left, top, width and height in pixels; a part that uses another is around it.
PLACES = {
    "MyGPT": (4, 4, 340, 328),
    "block": (12, 54, 328, 244),
    "MultiHead": (50, 82, 280, 160),
    "apply_rope": (60, 110, 128, 26),
    "step": (200, 110, 120, 26),
    "rolling_step": (200, 140, 120, 26),
    "attend": (60, 174, 260, 58),
    "causal_mask": (70, 200, 132, 26),
    "softmax": (210, 200, 100, 26),
}
WIDTH, HEIGHT = 350, 338
BLUE, ORANGE = "var(--jp-brand-color1, #1976d2)", "var(--jp-warn-color1, #e07b00)"
LOOKS = {
    YOURS: f'fill="{BLUE}" fill-opacity="0.14" stroke="{BLUE}" stroke-width="2"',
    OURS: 'fill="none" stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="3 3"',
    BROKEN: f'fill="{ORANGE}" fill-opacity="0.4" stroke="{ORANGE}" stroke-width="2"',
}
MARKS = {YOURS: "✓ ", OURS: "", BROKEN: "✗ "}
OWNER = {YOURS: "Yours", OURS: "The course’s", BROKEN: "In your file, but it does not pass"}
# The stream of the tokens' vectors, what leaves it, and what is added to it.
STREAM = (
    '<g transform="translate(6 28)" fill="none" stroke="currentColor" stroke-width="1.5">'
    '<g stroke-opacity="0.7">'
    '<path d="M24 20V278M18 272L24 280L30 272" stroke-width="3"/>'
    '<path d="M24 68H44M44 200H31M24 230H44M44 252H31"/>'
    '<rect x="44" y="224" width="280" height="34" rx="6" stroke-opacity="0.3"/></g>'
    '<path d="M18 200h12M24 194v12M18 252h12M24 246v12"/>'
    '<circle cx="24" cy="200" r="7"/><circle cx="24" cy="252" r="7"/></g>'
)
LABELS = ((18, 42, "tokens"), (60, 273, "feed-forward part"), (46, 314, "the next word"),
         (272, 128, "cache"))  # fmt: skip


def map_of_file(folder: Path) -> str:
    """Return the map of what the reader's file defines; nothing where it cannot be read."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8-sig")
        return draw_map({name: YOURS for name in PLACES if find(text, name)})
    except (OSError, ValueError, SyntaxError):
        return ""


def draw_map(states: Mapping[str, str]) -> str:
    """Return the map as HTML.

    Args:
        states: part → YOURS, OURS or BROKEN; what is not named is ours.

    >>> "Yours: softmax. The course’s: MyGPT, block" in draw_map({"softmax": YOURS})
    True
    """
    states = {name: states.get(name, OURS) for name in PLACES}
    words = f"Your GPT. {in_words(states)}"
    boxes = "".join(_box(name, state) for name, state in states.items())
    labels = "".join(
        f'<text x="{x}" y="{y}" fill="currentColor" fill-opacity="0.75">{text}</text>'
        for x, y, text in LABELS
    )
    return (
        '<figure style="margin: 10px 0 0;">'
        f'<svg role="img" aria-label="{words}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" style="display: block; max-width: 100%; height: auto; '
        'font: 13px var(--jp-ui-font-family, system-ui, sans-serif);">'
        f"{STREAM}{labels}{boxes}</svg>"
        '<figcaption aria-hidden="true" style="max-width: 350px; font-size: 13px;">'
        f"{words}</figcaption></figure>"
    )


def in_words(states: Mapping[str, str]) -> str:
    """Which parts are whose, in a sentence for each kind.

    >>> in_words({"attend": "yours", "block": "ours", "step": "yours"})
    'Yours: attend, step. The course’s: block.'
    """
    kinds = {kind: [name for name in states if states[name] == kind] for kind in OWNER}
    return " ".join(f"{OWNER[kind]}: {', '.join(names)}." for kind, names in kinds.items() if names)


def _box(name: str, state: str) -> str:
    x, y, width, height = PLACES[name]
    weight = 400 if state == OURS else 650
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" {LOOKS[state]}/>'
        f'<text x="{max(x + 10, 44)}" y="{y + 18}" fill="currentColor" font-weight="{weight}">'
        f"{MARKS[state]}{name}</text>"
    )
