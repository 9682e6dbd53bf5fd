"""The packaged trainings of story GPTs: whole, and as the lecture tells of them."""

from itertools import pairwise

from lectures.l07_dynamic_pruning.claims import STORY
from lectures.l07_dynamic_pruning.experiments.story_runs import STORY_STEPS, story_runs
from tools.claims.cells import edited, sources_of
from tools.notebook_file import LECTURES
from tools.scripts.train_story_experts import DENSE, ON_THE_WAY, WIDE


def test_every_rate_with_two_seeds():
    runs = story_runs()
    assert [(run["rate"], run["seed"]) for run in runs] == [
        (rate, seed) for rate in (0.0017, 0.005, 0.015) for seed in (1, 2)
    ]
    for run in runs:
        assert ("wide" in run) == (run["rate"] == 0.005)
        for name in ("dense", "experts", "wide"):
            losses = run.get(name, run["dense"])
            assert len(losses) == len(STORY_STEPS)
            assert all(sooner > later for sooner, later in pairwise(losses))


def test_experts_bring_nothing_and_do_not_collapse():
    for run in story_runs():
        gains = [d - e for d, e in zip(run["dense"], run["experts"], strict=True)]
        assert max(gains) < 0.06 and -0.145 < gains[-1] < 0
        assert run.get("wide", run["experts"])[-1] > run["dense"][-1]
        assert max(run["busiest"]) < 0.3


def test_the_script_still_finds_its_passages():
    notebook = LECTURES / "07_dynamic_pruning.ipynb"
    cells = (*STORY, "story-train")
    sources = edited(sources_of(notebook, cells), {**ON_THE_WAY, DENSE: DENSE + WIDE}, "07")
    assert "midway.append" in sources["story"] and "1024" in sources["story-train"]
