"""An explorer: a picture that the reader takes in hand, its controls, its words.

Python has the truth, the browser the picture. An author declares the controls, writes `compute` and
`caption`, and names a JavaScript module that draws. docs/writing-an-explorer.md builds one.

There are three kinds, with one contract:

- **table**: Python computes every state once, and the browser looks them up.
- **in the hand**: a file `<view>.compute.js` beside the view computes in the browser what
  `compute` computes here; a test runs it over a sweep and compares.
- **served**: for the controls in `served` the browser asks Python, for example for a text.
"""

from __future__ import annotations

import os
import reprlib
import sys
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from course_utils.explorers.captions import plain
from course_utils.explorers.data import encode, every, table
from course_utils.explorers.inputs import Input
from course_utils.explorers.link import kit_on, link
from course_utils.explorers.page import fragment
from course_utils.explorers.shown import replace_shown
from course_utils.threads import one_thread

__all__ = ["Explorer"]

# Beside each output, where this is set: the explorer as HTML. `make lab` saves it, alive, in place
# of a widget that ends with its kernel; `make outputs` sets it to PICTURES and takes its picture.
ASKED_FOR_PAGES = "COURSE_PAGES"
PICTURES = "pictures"
PAGE = "text/x-course-page"


class Explorer:
    """A picture with controls. Subclass it; write `compute` and `caption`, and a view.

    Class attributes:
        title: the question that the picture answers.
        inputs: name → declaration of a control (`course_utils.explorers.inputs`).
        presets: label of a button → values.
        view: the JavaScript module that draws, as a path from the folder of the class's own file.
        served: the controls whose values Python must see before the picture can be drawn.
        reading: how to read the picture, folded under the caption.
        pictured: whether a committed notebook has its picture, beside its words.

    Raises:
        ValueError, TypeError: for a value outside its control's range, or an unknown control.
    """

    title: str = ""
    inputs: Mapping[str, Input] = MappingProxyType({})
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    view: ClassVar[str | Path] = ""
    served: ClassVar[tuple[str, ...]] = ()
    reading: ClassVar[str] = ""
    pictured: ClassVar[bool] = True

    def __init__(self, **values: Any) -> None:
        defaults = {name: control.default for name, control in self.inputs.items()}
        self._values = self._checked({**defaults, **values})
        self._widget: Any = None

    # What an author writes.

    def compute(self, **values: Any) -> Any:
        """The state for these values: a frozen dataclass, or a dict. Pure."""
        raise NotImplementedError

    def caption(self, state: Any) -> str:
        """The picture in one line of at most 25 words, with its numbers.

        `[q:17]` is coloured as the query is, `[k:…]` as the key, `[v:…]` as the value; `[b:…]` is
        bold.
        """
        raise NotImplementedError

    def given(self, **served: Any) -> Mapping[str, Any]:
        """What the browser gets to compute with: once, or for each value of what is served."""
        return {}

    # What the engine gives.

    @property
    def values(self) -> dict[str, Any]:
        """The value of every control."""
        return dict(self._values)

    @property
    def state(self) -> Any:
        """What `compute` gives for the values."""
        with one_thread():  # the browser that shows the picture needs the other cores
            return self.compute(**self._values)

    @property
    def caption_text(self) -> str:
        """The caption as plain text."""
        return plain(self.caption(self.state))

    def set(self, **values: Any) -> None:
        """Move several controls at once. What goes wrong is shown, and raised."""
        before, self._values = self._values, self._checked({**self._values, **values})
        try:
            self.caption_text  # noqa: B018  a failure leaves values and picture as they were
            self._answer(before)
        except Exception:
            self._values = before
            raise
        if self._widget is not None:
            self._widget.values = self.values

    def widget(self) -> Any:
        """The live widget: a new one where there is none, or a reader has closed all widgets."""
        if self._widget is None or self._widget.comm is None:
            from course_utils.explorers.widget import SHELF, ExplorerWidget, SharedKit, with_kit

            self._widget = ExplorerWidget(
                _esm=with_kit(self.module("return entry.default.render(given);", SHELF)),
                shared=SharedKit.now(),
                spec=self.spec(),
                values=self.values,
                given=self._given(),
            )
            self._widget.observe(self._on_values, names="values")
        return self._widget

    def close(self) -> None:
        """Close the widget. Running a cell again closes what it showed before."""
        if self._widget is not None:
            self._widget.close()
            self._widget = None

    def spec(self) -> dict[str, Any]:
        """What the browser is told once: title, controls, presets, what is served.

        A saved notebook sorts names, so the order of controls and presets is told as lists.
        """
        return {
            "title": self.title,
            "inputs": {name: control.spec() for name, control in self.inputs.items()},
            "order": list(self.inputs),
            "presets": [[label, self._checked(preset)] for label, preset in self.presets.items()],
            "served": list(self.served),
            "reading": self.reading,
        }

    def page_data(self) -> dict[str, Any]:
        """All that a page without a kernel needs beside the module."""
        return {"spec": self.spec(), "values": self.values, "given": self._given()}

    @classmethod
    def view_path(cls) -> Path:
        """The file that draws; a class of a notebook's cell has no file and names all of it."""
        own = getattr(sys.modules[cls.__module__], "__file__", None) or ""
        return Path(own).parent / cls.view

    @classmethod
    def compute_path(cls) -> Path:
        """The file that computes in the browser; an explorer that has none is a table."""
        return cls.view_path().with_suffix(".compute.js")

    @classmethod
    def module(cls, ending: str = "export default entry.default;", shelf: str | None = None) -> str:
        """The view and all that it imports, as one string.

        Args:
            ending: its last line.
            shelf: where a page has the kit's modules already, as an expression.
        """
        return _linked(cls.view_path(), ending, shelf)

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        replace_shown(self)
        caption = self.caption_text
        # Colab needs the metadata; the text would be an address, new with every run.
        data, metadata = self.widget()._repr_mimebundle_()
        data = {**data, "text/plain": f"{self.title}\n{caption}"}
        asked = os.environ.get(ASKED_FOR_PAGES)
        if asked and (self.pictured or asked != PICTURES):
            data[PAGE] = fragment(self)
        return data, metadata

    # How it works inside.

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        for name in values:
            if name not in self.inputs:
                raise ValueError(f"a control must be one of {list(self.inputs)}, got {name!r}")
        return {name: self.inputs[name].check(name, value) for name, value in values.items()}

    def _served_now(self) -> dict[str, Any]:
        return {name: self._values[name] for name in self.served}

    def _given(self) -> dict[str, Any]:
        """What the browser gets, with the served values that it belongs to."""
        with one_thread():
            given = {
                name: encode(value) for name, value in self.given(**self._served_now()).items()
            }
            if not self.compute_path().exists():
                given["table"] = self._table
        return {"for": self._served_now(), "data": given}

    @cached_property
    def _unserved(self) -> dict[str, Any]:
        return {name: control for name, control in self.inputs.items() if name not in self.served}

    @property
    def _table(self) -> dict[str, Any]:
        positions = {name: control.positions() for name, control in self._unserved.items()}
        served = self._served_now()
        states = [self.compute(**values, **served) for values in every(positions)]
        return table(positions, states, [self.caption(state) for state in states])

    def _on_values(self, change: Any) -> None:
        """The reader moved something; a failure is a sentence beside the picture."""
        before = self._values
        try:
            self._values = self._checked({**before, **change["new"]})
            self._answer(before)
        except Exception as error:
            self._values = before
            self._say(error, change["new"])

    def _answer(self, before: Mapping[str, Any]) -> None:
        """Send what the served controls ask for, where one of them has moved."""
        if self._widget is None or all(before[name] == self._values[name] for name in self.served):
            return
        self._widget.given, self._widget.problem = self._given(), ""

    def _say(self, error: Exception, values: Mapping[str, Any]) -> None:
        what = str(error)
        if isinstance(error, ValueError):  # written for the reader
            what = what[:1].upper() + what[1:]
        else:
            at = ", ".join(f"{name} = {reprlib.repr(value)}" for name, value in values.items())
            what = f"{type(error).__name__}: {what} (at {at})"
        sentence = f"{what}. The picture is the last that worked."
        if self._widget.problem == sentence:
            sentence += " "  # the same failure again must be a change
        self._widget.problem = sentence


@lru_cache(maxsize=64)
def _linked(view: Path, ending: str, shelf: str | None) -> str:
    return link(view, ending, kit_on(shelf) if shelf else None)
