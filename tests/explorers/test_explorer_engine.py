"""The Explorer engine, on toy explorers: events, pictures, failures, words, widgets."""

import base64
import io
import sys
from threading import Thread

import ipywidgets
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from course_utils.explorers import drawn
from course_utils.explorers.drawn_inputs import Slider
from course_utils.explorers.picture import BACKDROPS_KEPT
from course_utils.explorers.style import course_style, new_figure
from tests.explorers.support_explorers import (
    PAPERS,
    Toy,
    alternative_text,
    image_of,
    move,
    parts,
    press,
    same_state,
    shown_png,
    words_widget,
)


@pytest.fixture
def full_draws(monkeypatch):
    """Counts how often a whole figure is drawn."""
    draws = []
    draw = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda self, r: (draws.append(self), draw(self, r))[1])
    return draws


def pixels(png):
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image).astype(int)


class TestEvents:
    def test_nothing_is_computed_before_it_is_shown(self):
        toy = Toy()
        assert sum(toy.calls.values()) == 0
        toy.png()
        assert toy.calls == dict.fromkeys(
            ("prepare", "compute", "draw", "draw_backdrop", "update"), 1
        )

    def test_each_event_computes_once_and_draws_nothing_anew(self):
        toy = Toy()
        toy.png()
        for count, slope in enumerate((5, 7, 0), start=2):
            move(toy, slope=slope)
            assert (toy.calls["compute"], toy.calls["update"]) == (count, count)
        assert (toy.calls["draw"], toy.calls["prepare"]) == (1, 1)

    def test_reading_what_is_shown_computes_nothing(self):
        toy = Toy()
        toy.widget()
        before = toy.calls["compute"]
        toy.png(), toy.words, toy.widget(), toy.values, toy._repr_mimebundle_()
        assert toy.calls["compute"] == before

    def test_set_of_many_controls_computes_once(self):
        toy = Toy()
        toy.png()
        toy.set(slope=7, shift=0.3, paper="lined", name="n")
        assert toy.calls["compute"] == 2
        assert toy.values == {"slope": 7, "shift": 0.3, "paper": "lined", "name": "n"}

    def test_set_before_the_first_picture_prepares_and_computes_once(self):
        toy = Toy()
        toy.set(slope=7)
        assert (toy.calls["prepare"], toy.calls["compute"]) == (1, 1)
        assert toy.png() == Toy(slope=7).png() != Toy().png()

    def test_a_control_moved_before_the_first_picture_counts(self):
        toy = Toy()
        move(toy, slope=7)
        assert toy.png() == Toy(slope=7).png()
        assert toy.calls["prepare"] == 1

    def test_a_scene_computes_once_and_leaves_the_other_controls(self):
        toy = Toy(name="mine")
        toy.widget()
        before = toy.calls["compute"]
        press(toy, "steep")
        assert toy.calls["compute"] == before + 1
        assert toy.values == {"slope": 10, "shift": 0.5, "paper": "plain", "name": "mine"}
        press(toy, "flat")
        assert toy.values["slope"] == 0 and toy.values["shift"] == 0.5
        assert toy.png() == Toy(slope=0, shift=0.5).png()

    def test_after_many_events_the_last_value_is_shown(self):
        toy = Toy()
        toy.widget()
        for slope in [*range(11), *reversed(range(11)), 4]:
            move(toy, slope=slope)
        expected = Toy(slope=4)
        assert toy.png() == expected.png() == shown_png(toy)
        assert toy.words == expected.words
        assert same_state(toy.state, expected.state)

    def test_a_control_that_moves_another_ends_in_one_state(self):
        toy = Toy()
        toy.png()
        toy.controls["slope"].observe(lambda change: move(toy, shift=0.5), names="value")
        move(toy, slope=8)
        assert toy.png() == Toy(slope=8, shift=0.5).png()


class TestPicture:
    def test_no_event_draws_the_whole_figure(self, full_draws):
        toy = Toy()
        toy.png()
        assert len(full_draws) == 1
        for slope in range(10):
            move(toy, slope=slope)
        press(toy, "steep")
        toy.set(slope=1, shift=-1.0)
        toy._repr_mimebundle_()
        assert len(full_draws) == 1

    def test_what_moves_is_what_a_plain_figure_shows(self):
        state = Toy().compute(slope=7, shift=0.3, paper="plain", name="")
        figure = new_figure(*Toy.size)
        with course_style():
            axes = figure.add_axes((0.2, 0.2, 0.7, 0.7), xlim=(-2, 2), ylim=(-12, 12))
            axes.set_title("plain")
            axes.plot(state.x, state.y)
            axes.plot(state.x[-1:], state.y[-1:], "o")
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
        expected = np.asarray(canvas.buffer_rgba())[..., :3]
        assert np.array_equal(pixels(Toy(slope=7, shift=0.3).png()), expected)
        assert not np.array_equal(pixels(Toy(slope=7, shift=0.4).png()), expected)

    def test_an_artist_that_was_not_named_is_caught(self):
        class Forgetful(Toy):
            def draw(self, figure, state):
                super().draw(figure, state)
                (self._forgotten,) = self._axes.plot([], [], "s")

            def update(self, state):
                super().update(state)
                self._forgotten.set_data([0], [state.slope])

        toy = Forgetful()
        assert toy.png() == toy.png(fresh=True)
        move(toy, slope=9)
        assert toy.png() != toy.png(fresh=True)

    def test_a_backdrop_whose_key_says_too_little_is_caught(self):
        class Vague(Toy):
            def backdrop(self, state):
                return None

        toy = Vague()
        assert toy.png() == toy.png(fresh=True)
        move(toy, paper="lined")
        assert toy.png() != toy.png(fresh=True)

    def test_a_new_backdrop_is_drawn_once_and_kept(self, full_draws):
        toy = Toy()
        plain = toy.png()
        move(toy, paper="lined")
        lined = toy.png()
        assert len(full_draws) == 2 and plain != lined
        for paper, png in (("plain", plain), ("lined", lined), ("plain", plain)):
            move(toy, paper=paper)
            assert toy.png() == png
        assert len(full_draws) == 2

    def test_kept_backdrops_are_bounded_and_a_dropped_one_is_drawn_again(self, full_draws):
        class ManyBackdrops(Toy):
            inputs = {**Toy.inputs, "slope": Slider("slope", 0, 40, 1, 0)}

            def backdrop(self, state):
                return state.slope

            def draw_backdrop(self, state):
                self._axes.set_title(str(state.slope))

        toy = ManyBackdrops()
        first = toy.png()
        for slope in range(1, BACKDROPS_KEPT + 1):
            move(toy, slope=slope)
        draws = len(full_draws)
        assert draws == BACKDROPS_KEPT + 1
        move(toy, slope=1)
        assert len(full_draws) == draws, "the twelve last used are kept"
        move(toy, slope=0)
        assert len(full_draws) == draws + 1, "the one used longest ago is not"
        assert toy.png() == first
        move(toy, slope=1)
        assert len(full_draws) == draws + 1, "what was used again since is kept longer"
        move(toy, slope=0)
        assert toy.png() == first == toy.png(fresh=True)

    def test_figures_are_not_registered_with_pyplot(self):
        Toy().png()
        pyplot = sys.modules.get("matplotlib.pyplot")
        assert pyplot is None or pyplot.get_fignums() == []

    def test_the_users_own_style_changes_nothing(self):
        import matplotlib

        expected = Toy(paper="lined").png()
        with matplotlib.rc_context({"font.size": 31, "lines.linewidth": 9, "axes.grid": True}):
            toy = Toy()
            toy.png()
            move(toy, paper="lined")
            assert toy.png() == expected


class TestWidget:
    def test_one_bundle_holds_widget_picture_and_words(self):
        toy = Toy(name="<b>")
        bundle = toy._repr_mimebundle_()
        assert set(bundle) == {
            "application/vnd.jupyter.widget-view+json",
            "image/png",
            "text/plain",
        }
        view = bundle["application/vnd.jupyter.widget-view+json"]
        assert view["model_id"] == toy.widget().model_id
        png = base64.b64decode(bundle["image/png"], validate=True)
        assert png == toy.png() and pixels(png).shape == (200, 300, 3)
        assert bundle["text/plain"] == ("What does a slope < 5 do?\nThe line rises by 3, <b> & on.")

    def test_the_widget_is_one_box_from_title_to_caption(self):
        toy = Toy()
        box = toy.widget()
        assert type(box) is ipywidgets.VBox and box is toy.widget()
        assert "course-explorer" in box._dom_classes
        title, controls, scenes, problem, image, caption = box.children
        assert "What does a slope &lt; 5 do?" in title.value
        assert list(controls.children) == list(toy.controls.values())
        assert [button.description for button in scenes.children] == ["steep", "flat"]
        assert image is image_of(toy)
        assert caption is words_widget(toy, "course-caption")
        assert problem is words_widget(toy, "course-error")
        assert problem.layout.display == "none"

    def test_an_explorer_without_scenes_has_no_empty_row(self):
        class Plain(Toy):
            scenes = {}

        assert len(Plain().widget().children) == 5 and parts(Plain(), ipywidgets.Button) == []

    def test_the_caption_is_live_text_under_the_picture(self):
        toy = Toy(name="<script>")
        toy.widget()
        move(toy, slope=7)
        assert toy.words == "The line rises by 7, <script> & on."
        shown = words_widget(toy, "course-caption").value
        assert "The line rises by 7, &lt;script&gt; &amp; on." in shown
        assert 'aria-live="polite"' in shown and "<script>" not in shown
        assert alternative_text(toy) == toy.words
        assert "<script>" not in image_of(toy).value

    def test_the_place_of_the_picture_is_kept_free_while_it_loads(self):
        toy = Toy()
        width, height = (round(100 * side) for side in toy.size)
        toy.widget()
        assert f'width="{width}" height="{height}"' in image_of(toy).value

    def test_the_picture_is_seen_no_sooner_than_its_words_are_known(self):
        """No event leaves the image of one state beside the caption of another."""
        toy = Toy()
        seen = []
        image_of(toy).observe(lambda change: seen.append(toy.words), names="value")
        move(toy, slope=7)
        assert seen == ["The line rises by 7,  & on."]

    def test_half_a_surrogate_pair_can_be_sent(self):
        toy = Toy()
        toy.widget()
        move(toy, name="half \ud83d")
        for text in (toy.words, words_widget(toy, "course-caption").value):
            assert text.encode("utf-8") and "half ?" in text


class TestIndependence:
    def test_two_instances_share_nothing(self):
        one, other = Toy(), Toy()
        before = other.png()
        one.widget()
        move(one, slope=9, paper="lined")
        assert other.values["slope"] == 3 and other.png() == before != one.png()
        assert not set(map(id, one.controls.values())) & set(map(id, other.controls.values()))
        assert one.widget() is not other.widget()

    def test_an_authors_names_cannot_collide_with_the_engines(self):
        own = "_DrawnExplorer"
        engines = {name.removeprefix(own) for name in vars(Toy()) if own in name}
        assert "__image" in engines and "__words" in engines

        class Greedy(Toy):
            def draw(self, figure, state):
                super().draw(figure, state)
                for name in engines:
                    setattr(self, name, "mine")
                    setattr(self, name.removeprefix("_"), "mine")
                self._dot.set_zorder(5)

        toy = Greedy()
        toy.widget()
        move(toy, slope=7)
        press(toy, "steep")
        toy.set(paper="lined")
        assert toy.error is None
        assert toy.png() == Toy(slope=10, shift=0.5, paper="lined").png()


def test_two_threads_draw_in_turn():
    import matplotlib

    before = dict(matplotlib.rcParams)
    toys = [Toy(), Toy()]

    def drag(toy):
        for step in range(60):
            toy.set(slope=step % 11, paper=PAPERS[step // 3 % 2])

    threads = [Thread(target=drag, args=(toy,)) for toy in toys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dict(matplotlib.rcParams) == before
    assert all(toy.png() == toy.png(fresh=True) == Toy(**toy.values).png() for toy in toys)


class Kernel:
    """What the engine asks the kernel: which cell runs, and in which run."""

    def __init__(self):
        self.kernel, self.run = self, 0

    def get_parent(self, channel):
        return {"metadata": {"cellId": "c7"}, "header": {"msg_id": f"run {self.run}"}}


def test_a_cell_that_runs_again_closes_what_it_showed(monkeypatch):
    kernel = Kernel()
    monkeypatch.setattr(drawn, "get_ipython", lambda: kernel)
    first, beside, again = Toy(), Toy(), Toy()
    first._repr_mimebundle_()
    beside._repr_mimebundle_()
    assert not any(toy.widget().comm is None for toy in (first, beside))
    kernel.run = 1
    beside._repr_mimebundle_()
    again._repr_mimebundle_()
    assert first.widget().comm is None and first.controls["slope"].comm is None
    assert beside.widget().comm is not None and again.widget().comm is not None
