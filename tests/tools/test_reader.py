"""The editions for readers and for Colab, made from the lectures."""

import json
import re
from pathlib import Path

import pytest

from lectures import COURSE
from tools.editions.colab import colab_copy, write_copies
from tools.editions.reader import HOW_TO_RUN, SNAPSHOT, reader_copy

LECTURES = {lecture.stem: lecture for lecture in COURSE}
CLICK = "<details>\n<summary>What came out</summary>\n\n"


def lecture(stem):
    return json.loads(Path(f"notebooks/{stem}.ipynb").read_text(encoding="utf-8"))


def markdown(*texts):
    """A notebook of these cells: `code` is a code cell with an output, all else is markdown."""
    cells = []
    for text in texts:
        cell = {"metadata": {}, "source": text.splitlines(keepends=True), "cell_type": "markdown"}
        if text.startswith("code"):
            cell |= {"cell_type": "code", "outputs": [{"name": "stdout"}], "execution_count": 3}
        cells.append(cell)
    return {"cells": cells}


def texts(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"]]


class TestPredictions:
    def test_what_follows_the_code_is_folded(self):
        asked = markdown(
            "**Predict.** How many?", "code", "code 2", "It is 5.", "Now this.", "code"
        )
        assert texts(reader_copy(asked))[3:5] == [f"{CLICK}It is 5.\n\n</details>", "Now this."]

    def test_an_answer_without_code_is_folded(self):
        asked = markdown("**Predict.** How many?", "Think of the sum.", "It is 5.")
        asked["cells"][2]["id"] = "sum-answer"
        assert texts(reader_copy(asked))[1:] == [
            "Think of the sum.",
            f"{CLICK}It is 5.\n\n</details>",
        ]

    def test_buttons_belong_to_the_question(self):
        asked = markdown("**Predict.** 1?", 'code.predict("one")', "More.", "code", "It is 5.")
        assert texts(reader_copy(asked))[2:] == ["More.", "code", f"{CLICK}It is 5.\n\n</details>"]

    def test_the_next_prediction_stays_in_sight(self):
        asked = markdown("**Predict.** 1?", "code", "It is 5.\n\n**Predict.** 2?", "code", "Six.")
        found = texts(reader_copy(asked))
        assert found[2] == f"{CLICK}It is 5.\n\n</details>\n\n<br>\n\n**Predict.** 2?"
        assert found[4] == f"{CLICK}Six.\n\n</details>"

    @pytest.mark.parametrize(
        "cells",
        [
            ("Nothing is asked.", "code", "It is 5."),
            ("**Predict.** How many?", "It is asked in two cells.", "code"),
            ("**Predict.** How many?", "code", "## The next section", "code", "Its text."),
            ("**Predict.** How many?", "## Another section", "code", "Its text."),
        ],
    )
    def test_other_text_stays_in_sight(self, cells):
        assert texts(reader_copy(markdown(*cells))) == list(cells)


PICTURE = {
    "output_type": "execute_result",
    "execution_count": 3,
    "data": {"image/png": "iVBO", "text/plain": "How far?"},
    "metadata": {"image/png": {"alt": "How far?"}},
}


class TestOpening:
    @pytest.fixture
    def asked(self):
        """A lecture whose picture comes after its first question, with a picture in its section."""
        made = markdown(
            "# Why?",
            "code of set-up",
            "**Predict.** How far?",
            'code.predict("far")',
            "code.explore_x()",
            "Seven.",
            "## A section",
            "code.explore_y()",
        )
        for place in (4, 7):
            made["cells"][place]["outputs"] = [PICTURE]
        return made

    def test_the_picture_is_in_sight_before_anything_runs(self, asked):
        copy = reader_copy(asked)
        assert texts(copy) == [
            f"# Why?\n\n{HOW_TO_RUN}",
            "code of set-up",
            "code.explore_x()",
            "**Predict.** How far?",
            'code.predict("far")',
            f"{CLICK}Seven.\n\n</details>",
            "## A section",
            "code.explore_y()",
        ]
        setup, first, *_, later = (cell for cell in copy["cells"] if "outputs" in cell)
        (output,) = first["outputs"]
        assert output["data"] == PICTURE["data"]
        assert output["metadata"] == {**PICTURE["metadata"], SNAPSHOT: True}
        assert later["outputs"] == setup["outputs"] == []
        assert setup["metadata"]["jupyter"]["source_hidden"]

    def test_other_outputs_of_its_cell_are_left_out(self, asked):
        words = {"output_type": "stream", "name": "stdout", "text": "7"}
        asked["cells"][4]["outputs"] = [words, PICTURE]
        assert len(reader_copy(asked)["cells"][2]["outputs"]) == 1

    def test_a_figure_may_be_what_the_prediction_asks_for(self, asked):
        """It has no controls, so it shows the answer."""
        asked["cells"][4]["source"] = ["code.show(draw_x())"]
        assert all(not cell.get("outputs") for cell in reader_copy(asked)["cells"])

    def test_a_picture_of_a_section_stays_there(self, asked):
        del asked["cells"][4]
        copy = reader_copy(asked)
        assert texts(copy)[-1] == "code.explore_y()"
        assert all(not cell.get("outputs") for cell in copy["cells"])


@pytest.mark.parametrize("stem", LECTURES)
class TestLectures:
    def test_it_opens_on_its_picture(self, stem):
        title, setup, picture, *rest = reader_copy(lecture(stem))["cells"]
        assert "Shift+Enter" in "".join(title["source"])
        assert setup["id"] == "setup" and setup["metadata"]["jupyter"]["source_hidden"]
        (output,) = picture["outputs"]
        assert output["data"]["image/png"] and output["metadata"][SNAPSHOT] is True
        assert "**Predict" in "".join(rest[0]["source"]), "the question is right under it"

    def test_the_picture_gives_no_answer_away(self, stem):
        (output,) = reader_copy(lecture(stem))["cells"][2]["outputs"]
        words = "".join(output["data"]["text/plain"])
        for asked in LECTURES[stem].module("exercises").PREDICTIONS.values():
            assert not re.search(rf"\b{re.escape(asked.truth_in_words)}(?!\w)", words), asked.name

    def test_nothing_has_run(self, stem):
        for place, cell in enumerate(reader_copy(lecture(stem))["cells"]):
            assert cell["cell_type"] == "markdown" or cell["outputs"] == [] or place == 2
            assert cell.get("execution_count") is None

    def test_it_is_the_lecture_without_the_presenter(self, stem):
        """Every other cell is there, the rest in its order; folding adds a click, no word goes."""
        source = [c for c in lecture(stem)["cells"] if not c["id"].startswith("talk-")]
        copy = reader_copy(lecture(stem))["cells"]
        picture = next(cell for cell in source if cell["id"] == copy[2]["id"])
        source.remove(picture)
        source.insert(2, picture)
        assert [cell["id"] for cell in copy] == [cell["id"] for cell in source]
        for cell, original in zip(copy, source, strict=True):
            text = "".join(cell["source"]).removesuffix(HOW_TO_RUN)
            if CLICK in text:
                text = text.replace(CLICK, "", 1).replace("\n\n</details>", "", 1)
                text = text.replace("\n\n<br>", "", 1)
            assert text.split() == "".join(original["source"]).split()

    def test_most_predictions_have_a_folded_answer(self, stem):
        found = texts(reader_copy(lecture(stem)))
        asked = sum("**Predict" in text for text in found)
        assert sum(CLICK in text for text in found) >= asked / 2


@pytest.mark.parametrize("stem", LECTURES)
def test_colab_installs_once_and_links_to_itself(stem):
    copy = colab_copy(lecture(stem), "owner/name", "v9")
    found = texts(copy)
    assert "@v9" in found[1] and "--no-deps" in found[1] and copy["cells"][1]["id"] == "install"
    assert texts({"cells": copy["cells"][2:]})  # the lecture follows
    for text in found:
        for link in re.findall(r"\]\(([^)#\s]*\.ipynb)", text):
            assert link.startswith(
                "https://colab.research.google.com/github/owner/name/blob/colab/"
            )


def test_the_page_of_links_names_every_lecture(tmp_path):
    write_copies(tmp_path, "owner/name", "v9")
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    for each in COURSE:
        assert f"/owner/name/blob/colab/{each.stem}.ipynb" in page and each.question in page
        assert (tmp_path / f"{each.stem}.ipynb").is_file()
