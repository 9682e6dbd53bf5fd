"""The editions for readers and for Colab, made from the lectures."""

import json
import re
from pathlib import Path

import pytest

from course_utils.lectures import COURSE
from tools.editions.colab import colab_copy, write_copies
from tools.editions.reader import reader_copy

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


@pytest.mark.parametrize("stem", LECTURES)
class TestLectures:
    def test_nothing_has_run(self, stem):
        for cell in reader_copy(lecture(stem))["cells"]:
            assert cell["cell_type"] == "markdown" or cell["outputs"] == []
            assert cell.get("execution_count") is None

    def test_it_is_the_lecture_without_the_presenter(self, stem):
        """Every other cell is there, in its order; folding adds a click and takes no word."""
        source = [c for c in lecture(stem)["cells"] if not c["id"].startswith("talk-")]
        copy = reader_copy(lecture(stem))["cells"]
        assert [cell["id"] for cell in copy] == [cell["id"] for cell in source]
        for cell, original in zip(copy, source, strict=True):
            text = "".join(cell["source"])
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
