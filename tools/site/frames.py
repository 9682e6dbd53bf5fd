"""Frames of an explorer: its pictures and captions over one or two controls, for a static page.

A page has no kernel, so it cannot compute the picture of a slider's position; it can hold the
pictures of some. `explorer.frames` names the controls, `export_frames` moves them over a grid of
stops, and every frame is what the live explorer shows there: the same pixels, the same words. A
scene that moves other controls as well has a frame of its own.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from PIL import Image

from course_utils.explorers.explorer import Explorer
from course_utils.explorers.inputs import Choice, Slider, Steps
from tools.site.film import Film, Frame, Scene, Stops, Values, total_bytes, value_text

MOST_FRAMES = 72
MOST_BYTES = 1_500_000
FEWEST_STOPS = 5  # a slider with fewer jumps rather than moves


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
        ValueError: when the stops that must stay take more than `most_bytes`.

    >>> from course_utils.lectures.l01_scaling.explorers import explore_random_cosines
    >>> film = export_frames(explore_random_cosines(), most_frames=6)
    >>> film.stops[0].label, film.stops[0].texts
    ('dimensions d', ('2', '3', '8', '64', '256', '1,024'))
    >>> film.scenes["one head, d = 64"].at
    (3,)
    """
    names, most, before = explorer.frames, most_frames, explorer.values
    taken: dict[Values, Frame] = {}
    try:
        apart = _frames_apart(explorer, names, before)
        while True:
            grid = _grid(explorer, names, before, most)
            for values in itertools.product(*grid):
                if values not in taken:
                    taken[values] = _take(explorer, before, dict(zip(names, values, strict=True)))
            total = total_bytes([*(taken[at] for at in itertools.product(*grid)), *apart.values()])
            if total <= most_bytes:
                return _film(explorer, names, before, grid, taken, apart)
            count, most = prod(map(len, grid)), int(most * 0.95 * most_bytes / total)
            if prod(map(len, _grid(explorer, names, before, most))) == count:
                raise ValueError(
                    f"most_bytes ({most_bytes}) must hold the {count} frames of "
                    f"{type(explorer).__name__} that cannot be left out; they take {total}"
                )
    finally:
        explorer.set(**before)


def _as_webp(png: bytes) -> bytes:
    # Lossless is the smaller form of flat colours and crisp text: WebP at quality 80 takes up to
    # three times as many bytes, and smears the letters.
    encoded = io.BytesIO()
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").save(encoded, "WEBP", lossless=True, quality=75, method=4)
    return encoded.getvalue()


def _take(explorer: Explorer, before: Mapping[str, Any], moved: Mapping[str, Any]) -> Frame:
    explorer.set(**{**before, **moved})
    return Frame(_as_webp(explorer.png()), explorer.words)


def _frames_apart(
    explorer: Explorer, names: Sequence[str], before: Mapping[str, Any]
) -> dict[str, Frame]:
    """The frames of the scenes that move other controls than these, by label."""
    return {
        label: _take(explorer, before, scene)
        for label, scene in explorer.scenes.items()
        if _moved_too(scene, names, before)
    }


def _moved_too(
    scene: Mapping[str, Any], names: Sequence[str], before: Mapping[str, Any]
) -> list[str]:
    return [name for name in scene if name not in names and scene[name] != before[name]]


def _film(
    explorer: Explorer,
    names: Sequence[str],
    before: Mapping[str, Any],
    grid: Sequence[Values],
    taken: Mapping[Values, Frame],
    apart: Mapping[str, Frame],
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
            label: _scene(explorer, scene, stops, before, apart.get(label))
            for label, scene in explorer.scenes.items()
        },
        tuple(each.description for name, each in explorer.inputs.items() if name not in names),
    )


def _scene(
    explorer: Explorer,
    scene: Mapping[str, Any],
    stops: Sequence[Stops],
    before: Mapping[str, Any],
    frame: Frame | None,
) -> Scene:
    # A frame apart was taken with what the scene leaves alone as it stood.
    values = scene if frame is None else {**before, **scene}
    moved = _moved_too(scene, [each.name for each in stops], before)
    return Scene(
        tuple(
            each.values.index(values[each.name]) if each.name in values else None for each in stops
        ),
        frame,
        tuple(
            f"{explorer.inputs[name].description}: {value_text(scene[name]) or 'empty'}"
            for name in moved
        ),
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


def _control(explorer: Explorer, name: str) -> Slider | Steps:
    control = explorer.inputs[name]
    assert isinstance(control, Slider | Steps)
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
    scenes = explorer.scenes.values()
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
        while prod(counts) > most:
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
