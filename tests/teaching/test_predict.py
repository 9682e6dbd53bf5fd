"""Predictions: what may be declared, what a guess says, and what is known before it."""

import json

import pytest
from ipywidgets import Widget

from course_utils.explorers.page import fragment
from course_utils.teaching.predict import Prediction, Predictions, read_predictions
from tests.explorers.support_node import KIT, run_module

DECLARED = '''
[sum]
question = "2 + 3?"
choices = ["5", "6"]
truth = "5"
answer = "2 + 3 is 5."

[registers]
question = "How many registers?"
truth = 128
within = 8
unit = "registers"
answer = """
There are 128 \\
of them."""
at_once = true
'''
NODE = f"""
import {{ caption, compute }} from {json.dumps((KIT / "predict.compute.js").as_uri())};
console.log(JSON.stringify(told.map(([guess, given]) => {{
  const state = compute({{ guess }}, given);
  return [caption(state), state.right];
}})));
"""


@pytest.fixture
def predictions(tmp_path):
    folder = tmp_path / "l09_sums"
    folder.mkdir()
    (folder / "predictions.toml").write_text(DECLARED, encoding="utf-8")
    return read_predictions(folder / "predictions.toml")


def shown(asked, **values):
    asked.set(**values)
    return asked.caption_text


def check_page_and_python(guesses):
    """Compare what both say to each guess at a prediction; return those they take for right."""
    told = [[guess, dict(asked.given())] for asked, guess in guesses]
    states = [(asked, asked.compute(guess)) for asked, guess in guesses]
    python = [[asked.caption(state), state["right"]] for asked, state in states]
    assert run_module(NODE, told) == python
    return [guess for guess, (_, right) in zip(guesses, python, strict=True) if right]


def test_a_file_is_read(predictions):
    assert list(predictions) == ["sum", "registers"]
    assert predictions["sum"] == Prediction("sum", "2 + 3?", "2 + 3 is 5.", "5", ("5", "6"))
    assert predictions["registers"].answer == "There are 128 of them."


def test_before_the_guess_nothing_tells(predictions):
    for name, words in (("sum", "Your guess: 5 or 6?"), ("registers", "a number of registers?")):
        asked = predictions.ask(name)
        data, _ = asked._repr_mimebundle_()
        assert data["text/plain"].startswith(predictions[name].question + "\n")
        assert words in data["text/plain"] and "128" not in data["text/plain"]
        page, script = fragment(asked).split("<script", 1)
        assert predictions[name].answer not in page and predictions[name].answer in script


def test_a_choice_waits_for_what_comes_out(predictions):
    asked = predictions.ask("sum")
    assert shown(asked, guess="6") == "You chose 6. Now see what comes out."
    assert shown(asked, guess="5") == "You chose 5. Now see what comes out."
    with pytest.raises(ValueError, match=r"^guess must be one of"):
        asked.set(guess="7")


@pytest.mark.parametrize("guess, right", [("120", True), ("136", True), ("119", False)])
def test_an_answer_at_once(predictions, guess, right):
    found = shown(predictions.ask("registers"), guess=guess)
    judged = ", and that is right" if right else ""
    assert found == f"You guessed {guess} registers{judged}. There are 128 of them."


def test_the_page_says_what_python_says(predictions):
    sum_, registers = map(predictions.ask, predictions)
    guesses = [(sum_, guess) for guess in ("", "5", "6")]
    guesses += [(registers, guess) for guess in ("", "120", "136", "119", "1e3", "-0.5")]
    assert [guess for _, guess in check_page_and_python(guesses)] == ["5", "120", "136"]


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("0,75", "0.75"), ("-3,5", "-3.5"), ("−2", "-2"), ("1,024", "1024"), ("0,125", "0.125"),
        ("12,345,678.5", "12345678.5"), ("1 000", "1000"), (" 7 ", "7"), (".5", ".5"),
        ("1e3", "1e3"), ("", None), ("a few", None), ("1,2,3", None), ("0x10", None),
        ("1e999", None), ("12 %", None), ("Infinity", None), ("1_000", None),
    ],
)  # fmt: skip
def test_a_number_as_people_type_it(typed, number):
    """What the page takes for a number, Python reads as the same one."""
    source = f"""
import {{ asNumber }} from {json.dumps((KIT / "predict.compute.js").as_uri())};
const read = asNumber(told);
console.log(JSON.stringify([read, read === null ? null : Number(read)]));
"""
    expected = None if number is None else float(number)
    assert run_module(source, typed) == [number, expected]


def test_predictions_are_shown_again_after_all_widgets_were_closed(predictions):
    predictions.ask("sum")._repr_mimebundle_()
    predictions.ask("sum").set(guess="6")
    Widget.close_all()
    again = predictions.ask("sum")
    data, _ = again._repr_mimebundle_()
    assert again.values == {"guess": "6"} and "You chose 6" in data["text/plain"]
    assert predictions.guesses()._repr_mimebundle_()[0]["text/plain"].endswith("128 of them.")


def test_a_cell_that_runs_again_knows_the_guess(predictions):
    predictions.ask("sum").set(guess="6")
    assert predictions.ask("sum").values == {"guess": "6"}
    rows = predictions.guesses().given()["rows"]
    assert [row["guess"] for row in rows] == ["6", ""]
    assert [row["shown"] for row in rows] == ["5", "128 registers"]


def test_lectures_keep_their_guesses_apart(predictions):
    other = Predictions("l10_other", predictions)
    keys = {each.ask("sum").key for each in (predictions, other)}
    assert keys == {"course-guess/l09_sums/sum", "course-guess/l10_other/sum"}
    assert keys.isdisjoint({row["key"] for row in other.guesses().given()["rows"][1:]})


def test_the_end_tells_everything_without_a_page(predictions):
    words = predictions.guesses()._repr_mimebundle_()[0]["text/plain"]
    assert words.splitlines()[1:] == [
        "2 + 3? 2 + 3 is 5.", "How many registers? There are 128 of them."
    ]  # fmt: skip
