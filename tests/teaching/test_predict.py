"""Predictions: what may be declared, what a guess says, and what is known before it."""

import json

import numpy as np
import pytest
from ipywidgets import Widget

from course_utils.explorers.page import fragment
from course_utils.teaching.predict import (
    Axis,
    Curve,
    Prediction,
    Predictions,
    read_predictions,
)
from tests.explorers.support_browser import InBrowser
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


@pytest.fixture
def predictions(tmp_path):
    folder = tmp_path / "l09_sums"
    folder.mkdir()
    (folder / "predictions.toml").write_text(DECLARED, encoding="utf-8")
    return read_predictions(folder / "predictions.toml")


def said(asked, *guesses):
    """What the page says to each guess."""
    with InBrowser(asked) as browser:
        return [state.words for state in browser.states([{"guess": each} for each in guesses])]


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
    words = ["Your guess: 5 or 6?"]
    words += [f"You chose {each}. Now see what comes out." for each in "65"]
    assert said(asked, "", "6", "5") == words
    with pytest.raises(ValueError, match=r"^guess must be one of"):
        asked.set(guess="7")


def test_an_answer_at_once(predictions):
    judged = {"120": True, "136": True, "119": False, "1e3": False, "-0.5": False}
    assert said(predictions.ask("registers"), "", *judged) == [
        "Your guess: a number of registers?",
        *(
            f"You guessed {guess} registers{', and that is right' * right}. There are 128 of them."
            for guess, right in judged.items()
        ),
    ]


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
    assert again.values == {"guess": "6"} and data["text/plain"].startswith("2 + 3?")
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


LOG_X = Axis("d", (3, 768), (3, 768), log=True)
LOSS = Axis("loss", (1.0, 100.0), (1, 100), log=True, digits=1)
SHARE = Axis("share", (0.0, 1.0), (0, 1), digits=2)
FLAT = Axis("steps", (0, 70), (0, 70))


@pytest.mark.parametrize(
    ("x", "y", "at", "truth"),
    [
        (LOG_X, SHARE, (3, 11, 101, 768), (0.1, 0.35, 0.9, 0.95)),
        (FLAT, LOSS, (0, 13, 70), (90.0, 7.0, 1.5)),
    ],
    ids=["log x", "log y"],
)
def test_a_curve_is_compared_where_it_was_measured(x, y, at, truth):
    """A guess is a polyline on the picture's own axes; numpy interpolates it there."""
    share = lambda axis, value: (np.log if axis.log else np.asarray)(value)  # noqa: E731
    places = np.linspace(*share(x, np.array(x.domain)), 25)
    rng = np.random.default_rng(7)
    heights = np.linspace(*share(y, np.array(y.domain)), 25) + 0.01 * rng.standard_normal(25)
    guess = np.exp(heights) if y.log else heights
    drawn = np.interp(share(x, np.array(at)), places, heights)
    asked = np.exp(drawn) if y.log else drawn
    gaps = np.abs(drawn - share(y, np.array(truth)))
    gap = np.exp(gaps.mean()) if y.log else gaps.mean()

    curve = Prediction("c", "How?", "So.", curve=Curve(x, y, at, truth))
    page = Predictions("l09_sums", {"c": curve}).ask("c")
    with InBrowser(page) as browser:
        text = " ".join(f"{each:.9g}" for each in guess)
        state = browser.compute(guess=text[: page.inputs["guess"].longest])
        assert browser.compute(guess="").words.startswith("Draw your guess")
    assert np.allclose(state.asked, asked) and state.gap == pytest.approx(gap)
    assert state.off == gaps.argmax() and "So." in state.words
    straight = np.interp(at, np.linspace(*x.domain, 25), guess)
    assert not np.allclose(state.asked, straight), "linear axes would be another curve"


def test_a_curve_is_kept_with_the_other_guesses(predictions):
    curve = Prediction("c", "How?", "So.", curve=Curve(LOG_X, SHARE, (3, 768), (0.0, 1.0)))
    both = Predictions("l09_sums", {**predictions, "c": curve})
    both.ask("c").set(guess=" ".join(["0.5"] * 25))
    row = both.guesses().given()["rows"][-1]
    assert row["curve"]["truth"] == (0.0, 1.0) and row["guess"].startswith("0.5 0.5")


def test_levels_to_draw_against_are_read(tmp_path):
    folder = tmp_path / "l09_sums"
    folder.mkdir()
    curve = """[fall]
question = "How does it fall?"
answer = "Slowly."

[fall.curve]
x = { label = "step", domain = [0, 9], ticks = [0, 9] }
y = { label = "loss", domain = [0, 5], ticks = [0, 5] }
at = [0, 4, 9]
truth = [5, 3, 1]
levels = { unigram = 4.25, entropy = 0.5 }
"""
    (folder / "predictions.toml").write_text(curve, encoding="utf-8")
    asked = read_predictions(folder / "predictions.toml").ask("fall")
    assert asked.prediction.curve.levels == {"unigram": 4.25, "entropy": 0.5}
    assert asked.given()["curve"]["levels"] == {"unigram": 4.25, "entropy": 0.5}
    assert "4.25" not in asked.in_words
