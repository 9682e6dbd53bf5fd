"""Programs timed in turn: the order of the runs, and what is left out."""

from lectures.l08_flash_attention_tiling.experiments import time_in_turn


def test_runs_take_turns_and_the_first_is_left_out():
    calls = []
    programs = {name: lambda name=name: calls.append(name) for name in ("a", "b", "c")}
    times = time_in_turn(programs, runs=2)
    assert calls == ["a", "b", "c"] * 3
    assert list(times) == ["a", "b", "c"]
    assert all(seconds.shape == (2,) and (seconds >= 0).all() for seconds in times.values())
