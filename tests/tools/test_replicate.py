"""The claims: each lecture says how often its own held, and broken ones are caught."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from course_utils.lectures import COURSE
from course_utils.teaching.claims import (
    LONGER,
    RATES,
    Claim,
    Replication,
    Setting,
    read_replications,
    wilson_interval,
)
from course_utils.training import train
from tools import replicate
from tools.replicate import (
    AS_STATED,
    SAID,
    ClaimError,
    check_numbers,
    check_seeds_apart,
    claims_of,
    is_right,
    measure,
    said_rates,
    summed_up,
    verdict,
)

STATED = [(lecture, claim) for lecture in COURSE for claim in claims_of(lecture)]
NAMES = [claim.name for _, claim in STATED]


def test_every_claim_has_its_own_name():
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_lecture_says_how_often_the_claim_held(lecture, claim):
    record = read_replications()[claim.name]
    assert is_right(said_rates(lecture)[claim.name], record)
    assert record.budget == claim.budget and len(record.seeds) >= 12
    assert min(record.seeds) >= replicate.FIRST
    assert [*record.settings] == [setting.name for setting in claim.settings]
    assert len(claim.settings) >= 2


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_lecture_speaks_of_its_own_claims_alone(lecture):
    assert said_rates(lecture).keys() == {claim.name for claim in claims_of(lecture)}


@pytest.fixture(scope="module")
def quick_runs():
    """The numbers of each run at its small budget; several claims may rest on one."""
    return {}


@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_claim_runs(lecture, claim, quick_runs):
    run = claim.run, claim.quick
    if run not in quick_runs:
        [quick_runs[run]] = measure(claim, [3], claim.quick)
    numbers = quick_runs[run]
    check_numbers(claim, numbers)
    assert claim.judge(numbers) in (True, False, None)


@pytest.mark.slow
@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_claim_runs_at_its_settings_and_depends_on_its_seed_alone(lecture, claim):
    for setting in claim.settings:
        [numbers] = measure(claim, [3], claim.quick, setting)
        check_numbers(claim, numbers)
    check_seeds_apart(claim, 3, 5)


def test_table_is_what_was_measured():
    assert replicate.TABLE.read_text(encoding="utf-8") == replicate.table(read_replications())


def run_line(seeds, steps, slope=3.0):
    """Fit y = slope x: the error of the fit, and of the mean."""

    def batch(generator):
        x = torch.randn(11, 1, generator=generator)
        return x, slope * x

    def error(model, x, y):
        return (model(x) - y).square().mean()

    done = train(lambda: nn.Linear(1, 1), batch, error, seeds=seeds, steps=steps, learning_rate=0.1)
    x = torch.linspace(-1, 1, 7)[:, None]
    mean = (slope * x).square().mean()
    return [{"fit": error(model, x, slope * x).detach(), "mean": mean} for model in done.models]


STEEP = Setting("steep", arguments={"slope": 30.0})
LINE = Claim(
    name="line",
    sentence="The fit beats the mean.",
    run=run_line,
    holds=lambda n: n["fit"] < 0.1 * n["mean"],
    effect="fit",
    unit="squared error",
    rival="mean",
    budget=100,
    quick=3,
    settings=(*RATES, LONGER, STEEP),
)


def recorded(claim, seeds=range(10, 22)):
    seeds = list(seeds)
    settings = (AS_STATED, *claim.settings)
    numbers = {each.name: measure(claim, seeds, claim.budget, each) for each in settings}
    return summed_up(claim, seeds, numbers)


def test_true_claim_passes_and_fails_where_its_setting_decides():
    check_seeds_apart(LINE, 3, 5)
    record = recorded(LINE)
    assert record.rate == "12 of 12" and verdict(LINE, record, "12 of 12") == ""
    # 100 steps of 0.033 are too few for some seeds, and 100 of 0.1 for a slope of 30.
    assert record.settings["⅓ × rate"].count(True) < 12
    assert record.settings["steep"].count(True) == 0
    assert all(record.settings["3 × rate"] + record.settings["4 × steps"])


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"holds": lambda n: n["fit"] < 1e-9 * n["mean"]}, id="a threshold moved"),
        pytest.param({"budget": 5}, id="an unlucky budget"),
        pytest.param(
            {"run": lambda seeds, steps: [n | {"mean": 0.0} for n in run_line(seeds, steps)]},
            id="a rival that cannot be beaten",
        ),
    ],
)
def test_broken_claim_is_caught(broken):
    claim = dataclasses.replace(LINE, settings=(), **broken)
    record = recorded(claim)
    assert verdict(claim, record, "12 of 12") == (
        "line held in 0 of 12 runs, and its lecture says 12 of 12"
    )
    assert verdict(claim, record, "0 of 12") == ""
    assert verdict(claim, record, "") == "line: its lecture does not say how often it held"


def test_run_with_nothing_to_lose_does_not_count():
    claim = dataclasses.replace(LINE, settings=(), at_stake=lambda n: n["fit"] > 1e9)
    record = recorded(claim)
    assert (record.held, record.tried) == (0, 0) and "12 more had nothing to lose" in record.row(
        claim
    )


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("2 of 3", True),
        ("2 of 3; 0 of 1 at 3 × rate", True),
        ("2 of 3; 0 of 1 with 3 × rate", True),
        ("2 of 4", False),
        ("2 of 3; 1 of 1 at 3 × rate", False),
        ("2 of 3; 0 of 1 at 30 × rate", False),
    ],
)
def test_what_a_lecture_says_is_compared_with_the_record(said, right):
    record = Replication(
        7, [1, 2, 3, 4], [True, None, False, True], [], [], {"3 × rate": [False, None]}
    )
    assert is_right(said, record) == right
    assert SAID.findall(f'It holds [[{said}]](#How-often "line"), mostly.') == [(said, "line")]


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
        ({"rival": "maen"}, "'maen'"),
        ({"run": lambda seeds, steps: [{"fit": float("nan"), "mean": 1}]}, "no finite"),
    ],
    ids=["a name misspelt", "a rival misspelt", "NaN"],
)
def test_numbers_that_no_claim_can_rest_on_are_caught(broken, said):
    with pytest.raises(ClaimError, match=said):
        check_seeds_apart(dataclasses.replace(LINE, **broken), 3, 5)


@pytest.fixture
def line(monkeypatch, tmp_path):
    """A course with one claim, LINE, whose runs are kept in a folder; the seeds that were run."""
    ran = []

    def run(seeds, steps):
        ran.extend(seeds)
        if len(ran) == 16 + 24:
            raise KeyboardInterrupt
        return run_line(seeds, steps)

    claim = dataclasses.replace(LINE, run=run, settings=(), budget=3)
    monkeypatch.setattr(replicate, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(replicate, "REPLICATIONS", tmp_path / "replications.json")
    monkeypatch.setattr(replicate, "TABLE", tmp_path / "claims.md")
    (tmp_path / "replications.json").write_text("{}")
    monkeypatch.setattr(
        replicate, "claims_of", lambda lecture: (claim,) if lecture == COURSE[3] else ()
    )
    monkeypatch.setattr(
        replicate,
        "run_group",
        lambda stem, name, seeds, setting: measure(claim, seeds, claim.budget, setting),
    )
    monkeypatch.setattr(
        replicate, "ProcessPoolExecutor", lambda count, **options: ThreadPoolExecutor(1)
    )
    yield ran
    read_replications.cache_clear()


def test_interrupted_run_goes_on(line, tmp_path):
    seeds = list(range(10, 34))
    line.extend([0] * 16)  # the fourth group is interrupted
    with pytest.raises(KeyboardInterrupt):
        replicate.run_all([COURSE[3]], seeds)
    done = len(list((tmp_path / "kept").iterdir()))
    assert 0 < done < 4
    del line[:]
    assert replicate.run_all([COURSE[3]], seeds)["line"].tried == 24
    assert len(line) == 24 - 6 * done


def test_numbers_of_code_that_was_edited_meanwhile_are_not_kept(line, tmp_path, monkeypatch):
    """Some of them may be of the new code: nobody can tell which."""
    file, read = tmp_path / "claims.py", replicate.what_runs
    file.write_text("STEPS = 3")
    monkeypatch.setattr(replicate, "what_runs", lambda path: read(file))
    measured = replicate.run_group

    def edited(*job):
        numbers = measured(*job)
        file.write_text("STEPS = 4000")
        return numbers

    monkeypatch.setattr(replicate, "run_group", edited)
    with pytest.raises(ClaimError, match="line: its code was edited while it ran"):
        replicate.run_all([COURSE[3]], [10])
    assert list((tmp_path / "kept").iterdir()) == []
    assert replicate.run_all([COURSE[3]], [10])["line"].tried == 1


@pytest.mark.parametrize("damage", ["[1", "7", '[{"fit": 1.0}]', '[{"fit": NaN, "mean": 1.0}]'])
def test_damaged_results_are_measured_again(line, tmp_path, damage):
    replicate.run_all([COURSE[3]], [10])
    [path] = (tmp_path / "kept").iterdir()
    whole = path.read_text()
    path.write_text(damage)
    replicate.run_all([COURSE[3]], [10])
    assert line == [10, 10] and path.read_text() == whole


def test_few_seeds_replace_nothing(line, tmp_path):
    seeds_of = lambda: read_replications(tmp_path / "replications.json")["line"].seeds  # noqa: E731
    replicate.main(["3", "--seeds", "13", "--first", "100"])
    assert seeds_of() == [*range(100, 113)]
    for arguments in (["--seeds", "1"], ["--seeds", "12"]):
        replicate.main(["3", *arguments])
        assert seeds_of() == [*range(100, 113)]
    assert "Seeds 100 to 112" in (tmp_path / "claims.md").read_text(encoding="utf-8")


def test_damaged_replications_are_named(line, tmp_path, capsys):
    (tmp_path / "replications.json").write_text("<<<<<<<")
    assert replicate.main(["3"]) == 1
    assert "replications.json is damaged" in capsys.readouterr().err
    assert (tmp_path / "replications.json").read_text() == "<<<<<<<"


def test_what_a_claim_says_of_its_numbers_decides_no_run(tmp_path):
    def written(sentence, holds, budget, comment):
        path = tmp_path / f"{sentence}{holds}{budget}{comment}.py"
        path.write_text(
            f"# {comment}\nClaim(sentence='{sentence}', holds={holds}, budget={budget})\n"
        )
        return replicate.what_runs(path)

    assert written("a", "b", 3, "c") == written("d", "e", 3, "f") != written("a", "b", 4, "c")


def test_interval_covers_the_rate():
    # By simulation: of 2,000 draws of 12 runs at a rate of 0.8, some 95 % of intervals hold it.
    held = torch.binomial(
        torch.full((2000,), 12.0), torch.tensor(0.8), generator=torch.Generator().manual_seed(3)
    )
    ends = [wilson_interval(int(count), 12) for count in held]
    share = sum(low <= 0.8 <= high for low, high in ends) / len(ends)
    assert 0.92 < share < 0.99
