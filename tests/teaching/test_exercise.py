"""The exercise engine: what it says about right, wrong, broken and missing answers."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from course_utils.teaching import Exercise, Mistake, Tolerance, Verdict
from course_utils.teaching.outcomes import Outcome, same

DOUBLE = Exercise(
    title="Twice",
    difficulty=2,
    minutes=3,
    reference=lambda x, y: 2.0 * x + y,
    probes=({"x": 3, "y": 0}, {"x": 5, "y": 7}),
    parts=("total",),
    praise="Twice it is.",
    mistakes=[
        Mistake("square", lambda x, y: x * x + y, "At {x} you gave {got}, expected {expected}."),
        Mistake("thrice", lambda x, y: 3 * x + y, "Thrice: ratio {ratio}."),
        Mistake("swapped", lambda x, y: x + 2 * y, "You doubled y = {y}."),
    ],
)

PAIR = Exercise(
    title="Pair",
    difficulty=1,
    minutes=1,
    reference=lambda x: (x.sum(-1), x),
    probes=({"x": torch.arange(6.0).reshape(2, 3)},),
    parts=("total", "same"),
    praise="Yes.",
    mistakes=[
        Mistake("sums the rows", lambda x: (x.sum(0)[:2], None), "Wrong axis.", part=0),
        Mistake("view", lambda x: (x.view(7), x), "A view of 7 out of {size}."),
    ],
    facts=lambda inputs, got: {"size": inputs["x"].numel()},
)


def nested(layout):
    """A tensor with rows of two lengths; the older layout is announced with a warning."""
    with warnings.catch_warnings(action="ignore"):
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)


def said(exercise, answer):
    verdict = exercise.check(answer)
    assert isinstance(verdict, Verdict)
    return verdict


class TestRight:
    @pytest.mark.parametrize(
        "answer",
        [
            lambda x, y: x + x + y,
            lambda a, b: 2 * a + b,
            lambda x, y: np.float32(2 * x + y),
            lambda x, y: torch.tensor(2.0 * x + y),
            lambda x, y: (2 * x + y) * (1 + 1e-6),
        ],
    )
    def test_every_way_to_be_right_passes(self, answer):
        verdict = said(DOUBLE, answer)
        assert (verdict.passed, verdict.started) == (True, True)
        assert verdict and repr(verdict) == "Passed. Twice it is."

    def test_a_list_will_do_for_a_tuple(self):
        assert said(PAIR, lambda x: [x.sum(-1), x]).passed


class TestUntouched:
    def raises(x, y):
        raise NotImplementedError

    def empty(x, y):
        """A docstring alone."""

    def dots(x, y): ...

    @pytest.mark.parametrize(
        "answer", [..., lambda x, y: ..., lambda x, y: (..., ...), raises, empty, dots]
    )
    def test_an_untouched_stub_says_so(self, answer):
        verdict = said(DOUBLE, answer)
        assert (verdict.passed, verdict.started, bool(verdict)) == (False, False, False)
        assert repr(verdict).startswith("Not started. The stub is untouched")

    def test_a_body_that_does_something_is_no_stub(self):
        def forgot_return(x, y):
            total = 2 * x + y
            del total

        verdict = said(DOUBLE, forgot_return)
        assert verdict.started
        assert verdict.message == (
            "With x = 3, y = 0: `total` should be a number, you gave nothing (None), "
            "as a function without `return` does."
        )

    @pytest.mark.parametrize("as_a", [Fraction, np.float32, np.array, int])
    def test_a_number_may_be_of_any_kind(self, as_a):
        assert said(DOUBLE, lambda x, y: as_a(2 * x + y)).passed


class TestWhatElseItDoes:
    SUMS = Exercise(
        title="Sums", difficulty=1, minutes=1, praise="Summed.",
        reference=lambda x, rows: x.sum(-1),
        probes=({"x": torch.tensor([[2.0, 5.0]]), "rows": [torch.ones(3)]},),
    )  # fmt: skip

    @pytest.mark.parametrize("name", ["x", "rows"])
    def test_a_right_answer_that_changes_an_input_is_told(self, name):
        def answer(x, rows):
            total = x.sum(-1)
            (x if name == "x" else rows[0]).mul_(2)
            return total

        verdict = said(self.SUMS, answer)
        assert not verdict.passed
        assert f"changes `{name}` itself" in verdict.message

    def test_an_input_may_be_written_to_and_stay_as_it_is(self):
        def answer(x, rows):
            x += 0
            return x.sum(-1)

        assert said(self.SUMS, answer).passed

    def test_what_the_reference_changes_may_be_changed(self):
        def put(x):
            x[0] = 7.0
            return x.sum()

        probes = ({"x": torch.tensor([1.0, 2.0])},)
        exercise = Exercise(
            title="Put", difficulty=1, minutes=1, praise="Put.", reference=put, probes=probes
        )
        assert said(exercise, put).passed

    def test_a_loop_that_never_ends_is_stopped(self, monkeypatch):
        monkeypatch.setattr("course_utils.teaching.exercise.SECONDS", 0.3)

        def endless(x, y):
            while True:
                pass

        verdict = DOUBLE.check(endless)
        assert not verdict.passed
        assert verdict.message == "Stopped after 0.3 s: look for a loop that never ends."


class TestNamedMistakes:
    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (lambda x, y: x**2 + y, "At 3 you gave 9, expected 6."),
            (lambda x, y: 3 * x + y, "Thrice: ratio 1.5."),
            # Wrong at both probes, but with numbers of its own: 3 + 0 and 5 + 14.
            (lambda x, y: x + y + y, "You doubled y = 0."),
        ],
    )
    def test_each_gets_its_message_with_the_students_numbers(self, answer, message):
        verdict = said(DOUBLE, answer)
        assert (verdict.passed, verdict.started, verdict.message) == (False, True, message)

    def test_a_mistake_must_agree_on_every_probe(self):
        verdict = said(DOUBLE, lambda x, y: 9 if x == 3 else 17)
        assert verdict.message == (
            "With x = 3, y = 0 you gave 9 for `total`, expected about 6; ratio 1.5. "
            "It is right on 1 of 2 inputs."
        )

    def test_a_mistake_may_compare_one_part(self):
        assert said(PAIR, lambda x: (x.sum(0)[:2], "anything")).message == "Wrong axis."

    def test_a_mistake_may_be_an_exception(self):
        assert said(PAIR, lambda x: (x.view(7), 2 * x)).message == "A view of 7 out of 6."
        assert "view" not in said(PAIR, lambda x: (x.view(5), x)).message.split("RuntimeError")[0]

    def test_probes_that_confuse_mistakes_are_found(self):
        blind = Exercise(
            title="Blind", difficulty=1, minutes=1, praise="",
            reference=lambda x: 2 * x,
            probes=({"x": 2},),
            mistakes=[
                Mistake("square", lambda x: x * x, ""),
                Mistake("add two", lambda x: x + 2, ""),
                Mistake("thrice", lambda x: 3 * x, ""),
            ],
        )  # fmt: skip
        assert ("square", "the right answer") in blind.confusions()
        assert ("square", "add two") in blind.confusions()
        assert not any("thrice" in pair for pair in blind.confusions())
        assert DOUBLE.confusions() == PAIR.confusions() == []


class TestDeclared:
    @pytest.fixture
    def rows(self):
        return Exercise(
            title="Rows", difficulty=1, minutes=1, kept_as="rows", function="rows",
            reference=lambda x: x.softmax(-1), probes=({"x": torch.arange(6.0).reshape(2, 3)},),
            praise="First.", written=lambda mask: lambda x: (x + mask(x)).softmax(-1),
        )  # fmt: skip

    def test_its_name_is_the_idea_and_its_docstring_the_diagnosis(self, rows):
        @rows.mistake(begins="Row 0 sums to 1. ")
        def hides_the_first(x):
            """But its first
            weight is {got}."""
            return torch.where(torch.arange(3) == 0, -torch.inf, 0.0)

        (mistake,) = rows.mistakes
        assert mistake.name == "hides the first"
        assert mistake.message == "Row 0 sums to 1. But its first weight is {got}."
        assert said(rows, mistake.answer).message.startswith("Row 0 sums to 1. But its first weigh")

    def test_a_stage_shares_what_it_does_not_change(self, rows):
        rows.mistake()(lambda x: -x)
        wide = rows.stage(probes=({"x": 100 * torch.eye(2)},), praise="Second.")
        assert (wide.title, wide.reference, wide.function) == ("Rows", rows.reference, "rows")
        assert wide.mistakes == wide.then == [] and wide.kept_as == ""
        assert rows.stages == (rows, wide) and len(rows.mistakes) == 1
        assert said(rows, lambda x: x.softmax(-1)).message == "Second."


class TestUnknownMistakes:
    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (lambda x, y: 1 / y, " your function stopped with ZeroDivisionError: "),
            (lambda x: x, " your function stopped with TypeError: "),
            (lambda x, y: "6", ": `total` should be a number, you gave '6'."),
            (lambda x, y: True, ": `total` should be a number, you gave True."),
            (lambda x, y: 1j, ": `total` should be a number, you gave 1j."),
            (lambda x, y: [6.0], ": `total` should be a number, you gave a list."),
            (lambda x, y: torch.ones(2),
             ": `total` should be a number, you gave a tensor of shape (2,)."),
            (lambda x, y: float("nan"), ": `total` is NaN: look for 0/0"),
            (lambda x, y: float("inf"), ": `total` is infinite: look for "),
            (lambda x, y: 7 * x + y, " you gave 21 for `total`, expected about 6; ratio 3.5."),
        ],
    )  # fmt: skip
    def test_numbers(self, answer, message):
        verdict = said(DOUBLE, answer)
        assert (verdict.passed, verdict.started) == (False, True)
        assert verdict.message.startswith("With x = 3, y = 0" + message)

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (lambda x: x.sum(-1),
             "the function should return 2 results, `total`, `same`; you gave a tensor of shape "),
            (lambda x: (x.sum(-1), x, x),
             "the function should return 2 results, `total`, `same`; you gave a tuple of 3."),
            (lambda x: (x.sum(-1), x.T),
             "`same` has shape (3, 2), expected (2, 3): "),
            (lambda x: (x.sum(-1).numpy(), x),
             "`total` should be a torch tensor, you gave a numpy array of shape (2,)."),
            (lambda x: (x.sum(-1), x / 0), "`same` is NaN: look for "),
            (lambda x: (x.sum(-1), x + torch.inf), "`same` is infinite: look for "),
        ],
    )  # fmt: skip
    def test_tensors(self, answer, message):
        verdict = said(PAIR, answer)
        assert verdict.message.startswith("With x of shape (2, 3): " + message)

    def test_what_has_another_shape_is_not_copied(self):
        """A meta tensor cannot be: a terabyte that somebody gave by mistake is told its shape."""
        huge = torch.empty(1 << 40, device="meta")
        assert "a tensor of shape (1099511627776,)" in said(DOUBLE, lambda x, y: huge).message
        assert (
            "`same` has shape (1099511627776,)" in said(PAIR, lambda x: (x.sum(-1), huge)).message
        )

    def test_the_entry_that_is_furthest_off_is_named(self):
        def answer(x):
            wrong = x.clone()
            wrong[1, 2] = 7.5
            return x.sum(-1), wrong

        assert said(PAIR, answer).message == (
            "With x of shape (2, 3) you gave 7.5 for `same` at (1, 2), expected about 5; ratio 1.5."
        )

    def test_functions_go_unsaid_and_yes_and_no_are_words(self):
        probes = ({"f": abs, "x": torch.tensor([3.0, -2.0])},)
        exercise = Exercise(
            title="Above", difficulty=1, minutes=1, praise="Above.", function="above",
            reference=lambda f, x: x > 0, probes=probes,
        )  # fmt: skip
        assert said(exercise, lambda f, x: f(x) > 0).message == (
            "With x of shape (2,) you gave True for `result` at (1,), expected False."
        )

    def test_of_a_long_complaint_of_torch_comes_the_beginning(self):
        message = said(PAIR, lambda x: torch.max(x, x, dim=0)).message
        assert "max() received an invalid combination of arguments" in message
        assert "\n" not in message and len(message) < 350

    def test_a_ratio_that_rounds_to_one_goes_unsaid(self):
        message = said(DOUBLE, lambda x, y: (2 * x + y) * 1.0002).message
        assert "expected about 6." in message

    def test_a_function_cannot_spoil_its_inputs_for_the_next(self):
        def in_place(x):
            total = x.sum(-1)
            x.zero_()
            return total, x

        assert not said(PAIR, in_place).passed
        assert PAIR.probes[0]["x"].sum() == 15

    @pytest.mark.parametrize(
        "odd",
        [
            torch.empty(2, 3, device="meta"),
            torch.empty((), device="meta"),
            nested(torch.strided),
            nested(torch.jagged),
            torch.ones(2, 3).to_sparse(),
            torch.nn.Linear(3, 2),
            torch,
            np,
            10**400,
            Fraction(10**400, 3),
            object(),
            type("Bad", (), {"shape": property(lambda self: 1 / 0)})(),
            torch.nn.Linear,
        ],
        ids=lambda odd: type(odd).__name__,
    )
    def test_nothing_is_raised_whatever_an_answer_is_or_gives(self, odd):
        for verdict in (DOUBLE.check(odd), DOUBLE.check(lambda x, y: odd)):
            assert not verdict.passed and verdict.message
        assert PAIR.check(lambda x: (x.sum(-1), odd)).message
        assert PAIR.check(lambda x: (x.sum(0)[:2], odd)).message  # a mistake in the other part

    @pytest.mark.parametrize("kind", [SystemExit, GeneratorExit])
    def test_an_answer_that_ends_the_process_is_told_so(self, kind):
        def ends(x, y):
            raise kind(4)

        assert f"your function stopped with {kind.__name__}: 4" in said(DOUBLE, ends).message

    def test_an_error_without_words(self):
        class Mute(Exception):
            def __str__(self):
                raise ValueError("nothing to say")

        def mute(x, y):
            raise Mute

        assert "nothing to say" in said(DOUBLE, mute).message

    def test_an_interrupt_is_not_swallowed(self):
        def interrupted(x, y):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            DOUBLE.check(interrupted)


class TestVerdict:
    @pytest.mark.parametrize(
        ("answer", "word"),
        [(DOUBLE.reference, "Passed"), (lambda x, y: 0, "Not yet"), (..., "Not started")],
    )
    def test_the_verdict_is_in_words_in_every_form(self, answer, word):
        bundle = said(DOUBLE, answer)._repr_mimebundle_()
        assert bundle["text/plain"].startswith(f"{word}. ")
        assert f"<strong>{word}.</strong> <em>Twice (moderate, 3 min)</em>" in bundle["text/html"]

    def test_a_students_text_cannot_become_markup(self):
        html = said(DOUBLE, lambda x, y: "<b>")._repr_mimebundle_()["text/html"]
        assert "<b>" not in html and "&lt;b&gt;" in html


class TestParts:
    @pytest.mark.parametrize(
        ("a", "b", "equal"),
        [
            (1.0, 1.00001, True),
            (1.0, 1.01, False),
            (torch.ones(2), np.ones(2), True),
            (torch.ones(2), torch.ones(3), False),
            ((1, 2), (1, 2), True),
            ((1, 2), (1, 2, 3), False),
            ("a", "a", True),
            ("a", 1, False),
            (None, None, True),
            (None, 0, False),
            (float("nan"), float("nan"), False),
            ({"a": 1}, 1, False),
        ],
    )
    def test_outcomes_are_compared_by_kind_and_value(self, a, b, equal):
        assert same(Outcome(a), Outcome(b), Tolerance()) is equal
        assert same(Outcome(b), Outcome(a), Tolerance()) is equal

    def test_stages_are_asked_in_turn(self):
        large = replace(DOUBLE, probes=({"x": 99, "y": 5},), praise="Large ones too.")
        both = replace(DOUBLE, then=(large,))
        assert both.check(DOUBLE.reference).message == "Large ones too."
        assert "With x = 99" in both.check(lambda x, y: min(DOUBLE.reference(x, y), 100)).message

    def test_an_answer_is_watched_and_so_is_the_reference(self):
        def counted(answer):
            calls = []
            return lambda x, y: (answer(x, y), calls.append(x), len(calls))[2]

        once = replace(DOUBLE, watch=counted, mistakes=[])
        assert once.check(lambda x, y: "anything").passed
