"""Frames of an explorer: its pictures and captions over one or two controls, for a static page.

A page has no kernel, so it cannot compute the picture of a slider's position; it can hold the
pictures of some. `explorer.frames` names the controls, `export_frames` moves them over a grid of
stops, and every frame is what the live explorer shows there: the same pixels, the same words. A
scene that moves other controls as well has a frame of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from math import prod
from typing import Any

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Slider, Steps
from tools.site.film import (
    Film,
    Frame,
    Scene,
    Stops,
    Values,
    lossless_webp,
    total_bytes,
    value_text,
)

MOST_FRAMES = 72
MOST_BYTES = 1_500_000
FEWEST_STOPS = 5  # a slider with fewer jumps rather than moves


def export_frames(
    explorer: DrawnExplorer, *, most_frames: int = MOST_FRAMES, most_bytes: int = MOST_BYTES
) -> Film:
    """Every frame over the controls in `explorer.frames`, the others as they stand now.

    Where the whole grid would be too large, stops are left out: of sliders before lists of
    steps, never the ends, the value it stands at or a scene's, and never one of a drop-down list.
    A stop at which every frame is that of both its neighbours is left out too.

    Args:
        explorer: a live explorer, whose controls are moved.
        most_frames: how many frames at most, as far as the stops that must stay allow it.
        most_bytes: how many bytes all pictures may have together.

    Raises:
        ValueError: when the stops that must stay take more than `most_bytes`.
    """
    camera = _Camera(explorer)
    apart = {
        label: camera.take(scene)
        for label, scene in explorer.scenes.items()
        if camera.moved_too(scene)
    }
    grid = camera.grid(most_frames)
    while (total := total_bytes([*camera.frames(grid), *apart.values()])) > most_bytes:
        count, most_frames = len(camera.frames(grid)), int(most_frames * 0.95 * most_bytes / total)
        grid = camera.grid(most_frames)
        if len(camera.frames(grid)) == count:
            raise ValueError(
                f"most_bytes ({most_bytes}) must hold the {count} frames of "
                f"{type(explorer).__name__} that cannot be left out; they take {total}"
            )
    return camera.film([camera.without_repeats(grid, axis) for axis in range(len(grid))], apart)


class _Camera:
    """Takes the frames of an explorer over the controls that its `frames` names.

    For each of these, in their order, `every` has all values, and `must` those that must stay: the
    ends, where it stands, and the scenes'.
    """

    def __init__(self, explorer: DrawnExplorer) -> None:
        self.explorer, self.names, self.before = explorer, explorer.frames, explorer.values
        self.taken: dict[Values, Frame] = {}
        self.every: list[Values] = []
        self.must: list[set[Any]] = []
        for name in self.names:
            control = explorer.inputs[name]
            assert isinstance(control, Slider | Steps)
            values = control.positions() if isinstance(control, Slider) else tuple(control.values)
            scenes = {scene[name] for scene in explorer.scenes.values() if name in scene}
            must = {values[0], values[-1], self.before[name], *scenes}
            if isinstance(control, Slider):
                # It may have been set, or a scene stand, between two steps.
                values = tuple(sorted({*values, *must}))
            self.every.append(values)
            self.must.append(set(values) if isinstance(control, Choice) else must)

    def take(self, moved: Mapping[str, Any]) -> Frame:
        """The frame with some controls moved from where they stood."""
        self.explorer.set(**{**self.before, **moved})
        return Frame(lossless_webp(self.explorer.png())[0], self.explorer.words)

    def frames(self, grid: list[Values]) -> list[Frame]:
        """The frames of a grid of stops; the last control changes fastest."""
        places = list(itertools.product(*grid))
        for values in places:
            if values not in self.taken:
                self.taken[values] = self.take(dict(zip(self.names, values, strict=True)))
        return [self.taken[values] for values in places]

    def moved_too(self, scene: Mapping[str, Any]) -> list[str]:
        """The controls that a scene moves and a page does not."""
        others = [name for name in scene if name not in self.names]
        return [name for name in others if scene[name] != self.before[name]]

    def grid(self, most: int) -> list[Values]:
        """The stops of each control, together at most so many as far as what must stay allows."""
        counts = [len(values) for values in self.every]
        fewest = [
            max(len(must), min(FEWEST_STOPS, count))
            for must, count in zip(self.must, counts, strict=True)
        ]
        kinds = [self.explorer.inputs[name] for name in self.names]
        sliders = [i for i, control in enumerate(kinds) if isinstance(control, Slider)]
        # Listed steps are an author's choice, so sliders give way first.
        for giving_way in (sliders, range(len(counts))):
            while prod(counts) > most:
                longest = max(giving_way, key=lambda i: counts[i] - fewest[i], default=None)
                if longest is None or counts[longest] <= fewest[longest]:
                    break
                counts[longest] -= 1
        return [_thinned(*each) for each in zip(self.every, self.must, counts, strict=True)]

    def without_repeats(self, grid: list[Values], axis: int) -> Values:
        """The stops of one control without those whose frames are those of both neighbours."""
        values = grid[axis]
        rows = [self.frames([*grid[:axis], (each,), *grid[axis + 1 :]]) for each in values]
        return tuple(
            value
            for i, value in enumerate(values)
            if value in self.must[axis] or not rows[i - 1] == rows[i] == rows[i + 1]
        )

    def film(self, grid: list[Values], apart: Mapping[str, Frame]) -> Film:
        """The frames of a grid, with what a page says of them."""
        inputs = self.explorer.inputs
        stops = tuple(
            Stops(
                name,
                inputs[name].description,
                "list" if isinstance(inputs[name], Choice) else "slider",
                values,
                values.index(self.before[name]),
            )
            for name, values in zip(self.names, grid, strict=True)
        )
        width, height = (round(100 * side) for side in self.explorer.size)
        return Film(
            self.explorer.title,
            (width, height),
            stops,
            tuple(self.frames(grid)),
            {
                label: self._scene(scene, stops, apart.get(label))
                for label, scene in self.explorer.scenes.items()
            },
            tuple(each.description for name, each in inputs.items() if name not in self.names),
        )

    def _scene(
        self, scene: Mapping[str, Any], stops: tuple[Stops, ...], frame: Frame | None
    ) -> Scene:
        # A frame apart was taken with what the scene leaves alone as it stood.
        values = scene if frame is None else {**self.before, **scene}
        at = [
            each.values.index(values[each.name]) if each.name in values else None for each in stops
        ]
        also = [
            f"{self.explorer.inputs[name].description}: {value_text(scene[name]) or 'empty'}"
            for name in self.moved_too(scene)
        ]
        return Scene(tuple(at), frame, tuple(also))


def _thinned(values: Values, must: set[Any], count: int) -> Values:
    """So many of the values, those that must stay among them, and else in the widest gaps."""
    kept = sorted(i for i, value in enumerate(values) if value in must)
    while len(kept) < count:
        gap = max(range(len(kept) - 1), key=lambda i: kept[i + 1] - kept[i])
        kept.insert(gap + 1, (kept[gap] + kept[gap + 1]) // 2)
    return tuple(values[i] for i in kept)
