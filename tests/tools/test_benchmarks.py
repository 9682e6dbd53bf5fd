"""The benchmarks run and say what they must; how fast this machine is, no test asks."""

import json
import math
import runpy

import pytest

from benchmarks import explorers


@pytest.fixture
def quick(monkeypatch):
    for name, count in (("EVENTS", 5), ("WARM_UP", 2), ("REPEATS", 1)):
        monkeypatch.setattr(explorers, name, count)

    def allow(milliseconds):
        monkeypatch.setattr(explorers, "BUDGET", {"median": milliseconds, "p95": milliseconds})

    return allow


def test_the_explorers_table_and_its_exit_status(quick, capsys):
    quick(1e9)
    assert explorers.main(["--only", "explore_random_cosines"]) == 0
    table = capsys.readouterr().out
    command = "python -m benchmarks.explorers --only explore_random_cosines"
    assert table.startswith(f"command: {command}\n") and "\ntorch: " in table
    assert "explore_random_cosines" in table and "over budget" not in table
    quick(0.0)
    assert explorers.main(["--only", "explore_random_cosines"]) == 1
    assert "over budget" in capsys.readouterr().out


def test_run_as_a_file_it_says_so_without_where_it_lies():
    namespace = runpy.run_path(explorers.__file__)
    command = namespace["conditions"](["--json"])["command"]
    assert command == "python benchmarks/explorers.py --json"


def test_the_explorers_as_json(quick, capsys):
    quick(1e9)
    assert explorers.main(["--json", "--only", "explore_random_cosines"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["conditions"]["command"].endswith(" --json --only explore_random_cosines")
    (timing,) = read["timings"]
    assert timing["explorer"] == "explore_random_cosines"
    numbers = [value for value in timing.values() if not isinstance(value, str)]
    assert len(numbers) == 8 and all(math.isfinite(x) and x > 0 for x in numbers)
    assert timing["median"] <= timing["p95"] <= timing["max"]
