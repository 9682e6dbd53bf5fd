"""Read the command line and do what it says."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from tools.bench_gpu import bench_gpu

from . import lab, tasks
from .environment import ensure
from .pip import explain_error
from .place import WINDOWS, CommandError, Place, how_to_run, say, warn


@dataclass(frozen=True)
class Command:
    """A command: what it is for, the function that does it, and what that needs.

    `extras` are pyproject's, installed beforehand; None where no environment is needed.
    """

    help: str
    action: Callable[[Place, list[str]], int]
    extras: tuple[str, ...] | None = None


def setup(place: Place, arguments: list[str]) -> int:
    """Say that set-up, which was all that was asked for, is done."""
    say(f"The course is ready: `{how_to_run('lab')}` opens it.")
    return 0


LAB = ("lab", "kernels")
TEST = (*LAB, "test")
SITE = (*LAB, "site")
PDF = (*LAB, "browser")
BROWSER = (*TEST, "site", "browser")
CLASS = (*TEST, "class")
ALL = (*BROWSER, "class")
COMMANDS = {
    "lab": Command("open your copy of the course, or of LECTURE=04", lab.lab, LAB),
    "test": Command("run the tests, or those of LECTURE=04", tasks.test, TEST),
    "test-all": Command("run every test, in the browser and a hub too", tasks.test_all, ALL),
    "parts": Command("show which parts of your GPT are yours by now", tasks.parts, LAB),
    "present": Command("show LECTURE=01 as live slides", lab.present, LAB),
    "pdf": Command("print the slides of LECTURE=01 into build/", tasks.pdf, PDF),
    "timing": Command("say whether the slides of LECTURE=01 fit its minutes", tasks.timing, TEST),
    "edit": Command("open the source of the lectures, or of LECTURE=04", lab.edit, LAB),
    "setup": Command("make the environment, and nothing else", setup, LAB),
    "doctor": Command("say what works here and what fixes the rest", tasks.doctor),
    "test-browser": Command("drive JupyterLab in Chromium", tasks.test_browser, BROWSER),
    "test-hub": Command("let two students work in a JupyterHub", tasks.test_hub, CLASS),
    "test-colab": Command("run all lectures with Colab's packages", tasks.test_colab, LAB),
    "site": Command("build the edition for reading without a kernel", tasks.site, SITE),
    "bench": Command("measure what README states", tasks.bench, TEST),
    "bench-gpu": Command("test and measure the kernels on a GPU; results in OUT", bench_gpu),
    "claims": Command(
        "run every claim, or LECTURE=03's, on SEEDS=12 fresh seeds", tasks.claims, LAB
    ),
    "lint": Command("check style, formatting, types and imports", tasks.lint, (*TEST, "site")),
    "outputs": Command("execute every lecture and save what it shows", tasks.outputs, TEST),
    "gpt2": Command("fetch the published GPT-2 for lecture 06 (550 MB)", tasks.gpt2, LAB),
    "constraints": Command("write constraints.txt anew", tasks.constraints, (*LAB, "dev")),
    "clean": Command("remove the environment and the caches", tasks.clean),
}


def show_help() -> int:
    """Explain every command."""
    say("Attention, a course that runs\n")
    for name, command in COMMANDS.items():
        say(f"  {how_to_run(name):<22} {command.help}")
    say("\nEach command first sets up what it needs, in .venv beside this file.")
    if not WINDOWS:
        say("Without make: python3 course.py lab, and so on.")
    say("Behind course.py, a lecture is named by its number: course.py test 04.")
    say("TORCH_INDEX_URL says where torch comes from; COURSE_PINS=newest ignores constraints.txt.")
    return 0


def run(arguments: list[str]) -> int:
    """Run the command that `arguments` name and return its exit status."""
    name, *rest = arguments or ["help"]
    place = Place()
    try:
        if name in ("help", "-h", "--help"):
            return show_help()
        if name not in COMMANDS:
            raise CommandError(f"There is no command {name!r}; there are: {', '.join(COMMANDS)}.")
        command = COMMANDS[name]
        if command.extras is not None:
            ensure(command.extras, place, again=name)
        return command.action(place, rest)
    except CommandError as error:
        warn(f"\n{error}")
        return 1
    except KeyboardInterrupt:
        warn("\nStopped.")
        return 130
    except BrokenPipeError:  # `make help | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        if sentence := explain_error(error, again=name):
            warn(f"\n{sentence}")
            return 1
        raise
