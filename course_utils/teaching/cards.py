"""The card that verdicts, source notes and quizzes share.

Colours come from JupyterLab's theme variables, so that a card follows the light and the dark
theme. A static page has no such variables: each has a fallback that is translucent or inherited,
so the text keeps the page's own colour. Meaning is carried by words; colour only repeats it.
"""

from __future__ import annotations

import re
from html import escape

TONES = {
    "good": "var(--jp-brand-color1, #1976d2)",
    "careful": "var(--jp-warn-color1, #e07b00)",
    "neutral": "var(--jp-border-color1, #9e9e9e)",
}

CARD_STYLE = (
    "border: 1px solid var(--jp-border-color2, rgba(127, 127, 127, 0.4)); "
    "border-left: 5px solid {tone}; border-radius: 4px; "
    "background: var(--jp-rendermime-table-row-background, rgba(127, 127, 127, 0.08)); "
    "padding: 10px 16px; margin: 4px 0; max-width: 46em; line-height: 1.5;"
)


# One letter, perhaps squared, and an index: d_k, σ²_q, W_q; not var_q, which is a name in code.
SUBSCRIPT = re.compile(r"(?<!\w)([A-Za-zσμ]²?)_(\w+)")


def inline(text: str) -> str:
    """Escape ``text`` for HTML; backticks make code, and d_k gets a real subscript.

    >>> inline("`var_q` is σ²_q, as 1 < 2")
    '<code>var_q</code> is σ²<sub style="line-height: 0;">q</sub>, as 1 &lt; 2'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick is only a character
        return _prose(text)
    return "".join(
        f"<code>{escape(part, quote=False)}</code>" if index % 2 else _prose(part)
        for index, part in enumerate(parts)
    )


def _prose(text: str) -> str:
    # Without the line height a subscript would push its line apart.
    return SUBSCRIPT.sub(r'\1<sub style="line-height: 0;">\2</sub>', escape(text, quote=False))


def section(heading: str, text: str) -> str:
    """A labelled paragraph of a card, as HTML.

    >>> section("What holds", "1/√d")
    '<div style="margin: 6px 0;"><strong>What holds.</strong> 1/√d</div>'
    """
    return f'<div style="margin: 6px 0;"><strong>{inline(heading)}.</strong> {inline(text)}</div>'


def card(body: str, *, tone: str = "neutral", role: str = "note") -> str:
    """Wrap HTML ``body`` in a card that is legible on light and dark pages.

    Args:
        body: HTML, already escaped.
        tone: ``"good"``, ``"careful"`` or ``"neutral"``; the colour of the left edge.
        role: the ARIA role, so that a screen reader announces the card for what it is.

    >>> card("hello", tone="good").startswith('<div role="note"')
    True
    """
    return f'<div role="{role}" style="{CARD_STYLE.format(tone=TONES[tone])}">{body}</div>'
