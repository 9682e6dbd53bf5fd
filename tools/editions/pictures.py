"""README's opening picture and the lectures' cards: explorers as they look, at two pixels a pixel.

`make outputs` takes those again whose explorer has changed. A test compares the digests.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import io
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageChops, ImageSequence

from course_utils.explorers import Explorer
from course_utils.explorers.page import fragment
from course_utils.explorers.show import SHARP
from course_utils.files import write_whole
from lectures import COURSE, EXPLORERS, Lecture
from tools.editions.snapshots import NoBrowserError, take_pictures
from tools.webp import as_webp

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "images"
MADE_FROM = FOLDER / "made_from.json"
OPENING = "explore_story_gpt"
HOLD = 2200  # milliseconds for each preset of the opening picture
# A card is about 240 pixels wide on GitHub: of a narrow page a part, so that letters can be read.
PAGE = 324
CARD = (624, 390)
MARGIN = 12
# Where each card's part begins, in the page's pixels below the picture's upper edge.
TOPS = {
    "explore_real_heads": -10,
    "explore_largest_weight": 77,
    "explore_softmax": 172,
    "explore_two_places": 25,
    "explore_position_codes": 31,
    "explore_masks": 41,
    "explore_block": 102,
    "explore_experts": 209,
    "explore_tile_by_tile": 28,
}
COLOURS = 128
FEW_COLOURS = 72  # levels of 255 by which the nearest of so few colours may be off
PAPER, NIGHT = (255, 255, 255), (17, 17, 17)
EXPLORER_CALL = re.compile(r"\bexplorers\.(explore_\w+)\(")


@dataclass(frozen=True)
class Shot:
    """One file: an explorer, at its defaults or at all its presets one after another."""

    explorer: type[Explorer]
    dark: bool
    moving: bool = False
    top: int = 0

    @property
    def digest(self) -> str:
        """Of all that decides how it looks, but the numbers, whose last digits vary."""
        source = inspect.getsource(sys.modules[self.explorer.__module__])
        shape = json.dumps([self.dark, HOLD if self.moving else [PAGE, CARD, MARGIN, self.top]])
        return hashlib.sha256(f"{self.explorer.module()}{source}{shape}".encode()).hexdigest()[:16]

    def frames(self) -> list[Mapping[str, Any]]:
        """The values of each frame."""
        return list(self.explorer.presets.values()) if self.moving else [{}]


def wanted() -> dict[str, Shot]:
    """Every picture by its path under docs/images."""
    found = {f"cards/{lecture.number}{end}.webp": shot
             for lecture in COURSE for end, shot in _card_shots(lecture).items()}  # fmt: skip
    for name, dark in (("opening.webp", False), ("opening-dark.webp", True)):
        found[name] = Shot(EXPLORERS[OPENING], dark, moving=True)  # pyright: ignore[reportArgumentType]
    return found


def _card_shots(lecture: Lecture) -> dict[str, Shot]:
    notebook = (ROOT / "notebooks" / f"{lecture.stem}.ipynb").read_text(encoding="utf-8")
    first = EXPLORER_CALL.search(notebook)
    if first is None:
        return {}
    explorer: Any = EXPLORERS[first[1]]
    top = TOPS.get(first[1], 0)
    return {"": Shot(explorer, dark=False, top=top), "-dark": Shot(explorer, dark=True, top=top)}


def stale() -> list[str]:
    """The pictures that are missing, or of an explorer that has changed since."""
    made = json.loads(MADE_FROM.read_text(encoding="utf-8")) if MADE_FROM.exists() else {}
    return [
        name
        for name, shot in wanted().items()
        if made.get(name) != shot.digest or not (FOLDER / name).is_file()
    ]


def write_pictures() -> None:
    """Take those that are stale, and keep those that look as before.

    Where there is no browser, say so and leave all as they are.
    """
    shots = wanted()
    names = stale()
    # What is edited from now on is in no picture.
    digests = {name: shot.digest for name, shot in sorted(shots.items())}
    try:
        taken = {name: _take(shots[name]) for name in names}
    except NoBrowserError as error:
        print(f"  {error}. Not made: {', '.join(names)}.")
        return
    for name, content in taken.items():
        if (FOLDER / name).is_file() and look_alike((FOLDER / name).read_bytes(), content):
            continue
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(FOLDER / name, content)
        print(f"docs/images/{name}: {len(content) / 1e3:.0f} kB")
    write_whole(MADE_FROM, (json.dumps(digests, indent=1) + "\n").encode())


def look_alike(old: bytes, new: bytes) -> bool:
    """Whether two pictures, or films, differ by no more than what few colours do to an edge."""
    with Image.open(io.BytesIO(old)) as one, Image.open(io.BytesIO(new)) as other:
        frames = [[each.convert("RGB") for each in ImageSequence.Iterator(i)] for i in (one, other)]
    if [each.size for each in frames[0]] != [each.size for each in frames[1]]:
        return False
    gaps = [np.asarray(ImageChops.difference(*pair)) for pair in zip(*frames, strict=True)]
    return max(int(gap.max()) for gap in gaps) <= FEW_COLOURS


def _take(shot: Shot) -> bytes:
    pages = [fragment(shot.explorer(**values)) for values in shot.frames()]
    look = {} if shot.moving else {"part": ".ce-stage", "width": PAGE}
    pngs = [base64.b64decode(png) for png, _ in take_pictures(pages, dark=shot.dark, **look)]
    images = [Image.open(io.BytesIO(png)).convert("RGB") for png in pngs]
    return _film(images, shot.dark) if shot.moving else _card(images[0], shot)


def _film(images: list[Image.Image], dark: bool) -> bytes:
    """All frames in one file, which repeats for ever."""
    size = max(each.width for each in images), max(each.height for each in images)
    frames = [_on_sheet(each, size, dark, (0, 0)) for each in images]
    encoded = io.BytesIO()
    frames[0].save(
        encoded, "WEBP", save_all=True, append_images=frames[1:], duration=HOLD, loop=0,
        lossless=True, quality=75, method=4,
    )  # fmt: skip
    return encoded.getvalue()


def _card(image: Image.Image, shot: Shot) -> bytes:
    """The part of the picture that fits on a card."""
    sheet = _on_sheet(image, CARD, shot.dark, (MARGIN, -SHARP * shot.top))
    return as_webp(sheet.quantize(COLOURS))  # a quarter smaller


def _on_sheet(
    image: Image.Image, size: tuple[int, int], dark: bool, corner: tuple[int, int]
) -> Image.Image:
    sheet = Image.new("RGB", size, NIGHT if dark else PAPER)
    sheet.paste(image, corner)
    return sheet
