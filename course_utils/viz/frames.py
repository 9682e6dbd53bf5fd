"""Frames of an explorer: its pictures and captions over one or two controls, for a static page.

A page has no kernel, so it cannot compute the picture of a slider's position; it can hold the
pictures of some. `explorer.frames` names the controls, `export_frames` moves them over a grid of
stops, and every frame is what the live explorer shows there: the same pixels, the same words.
"""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from PIL import Image

from course_utils.shapes import check_int
from course_utils.viz.explorer import Explorer
from course_utils.viz.inputs import Choice, Slider, Steps

MOST_FRAMES = 72
MOST_BYTES = 1_500_000
FEWEST_STOPS = 5  # a slider with fewer jumps rather than moves

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
class Film:
    """All frames of an explorer.

    Attributes:
        title: the question that the explorer answers.
        size: width and height in pixels.
        stops: one or two controls.
        frames: a frame for each combination of stops; the last control changes fastest.
        scenes: button label → a stop for each control, None where the scene leaves it alone.
    """

    title: str
    size: tuple[int, int]
    stops: tuple[Stops, ...]
    frames: tuple[Frame, ...]
    scenes: Mapping[str, tuple[int | None, ...]]

    @property
    def start(self) -> Frame:
        """The frame that is shown first."""
        index = 0
        for each in self.stops:
            index = index * len(each.values) + each.start
        return self.frames[index]

    @property
    def total_bytes(self) -> int:
        """The bytes of all pictures, each counted once."""
        return sum(map(len, {frame.picture for frame in self.frames}))


def value_text(value: Any) -> str:
    """A value of a control as text: no trailing zeros, thousands apart.

    >>> value_text(0.30), value_text(131072), value_text("all")
    ('0.3', '131,072', 'all')
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    text = f"{value:,}" if isinstance(value, int) else f"{float(value):g}"
    return text.replace("-", "\N{MINUS SIGN}")


def check_frames(explorer: Explorer) -> tuple[str, ...]:
    """The names of the controls that the frames of an explorer go over.

    Raises:
        TypeError: when `explorer` is not an Explorer, or a name stands for a free text.
        ValueError: when there is no name or more than two, one twice, or one that is no control.

    >>> class Still(Explorer):
    ...     pass
    >>> check_frames(Still())
    Traceback (most recent call last):
    ...
    ValueError: frames of Still must name one or two controls; got ()
    """
    if not isinstance(explorer, Explorer):
        raise TypeError(f"explorer must be an Explorer; got {type(explorer).__name__}")
    kind, names = type(explorer).__name__, explorer.frames
    if not isinstance(names, tuple) or not 1 <= len(names) <= 2 or len(set(names)) < len(names):
        raise ValueError(f"frames of {kind} must name one or two controls; got {names!r}")
    for name in names:
        if name not in explorer.inputs:
            raise ValueError(
                f"frames of {kind} must name its controls, which are {list(explorer.inputs)}; "
                f"got {name!r}"
            )
        if not isinstance(explorer.inputs[name], Slider | Steps):
            raise TypeError(
                f"frames of {kind} must name sliders or lists; {name!r} is a "
                f"{type(explorer.inputs[name]).__name__}"
            )
    return names


def export_frames(
    explorer: Explorer, *, most_frames: int = MOST_FRAMES, most_bytes: int = MOST_BYTES
) -> Film:
    """Every frame over the controls in `explorer.frames`, the others as they stand now.

    Where the whole grid would be too large, stops are left out: of sliders before lists of
    steps, never the ends, the value it stands at or a scene's, and never one of a drop-down list.
    A stop at which every frame is that of both its neighbours is left out too.

    Args:
        explorer: a live explorer; it stands afterwards where it stood before.
        most_frames: how many frames at most, as far as the stops that must stay allow it.
        most_bytes: how many bytes all pictures may have together.

    Raises:
        TypeError, ValueError: when `frames` names no such controls (`check_frames`), a bound is
            not a positive whole number, or the stops that must stay take more than `most_bytes`.

    >>> from course_utils.viz import explore_random_cosines
    >>> film = export_frames(explore_random_cosines(), most_frames=6)
    >>> film.stops[0].label, film.stops[0].texts
    ('dimensions d', ('2', '3', '8', '64', '256', '1,024'))
    >>> film.scenes["one head, d = 64"]
    (3,)
    """
    names = check_frames(explorer)
    most = check_int("most_frames", most_frames)
    check_int("most_bytes", most_bytes)
    before = explorer.values
    taken: dict[Values, Frame] = {}
    try:
        while True:
            grid = _grid(explorer, names, before, most)
            for values in itertools.product(*grid):
                if values not in taken:
                    explorer.set(**dict(zip(names, values, strict=True)))
                    taken[values] = Frame(_as_webp(explorer.png()), explorer.words)
            used = {taken[values].picture for values in itertools.product(*grid)}
            total = sum(map(len, used))
            if total <= most_bytes:
                return _film(explorer, names, before, grid, taken)
            count, most = _product(map(len, grid)), int(most * 0.95 * most_bytes / total)
            if _product(map(len, _grid(explorer, names, before, most))) == count:
                raise ValueError(
                    f"most_bytes ({most_bytes}) must hold the {count} frames of "
                    f"{type(explorer).__name__} that cannot be left out; they take {total}"
                )
    finally:
        explorer.set(**before)


def write_frames(film: Film, folder: Path) -> dict[str, Any]:
    """Write the pictures of a film into a folder, and return what a page needs to play it.

    A file is named by what is in it, so equal pictures are one file, and a changed one is never
    mistaken for what a browser has kept.

    Raises:
        TypeError: when `film` is not a Film.

    >>> import tempfile
    >>> stops = Stops("rank", "rank r", "slider", (1, 2), 1)
    >>> film = Film("Why?", (8, 4), (stops,), (Frame(b"one", "1."), Frame(b"two", "2.")), {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_frames(film, Path(folder))
    ...     [len(list(Path(folder).iterdir())), page["frames"][0][1], page["controls"][0]["texts"]]
    [2, '1.', ['1', '2']]
    """
    if not isinstance(film, Film):
        raise TypeError(f"film must be a Film; got {type(film).__name__}")
    folder.mkdir(parents=True, exist_ok=True)
    frames = []
    for frame in film.frames:
        name = hashlib.sha256(frame.picture).hexdigest()[:16] + ".webp"
        (folder / name).write_bytes(frame.picture)
        frames.append([name, frame.words])
    controls = [
        {"label": each.label, "form": each.form, "texts": list(each.texts), "start": each.start}
        for each in film.stops
    ]
    scenes = [[label, list(at)] for label, at in film.scenes.items()]
    return {"controls": controls, "frames": frames, "scenes": scenes}


def _as_webp(png: bytes) -> bytes:
    # Lossless is the smaller form of flat colours and crisp text: WebP at quality 80 takes up to
    # three times as many bytes, and smears the letters.
    encoded = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").save(encoded, "WEBP", lossless=True, quality=75, method=4)
    return encoded.getvalue()


def _film(
    explorer: Explorer,
    names: Sequence[str],
    before: Mapping[str, Any],
    grid: Sequence[Values],
    taken: Mapping[Values, Frame],
) -> Film:
    must = _wanted(explorer, names, before)
    lasting = [_without_repeats(grid, axis, must[name], taken) for axis, name in enumerate(names)]
    stops = tuple(
        Stops(
            name,
            explorer.inputs[name].description,
            "list" if isinstance(explorer.inputs[name], Choice) else "slider",
            tuple(values),
            values.index(before[name]),
        )
        for name, values in zip(names, lasting, strict=True)
    )
    width, height = (round(100 * side) for side in explorer.size)
    return Film(
        explorer.title,
        (width, height),
        stops,
        tuple(taken[values] for values in itertools.product(*lasting)),
        {
            label: tuple(
                each.values.index(scene[each.name]) if each.name in scene else None
                for each in stops
            )
            for label, scene in _scenes(explorer, names, before).items()
        },
    )


def _without_repeats(
    grid: Sequence[Values], axis: int, must: set[Any], taken: Mapping[Values, Frame]
) -> Values:
    """The stops of one control without those whose frames are those of both neighbours."""

    def row(value: Any) -> list[Frame]:
        one = [*grid[:axis], (value,), *grid[axis + 1 :]]
        return [taken[values] for values in itertools.product(*one)]

    values, rows = grid[axis], [row(value) for value in grid[axis]]
    return tuple(
        value
        for i, value in enumerate(values)
        if value in must or not rows[i - 1] == rows[i] == rows[i + 1]
    )


def _scenes(
    explorer: Explorer, names: Sequence[str], before: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """The scenes that move no other control than these."""
    return {
        label: scene
        for label, scene in explorer.scenes.items()
        if all(value == before[name] for name, value in scene.items() if name not in names)
    }


def _control(explorer: Explorer, name: str) -> Slider | Steps:
    control = explorer.inputs[name]
    assert isinstance(control, Slider | Steps)  # check_frames lets no other pass
    return control


def _all_values(control: Slider | Steps, wanted: Iterable[Any] = ()) -> Values:
    """Every value of a control. A slider may have been set, or a scene stand, between two steps."""
    if isinstance(control, Slider):
        return tuple(sorted({*control.positions(), *wanted}))
    return tuple(control.values)


def _wanted(
    explorer: Explorer, names: Sequence[str], before: Mapping[str, Any]
) -> dict[str, set[Any]]:
    """The values that must stay, by control: the ends, where it stands, and the scenes'."""
    scenes = _scenes(explorer, names, before).values()
    found = {}
    for name in names:
        values = _all_values(_control(explorer, name))
        ends = {values[0], values[-1]}
        found[name] = {*ends, before[name], *(scene[name] for scene in scenes if name in scene)}
        if isinstance(explorer.inputs[name], Choice):
            found[name] = set(values)
    return found


def _grid(
    explorer: Explorer, names: Sequence[str], before: Mapping[str, Any], most: int
) -> list[Values]:
    must = _wanted(explorer, names, before)
    full = [_all_values(_control(explorer, name), must[name]) for name in names]
    counts = [len(values) for values in full]
    fewest = [max(len(must[name]), min(FEWEST_STOPS, len(full[i]))) for i, name in enumerate(names)]
    sliders = [i for i, name in enumerate(names) if isinstance(explorer.inputs[name], Slider)]
    # Listed steps are an author's choice, so sliders give way first.
    for giving_way in (sliders, range(len(names))):
        while _product(counts) > most:
            longest = max(giving_way, key=lambda i: counts[i] - fewest[i], default=None)
            if longest is None or counts[longest] <= fewest[longest]:
                break
            counts[longest] -= 1
    return [
        _thinned(values, must[name], count)
        for name, values, count in zip(names, full, counts, strict=True)
    ]


def _thinned(values: Values, must: set[Any], count: int) -> Values:
    """So many of the values, those that must stay among them, and else in the widest gaps."""
    kept = sorted(i for i, value in enumerate(values) if value in must)
    while len(kept) < count:
        gap = max(range(len(kept) - 1), key=lambda i: kept[i + 1] - kept[i])
        kept.insert(gap + 1, (kept[gap] + kept[gap + 1]) // 2)
    return tuple(values[i] for i in kept)


def _product(counts: Any) -> int:
    result = 1
    for count in counts:
        result *= count
    return result
