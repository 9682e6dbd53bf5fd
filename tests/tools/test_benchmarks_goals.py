"""The attention benchmark's goals, judged on made-up figures: met, not met, not measured."""

import pytest

from benchmarks._goals import cpu_goals, gpu_goals, slopes


def made_up(times, **shape):
    """A case in which ours takes so many times as long: {rival: {pass: ratio}}."""
    case = {"B": 1, "H": 8, "G": 8, "N": 2048, "D": 64, "dtype": "float32", "causal": False}
    results = {
        rival: {"passes": {what: {"ours_takes_times": {"median": r}} for what, r in found.items()}}
        for rival, found in times.items()
    }
    return {**case, **shape, "results": {"ours": {"passes": {}}, **results}, "left_out": {}}


def remembered(rival, extra, what="forward", result=16_777_216, **shape):
    """Rows of the memory table: {N: bytes}."""
    base = {"rival": rival, "what": what, "causal": False, "dtype": "float32", **shape}
    rows = [{**base, "N": N, "extra": size} for N, size in extra.items()]
    return [{**row, "result": result, "beyond_result": row["extra"] - result} for row in rows]


def verdicts(goals):
    return [goal.verdict for goal in goals]


def test_met():
    cases = [
        made_up({"sdpa": {"forward": 1.09, "both": 1.14}}, N=1024),
        made_up({"sdpa": {"forward": 0.7}, "naive": {"forward": 1 / 3, "both": 0.2}}),
    ]
    memory = remembered("ours", {8192: 30_000_000, 16384: 50_000_000})
    memory += remembered("naive", {N: 8 * N * N for N in (1024, 2048, 4096)})
    assert verdicts(cpu_goals(cases, memory)) == ["met"] * 7


def test_the_worst_case_decides_and_is_named():
    cases = [
        made_up({"sdpa": {"forward": 0.5}}),
        made_up({"sdpa": {"forward": 1.2}}, N=4096, causal=True),
    ]
    forward = cpu_goals(cases, [])[0]
    assert (forward.verdict, forward.worst) == ("not met", 1.2)
    assert forward.where == "N 4096 causal float32"


def test_not_met():
    slow = {"sdpa": {"forward": 1.11, "both": 1.16}, "naive": {"forward": 0.34, "both": 0.4}}
    memory = remembered("ours", {N: 8 * N * N for N in (2048, 4096, 8192)})
    memory += remembered("naive", {N: 9000 * N for N in (1024, 2048, 4096)})
    assert verdicts(cpu_goals([made_up(slow)], memory)) == ["not met"] * 7


def test_what_has_no_goal_does_not_count():
    slow = {"sdpa": {"forward": 9.0, "both": 9.0}, "naive": {"forward": 9.0}}
    others = [{"N": 512}, {"D": 128}, {"G": 2}, {"dtype": "bfloat16"}]
    cases = [made_up(slow, **other) for other in others]
    assert verdicts(cpu_goals(cases, [])) == ["not measured"] * 7


def test_memory_beyond_the_output_is_held_to_16_megabytes():
    for beyond, verdict in ((15.9e6, "met"), (16.1e6, "not met")):
        memory = remembered("ours", {8192: int(16_777_216 + beyond)})
        assert cpu_goals([], memory)[4].verdict == verdict


def test_slopes_are_those_of_the_largest_sizes():
    extra = {N: 7_000_000 + 2048 * N for N in (128, 32768, 65536, 131072)}
    (slope,) = slopes(remembered("ours", extra), "ours")
    assert 0.9 < slope["slope"] < 1.0 and slope["sizes"] == "N 32768 to 131072 full"


def test_the_gpu_goals_compare_speeds():
    heavy = {"B": 2, "H": 32, "G": 32, "N": 8192, "dtype": "bfloat16"}
    fast = {"flash": {"forward": 1 / 1.2, "backward": 1 / 0.95}, "cudnn": {"forward": 1 / 0.9}}
    mha = {"ours_mha": {"forward": 1.0, "backward": 0.99}}
    cases = [made_up({**fast, **mha}, **heavy, D=D) for D in (64, 128)]
    assert verdicts(gpu_goals(cases)) == ["met"] * 8
    slow = {"flash": {"forward": 1 / 1.04, "backward": 1 / 0.69}}
    slow |= {"cudnn": {"forward": 1 / 0.64}, "ours_mha": {"forward": 1.1, "backward": 1.1}}
    assert verdicts(gpu_goals([made_up(slow, **heavy, D=D) for D in (64, 128)])) == ["not met"] * 8


@pytest.mark.parametrize("other", [{"N": 2048}, {"B": 1}, {"dtype": "float32"}])
def test_light_work_has_no_gpu_goal(other):
    heavy = {"B": 2, "H": 32, "G": 32, "N": 8192, "dtype": "bfloat16", **other}
    assert set(verdicts(gpu_goals([made_up({"flash": {"forward": 9.0}}, **heavy)]))) == {
        "not measured"
    }
