"""The Explorer engine: one figure, its controls, its words.

An author writes `compute`, `draw`, `update` and `caption`; docs/writing-an-explorer.md shows one
in forty lines. The engine connects the controls, redraws only what moves, keeps the last good
picture when `compute` fails, and shows itself as a live widget with a PNG and a caption beside it.

A drag sends many events. ipywidgets keeps one message of a control in flight and, while the kernel
is busy, remembers the newest value alone; so drawing at every event that arrives is enough for the
latest to win and the last to be drawn.

An event's picture has a pixel for each of the page's, which is soft on most screens of today. Once
the hand rests, it is drawn again with four times as many.
"""

from __future__ import annotations

import asyncio
import base64
import html
import reprlib
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar

import ipywidgets
from IPython.core.getipython import get_ipython
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from course_utils.explorers.drawn_inputs import Input
from course_utils.explorers.picture import BlitPicture
from course_utils.explorers.style import DPI, DRAWING, course_style, new_figure
from course_utils.threads import one_thread
from course_utils.widgets import widget_view

CSS = """<style>
.course-explorer { max-width: 840px; }
.course-explorer .course-scenes { flex-flow: row wrap; }
.course-explorer .course-scenes button { width: auto; }
.course-explorer .course-controls { flex-flow: row wrap; width: calc(100% - 4px); }
.course-explorer .widget-label { font-size: 14px; }
.course-explorer .course-picture { width: calc(100% - 4px); max-width: 800px; height: auto; }
.course-explorer .course-title { font-size: 17px; font-weight: 600; line-height: 1.4; }
.course-explorer .course-words { font-size: 15px; line-height: 1.45; white-space: normal; }
.course-explorer .course-error { border-left: 4px solid #D55E00; padding-left: 8px; }
</style>"""


REST = 0.25  # seconds without an event: a held arrow key sends some thirty a second
_NO_BACKDROP = object()  # equal to no key, so the first backdrop is always drawn


class DrawnExplorer:
    """One figure with controls. Subclass it and write the four methods below.

    Class attributes:
        title: the question the explorer answers, shown above it.
        inputs: name → description of a control (`course_utils.explorers.drawn_inputs`).
        scenes: button label → values, prepared positions for presenting.
        size: width and height of the figure in inches, at 100 dots per inch.
        frames: the one or two controls that a page without a kernel can move
            (`tools.site.frames`): those that teach most.

    Attributes:
        controls: name → live ipywidgets control.
        state: what `compute` returned last and could be drawn.
        error: the exception of the last event, or None.

    Raises:
        ValueError, TypeError: for a value outside its control's range, or an unknown control.
    """

    title: ClassVar[str] = ""
    inputs: ClassVar[Mapping[str, Input]] = {}
    scenes: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    size: ClassVar[tuple[float, float]] = (8.0, 4.0)
    frames: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        self.controls = {name: each.build() for name, each in self.inputs.items()}
        self.state: Any = None
        self.error: Exception | None = None
        self.__paused = False
        self.__prepared = False
        self.__moving: list[Artist] = []
        self.__picture: BlitPicture | None = None
        self.__backdrop: Hashable = _NO_BACKDROP
        self.__words = ""
        self.__png = b""
        self.__image = ipywidgets.HTML()
        self.__caption = _words_widget("course-caption")
        self.__problem = _words_widget("course-error")
        self.__problem.layout.display = "none"
        self.__box: ipywidgets.VBox | None = None
        self.__rest: asyncio.TimerHandle | None = None
        self.__apply(values)
        for control in self.controls.values():
            control.observe(self.__on_change, names="value")

    # What an author writes: these four, and where needed the three after them.

    def compute(self, **values: Any) -> Any:
        """Arrays and numbers for these values, as a frozen dataclass. Pure; no matplotlib."""
        raise NotImplementedError

    def draw(self, figure: Figure, state: Any) -> None:
        """Make axes and artists, once; name those that move with `self.animate(...)`."""
        raise NotImplementedError

    def update(self, state: Any) -> None:
        """Move the artists to this state: set_data, set_text; never a new Figure or Axes."""
        raise NotImplementedError

    def caption(self, state: Any) -> str:
        """The picture in words and numbers."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Fill caches before the first picture, so that no slider position is slow at first."""

    def backdrop(self, state: Any) -> Hashable:
        """A key for the still part; when it changes, `draw_backdrop` runs. It never does here."""
        return None

    def draw_backdrop(self, state: Any) -> None:
        """Change the still part: limits, tick labels. Its pixels are kept by key."""

    # What the engine gives.

    def animate(self, *artists: Artist) -> None:
        """Say in `draw` which artists `update` will change; only these are redrawn per event."""
        self.__moving.extend(artists)

    @property
    def values(self) -> dict[str, Any]:
        """The value of every control."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, **values: Any) -> None:
        """Set several controls and redraw once. What goes wrong is shown, and raised."""
        with DRAWING:
            self.__apply(values)
            self.__refresh()
            if self.error is not None:
                raise self.error

    def png(self, *, fresh: bool = False) -> bytes:
        """The picture as PNG. `fresh` redraws the still part too, as if nothing had been kept."""
        with DRAWING:
            self.__ensure_drawn()
            if fresh:
                self.__backdrop = _NO_BACKDROP
                return self.__render(self.state, fresh=True)
            return self.__png

    @property
    def words(self) -> str:
        """The caption of the picture that is shown."""
        self.__ensure_drawn()
        return self.__words

    def widget(self) -> ipywidgets.VBox:
        """The live widget: title, controls, scenes, error line, picture, caption."""
        self.__ensure_drawn()
        if self.__box is None:
            self.__box = self.__build_box()
        return self.__box

    def close(self) -> None:
        """Let go of the widgets. A notebook's cell that is run again closes what it showed."""
        self.__stop_waiting()
        if self.__box is not None:
            self.__box.close()
        for widget in (*self.controls.values(), self.__image, self.__caption, self.__problem):
            widget.close()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        _replace_shown(self)
        bundle = widget_view(self.widget())
        bundle["image/png"] = base64.b64encode(self.png()).decode("ascii")
        bundle["text/plain"] = f"{self.title}\n{self.words}"
        return bundle

    # How it works inside. Two underscores, so that no author's attribute can collide with these.

    def __apply(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if name not in self.inputs:
                raise ValueError(f"{name} is not a control; the controls are {list(self.inputs)}")
            self.inputs[name].check(name, value)
        with self.__without_redrawing():
            for name, value in values.items():
                self.controls[name].value = value

    @contextmanager
    def __without_redrawing(self) -> Iterator[None]:
        before, self.__paused = self.__paused, True
        try:
            yield
        finally:
            self.__paused = before

    def __on_change(self, change: Any) -> None:
        if not self.__paused:
            with DRAWING:
                self.__refresh()

    def __on_scene(self, scene: Mapping[str, Any], button: Any) -> None:
        with DRAWING:
            self.__apply(scene)
            self.__refresh()

    def __ensure_drawn(self) -> None:
        if not self.__image.value:
            self.__refresh()
            if self.error is not None:
                raise self.error

    def __refresh(self) -> None:
        """Compute, draw, and only then show: a failure leaves the last good picture in place."""
        values = self.values
        self.__stop_waiting()
        try:
            with one_thread():  # the browser that shows the picture needs the other cores
                if not self.__prepared:
                    self.prepare()
                    self.__prepared = True
                state = self.compute(**values)
            words = _sendable(self.caption(state))
            png = self.__render(state)
        except Exception as error:
            self.error = error
            self.__show_problem(error, values)
            return
        self.state, self.error, self.__words = state, None, words
        self.__png = png
        self.__image.value = _as_picture(png, words, self.size)
        self.__caption.value = _as_html(words, "course-caption", "status")
        if self.__problem.layout.display is None:
            self.__problem.value, self.__problem.layout.display = "", "none"
        self.__wait_for_rest()

    def __stop_waiting(self) -> None:
        if self.__rest is not None:
            self.__rest.cancel()

    def __wait_for_rest(self) -> None:
        with suppress(RuntimeError):  # no event loop: a script, and nobody who looks
            self.__rest = asyncio.get_running_loop().call_later(REST, self.__sharpen)

    def __sharpen(self) -> None:
        with DRAWING:
            assert self.__picture is not None
            png = self.__picture.sharp_png()
            self.__image.value = _as_picture(png, self.__words, self.size)

    def __render(self, state: Any, *, fresh: bool = False) -> bytes:
        if self.__picture is None:
            figure, self.__moving = new_figure(*self.size), []
            with course_style():
                self.draw(figure, state)
            self.__picture = BlitPicture(figure, self.__moving)
        key = self.backdrop(state)
        if key != self.__backdrop:
            self.__backdrop = _NO_BACKDROP  # should drawing fail half-way, it is drawn anew
            with course_style():
                self.draw_backdrop(state)
            self.__backdrop = key
        self.update(state)
        return self.__picture.png(key, fresh=fresh)

    def __show_problem(self, error: Exception, values: Mapping[str, Any]) -> None:
        at = ", ".join(f"{name} = {_shortened(value)}" for name, value in values.items())
        text = (
            f"{type(error).__name__}: {error}. This came at {at}. "
            "The picture shows the last values that worked."
        )
        self.__problem.value = _as_html(_sendable(text), "course-error", "alert")
        self.__problem.layout.display = None

    def __build_box(self) -> ipywidgets.VBox:
        title = ipywidgets.HTML(CSS + f'<div class="course-title">{html.escape(self.title)}</div>')
        controls = ipywidgets.HBox(list(self.controls.values()))
        controls.add_class("course-controls")
        rows = [
            title,
            controls,
            self.__build_scenes(),
            self.__problem,
            self.__image,
            self.__caption,
        ]
        box = ipywidgets.VBox([row for row in rows if row is not None])
        box.add_class("course-explorer")
        return box

    def __build_scenes(self) -> ipywidgets.HBox | None:
        if not self.scenes:
            return None
        buttons = []
        for label, scene in self.scenes.items():
            button = ipywidgets.Button(description=label, tooltip=f"Show: {label}")
            button.on_click(partial(self.__on_scene, scene))
            buttons.append(button)
        row = ipywidgets.HBox(buttons)
        row.add_class("course-scenes")
        return row


# Cell id → the run that showed something there, and what it showed.
_shown: dict[str, tuple[str, list[DrawnExplorer]]] = {}


def _replace_shown(explorer: DrawnExplorer) -> None:
    """Close what an earlier run of this cell showed: each explorer holds some 5 MB of pixels."""
    kernel = getattr(get_ipython(), "kernel", None)
    request = kernel.get_parent("shell") if kernel else {}
    cell = request.get("metadata", {}).get("cellId")
    if cell is None:
        return
    run = request["header"]["msg_id"]
    earlier, explorers = _shown.get(cell, (run, []))
    if earlier != run:
        for each in explorers:
            if each is not explorer:
                each.close()
        explorers = []
    _shown[cell] = (run, [*explorers, explorer])


def _shortened(value: Any) -> str:
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    return short.repr(value)


def _sendable(text: str) -> str:
    """The text with question marks for half surrogate pairs, which no browser can be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _words_widget(css_class: str) -> ipywidgets.HTML:
    widget = ipywidgets.HTML()
    widget.add_class(css_class)
    return widget


def _as_picture(png: bytes, words: str, inches: tuple[float, float]) -> str:
    """An <img> with its alternative text, which ipywidgets.Image cannot have.

    Decoded before it is painted (`sync`), so that one picture follows another without a blank.
    """
    data = base64.b64encode(png).decode("ascii")
    width, height = (round(side * DPI) for side in inches)  # kept free while the picture loads
    return (
        f'<img class="course-picture" decoding="sync" width="{width}" height="{height}" '
        f'alt="{html.escape(words)}" src="data:image/png;base64,{data}">'
    )


def _as_html(text: str, css_class: str, role: str) -> str:
    live = "polite" if role == "status" else "assertive"
    return (
        f'<div class="course-words {css_class}" role="{role}" aria-live="{live}">'
        f"{html.escape(text)}</div>"
    )
