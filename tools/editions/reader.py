"""The reader's copy of a lecture: it opens on its picture, with no answer to a prediction in sight.

The picture is there before anything has run. No other cell has an output, the presenter's cells
are left out, and the text that says what came out of a prediction is folded: it opens with a click,
once the cells above it have run.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

Cell = dict[str, Any]

# Says in an output's metadata that the copy came with this picture: no reader has made it.
SNAPSHOT = "course_snapshot"
HOW_TO_RUN = (
    "**Shift+Enter** runs a cell and goes to the next. A picture moves once its cell has run."
)
EXPLORES = re.compile(r"\bexplore_\w+\(")
ASKS = re.compile(r"\bpredict\(")  # a cell of buttons, above the code that gives the answer
PREDICTION = re.compile(r"^.*\*\*(Predict|The claim, before the run)", re.MULTILINE)
FOLDED = "<details>\n<summary>What came out</summary>\n\n{}\n\n</details>"


def reader_text(notebook: dict[str, Any]) -> str:
    """Return the reader's copy as a file's text: the same text for the same lecture, always."""
    return json.dumps(reader_copy(notebook), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def reader_copy(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook as a reader should find it; the one given stays as it is."""
    notebook = copy.deepcopy(notebook)
    notebook["cells"] = [cell for cell in notebook["cells"] if not for_the_presenter(cell)]
    for cell in notebook["cells"]:
        cell["metadata"].pop("slideshow", None)
    fold_answers(notebook["cells"])
    picture = open_on_picture(notebook["cells"])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = snapshots(cell) if cell is picture else []
            cell["execution_count"] = None
    say_how_to_run(notebook["cells"])
    return notebook


def open_on_picture(cells: list[Cell]) -> Cell | None:
    """Put the picture that a lecture opens on right under its title; return the picture's cell.

    It is the first explorer, if no section begins before it: as it is at first, it gives no answer
    away. The cell of set-up, the first, is folded.
    """
    opening = list(takewhile(lambda cell: not "".join(cell["source"]).startswith("## "), cells))
    code = [place for place, cell in enumerate(opening) if cell["cell_type"] == "code"]
    shown = [place for place in code[1:] if EXPLORES.search("".join(cells[place]["source"]))]
    if not shown:
        return None
    cells[code[0]]["metadata"]["jupyter"] = {"source_hidden": True}
    cells.insert(code[0] + 1, picture := cells.pop(shown[0]))
    return picture


def snapshots(cell: Cell) -> list[dict[str, Any]]:
    """Return the stored picture of an explorer's cell, marked as such, if there is one."""
    return [
        {
            "output_type": "display_data",
            "data": output["data"],
            "metadata": {**output["metadata"], SNAPSHOT: True},
        }
        for output in cell["outputs"]
        if "image/png" in output.get("data", {})
    ]


def say_how_to_run(cells: list[Cell]) -> None:
    """Add to the title how a cell is run."""
    for first in cells[:1]:
        title = "".join(first["source"])
        if title.startswith("# "):
            first["source"] = f"{title}\n\n{HOW_TO_RUN}".splitlines(keepends=True)


def for_the_presenter(cell: Cell) -> bool:
    """Whether a cell is a note for whoever shows the slides."""
    return cell["metadata"].get("slideshow", {}).get("slide_type") == "notes"


def fold_answers(cells: list[Cell]) -> None:
    """Fold the text right after a prediction's code, up to the next prediction.

    What follows in a cell of its own introduces something new, and stays in sight. Where no code
    comes before the answer, or a second cell goes on with it, the cell's id ends in ``-answer``.
    """
    for cell, role in roles(cells):
        if role == "answers":
            source = "".join(cell["source"])
            question = PREDICTION.search(source)
            end = question.start() if question else len(source)
            cell["source"] = fold(source[:end], source[end:]).splitlines(keepends=True)


def roles(cells: list[Cell]) -> Iterator[tuple[Cell, str]]:
    """Yield each cell, and whether it "runs" what was asked or "answers" it; else "".

    The cell of a prediction's buttons is part of the question.
    """
    state = "nothing asked"
    for cell in cells:
        if cell["cell_type"] == "code":
            if asks(cell):
                state = "asked"
            else:
                state = {"asked": "run", "run": "run"}.get(state, "nothing asked")
            yield cell, "runs" if state == "run" else ""
            continue
        source = "".join(cell["source"])
        question = PREDICTION.search(source)
        answers = state == "run" or cell.get("id", "").endswith("-answer")
        yield cell, "answers" if answers and not source.startswith("#") else ""
        if question:
            state = "asked"
        elif answers or source.startswith("#"):
            state = "nothing asked"


def asks(cell: Cell) -> bool:
    """Whether a code cell shows the buttons of a prediction."""
    return ASKS.search("".join(cell["source"])) is not None


def fold(answer: str, rest: str) -> str:
    r"""Return the answer behind a line to click, and what follows it as it is.

    >>> fold("It is 5.\n\n", "**Predict.** And now?").splitlines()[-5:]
    ['</details>', '', '<br>', '', '**Predict.** And now?']
    """
    folded = FOLDED.format(answer.strip()) if answer.strip() else ""
    # JupyterLab sets no space below a folded text.
    return "\n\n<br>\n\n".join(filter(None, (folded, rest.strip())))
