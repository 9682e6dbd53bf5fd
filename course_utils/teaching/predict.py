"""Predictions: a guess before the run, a button, a number or a curve, and at the end all again.

A lecture declares them in ``predictions.toml``, so that no cell says what comes out. The question
itself is text of the lecture, above the cell; here is a short form of it, understood alone.

A guess is kept by the browser, in the page's own storage, and by the kernel while it runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course_utils.explorers.captions import number
from course_utils.explorers.explorer import Explorer
from course_utils.explorers.inputs import Choice, Text

KIT = Path(__file__).resolve().parents[1] / "explorers" / "kit"


@dataclass(frozen=True)
class Axis:
    """An axis of a curve: its name, its two ends, and the values that are written at it.

    `log` makes it logarithmic; `digits` are those of a number in a sentence.
    """

    label: str
    domain: tuple[float, float]
    ticks: tuple[float, ...]
    log: bool = False
    digits: int = 0


@dataclass(frozen=True)
class Curve:
    """A curve to be drawn: where it was measured along x, and the heights that came out.

    `levels` are heights to draw it against, by name, from the top down.
    """

    x: Axis
    y: Axis
    at: tuple[float, ...]
    truth: tuple[float, ...]
    levels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Prediction:
    """What is asked, what can be guessed, and what is true.

    Attributes:
        name: what the cell calls it by.
        question: in one line, understood by whoever has forgotten the text around it.
        answer: a sentence that is understood without the question: "The largest weight is about
            0.8: one key takes most of it."
        truth: one of the choices; a number where there are none; nothing where a curve is drawn.
        choices: two to four texts without formulas; none where a number is to be guessed.
        within: how far a guessed number may be off and still be right.
        unit: of the number.
        at_once: the answer follows the guess. Otherwise it is for the cells below to give.
        curve: what is to be drawn; the answer follows at once.

    >>> Prediction("sum", "2 + 2?", "2 + 2 is 4.", "4", ("4", "5")).choices_in_words
    '4 or 5'
    """

    name: str
    question: str
    answer: str
    truth: str | float = ""
    choices: tuple[str, ...] = ()
    within: float = 0.0
    unit: str = ""
    at_once: bool = False
    curve: Curve | None = None

    @property
    def choices_in_words(self) -> str:
        """What can be guessed, in one line."""
        if self.curve:
            return f"{self.curve.y.label} against {self.curve.x.label}, as a curve"
        if not self.choices:
            return f"a number of {self.unit}" if self.unit else "a number"
        return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"

    @property
    def truth_in_words(self) -> str:
        """What came out, with its unit; of a curve, its two ends."""
        if self.curve:
            first, last = (number(self.curve.truth[i], self.curve.y.digits) for i in (0, -1))
            return f"{first} to {last}"
        words = self.truth if isinstance(self.truth, str) else f"{self.truth:,}"
        return f"{words} {self.unit}".strip()

    def spec(self) -> dict[str, Any]:
        """What the page is told; it shows the answer after the guess alone."""
        return {
            "name": self.name,
            "question": self.question,
            "answer": self.answer,
            "truth": self.truth,
            "shown": self.truth_in_words,
            "choices": list(self.choices),
            "within": self.within,
            "unit": self.unit,
            "once": self.at_once,
            "curve": self.curve and {**asdict(self.curve), "answer": self.answer},
        }


class LivePrediction(Explorer):
    """A prediction on the page: buttons or a box for a number, and a line after the guess."""

    view = KIT / "predict.js"
    pictured = False

    def __init__(self, prediction: Prediction, key: str, guess: str = "") -> None:
        self.prediction, self.key = prediction, key
        self.title = prediction.question
        self.inputs = {"guess": self.control()}
        super().__init__(guess=guess)

    def control(self) -> Choice | Text:
        """What can be guessed: a choice, or a number as text."""
        if choices := self.prediction.choices:
            return Choice("your guess", ("", *choices), "", in_picture=True)
        return Text("your guess", "", ("12", "-0.5"), longest=20, in_picture=True)

    @property
    def in_words(self) -> str:
        """The question, and what can be guessed."""
        return f"{self.title}\nYour guess: {self.prediction.choices_in_words}?"

    def given(self, **served: Any) -> dict[str, Any]:
        """The prediction, and where the browser keeps the guess."""
        return {"key": self.key, **self.prediction.spec()}


class LiveCurve(LivePrediction):
    """A prediction that is drawn on the page: by pointer, or with five handles by key."""

    view = KIT / "draw.js"

    def control(self) -> Text:
        """The heights of the curve at places that are equally far apart, as text."""
        return Text("your guess", "", longest=400, in_picture=True)


class Guesses(Explorer):
    """All predictions of a lecture: what the reader guessed, and what came out."""

    view = KIT / "guesses.js"
    pictured = False
    title = "What you guessed, and what came out"

    def __init__(self, rows: list[tuple[Prediction, str, str]]) -> None:
        self.rows = rows  # each with the key of its guess, and the guess that the kernel knows of
        super().__init__()

    @property
    def in_words(self) -> str:
        """Each question with its answer, where no page can show the guesses."""
        answers = [f"{one.question} {one.answer}" for one, _, _ in self.rows]
        return "\n".join([self.title, *answers])

    def compute(self) -> dict[str, Any]:
        """Nothing: the guesses are in the browser."""
        return {}

    def caption(self, state: Mapping[str, Any]) -> str:
        """Why one guesses at all."""
        return "A wrong guess that you made teaches more than a right answer that you read."

    def given(self, **served: Any) -> dict[str, Any]:
        """Every prediction, with what the kernel knows of its guess."""
        rows = [{**one.spec(), "key": key, "guess": guess} for one, key, guess in self.rows]
        return {"rows": rows}


class Predictions(Mapping[str, Prediction]):
    """The predictions of a lecture by name, and what was guessed while the kernel runs."""

    def __init__(self, lecture: str, predictions: Mapping[str, Prediction]) -> None:
        self.lecture, self._predictions = lecture, dict(predictions)
        self._live: dict[str, LivePrediction] = {}

    def __getitem__(self, name: str) -> Prediction:
        return self._predictions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._predictions)

    def __len__(self) -> int:
        return len(self._predictions)

    def ask(self, name: str) -> LivePrediction:
        """Show a prediction, as the value of a cell."""
        kind = LiveCurve if self[name].curve else LivePrediction
        self._live[name] = kind(self[name], self._key(name), self._guess(name))
        return self._live[name]

    def guesses(self) -> Guesses:
        """Show every prediction of the lecture: the guess beside the truth."""
        return Guesses([(self[name], self._key(name), self._guess(name)) for name in self])

    def _key(self, name: str) -> str:
        return f"course-guess/{self.lecture}/{name}"

    def _guess(self, name: str) -> str:
        return self._live[name].values["guess"] if name in self._live else ""


def read_predictions(path: Path) -> Predictions:
    """The predictions in a lecture's ``predictions.toml``: a table for each, by its name."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return Predictions(
        path.parent.name,
        {
            name: Prediction(
                name,
                **{
                    **table,
                    "choices": tuple(table.get("choices", ())),
                    "curve": _curve(table["curve"]) if "curve" in table else None,
                },
            )
            for name, table in tables.items()
        },
    )


def _curve(table: dict[str, Any]) -> Curve:
    def axis(name: str) -> Axis:
        lists = {each: tuple(table[name][each]) for each in ("domain", "ticks")}
        return Axis(**{**table[name], **lists})

    at, truth = tuple(table["at"]), tuple(table["truth"])
    return Curve(axis("x"), axis("y"), at, truth, table.get("levels", {}))
