"""Run the lectures, explorers, predictions and quizzes in the environment that runs this.

    python -m tools.editions.try_lectures build/colab

It asks for nothing but nbclient beside what the lectures need, so that it runs in environments that
are not the course's own, such as one with Colab's packages.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from random import Random

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from course_utils.explorers import Explorer
from lectures import COURSE, EXPLORERS

VIEW = "application/vnd.jupyter.widget-view+json"
AT_RANDOM = 20  # events an explorer, beside every value of each control alone


def try_lecture(path: Path) -> str | None:
    """Run a notebook without its installing cell; return the error that was not meant, if any."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "install"]
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": path.parent}})
    try:
        client.execute()
    except CellExecutionError as error:
        return str(error)
    live = sum(
        VIEW in out.get("data", {}) for cell in notebook.cells for out in cell.get("outputs", ())
    )
    return None if live else "no cell showed a widget"


def try_explorer(explorer: Explorer) -> str | None:
    """Move every control as the browser does; return what went wrong."""
    random, inputs = Random(0), explorer.inputs
    events = [(name, value) for name, each in inputs.items() for value in each.sweep()]
    for name in random.choices(list(inputs), k=AT_RANDOM) if inputs else ():
        events.append((name, inputs[name].sample(random)))
    widget = explorer.widget()
    for name, value in events:
        widget.values = {**explorer.values, name: value}
        if widget.problem:
            return f"{name} = {value!r}: {widget.problem}"
    data, _ = explorer._repr_mimebundle_()
    return None if VIEW in data else "it is not live"


def main(arguments: list[str]) -> int:
    """Try everything; print a line for each; return 1 where something is not as it should be."""
    folder = Path(arguments[0]).resolve()
    tries = [(each.stem, partial(try_lecture, folder / f"{each.stem}.ipynb")) for each in COURSE]
    tries += [(name, lambda made=made: try_explorer(made())) for name, made in EXPLORERS.items()]
    for lecture in COURSE:
        exercises = lecture.module("exercises")
        if asked := getattr(exercises, "PREDICTIONS", None):
            shown = {name: asked.ask(name) for name in asked} | {"guesses": asked.guesses()}
            for name, each in shown.items():
                tries.append((f"{lecture.stem}: {name}", partial(try_explorer, each)))
        quiz = exercises.QUIZ  # pyright: ignore[reportOptionalMemberAccess]
        tries.append((f"quiz of {lecture.stem}", partial(try_explorer, quiz.live())))
    failed = 0
    for name, attempt in tries:
        start = time.perf_counter()
        wrong = attempt()
        failed += wrong is not None
        print(
            f"{name:40} {time.perf_counter() - start:5.1f} s  {wrong or 'as it should be'}",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
