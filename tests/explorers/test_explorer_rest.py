"""A sharp picture once the hand rests: after the last event, not between two or after an error."""

import asyncio
import io

import pytest
from PIL import Image

from course_utils.explorers import drawn as engine
from tests.explorers.support_explorers import (
    Toy,
    alternative_text,
    image_of,
    move,
    sharpened,
    shown_png,
)

SIZE, SHARP = (300, 200), (600, 400)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(engine, "REST", 0.1)
    return Toy()


def shown_size(toy):
    with Image.open(io.BytesIO(shown_png(toy))) as image:
        return image.size


def sizes(toy, *steps):
    """How large the picture is after each step: a value of slope to move to, or seconds to wait."""
    found = []

    async def hand():
        toy.widget()
        for step in steps:
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                move(toy, slope=step)
            found.append(shown_size(toy))

    asyncio.run(hand())
    return found


def test_it_comes_after_the_last_event(toy, monkeypatch):
    monkeypatch.setattr(engine, "REST", 0.5)  # a busy machine may stretch the short waits
    assert sizes(toy, 4, 0.06, 5, 0.06, 6, 0.51) == [*[SIZE] * 5, SHARP]
    assert toy.calls["compute"] == 4  # the first picture and three events: none for the sharp one


def test_the_first_picture_becomes_sharp_too(toy):
    assert sizes(toy, 0.2) == [SHARP]


def test_the_next_event_is_drawn_as_before(toy):
    plain = Toy(slope=7).png()
    sharpened(toy)
    assert shown_size(toy) == SHARP
    move(toy, slope=7)
    assert toy.png() == shown_png(toy) == plain
    assert toy.png(fresh=True) == plain


def test_words_and_room_on_the_page_stay(toy):
    before = alternative_text(toy) if toy.widget() else ""
    sharpened(toy)
    assert alternative_text(toy) == before == toy.words
    assert 'width="300" height="200"' in image_of(toy).value


def test_an_error_leaves_the_last_good_picture(toy, monkeypatch):
    def fails(**values):
        raise ValueError("no")

    toy.widget()
    monkeypatch.setattr(toy, "compute", fails)
    assert sizes(toy, 9, 0.2)[-1] == SIZE and toy.error is not None


def test_a_closed_explorer_draws_no_more(toy):
    async def hand():
        toy.widget()
        toy.close()
        await asyncio.sleep(0.2)

    asyncio.run(hand())
    assert toy.calls["draw"] == 1 and len(shown_png(toy)) == len(toy.png())


def test_without_an_event_loop_nothing_waits(toy):
    move(toy, slope=4)
    assert shown_size(toy) == SIZE
