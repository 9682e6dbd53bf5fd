"""How the attention benchmark takes times: rounds, laps, spreads and ratios within a round."""

from dataclasses import replace

import pytest

from benchmarks import _measure
from benchmarks._cases import Case
from benchmarks._measure import Pace, measure_case
from benchmarks._rivals import attend_naive
from benchmarks._timing import Spread, WallClock, interleave, ratio

SMALL = Case(N=37, D=16, causal=True, dtype="float32", B=2, H=6, G=3, rivals=("ours", "sdpa"))
PACE = Pace(0.0, 3, 3)


def test_every_job_runs_once_a_round_and_none_always_after_the_same():
    ran = []
    jobs = {name: lambda lap, name=name: ran.append(name) for name in "abc"}
    laps = interleave(jobs, WallClock(), seconds=0.0, at_least=12, at_most=12)
    rounds = [ran[i : i + 3] for i in range(0, 36, 3)]
    assert rounds[0] == ["a", "b", "c"]
    assert all(sorted(one) == ["a", "b", "c"] for one in rounds)
    assert len({tuple(one) for one in rounds}) > 3
    assert {name: len(found) for name, found in laps.items()} == {"a": 12, "b": 12, "c": 12}


@pytest.mark.parametrize(
    ("seconds_a_round", "rounds"),
    [(0.01, 20), (1.0, 10), (2.0, 7), (5.0, 4), (100.0, 3)],
    ids=["never more than at most", "until the time is up", "at least", "patience", "three"],
)
def test_the_number_of_rounds_fits_the_time(seconds_a_round, rounds):
    time = [0.0]

    def job(lap):
        time[0] += seconds_a_round

    limits = {"seconds": 10.0, "at_least": 7, "at_most": 20, "now": lambda: time[0]}
    found = interleave({"a": job}, WallClock(), **limits)
    assert len(found["a"]) == rounds


@pytest.mark.parametrize(
    ("seconds_a_job", "rounds", "coarse"),
    [(0.1, 20, 20), (1.5, 7, 4), (2.5, 5, 3), (50.0, 3, 3)],
    ids=["fast: all", "after half the patience", "three at least", "slow: all"],
)
def test_a_coarse_job_sits_out_where_it_takes_long(seconds_a_job, rounds, coarse):
    time = [0.0]

    def job(lap):
        time[0] += seconds_a_job

    limits = {"seconds": 10.0, "at_least": 7, "at_most": 20, "now": lambda: time[0]}
    jobs = {"naive": job, "ours": job}
    found = interleave(jobs, WallClock(), coarse=("naive",), **limits)
    assert (len(found["ours"]), len(found["naive"])) == (rounds, coarse)


def test_who_sat_out_is_compared_in_the_rounds_it_took_part_in():
    entrant = _measure.Entrant(lambda q, k, v: q, (), ("forward",), 0.0, 0.0)
    laps = {"ours forward": [[1.0], [2.0], [90.0]], "naive forward": [[2.0], [4.0]]}
    found = _measure.summary("naive", dict.fromkeys(("ours", "naive"), entrant), laps, SMALL)
    assert found["passes"]["forward"]["ours_takes_times"]["median"] == 0.5


def test_every_job_has_run_before_the_first_is_timed(monkeypatch):
    """With gradients and without: the two are compiled separately."""
    ran = []

    def attend(q, k, v):
        ran.append(q.requires_grad)
        return attend_naive(q, k, v, causal=True)

    def clock_is_started(jobs, *rest, **limits):
        before = set(ran)
        for job in jobs.values():
            job(lambda: None)
        assert before == set(ran) == {True, False}
        return {name: [[1.0, 1.0]] for name in jobs}

    monkeypatch.setattr(_measure, "attend_with", lambda *asked: attend)
    monkeypatch.setattr(_measure, "interleave", clock_is_started)
    found = measure_case(replace(SMALL, rivals=("ours",)), "cpu", WallClock(), PACE, 1e9)
    assert found["left_out"] == {} and found["results"]["ours"]


def test_laps_split_a_job(monkeypatch):
    marks = iter([1.0, 1.5, 3.5])
    monkeypatch.setattr("benchmarks._timing.time.perf_counter", lambda: next(marks))
    assert WallClock().laps(lambda lap: lap()) == [0.5, 2.0]


def test_a_spread_is_the_median_and_the_quartiles():
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(3.0, 2.0, 4.0)


def test_a_ratio_is_taken_within_each_round():
    """A machine that becomes ten times slower half way changes no ratio."""
    ours, theirs = [2.0, 2.0, 20.0, 20.0], [1.0, 1.0, 10.0, 10.0]
    assert ratio(ours, theirs) == Spread(2.0, 2.0, 2.0)
    assert ratio([1.0, 3.0, 2.0], [1.0, 1.0, 1.0]) == Spread(2.0, 1.5, 2.5)
    with pytest.raises(ValueError, match="zip"):
        ratio([1.0], [1.0, 2.0])


def test_forward_backward_and_both_come_from_their_own_laps():
    entrant = _measure.Entrant(lambda q, k, v: q, (), ("forward", "both"), 0.0, 0.0)
    laps = {"x forward": [[1.0], [2.0]], "x both": [[3.0, 5.0], [4.0, 6.0]]}
    found = _measure.seconds_by_pass("x", entrant, laps)
    assert found == {"forward": [1.0, 2.0], "backward": [5.0, 6.0], "both": [8.0, 10.0]}
