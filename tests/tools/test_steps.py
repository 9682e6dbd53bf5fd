"""One step of a longer job: when it is stopped, with all it has started, and what it may say."""

import os
import signal
import sys
from functools import partial
from types import SimpleNamespace

import pytest

from tests.core.support_steps import hear
from tools.setup.steps import Outcome, Runner, finish, stop

STUBBORN = """
import fcntl, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
if len(sys.argv) > 1:
    subprocess.Popen([sys.executable, __file__])
    print("parent started", flush=True)
else:
    held = open("lock", "w")
    fcntl.flock(held, fcntl.LOCK_EX)
    print("child started", flush=True)
time.sleep(120)
open("survived", "w")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no process groups to kill")
def test_a_step_over_its_limit_is_killed_with_all_it_has_started(tmp_path, monkeypatch):
    import fcntl

    monkeypatch.setattr("tools.setup.steps.GRACE", 0.1)
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    command = [sys.executable, str(tmp_path / "stubborn.py"), "parent"]
    log = tmp_path / "log"
    process = Runner(tmp_path, dict(os.environ)).start(command, log)
    for who in ("parent", "child"):
        hear(process, log, f"{who} started")
    outcome = finish([process], 0.1)
    assert outcome.timed_out and not outcome.worked and outcome.status == -9
    assert sorted(log.read_text().splitlines()) == ["child started", "parent started"]
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given up by the child only when it ends
    assert not (tmp_path / "survived").exists()


@pytest.mark.skipif(os.name == "nt", reason="on Windows a step is ended without being asked")
@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
def test_a_step_over_its_limit_may_write_down_how_far_it_came(tmp_path, request, handler):
    """Also where a shell runs all of it in the background, for which Ctrl-C is ignored."""
    request.addfinalizer(partial(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)))
    signal.signal(signal.SIGINT, handler)
    code = (
        "import time\ntry:\n    print('begun', flush=True); time.sleep(120)\n"
        "except KeyboardInterrupt:\n    print('half done')\n"
    )
    runner, log = Runner(tmp_path, dict(os.environ)), tmp_path / "log"
    outcome = finish([hear(runner.start([sys.executable, "-c", code], log), log, "begun")], 0.1)
    assert outcome.timed_out and log.read_text() == "begun\nhalf done\n"


def test_a_step_that_is_interrupted_is_ended_as_well(monkeypatch):
    ended = []
    process = SimpleNamespace(returncode=None, wait=lambda timeout: 1 / 0)
    monkeypatch.setattr("tools.setup.steps.stop", lambda some, grace: ended.extend(some))
    with pytest.raises(ZeroDivisionError):
        finish([process], 1)
    assert ended == [process]


def test_steps_over_their_limit_are_all_asked_before_any_is_waited_for(monkeypatch):
    """So that they share one time of grace."""
    done = []
    monkeypatch.setattr(
        "tools.setup.steps.send", lambda process, what: done.append((what, process))
    )
    monkeypatch.setattr(
        "tools.setup.steps.ended", lambda process, end: done.append(("wait", process))
    )
    step = partial(SimpleNamespace, poll=lambda: None, wait=lambda: 0)
    first, second = step(name="first"), step(name="second")
    stop([first, second], 1.0)
    asked, waited = (signal.SIGINT, "wait")
    assert done[:4] == [(asked, first), (asked, second), (waited, first), (waited, second)]
    assert [process for _, process in done[4:]] == [first, second]


def test_only_a_step_that_ends_well_has_worked():
    assert Outcome(0, False, 1.0).worked
    assert not Outcome(1, False, 1.0).worked and not Outcome(0, True, 1.0).worked
