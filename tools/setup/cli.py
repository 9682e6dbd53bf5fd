"""Read the command line and do what it says."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass

from . import bench_gpu, environment, lab, tasks
from .pip import explain
from .place import WINDOWS, CommandError, Place, how_to_run, say, warn


@dataclass(frozen=True)
class Command:
    """A command: what set-up it needs, what it is for, and the function that does it."""

    level: str  # "" where no environment is needed
    help: str
    action: Callable[[Place, list[str]], int]


def nothing_more(place: Place, arguments: list[str]) -> int:
    """Set-up was all that was asked for."""
    say(f"The course is ready: `{how_to_run('lab')}` opens it.")
    return 0


def start(place: Place, arguments: list[str]) -> int:
    """Open JupyterLab at a lecture."""
    return lab.lab(place, chosen_lecture(arguments))


def start_presenting(place: Place, arguments: list[str]) -> int:
    """Open a lecture as live slides."""
    return lab.present(place, chosen_lecture(arguments))


def chosen_lecture(arguments: list[str]) -> str:
    """Return the lecture named on the command line or in LECTURE, the first by default."""
    return (arguments or [os.environ.get("LECTURE") or "00"])[0]


EXAMPLE = "py course.py present 01" if WINDOWS else "make present LECTURE=01"
COMMANDS = {
    "lab": Command("lab", "open the course in JupyterLab", start),
    "test": Command("test", "run every test that needs no browser, no hub and no GPU", tasks.test),
    "present": Command("lab", f"show a lecture as live slides ({EXAMPLE})", start_presenting),
    "setup": Command("lab", "make the environment, and nothing else", nothing_more),
    "doctor": Command("", "say what works here and what mends the rest", tasks.doctor),
    "test-browser": Command("browser", "drive JupyterLab in Chromium", tasks.test_browser),
    "test-hub": Command(
        "class", "start JupyterHub and let two students work in it", tasks.test_hub
    ),
    "site": Command("site", "build the static edition, for reading without a kernel", tasks.site),
    "bench": Command("test", "measure what README states", tasks.bench),
    "bench-gpu": Command("", "test and measure the kernels on a GPU", bench_gpu.bench_gpu),
    "lint": Command("test", "check style, formatting and types", tasks.lint),
    "outputs": Command("test", "execute every lecture and save what it shows", tasks.outputs),
    "gpt2": Command(
        "lab", "fetch the published GPT-2's weights for lecture 06 (550 MB)", tasks.gpt2
    ),
    "constraints": Command("", "write constraints.txt from a fresh environment", tasks.constraints),
    "clean": Command("", "remove the environment and the caches", tasks.clean),
}


def show_help() -> int:
    """Explain every command."""
    say("Attention, a course that runs\n")
    for name, command in COMMANDS.items():
        say(f"  {how_to_run(name):<22} {command.help}")
    say("\nEach command first sets up what it needs, in .venv beside this file.")
    if not WINDOWS:
        say("Without make: python3 course.py lab, python3 course.py test, and so on.")
    say("TORCH_INDEX_URL says where torch comes from; COURSE_PINS=newest ignores constraints.txt.")
    say("OUT names the folder that bench-gpu writes into (benchmarks/results/gpu).")
    return 0


def run(arguments: list[str]) -> int:
    """Run the command that `arguments` name and return its exit status."""
    name, *rest = arguments or ["help"]
    if name not in COMMANDS and name not in ("help", "-h", "--help"):
        warn(f"There is no command {name!r}; there are: {', '.join(COMMANDS)}.")
        return 2
    place = Place()
    try:
        if name not in COMMANDS:
            return show_help()
        command = COMMANDS[name]
        if command.level:
            environment.ensure(command.level, place, again=name)
        return command.action(place, rest)
    except (CommandError, ValueError) as error:
        warn(f"\n{error}")
        return 1
    except KeyboardInterrupt:
        warn("\nStopped.")
        return 130
    except BrokenPipeError:  # `make help | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EACCES):
            raise
        warn(f"\n{explain(str(error), again=name, log=str(place.log))}")
        return 1
