"""A film: the pictures of an explorer over one or two controls, and what a page needs to play it.

`tools.site.frames` takes one from a live explorer.
"""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from PIL import Image

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Stops:
    """One control of a page: where it can stand.

    Attributes:
        name: the control's name in the explorer.
        label: its description in words.
        form: "slider", or "list" for a drop-down list.
        values: what it is set to at each stop, in the control's order.
        start: which stop it begins at.
    """

    name: str
    label: str
    form: str
    values: Values
    start: int

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as a reader sees them."""
        return tuple(value_text(value) for value in self.values)


@dataclass(frozen=True)
class Frame:
    """A picture as lossless WebP, and its caption."""

    picture: bytes
    words: str


@dataclass(frozen=True)
class Scene:
    """A prepared position, a button of a page.

    Attributes:
        at: a stop for each control of the page, None where the scene leaves it alone.
        frame: what it shows, where it moves other controls too; else None, for the stops tell.
        also: those other controls and their values, as a reader sees them.
    """

    at: tuple[int | None, ...]
    frame: Frame | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Film:
    """All frames of an explorer.

    Attributes:
        title: the question that the explorer answers.
        size: width and height in pixels.
        stops: one or two controls.
        frames: a frame for each combination of stops; the last control changes fastest.
        scenes: every scene of the explorer, by the label of its button.
        others: the descriptions of the controls that do not move on a page.
    """

    title: str
    size: tuple[int, int]
    stops: tuple[Stops, ...]
    frames: tuple[Frame, ...]
    scenes: Mapping[str, Scene]
    others: tuple[str, ...] = ()

    @property
    def start(self) -> Frame:
        """The frame that is shown first."""
        index = 0
        for each in self.stops:
            index = index * len(each.values) + each.start
        return self.frames[index]

    @property
    def apart(self) -> tuple[Frame, ...]:
        """The frames that no stop shows, in the order of their scenes."""
        return tuple(each.frame for each in self.scenes.values() if each.frame is not None)

    @property
    def total_bytes(self) -> int:
        """The bytes of all pictures, each counted once."""
        return total_bytes([*self.frames, *self.apart])


def total_bytes(frames: Iterable[Frame]) -> int:
    """The bytes of the pictures of frames, each counted once.

    >>> total_bytes([Frame(b"one", "1."), Frame(b"one", "Again."), Frame(b"three", "3.")])
    8
    """
    return sum(map(len, {frame.picture for frame in frames}))


def value_text(value: Any) -> str:
    """A value of a control as text: no trailing zeros, thousands apart.

    >>> value_text(0.30), value_text(131072), value_text("all")
    ('0.3', '131,072', 'all')
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    text = f"{value:,}" if isinstance(value, int) else f"{float(value):g}"
    return text.replace("-", "\N{MINUS SIGN}")


def lossless_webp(png: bytes) -> tuple[bytes, tuple[int, int]]:
    """Return a picture as WebP, and its width and height.

    Lossless is the smaller form of flat colours and crisp text: at quality 80 it takes up to three
    times as many bytes, and smears the letters.
    """
    encoded = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").save(encoded, "WEBP", lossless=True, quality=75, method=4)
        return encoded.getvalue(), picture.size


def keep(picture: bytes, folder: Path) -> str:
    """Write a picture into a folder and return its file's name.

    A file is named by what is in it, so equal pictures are one file, and a changed one is never
    mistaken for what a browser has kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(picture).hexdigest()[:16] + ".webp"
    (folder / name).write_bytes(picture)
    return name


def write_frames(film: Film, folder: Path) -> dict[str, Any]:
    """Write the pictures of a film into a folder, and return what a page needs to play it."""
    frames = [[keep(frame.picture, folder), frame.words] for frame in (*film.frames, *film.apart)]
    controls = [
        {"label": each.label, "form": each.form, "texts": list(each.texts), "start": each.start}
        for each in film.stops
    ]
    places = itertools.count(len(film.frames))
    scenes = [
        {
            "label": label,
            "at": list(scene.at),
            "frame": None if scene.frame is None else next(places),
            "also": list(scene.also),
        }
        for label, scene in film.scenes.items()
    ]
    others = list(film.others)
    return {"controls": controls, "frames": frames, "scenes": scenes, "others": others}
