"""Three matrices in a browser: a word is clicked and asks, dragged and does not; a number moved."""

import pytest

from tests.browser.support_explorer import drag, press, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME = "explore_roles"
CAT, MILK, IT = (f".plane-word[data-word='{place}']" for place in range(3))
PRONOUNS_QUESTION = "[aria-label='matrix W_Q, row 2, column 1']"


def test_a_word_that_is_clicked_asks_and_one_that_is_dragged_does_not(open_explorer):
    tab = open_explorer(NAME)
    assert words(tab).startswith("it attends most to cat")
    tab.locator(CAT).click()
    assert words(tab).startswith("cat attends")
    assert drag(tab, MILK, (30, -30)).startswith("cat attends")
    press(tab, IT, "Enter")
    assert words(tab).startswith("it attends")


def test_a_number_dragged_below_zero_turns_the_question_around(open_explorer):
    tab = open_explorer(NAME)
    assert drag(tab, PRONOUNS_QUESTION, (0, 30)).startswith("it attends most to milk")
    assert tab.locator(PRONOUNS_QUESTION).inner_text() == "−0.5"
