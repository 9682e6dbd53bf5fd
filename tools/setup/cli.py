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
    extras: tuple[str, ...] | None = ("kernels",)


def setup(place: Place, arguments: list[str]) -> int:
    """Say that set-up, which was all that was asked for, is done."""
    say(f"The course is ready: `{how_to_run('lab')}` opens it.")
    return 0


TEST = ("kernels", "test")
BROWSER = (*TEST, "site", "browser")
CLASS = (*TEST, "class")
EXAMPLE = "py course.py {0} 01" if WINDOWS else "make {0} LECTURE=01"
COMMANDS = {
    "lab": Command("open the course in JupyterLab", lab.lab),
    "test": Command(f"run the tests, or a lecture's: {EXAMPLE.format('test')}", tasks.test, TEST),
    "test-all": Command(
        "run every test: the slow ones, the browser's, the hub's",
        tasks.test_all,
        tuple({*BROWSER, *CLASS}),
    ),
    "present": Command(f"show live slides: {EXAMPLE.format('present')}", lab.present),
    "timing": Command("say whether a lecture's slides fit its minutes", tasks.timing, TEST),
    "edit": Command("open the source of the lectures in JupyterLab", lab.lab),
    "setup": Command("make the environment, and nothing else", setup),
    "doctor": Command(
        "say what works here and what mends the rest",
        tasks.without_environment("tools.doctor"),
        None,
    ),
    "test-browser": Command("drive JupyterLab in Chromium", tasks.test_browser, BROWSER),
    "test-hub": Command("let two students work in a JupyterHub", tasks.test_hub, CLASS),
    "site": Command(
        "build the static edition, for reading without a kernel",
        tasks.module("tools.site.build"),
        ("kernels", "site"),
    ),
    "bench": Command("measure what README states", tasks.bench, TEST),
    "bench-gpu": Command(
        "test and measure the kernels on a GPU; OUT names a folder for the results",
        bench_gpu,
        None,
    ),
    "lint": Command("check style, formatting, types and imports", tasks.lint, TEST),
    "outputs": Command(
        "execute every lecture and save what it shows",
        tasks.module("tools.editions.outputs"),
        TEST,
    ),
    "gpt2": Command(
        "fetch the published GPT-2's weights for lecture 06 (550 MB)",
        tasks.module("tools.scripts.fetch_gpt2"),
    ),
    "constraints": Command("write constraints.txt anew", tasks.constraints),
    "clean": Command("remove the environment and the caches", tasks.clean, None),
}


def show_help() -> int:
    """Explain every command."""
    say("Attention, a course that runs\n")
    for name, command in COMMANDS.items():
        say(f"  {how_to_run(name):<22} {command.help}")
    say("\nEach command first sets up what it needs, in .venv beside this file.")
    if not WINDOWS:
        say("Without make: python3 course.py lab, python3 course.py test 01, and so on.")
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
