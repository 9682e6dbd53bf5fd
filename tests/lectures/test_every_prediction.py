"""The predictions of every lecture: declared well, asked once, and said alike on the page."""

import itertools
import re
from functools import cache

import pytest

from lectures import COURSE
from tests.explorers.support_browser import InBrowser
from tests.lectures.support_notebooks import NOTEBOOKS, read

LECTURES = {lecture.stem: lecture for lecture in COURSE}
ASKS = re.compile(r'^exercises\.predict\("([\w-]+)"\)$')


def predictions_of(stem):
    return LECTURES[stem].module("exercises").PREDICTIONS


@cache
def cells_of(stem):
    (path,) = [path for path in NOTEBOOKS if path.stem == stem]
    return read(path).cells


@pytest.mark.parametrize("stem", LECTURES)
class TestEvery:
    def test_each_is_asked_once_in_the_order_of_its_file(self, stem):
        asked = [found[1] for cell in cells_of(stem) if (found := ASKS.match(cell.source))]
        assert asked == list(predictions_of(stem)) != []

    def test_each_stands_under_its_question(self, stem):
        cells = cells_of(stem)
        for above, cell in itertools.pairwise(cells):
            if ASKS.match(cell.source):
                assert "**Predict" in above.source.split("\n\n")[-1], cell.id
                kinds = [each.metadata.slideshow.slide_type for each in (above, cell)]
                assert (kinds[1] == "-") == (kinds[0] not in ("skip", "fragment"))

    def test_the_lecture_ends_with_all_of_them(self, stem):
        cells = cells_of(stem)
        (place,) = [i for i, cell in enumerate(cells) if cell.source == "exercises.guesses()"]
        assert all(not ASKS.match(cell.source) for cell in cells[place:])
        assert [cell for cell in cells[place:] if "Summary" in cell.source]

    def test_choices_are_short_and_plain(self, stem):
        for each in predictions_of(stem).values():
            texts = (*each.choices, each.question, each.answer)
            assert not any(set("$`*<>\\\n") & set(text) for text in texts), each.name
            assert all(len(choice) <= 45 for choice in each.choices), each.name
            assert len(each.question) <= 100 and len(each.answer) <= 180, each.name

    def test_a_guess_can_be_right(self, stem):
        for each in predictions_of(stem).values():
            assert each.question.endswith("?") and each.answer.endswith("."), each.name
            if each.curve:
                assert len(each.curve.at) == len(each.curve.truth) >= 3
            elif each.choices:
                assert 2 <= len(set(each.choices)) == len(each.choices) <= 4
                assert each.truth in each.choices
            else:
                assert float(each.truth) == each.truth

    def test_neither_place_nor_length_gives_the_answer_away(self, stem):
        found = [each for each in predictions_of(stem).values() if each.choices]
        places = [each.choices.index(each.truth) for each in found]
        most = max(1, 0.75 * len(found))
        assert max(places.count(place) for place in places) <= most
        longest = sum(each.truth == max(each.choices, key=len) for each in found)
        assert longest <= most

    def test_the_page_calls_the_truth_right_and_nothing_else(self, stem):
        predictions = predictions_of(stem)
        for each in predictions.values():
            if each.curve:
                continue
            truth = str(each.truth)
            guesses, right = [*each.choices], [truth]
            if not each.choices:
                near, far = (
                    float(each.truth) + gap for gap in (0.9 * each.within, each.within + 1)
                )
                right = [truth, str(near)]
                guesses = [*right, str(far)]
            with InBrowser(predictions.ask(each.name)) as page:
                states = page.states([{"guess": guess} for guess in ("", *guesses)])
            assert [state.guess for state in states if state.right] == right, each.name
