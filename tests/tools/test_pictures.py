"""README's opening picture and the lectures' cards are those of today's explorers."""

import pytest
from PIL import Image

from course_utils.explorers.show import SHARP
from lectures import COURSE
from tools.editions import pictures
from tools.editions.snapshots import NoBrowserError
from tools.webp import as_webp


def test_no_picture_is_stale():
    assert pictures.stale() == [], "`make outputs` takes them again"


def test_they_are_sharp_and_small():
    shots = pictures.wanted()
    assert len(shots) == 2 * len(COURSE) + 2
    for name, shot in shots.items():
        path = pictures.FOLDER / name
        assert path.stat().st_size < (700_000 if shot.moving else 120_000), name
        with Image.open(path) as image:
            assert image.width == (1800 if shot.moving else pictures.CARD[0]), (
                "two pixels for each of the page's"
            )
            assert getattr(image, "n_frames", 1) == len(shot.frames())


def test_a_card_s_letters_can_be_read_on_github():
    letters, shown = 12.5, 240  # pixels: of a label in a picture; how wide GitHub shows a card
    page = pictures.CARD[0] / SHARP
    assert letters * shown / page > 9.5
    assert page + 24 >= pictures.PAGE, "no more than the page's own margins is cut off"


def test_a_changed_explorer_makes_its_pictures_stale(tmp_path, monkeypatch):
    name, shot = next(iter(pictures.wanted().items()))
    before = shot.digest
    monkeypatch.setattr(shot.explorer, "module", classmethod(lambda cls: "another picture"))
    assert shot.digest != before
    assert name in pictures.stale()


def test_without_a_browser_all_stays(tmp_path, monkeypatch, capsys):
    def no_browser(*arguments, **options):
        raise NoBrowserError("Chromium was not found")

    monkeypatch.setattr(pictures, "take_pictures", no_browser)
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    monkeypatch.setattr(pictures, "MADE_FROM", tmp_path / "made_from.json")
    pictures.write_pictures()
    assert "Chromium was not found" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ink", "alike"), [(60, True), (255, False)], ids=["edge", "letter"])
def test_a_picture_that_looks_as_before_is_kept(ink, alike):
    old, new = (Image.new("RGB", (40, 20), "black") for _ in "ab")
    new.putpixel((7, 3), (ink, ink, ink))
    assert pictures.look_alike(as_webp(old), as_webp(new)) is alike
    assert not pictures.look_alike(as_webp(old), as_webp(new.resize((20, 40))))
