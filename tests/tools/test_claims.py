"""The claims: each lecture's are stated, and alive; broken ones are caught."""

import dataclasses
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from course_utils.lectures import COURSE
from course_utils.teaching import claims as shown
from course_utils.teaching.claims import Claim, Record, read_records, wilson_interval
from course_utils.training import train
from tools import claims
from tools.claims import (
    ClaimError,
    check_numbers,
    check_seeds_apart,
    claims_of,
    measure,
    summed_up,
    verdict,
)
from tools.setup.place import ROOT

STATED = [(lecture, claim) for lecture in COURSE for claim in claims_of(lecture)]
NAMES = [claim.name for _, claim in STATED]


def prose(lecture):
    """The Markdown of a lecture, without emphasis and line breaks."""
    notebook = json.loads((ROOT / "notebooks" / f"{lecture.stem}.ipynb").read_text("utf-8"))
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown"]
    return " ".join(re.sub(r"[*_]", "", "\n".join(cells)).split())


def test_every_lecture_claims_something_by_a_name_of_its_own():
    assert {lecture.number for lecture, _ in STATED} == {lecture.number for lecture in COURSE}
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_claim_stands_in_its_lecture_as_it_was_measured(lecture, claim):
    record = read_records()[claim.name]
    assert " ".join(re.sub(r"[*_]", "", claim.stated(record)).split()) in prose(lecture)
    assert record.budget == claim.budget and record.tried >= 12
    assert min(record.seeds) >= claims.FIRST
    assert verdict(claim, record) == ""


@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_claim_runs(lecture, claim):
    [numbers] = measure(claim, [3], claim.quick)
    check_numbers(claim, numbers)
    assert claim.holds(numbers) in (True, False)


@pytest.mark.slow
@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_claim_depends_on_its_seed_alone(lecture, claim):
    check_seeds_apart(claim, 3, 5)


def test_table_is_what_was_measured():
    assert claims.TABLE.read_text(encoding="utf-8") == claims.table(read_records())


def run_line(seeds, steps):
    """Fit y = 3 x: the error of the fit, and of the mean."""

    def batch(generator):
        x = torch.randn(11, 1, generator=generator)
        return x, 3 * x

    def error(model, x, y):
        return (model(x) - y).square().mean()

    done = train(lambda: nn.Linear(1, 1), batch, error, seeds=seeds, steps=steps, learning_rate=0.1)
    x = torch.linspace(-1, 1, 7)[:, None]
    mean = (3 * x).square().mean()
    return [{"fit": error(model, x, 3 * x).detach(), "mean": mean} for model in done.models]


LINE = Claim(
    name="line",
    sentence="The fit beats the mean.",
    run=run_line,
    holds=lambda n: n["fit"] < 0.1 * n["mean"],
    effect="fit",
    baseline="mean",
    budget=100,
    quick=3,
)


def judged(claim, seeds=range(10, 22)):
    seeds = list(seeds)
    return verdict(claim, summed_up(claim, seeds, measure(claim, seeds, claim.budget)))


def test_true_claim_passes():
    check_seeds_apart(LINE, 3, 5)
    assert judged(LINE) == ""


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"holds": lambda n: n["fit"] < 1e-9 * n["mean"]}, id="a threshold moved"),
        pytest.param({"budget": 5}, id="an unlucky budget"),
        pytest.param(
            {"run": lambda seeds, steps: [n | {"mean": 0.0} for n in run_line(seeds, steps)]},
            id="a baseline that cannot be beaten",
        ),
    ],
)
def test_broken_claim_is_caught(broken):
    claim = dataclasses.replace(LINE, **broken)
    assert judged(claim) == "line held in 0 of 12 runs, and does not say so"
    said = dataclasses.replace(claim, sentence="It beats the mean in {held} of {tried} runs.")
    assert judged(said) == ""


def leaks(seeds, steps):
    """All seeds draw from one stream, so that each depends on how many were before it."""
    stream = torch.Generator().manual_seed(min(seeds))
    return [{"fit": torch.rand((), generator=stream), "mean": 1.0} for _ in seeds]


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (leaks, "alone, and"),
        (lambda seeds, steps: [{"fit": torch.rand(()), "mean": 1.0} for _ in seeds], "run again"),
        (lambda seeds, steps: [{"fit": 0.5, "mean": 1.0} for _ in seeds], "no seed is used"),
    ],
    ids=["a leak between seeds", "no seed", "always the same"],
)
def test_seeds_that_are_not_apart_are_caught(run, said):
    with pytest.raises(ClaimError, match=said):
        check_seeds_apart(dataclasses.replace(LINE, run=run), 3, 5)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"effect": "fti"}, "'fti'"),
        ({"run": lambda seeds, steps: [{"fit": float("nan"), "mean": 1}]}, "no finite"),
    ],
    ids=["a name misspelt", "NaN"],
)
def test_numbers_that_no_claim_can_rest_on_are_caught(broken, said):
    with pytest.raises(ClaimError, match=said):
        check_seeds_apart(dataclasses.replace(LINE, **broken), 3, 5)


def test_run_is_the_same_on_one_thread_and_on_two():
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(measure(LINE, [3, 5], 50))
    torch.set_num_threads(before)
    assert found[0] == found[1]


def test_interrupted_run_goes_on(monkeypatch, tmp_path):
    asked, lecture = [], COURSE[3]

    def run(seeds, steps):
        asked.extend(seeds)
        if len(asked) == 40:
            raise KeyboardInterrupt
        return run_line(seeds, steps)

    claim = dataclasses.replace(LINE, run=run)
    monkeypatch.setattr(claims, "KEPT", tmp_path)
    monkeypatch.setattr(claims, "claims_of", lambda _: (claim,))
    monkeypatch.setattr(
        claims, "run_group", lambda stem, name, seeds: measure(claim, seeds, claim.budget)
    )
    monkeypatch.setattr(
        claims, "ProcessPoolExecutor", lambda count, mp_context: ThreadPoolExecutor(1)
    )
    seeds = list(range(10, 34))
    asked.extend([0] * 16)  # the fourth group is interrupted
    with pytest.raises(KeyboardInterrupt):
        claims.run_all([lecture], seeds)
    done = len(list(tmp_path.iterdir()))
    assert 0 < done < 4
    del asked[:]
    assert claims.run_all([lecture], seeds)["line"].held == 24
    assert len(asked) == 24 - 6 * done


def test_what_a_claim_says_of_its_numbers_decides_no_run(tmp_path):
    def written(sentence, holds, budget, comment):
        path = tmp_path / f"{sentence}{holds}{budget}{comment}.py"
        path.write_text(
            f"# {comment}\nClaim(sentence='{sentence}', holds={holds}, budget={budget})\n"
        )
        return claims.what_runs(path)

    assert written("a", "b", 3, "c") == written("d", "e", 3, "f") != written("a", "b", 4, "c")


def test_interval_covers_the_rate():
    # By simulation: of 2,000 draws of 12 runs at a rate of 0.8, some 95 % of intervals hold it.
    held = torch.binomial(
        torch.full((2000,), 12.0), torch.tensor(0.8), generator=torch.Generator().manual_seed(3)
    )
    ends = [wilson_interval(int(count), 12) for count in held]
    share = sum(low <= 0.8 <= high for low, high in ends) / len(ends)
    assert 0.92 < share < 0.99


def test_row_says_rate_effect_and_baseline():
    record = Record(7, [70000, 70001], [True, False], [1.0, 3.0], [5.0, 5.0])
    row = record.row(LINE)
    assert "The fit beats the mean. | 1 of 2 (0.09 to 0.91) | fit: 2 (1.5 to 2.5)" in row
    assert shown.show_claims(()).data == shown.HEADER
