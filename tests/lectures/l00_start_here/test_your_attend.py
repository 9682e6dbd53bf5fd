"""The plane on the reader's attend: what it is asked, what it answers, and what is said of that."""

import pytest
import torch

from course_utils.attention import attend
from lectures.l00_start_here.exercises.attend import no_scale, softmax_over_the_queries
from lectures.l00_start_here.explorers import explore_your_attend as YourAttend
from lectures.l00_start_here.explorers import your_attend
from lectures.l00_start_here.explorers.plane import SHORT
from tests.explorers.support_node import run_module

FAR = {**SHORT, "query": [2.4, 1.2]}
RUNS = "This runs on your `attend`: Python calls it at each move."


def shown(function, values=SHORT, asked=SHORT):
    """What the browser makes of these values, with the answer to what was asked."""
    given = YourAttend(function).given(**asked)
    path = YourAttend.compute_path().as_uri()
    return run_module(
        f'const {{ compute, caption }} = await import("{path}");\n'
        "const state = compute(told.values, told.given);\n"
        "console.log(JSON.stringify({ ...state, caption: caption(state) }));",
        {"values": values, "given": given},
    )


def formula(values):
    q, k, v = (torch.tensor(values[name]) for name in ("query", "keys", "values"))
    return [each.flatten().tolist() for each in attend(q[None], k, v)]


def test_the_right_function_draws_what_the_formula_does():
    state = shown(attend)
    out, weights = formula(SHORT)
    assert state["weights"] == pytest.approx(weights) and state["out"] == pytest.approx(out)
    assert state["says"] == RUNS and not state["trails"] and "formula" not in state
    assert "Your attend gives [k:cat] the largest weight, [b:0.66]" in state["caption"]


def test_a_wrong_function_is_shown_as_it_is_with_the_formula_beside_it():
    state = shown(no_scale)
    assert state["says"] == f"{RUNS} “cat” gets 0.74; by the formula, 0.66 (lines and ring)."
    assert "[b:0.74], and as output [v:(1.6, 1.5)]" in state["caption"]
    assert state["formula"]["weights"] == pytest.approx(formula(SHORT)[1])


def test_right_weights_with_another_output_are_told_apart():
    state = shown(lambda q, k, v: (attend(q, k, k)[0], attend(q, k, v)[1]))
    assert state["says"] == f"{RUNS} The output is (1.6, 1.1); by the formula, (1.3, 1.5) (ring)."


def test_weights_that_are_none_can_be_drawn_and_said():
    state = shown(softmax_over_the_queries)
    assert state["weights"] == [1, 1, 1] and "“it” gets 1.00; by the formula, 0.03" in state["says"]


def test_the_hand_is_ahead_of_an_answer_that_is_still_compared_with_its_own_question():
    state = shown(attend, values=FAR, asked=SHORT)
    assert state["trails"] and state["q"] == FAR["query"]
    assert state["weights"] == pytest.approx(formula(SHORT)[1])
    assert state["says"] == RUNS, "it is no mistake to be late"


def crash(q, k, v):
    raise KeyError(f"no {'such ' * 50}key")


def never_ends(q, k, v):
    while True:
        pass


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (..., "your `attend` is not written yet."),
        (lambda q, k, v, may_attend=None: ..., "your `attend` is not written yet."),
        (lambda q, k, v: None, "your `attend` is not written yet."),
        (crash, "your `attend` stops with KeyError: 'no such such"),
        (lambda q: q, "your `attend` stops with TypeError"),
        (never_ends, "your `attend` was stopped after 0.2 s."),
        (lambda q, k, v: attend(q, k, v)[0], "runs, but the function should return 2 results"),
        (lambda q, k, v: attend(q, k, v)[::-1], "runs, but `out` has shape (1, 3), expected"),
        (lambda q, k, v: (q / 0, q @ k.mT), "runs, but `out` is infinite"),
    ],
)
def test_where_there_is_no_answer_the_page_computes_and_says_why(monkeypatch, function, says):
    monkeypatch.setattr(your_attend, "SECONDS", 0.2)
    state = shown(function)
    assert state["says"].startswith("The page computes: your `attend`") and says in state["says"]
    assert len(state["says"]) < 240
    assert state["weights"] == pytest.approx(formula(SHORT)[1])
    assert "highest score" in state["caption"]


def test_each_move_asks_once_with_the_arrows_of_the_picture():
    asked = []

    def noted(q, k, v, may_attend=None):
        asked.append((q, k, v))
        return attend(q, k, v)

    explorer = YourAttend(noted)
    widget = explorer.widget()
    asked.clear()
    widget.values = {**explorer.values, "query": [2.4, 1.2]}
    ((q, k, v),) = asked
    assert torch.equal(q, torch.tensor([[2.4, 1.2]]))
    assert torch.equal(k, torch.tensor(SHORT["keys"])) and torch.equal(
        v, torch.tensor(SHORT["values"])
    )
    assert widget.given["data"]["yours"]["weights"] == pytest.approx(formula(FAR)[1])
    explorer.close()


def test_a_page_without_a_kernel_asks_nobody():
    page = YourAttend(attend).page_data()
    assert page["spec"]["served"] == [] and page["given"]["for"] == {}
    assert page["given"]["data"] == {"yours": {"problem": your_attend.NO_KERNEL}}
