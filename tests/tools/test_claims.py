"""The claims: each lecture says how often its own held, and broken ones are caught."""

import dataclasses
import itertools
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
import torch

from course_utils.teaching.claims import (
    LONGER,
    RATES,
    Claim,
    Replication,
    Setting,
    read_replications,
    wilson_interval,
)
from lectures import COURSE, find_lecture
from tools.claims import __main__ as command
from tools.claims import measuring, record, running
from tools.claims.cells import CellError, run_cells
from tools.claims.measuring import (
    AS_STATED,
    ClaimError,
    check_numbers,
    check_seeds_apart,
    claims_of,
    measure,
    settings_of,
    what_runs,
)
from tools.claims.record import RATE_IN_TEXT, is_right, said_rates, verdict, write_marks

STATED = [(lecture, claim) for lecture in COURSE for claim in claims_of(lecture)]
NAMES = [claim.name for _, claim in STATED]


def test_every_claim_has_its_own_name():
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_lecture_says_how_often_the_claim_held(lecture, claim):
    found = read_replications()[claim.name]
    assert is_right(said_rates(lecture)[claim.name], found)
    assert found.budget == claim.budget and len(found.seeds) >= 12
    assert min(found.seeds) >= 70_000  # its author tried smaller ones
    assert [*found.settings] == [setting.name for setting in claim.settings]
    assert len(claim.settings) >= 2


# Of 06 to 08 the claims run programs, until their next edition.
@pytest.mark.parametrize("lecture", [each for each in COURSE if each.number < "06"], ids=str)
def test_a_claim_runs_its_lectures_cells(lecture):
    assert all(isinstance(claim, Claim) for claim in claims_of(lecture))


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_lecture_speaks_of_its_own_claims_alone(lecture):
    assert said_rates(lecture).keys() == {claim.name for claim in claims_of(lecture)}


@pytest.fixture(scope="module")
def quick_runs():
    """The numbers of each run at its small budget; several claims may rest on one."""
    return {}


def quickly(lecture, claim, setting, known):
    """Run a claim and those that share its runs at a small budget, once."""
    key = lecture.stem, what_runs(claim), setting.name
    if key not in known:
        shared = [each for each in claims_of(lecture) if what_runs(each) == what_runs(claim)]
        known[key] = measure(lecture.stem, shared, [3], setting, quick=True)
    return known[key][claim.name]


@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_claim_and_control_run(lecture, claim, quick_runs):
    control = getattr(claim, "control", "none")
    for setting in [AS_STATED, *([control] if isinstance(control, Setting) else [])]:
        [numbers] = quickly(lecture, claim, setting, quick_runs)
        check_numbers(claim, numbers)
        assert claim.judge(numbers) in (True, False, None)
    assert isinstance(control, Setting) or control


@pytest.mark.slow
@pytest.mark.parametrize(("lecture", "claim"), STATED, ids=NAMES)
def test_claim_runs_at_its_settings_and_depends_on_its_seed_alone(lecture, claim):
    for setting in settings_of(claim):
        [numbers] = measure(lecture.stem, [claim], [3], setting, quick=True)[claim.name]
        check_numbers(claim, numbers)
    check_seeds_apart(lecture.stem, [claim], 3, 5)


def test_table_is_what_was_measured():
    assert record.TABLE.read_text(encoding="utf-8") == record.table(read_replications())


# A lecture of three cells: it fits y = slope x, and shows the line.
CELLS = {
    "setup": "import torch\n\nSEED, SLOPE = 3, 3.0\ngenerator = torch.manual_seed(SEED)",
    "fit": "STEPS, RATE = 100, 0.1\nw = torch.zeros(())\nfor _ in range(STEPS):\n"
    "    x = torch.randn(11)\n    w = w - RATE * ((w - SLOPE) * x * x).mean()\nprint(w)",
    "picture": "show(nothing_that_exists)\nshown = True",
}
LINE = Claim(
    name="line",
    sentence="The fit beats the mean.",
    cells=("setup", "fit"),
    read=lambda cell: {"fit": (cell.w - cell.SLOPE) ** 2 / 3, "mean": cell.SLOPE**2 / 3},
    holds=lambda n: n["fit"] < 0.1 * n["mean"],
    effect="fit",
    unit="squared error",
    rival="mean",
    control=Setting("no step", edits={"w - RATE * (": "w - 0 * ("}),
    quick={"STEPS": 3},
    settings=(*RATES, LONGER, Setting("steep", arguments={"SLOPE": 30.0})),
)
STEM = find_lecture("03").stem
COUNT = itertools.count()


def write_lecture(folder, **changed):
    """Write the small lecture in place of 03, with other sources for some of its cells."""
    notebook = nbformat.v4.new_notebook()
    for name, source in {**CELLS, **changed}.items():
        notebook.cells.append(nbformat.v4.new_code_cell(source, id=name))
    mark = 'It fits <sup>[1 of 2](#How-often-this-holds "as it was (line)")</sup>, mostly.'
    notebook.cells.append(nbformat.v4.new_markdown_cell(mark, id="text"))
    path = folder / f"{STEM}.ipynb"
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    return path


@pytest.fixture
def lecture(monkeypatch, tmp_path):
    """The folder of the small lecture, of which LINE is the only claim."""
    for module in (measuring, running, record):
        monkeypatch.setattr(module, "LECTURES", tmp_path)
        only = lambda lecture: (LINE,) if lecture.stem == STEM else ()  # noqa: E731
        monkeypatch.setattr(module, "claims_of", only)
    write_lecture(tmp_path)
    return tmp_path


def numbers_of(claim=LINE, seed=10, setting=AS_STATED, **options):
    [numbers] = measure(STEM, [claim], [seed], setting, **options)[claim.name]
    return numbers


def recorded(claim, seeds=range(10, 22)):
    seeds = list(seeds)
    numbers = {
        each.name: measure(STEM, [claim], seeds, each)[claim.name] for each in settings_of(claim)
    }
    return running.summed_up(claim, seeds, numbers)


def test_true_claim_passes_and_fails_where_its_setting_or_its_control_decides(lecture):
    check_seeds_apart(STEM, [LINE], 3, 5)
    found = recorded(LINE)
    assert found.rate == "12 of 12" and verdict(LINE, found, "12 of 12") == ""
    assert found.control == [False] * 12


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"holds": lambda n: n["fit"] < 1e-30 * n["mean"]}, "line held in"),
        ({"control": Setting("none", edits={"print(w)": "print(1)"})}, "line holds in 12 of 12"),
    ],
    ids=["a threshold moved", "a control that takes nothing away"],
)
def test_broken_claim_is_caught(lecture, broken, said):
    claim = dataclasses.replace(LINE, settings=(), **broken)
    assert verdict(claim, recorded(claim), "12 of 12").startswith(said)
    assert "does not say how often" in verdict(claim, recorded(claim), "")


def test_what_a_cell_does_is_what_is_measured(lecture):
    before, path = numbers_of(), running.Job(STEM, ("line",), AS_STATED, (10,)).path
    write_lecture(lecture, fit=CELLS["fit"].replace("0.1", "0.01"))
    assert numbers_of()["fit"] > 10 * before["fit"]
    assert running.Job(STEM, ("line",), AS_STATED, (10,)).path != path


def test_cells_are_given_a_seed_a_rate_and_values(lecture):
    path = lecture / f"{STEM}.ipynb"
    left = run_cells(path, ("setup", "fit"), {"SEED": lambda s: s + 4, "STEPS": lambda s: 2 * s})
    assert (left.SEED, left.SLOPE, left.STEPS, left.RATE) == (7, 3.0, 200, 0.1)
    assert left.generator.initial_seed() == 7
    assert run_cells(path, ("picture",)).shown  # and what it shows is not drawn
    assert numbers_of(setting=RATES[0])["fit"] > numbers_of()["fit"]
    assert numbers_of(setting=LINE.settings[-1])["mean"] == 300.0
    assert numbers_of(quick=True)["fit"] > numbers_of()["fit"]


@pytest.mark.parametrize(
    ("ids", "changes", "edits", "said"),
    [
        (("setup", "fitt"), {}, {}, r"has no code cell \['fitt'\]"),
        (("setup", "fit"), {"WIDTH": 3}, {}, r"assigns \['WIDTH'\]"),
        (("setup", "fit"), {}, {"w - WIDTH": ""}, "'w - WIDTH' is 0 times"),
        (("setup", "fit"), {}, {"STEPS": "7"}, "'STEPS' is 2 times"),
        (("fit",), {}, {}, "cell fit: NameError"),
    ],
)
def test_cells_that_cannot_be_run_are_said(lecture, ids, changes, edits, said):
    changes = {name: lambda _, value=value: value for name, value in changes.items()}
    with pytest.raises(CellError, match=said):
        run_cells(lecture / f"{STEM}.ipynb", ids, changes, edits)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"effect": "fti"}, "'fti'"),
        ({"rival": "maen"}, "'maen'"),
        ({"read": lambda cell: {"fit": float("nan"), "mean": 1}}, "no finite"),
        ({"read": lambda cell: {"fit": cell.losses, "mean": 1}}, "'losses'"),
        ({"read": lambda cell: {"fit": next(COUNT), "mean": 1.0}}, "run again"),
        ({"read": lambda cell: {"fit": 0.5, "mean": 1.0}}, "no seed is used"),
    ],
    ids=["effect misspelt", "rival misspelt", "NaN", "a name is gone", "no seed", "always equal"],
)
def test_numbers_that_no_claim_can_rest_on_are_caught(lecture, broken, said):
    with pytest.raises(ClaimError, match=said):
        check_seeds_apart(STEM, [dataclasses.replace(LINE, **broken)], 3, 5)


def test_run_with_nothing_to_lose_does_not_count(lecture):
    claim = dataclasses.replace(LINE, settings=(), at_stake=lambda n: n["fit"] > 1e9)
    found = recorded(claim)
    assert (found.held, found.tried) == (0, 0)
    assert "12 more had nothing to lose" in found.row(claim)


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
    found = Replication(
        7, [1, 2, 3, 4], [True, None, False, True], [], [], {"3 × rate": [False, None]}
    )
    assert is_right(said, found) == right
    assert RATE_IN_TEXT.findall(f'It holds [[{said}]](#How-often "line"), mostly.') == [
        (said, "line")
    ]


def test_the_mark_behind_a_sentence_is_what_was_measured(lecture):
    path = lecture / f"{STEM}.ipynb"
    write_marks(path, {"line": Replication(1, [1, 2], [True, False], [], [], {"wide": [True]})})
    text = nbformat.read(path, as_version=4).cells[-1].source
    means = "Run again with other seeds, it held in 1 of 2; wide: 1 of 1"
    mark = f'<sup>[1 of 2](#How-often-this-holds "{means} (line)")</sup>'
    assert text == f"It fits {mark}, mostly."
    assert RATE_IN_TEXT.findall(text) == [("1 of 2", "line")]


@pytest.fixture
def course(lecture, monkeypatch, tmp_path):
    """The course with one claim, whose runs are kept in a folder; the seeds that were run."""
    ran = []
    claim = dataclasses.replace(LINE, settings=(), control="none, for a test")
    only = lambda each: (claim,) if each.stem == STEM else ()  # noqa: E731
    for module in (measuring, running, record, command):
        monkeypatch.setattr(module, "claims_of", only)
    for module, name, path in (
        (running, "KEPT", "kept"),
        (record, "KEPT", "kept"),
        (record, "REPLICATIONS", "replications.json"),
        (record, "TABLE", "claims.md"),
    ):
        monkeypatch.setattr(module, name, tmp_path / path)
    (tmp_path / "replications.json").write_text("{}")

    def run(job):
        ran.extend(job.seeds)
        if len(ran) == 16 + 24:
            raise KeyboardInterrupt
        return measure(STEM, [claim], job.seeds)

    monkeypatch.setattr(running.Job, "run", run)
    monkeypatch.setattr(
        running, "ProcessPoolExecutor", lambda count, **options: ThreadPoolExecutor(1)
    )
    yield ran
    read_replications.cache_clear()


def test_interrupted_run_goes_on(course, tmp_path):
    seeds = list(range(10, 34))
    course.extend([0] * 16)  # the fourth group is interrupted
    with pytest.raises(KeyboardInterrupt):
        running.run_all([find_lecture("03")], seeds)
    done = len(list((tmp_path / "kept").iterdir()))
    assert 0 < done < 4
    del course[:]
    assert running.run_all([find_lecture("03")], seeds)["line"].tried == 24
    assert len(course) == 24 - 6 * done


def test_numbers_of_cells_that_were_edited_meanwhile_are_not_kept(course, tmp_path, monkeypatch):
    """Some of them may be of the new code: nobody can tell which."""
    measured = running.Job.run

    def edited(job):
        numbers = measured(job)
        write_lecture(tmp_path, fit=CELLS["fit"].replace("100", "4000"))
        return numbers

    monkeypatch.setattr(running.Job, "run", edited)
    with pytest.raises(ClaimError, match="line: its code was edited while it ran"):
        running.run_all([find_lecture("03")], [10])
    assert list((tmp_path / "kept").iterdir()) == []
    assert running.run_all([find_lecture("03")], [10])["line"].tried == 1


DAMAGES = ["[1", "7", '{"line": [{"fit": 1.0}]}', '{"line": [{"fit": NaN, "mean": 1.0}]}', "{}"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_results_are_measured_again(course, tmp_path, damage):
    running.run_all([find_lecture("03")], [10])
    [path] = (tmp_path / "kept").iterdir()
    whole = path.read_text()
    path.write_text(damage)
    running.run_all([find_lecture("03")], [10])
    assert course == [10, 10] and path.read_text() == whole


def test_few_seeds_replace_nothing(course, tmp_path):
    seeds_of = lambda: read_replications(tmp_path / "replications.json")["line"].seeds  # noqa: E731
    command.main(["3", "--seeds", "13", "--first", "100"])
    assert seeds_of() == [*range(100, 113)]
    for arguments in (["--seeds", "1"], ["--seeds", "12"]):
        command.main(["3", *arguments])
        assert seeds_of() == [*range(100, 113)]
    assert "Seeds 100 to 112" in (tmp_path / "claims.md").read_text(encoding="utf-8")


def test_damaged_replications_are_named(course, tmp_path, capsys):
    (tmp_path / "replications.json").write_text("<<<<<<<")
    assert command.main(["3"]) == 1
    assert "replications.json is damaged" in capsys.readouterr().err
    assert (tmp_path / "replications.json").read_text() == "<<<<<<<"


def test_what_a_claim_says_of_its_numbers_decides_no_run(tmp_path):
    def written(sentence, holds, cells, other, comment):
        path = tmp_path / "claims.py"
        path.write_text(
            f"# {comment}\nClaim(name='a', sentence='{sentence}', holds={holds}, cells={cells})\n"
            f"Claim(name='b', sentence='', cells={other})\n"
        )
        running._code_of.cache_clear()
        return running.code_of(path, ["a"])

    first = written("a", "b", 3, 7, "c")
    assert first == written("d", "e", 3, 8, "f") != written("a", "b", 4, 7, "c")


def test_interval_covers_the_rate():
    # By simulation: of 2,000 draws of 12 runs at a rate of 0.8, some 95 % of intervals hold it.
    held = torch.binomial(
        torch.full((2000,), 12.0), torch.tensor(0.8), generator=torch.Generator().manual_seed(3)
    )
    ends = [wilson_interval(int(count), 12) for count in held]
    share = sum(low <= 0.8 <= high for low, high in ends) / len(ends)
    assert 0.92 < share < 0.99
