"""An explorer: a picture that the reader takes in hand, its controls, its words.

An author declares the controls and names a JavaScript module that draws. What it draws is computed
once, in one of two places (docs/writing-an-explorer.md builds both):

- **in the hand**: in the browser, by a file `<view>.compute.js` beside the view.
- **table**: in Python, every state by `compute` and `caption`, and the browser looks them up.

For the controls in `served` the browser asks Python for new data, for example about a text.
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

from course_utils.explorers.cell_outputs import replace_outputs
from course_utils.explorers.data import encode, every, table
from course_utils.explorers.inputs import Input
from course_utils.explorers.link import kit_on, link
from course_utils.explorers.page import fragment
from course_utils.threads import one_thread

# Beside each output, where this is set: the explorer as HTML. `make lab` saves it, alive, in place
# of a widget that ends with its kernel; `make outputs` sets it to PICTURES and takes its picture.
ASKED_FOR_PAGES = "COURSE_PAGES"
PICTURES = "pictures"
PAGE = "text/x-course-page"


class Explorer:
    """A picture with controls. Subclass it and write a view; for a table `compute` and `caption`.

    Class attributes:
        title: the question that the picture answers.
        inputs: name → declaration of a control (`course_utils.explorers.inputs`).
        presets: label of a button → values.
        view: the JavaScript module that draws, as a path from the folder of the class's own file.
        served: the controls whose values Python must see before the picture can be drawn.
        trailing: whether Python's last answer is drawn until the next is there, though something
            served has moved since.
        reading: how to read the picture, folded under the caption.
        pictured: whether a committed notebook has its picture, beside its words.

    Raises:
        ValueError, TypeError: for a value outside its control's range, or an unknown control.
    """

    title: str = ""
    inputs: Mapping[str, Input] = MappingProxyType({})
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    view: ClassVar[str | Path] = ""
    served: tuple[str, ...] = ()
    trailing: ClassVar[bool] = False
    reading: ClassVar[str] = ""
    pictured: ClassVar[bool] = True

    def __init__(self, **values: Any) -> None:
        defaults = {name: control.default for name, control in self.inputs.items()}
        self._values = self._checked({**defaults, **values})
        self._widget: Any = None

    # What an author writes.

    def compute(self, **values: Any) -> Any:
        """Of a table: the state for these values, a frozen dataclass or a dict. Pure."""
        raise NotImplementedError

    def caption(self, state: Any) -> str:
        """Of a table: the picture in one line of at most 25 words, with its numbers.

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
    def in_words(self) -> str:
        """What stands for the picture where it cannot be drawn: its title, and how it is set."""
        for label, preset in self.presets.items():
            if all(self._values[name] == value for name, value in self._checked(preset).items()):
                return f"{self.title}\n{label}"
        moved = [n for n, each in self.inputs.items() if self._values[n] != each.default]
        setting = ", ".join(f"{self.inputs[n].label}: {self._values[n]}" for n in moved)
        return f"{self.title}\n{setting}".strip()

    def set(self, **values: Any) -> None:
        """Move several controls at once. What goes wrong is shown, and raised."""
        self._move(self._checked({**self._values, **values}))
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
            "trailing": self.trailing,
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
        replace_outputs(self)
        # Colab needs the metadata; the text would be an address, new with every run.
        data, metadata = self.widget()._repr_mimebundle_()
        data = {**data, "text/plain": self.in_words}
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
        try:
            self._move(self._checked({**self._values, **change["new"]}))
        except Exception as error:
            self._say(error, change["new"])

    def _move(self, values: dict[str, Any]) -> None:
        """Take new values, and send what they ask for; a failure leaves all as it was."""
        before, self._values = self._values, values
        if all(before[name] == values[name] for name in self.served):
            return
        try:
            given = self._given()
        except Exception:
            self._values = before
            raise
        if self._widget is not None:
            self._widget.given, self._widget.problem = given, ""

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
