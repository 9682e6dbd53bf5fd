"""The exercise engine: run an answer on probes, and say what is wrong rather than that it is."""

from __future__ import annotations

import dataclasses
import itertools
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch

from course_utils.teaching.closeness import as_array
from course_utils.teaching.outcomes import (
    Outcome,
    Tolerance,
    UnfitError,
    describe,
    is_untouched,
    observe,
    same,
    wrong_kind,
)
from course_utils.teaching.part_map import map_of_file
from course_utils.teaching.parts import MY_GPT, Part, PartsFile, folder_of_copies, keep
from course_utils.teaching.time_limit import OutOfTimeError, within
from course_utils.teaching.usual_torch import usual_torch
from course_utils.teaching.verdict import Verdict

DIFFICULTY = {1: "gentle", 2: "moderate", 3: "demanding"}

DEFAULT_TOLERANCE = Tolerance()

SECONDS = 60.0  # for one check; each takes a few at most

ENDLESS = "Stopped after {seconds:g} s: look for a loop that never ends."

IN_PLACE = (
    "The result is right, but your function changes `{name}` itself, and whoever called it still "
    "needs that. Look for `+=` and the like, for `{name}[...] = …`, and for names that end in `_`; "
    "make a new tensor instead."
)

UNTOUCHED = "The stub is untouched: replace the `...` by your code, run its cell, then this one."

Wrong = TypeVar("Wrong", bound=Callable[..., Any])
Facts = Callable[[Mapping[str, Any], Any], dict[str, Any]]


@dataclass(frozen=True)
class Mistake:
    """A wrong idea by name, what it computes, and what to say about it.

    Declared with :meth:`Exercise.mistake`.

    Attributes:
        name: the idea in a few words; unique within an exercise.
        answer: the function that a student with this idea writes.
        message: the diagnosis. Fields in braces are filled with this student's numbers: the
            probe's inputs by name, ``got``, ``expected``, ``ratio``, and the exercise's facts.
        part: compare this part of the result alone; the others may be anything.
    """

    name: str
    answer: Callable[..., Any]
    message: str
    part: int | None = None


@dataclass(frozen=True)
class Exercise:
    """One exercise: its reference, the inputs it is probed with, and its known mistakes.

    Attributes:
        title: a short title.
        difficulty: 1, 2 or 3, shown as a word.
        minutes: the time it should take.
        reference: the right answer; it is called like the student's function.
        probes: inputs by name, in the order of the parameters. Together they must tell every
            mistake from every other and from the reference (:meth:`confusions`).
        praise: what a right answer is told.
        parts: names of the results.
        facts: further numbers for the messages, from the inputs and the student's value.
        tolerance: when numbers agree.
        function: what the stub in the lecture is called.
        watch: wraps an answer to see what it does besides its result (:class:`Watched`); the
            reference and the mistakes are written like an answer and are wrapped alike.
        written: from a mistake as it is declared to an answer, where it is shorter to declare.
        mistakes: the wrong ideas that are recognised, the special before the general.
        then: further stages, each asked when the one before is passed (:meth:`stage`).
        kept_as: the name of the part of the reader's GPT that this exercise builds, under which
            `my_gpt.py` keeps it; empty where it builds none.
        kept_in: the file that keeps it, if it is not `my_gpt.py`.
        made_in: the default dtype in which its probes were made, and in which it is judged.

    >>> double = Exercise(
    ...     title="Twice", difficulty=1, minutes=1, praise="Twice it is.",
    ...     reference=lambda x: 2 * x, probes=({"x": 3},),
    ... )
    >>> @double.mistake()
    ... def square(x):
    ...     "At x = {x} you gave {got}: a square."
    ...     return x * x
    >>> double.check(lambda x: x * x)
    Not yet. At x = 3 you gave 9: a square.
    >>> double.check(lambda x: x + x)
    Passed. Twice it is.
    """

    title: str
    difficulty: int
    minutes: int
    reference: Callable[..., Any]
    probes: tuple[Mapping[str, Any], ...]
    praise: str
    parts: tuple[str, ...] = ("result",)
    facts: Facts = lambda inputs, got: {}
    tolerance: Tolerance = DEFAULT_TOLERANCE
    function: str = ""
    watch: Callable[[Any], Any] = lambda answer: answer
    written: Callable[[Any], Callable[..., Any]] = lambda answer: answer
    mistakes: list[Mistake] = field(default_factory=list)
    then: list[Exercise] = field(default_factory=list)
    kept_as: str = ""
    kept_in: PartsFile = MY_GPT
    made_in: torch.dtype = field(default_factory=torch.get_default_dtype)

    def mistake(self, part: int | None = None, begins: str = "") -> Callable[[Wrong], Wrong]:
        """Declare a wrong idea: a function of its name, whose docstring is the diagnosis.

        Args:
            part: compare this part of the result alone.
            begins: words that several diagnoses begin with.
        """

        def declare(wrong: Wrong) -> Wrong:
            name, message = wrong.__name__.replace("_", " ").strip(), begins + _diagnosis(wrong)
            self.mistakes.append(Mistake(name, self.written(wrong), message, part))
            return wrong

        return declare

    def stage(self, **changes: Any) -> Exercise:
        """Add a stage, asked when those before are passed; what it does not change, it shares.

        A function that is wrong twice, say over the wrong axis and without a safe range, does what
        no single mistake does; in stages it hears of one thing at a time.
        """
        alone = {"mistakes": [], "then": [], "kept_as": ""}
        self.then.append(dataclasses.replace(self, **{**alone, **changes}))
        return self.then[-1]

    @property
    def heading(self) -> str:
        """Title, difficulty and minutes, as a card shows them."""
        return f"{self.title} ({DIFFICULTY[self.difficulty]}, {self.minutes} min)"

    @property
    def stages(self) -> tuple[Exercise, ...]:
        """This exercise and those that follow once it is passed."""
        return (self, *self.then)

    @property
    def part(self) -> Part:
        """The part that it builds. The folder of its code names the lecture."""
        lecture = re.search(r"\.l(\d\d[a-z]?)_", self.reference.__module__)
        origin = f"lecture {lecture[1]}, {self.title}" if lecture else self.title
        check = f"exercises.check_{self.function}"
        return Part(self.kept_as, self.kept_in, origin, check, self.judge)

    def check(self, answer: Any, replace: bool = False) -> Verdict:
        """Judge ``answer`` and keep it, if it is a part of the reader's GPT and passed.

        Args:
            answer: the student's function.
            replace: whether it replaces another one that was kept before.
        """
        try:
            verdict = within(SECONDS, lambda: self.judge(answer))
        except OutOfTimeError:
            return self._not_yet(ENDLESS.format(seconds=SECONDS))
        if not (verdict.passed and self.kept_as and (folder := folder_of_copies())):
            return verdict
        kept = keep(self.part, answer, folder, replace)
        message = f"{verdict.message} {kept}"
        picture = map_of_file(folder) if self.kept_in is MY_GPT else ""
        return dataclasses.replace(verdict, message=message, picture=picture)

    def judge(self, answer: Any) -> Verdict:
        """Judge ``answer``, stage by stage; a wrong one gets a diagnosis, and nothing is raised.

        What the reader has set in PyTorch, such as another default dtype, does not count.
        """
        try:
            with usual_torch(self.made_in):
                verdict = self._check_this_stage(answer)
                for stage in self.then:
                    if not verdict.passed:
                        break
                    verdict = stage._check_this_stage(answer)
                return verdict
        except Exception as error:  # from what no one thought of, such as an object without a type
            kind = type(error).__name__
            return self._not_yet(f"What your function returns cannot be read ({kind}: {error}).")

    def _check_this_stage(self, answer: Any) -> Verdict:
        if answer is ...:
            return self._not_started()
        if not callable(answer):
            return self._not_yet(
                f"The check needs the function itself, without a call; you gave {describe(answer)}."
            )
        outcomes = self._outcomes(answer)
        if is_untouched(answer, outcomes[0]):
            return self._not_started()
        expected = self._outcomes(self.reference)
        wrong = [i for i in range(len(outcomes)) if not self._right(outcomes[i], expected[i])]
        if not wrong:
            for one, other in zip(outcomes, expected, strict=True):
                if more := [name for name in one.changed if name not in other.changed]:
                    return self._not_yet(IN_PLACE.format(name=more[0]))
            return Verdict(True, True, self.praise, self.heading)
        mistake = self._matching(outcomes)
        if mistake is None:
            return self._not_yet(self._describe(outcomes, expected, wrong))
        # A probe that ended in a value has more to quote than one that ended in an exception.
        shown = min(wrong, key=lambda i: (outcomes[i].error is not None, i))
        return self._not_yet(self._fill(mistake.message, outcomes[shown], expected[shown], shown))

    def confusions(self) -> list[tuple[str, str]]:
        """Pairs of answers that the probes cannot tell apart; tests demand that there are none."""
        taken = {m.name: self._outcomes(m.answer) for m in self.mistakes}
        found = [
            (name, "the right answer")
            for name, outcomes in taken.items()
            if self._all_same(outcomes, self._outcomes(self.reference))
        ]
        for one, other in itertools.permutations(self.mistakes, 2):
            if self._all_same(taken[one.name], taken[other.name], other.part):
                found.append((one.name, other.name))
        return found

    def _outcomes(self, answer: Callable[..., Any]) -> list[Outcome]:
        watched = self.watch(answer)
        return [observe(watched, inputs) for inputs in self.probes]

    def _right(self, outcome: Outcome, expected: Outcome) -> bool:
        """Equal, and of the right kind: a numpy array is not the tensor asked for."""
        if not self._same(outcome, expected):
            return False
        return wrong_kind(outcome.value, expected.value, self.parts) is None

    def _same(self, a: Outcome, b: Outcome, part: int | None = None) -> bool:
        return same(a, b, self.tolerance, part)

    def _all_same(self, a: list[Outcome], b: list[Outcome], part: int | None = None) -> bool:
        return all(self._same(x, y, part) for x, y in zip(a, b, strict=True))

    def recognise(self, answer: Callable[..., Any]) -> Mistake | None:
        """The known mistake that ``answer`` makes in this stage, if it is one."""
        return self._matching(self._outcomes(answer))

    def _matching(self, outcomes: list[Outcome]) -> Mistake | None:
        """The first known mistake that does exactly this on every probe."""
        for mistake in self.mistakes:
            if self._all_same(outcomes, self._outcomes(mistake.answer), mistake.part):
                return mistake
        return None

    def _not_started(self) -> Verdict:
        return Verdict(False, False, UNTOUCHED, self.heading)

    def _not_yet(self, message: str) -> Verdict:
        return Verdict(False, True, message, self.heading)

    def _fill(self, message: str, outcome: Outcome, expected: Outcome, probe: int) -> str:
        inputs = self.probes[probe]
        fields = {**inputs, "got": outcome.value, "expected": expected.value}
        if isinstance(expected.value, int | float) and expected.value and outcome.error is None:
            fields["ratio"] = float(as_array(outcome.value, "got")) / expected.value
        fields |= self.facts(inputs, outcome.value)
        # A text is quoted as it is, without the quotation marks that describe() adds.
        in_words = {k: v if isinstance(v, str) else describe(v) for k, v in fields.items()}
        return message.format(**in_words)

    def _describe(self, outcomes: list[Outcome], expected: list[Outcome], wrong: list[int]) -> str:
        """What is wrong when no known mistake does exactly this."""
        first = wrong[0]
        outcome, right = outcomes[first], expected[first]
        place = _place(self.probes[first])
        others = len(outcomes) - len(wrong)
        rest = f" It is right on {others} of {len(outcomes)} inputs." if others else ""
        if isinstance(outcome.error, UnfitError):
            return f"With {place}: {outcome.error}.{rest}"
        if outcome.error is not None:
            kind = type(outcome.error).__name__
            why = textwrap.shorten(str(outcome.error), 240, placeholder=" …").rstrip(".")
            return f"With {place} your function stopped with {kind}: {why}.{rest}"
        complaint = wrong_kind(outcome.value, right.value, self.parts)
        if complaint is not None:
            return f"With {place}: {complaint}.{rest}"
        return f"With {place} {self._distance(outcome.value, right.value)}{rest}"

    def _distance(self, got: Any, expected: Any) -> str:
        """Where and how far a result of the right kind is off."""
        pairs = (
            zip(got, expected, self.parts, strict=True)
            if isinstance(expected, tuple)
            else [(got, expected, self.parts[0])]
        )
        for one, other, name in pairs:
            if not same(Outcome(one), Outcome(other), self.tolerance):
                return _one_distance(one, other, name)
        raise AssertionError("called with equal results")


def _diagnosis(wrong: Callable[..., Any]) -> str:
    """The docstring of a mistake, in one line."""
    return " ".join((wrong.__doc__ or "").split())


def _place(inputs: Mapping[str, Any]) -> str:
    """The inputs in words; of functions there is nothing to say."""
    said = (_input(name, value) for name, value in inputs.items() if not callable(value))
    return ", ".join(said) or "what the check puts in"


def _input(name: str, value: Any) -> str:
    """An input in words: its shape where it has one."""
    if hasattr(value, "shape"):
        return f"{name} of shape {tuple(value.shape)}"
    if isinstance(value, Mapping):
        return f"{len(value)} {name}"
    return f"{name} = {'None' if value is None else describe(value)}"


def _one_distance(got: Any, expected: Any, name: str) -> str:
    if isinstance(expected, str):
        return f"you gave {describe(got)} for `{name}`, expected {describe(expected)}."
    is_yes_or_no = getattr(expected, "dtype", None) == torch.bool
    got, expected = as_array(got, name), as_array(expected, name)
    index = np.unravel_index(int(np.abs(got - expected).argmax()), got.shape)
    place = f" at {tuple(int(i) for i in index)}" if index else ""
    one, other = float(got[index]), float(expected[index])
    if is_yes_or_no:
        return f"you gave {bool(one)} for `{name}`{place}, expected {bool(other)}."
    times = f"{one / other:.4g}" if other else "1"
    ratio = "" if times == "1" else f"; ratio {times}"
    return f"you gave {describe(one)} for `{name}`{place}, expected about {describe(other)}{ratio}."
