"""Bad input, everywhere: each public callable refuses it by name, with the rule and what came.

The tables stand in support_bad_*.py. A new public function without a row fails here.
"""

import importlib

import pytest
import torch

from course_utils.attention import attend, top_k_attend
from tests.core import (
    support_bad_core,
    support_bad_gpt2,
    support_bad_layers,
    support_bad_leaks,
    support_bad_models,
    support_bad_moe,
    support_bad_positions,
    support_bad_sampling,
    support_bad_text,
    support_bad_training,
)
from tests.core.support_bad_input import Bad, Case, complaint, takes_input
from tests.explorers import support_bad_viz
from tests.lectures.l02_softmax import support_bad_scaling, support_bad_viz_02
from tests.lectures.l03_heads import support_bad_dates, support_bad_heads
from tests.lectures.l04_positions import support_bad_recall, support_bad_viz_04
from tests.lectures.l05_causal_mask import support_bad_viz_05
from tests.lectures.l06_gpt2_block import (
    support_bad_induction,
    support_bad_norms,
    support_bad_symbols,
    support_bad_viz_06,
)

MODULES = (
    "shapes",
    "checks",
    "masks",
    "attention",
    "costs",
    "leaks",
    "positions.rotary",
    "positions.sinusoids",
    "positions.alibi",
    "positions.inputs",
    "sampling",
    "peak_memory",
    "kernel_regression",
    "score_samples",
    "word_drift",
    "estimates",
    "head_pruning",
    "head_roles",
    "training",
    "tasks_dates",
    "copying",
    "tasks_recall",
    "tasks_scaling",
    "tasks_text",
    "tasks_norms",
    "tasks_induction",
    "tasks_sizes",
    "ablation",
    "scaling_law",
    "signal_noise",
    "tokens",
    "packaged",
    "symbols",
    "memory_probe",
    # The others of kernels get what flash_attend or trace_tiles has checked.
    "kernels.dispatch",
    "kernels.inputs",
    "kernels.merge",
    "kernels.trace",
    "layers.attention",
    "layers.blocks",
    "layers.cache",
    "layers.checks",
    "layers.feedforward",
    "layers.gqa",
    "layers.heads",
    "layers.lora",
    "layers.mod",
    "layers.moe",
    "layers.moe_routing",
    "layers.norm",
    "layers.position_schemes",
    "layers.pruning",
    "layers.soft_moe",
    "layers.squeeze_excitation",
    "models.causal_lm",
    "models.checks",
    "models.depth_lm",
    "models.generation",
    "models.gpt2",
    "models.gpt2_weights",
    "models.grouped",
    "models.encoder",
    "models.minilm",
    "models.published_gpt2",
    "models.stand_in",
    "viz.checks",
    "viz.draw",
    "viz.figures_00",
    "viz.figures_01",
    "viz.figures_02",
    "viz.figures_03",
    "viz.figures_04",
    "viz.figures_05",
    "viz.figures_06",
    "viz.png",
    "viz.inputs",
    "viz.show",
)
# What takes no input from a reader, and why.
RESULTS = "it holds a result; a reader gets it from a function that checks"
PROTOCOL = "a protocol: its methods are those of the controls"
EXEMPT = {
    "kernel_regression.RegressionData": RESULTS,
    "word_drift.Drift": RESULTS,
    "head_pruning.PruningMap": RESULTS,
    "training.Training": RESULTS,
    "scaling_law.PowerLaw": RESULTS,
    "symbols.SymbolRow": RESULTS,
    "symbols.SymbolTable": RESULTS,
    "layers.position_schemes.Rotary.bias": "it returns None, whatever comes",
    "layers.position_schemes.Alibi.turn": "it returns x as it came",
    "models.minilm.Reading": RESULTS,
    "viz.inputs.Input": PROTOCOL,
    "viz.inputs.Input.check": PROTOCOL,
    "viz.inputs.Input.sample": PROTOCOL,
    "viz.draw.HeatMap.draw": "matplotlib calls it, with its own renderer",
    "viz.draw.HeatMap.set": "matplotlib makes it for every artist",
}
LISTED = [
    *support_bad_core.CASES,
    *support_bad_dates.CASES,
    *support_bad_layers.CASES,
    *support_bad_models.CASES,
    *support_bad_gpt2.CASES,
    *support_bad_heads.CASES,
    *support_bad_induction.CASES,
    *support_bad_leaks.CASES,
    *support_bad_moe.CASES,
    *support_bad_norms.CASES,
    *support_bad_positions.CASES,
    *support_bad_recall.CASES,
    *support_bad_sampling.CASES,
    *support_bad_scaling.CASES,
    *support_bad_symbols.CASES,
    *support_bad_text.CASES,
    *support_bad_training.CASES,
    *support_bad_viz_02.CASES,
    *support_bad_viz_04.CASES,
    *support_bad_viz_05.CASES,
    *support_bad_viz_06.CASES,
    *support_bad_viz.CASES,
]
CASES = {case.name: case for case in LISTED}


@pytest.fixture(autouse=True)
def nowhere_to_display(monkeypatch):
    """`show` hands its picture to a notebook; here there is none."""
    monkeypatch.setattr(
        importlib.import_module("course_utils.explorers.show"), "display", lambda *_, **__: None
    )


@pytest.mark.parametrize("name", CASES)
def test_what_the_table_calls_good_is_taken(name):
    case = CASES[name]
    case.call(**case.good)
    assert case.bad and all(bad.types or bad.values for bad in case.bad.values())


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_by_name_and_with_what_came(name):
    case = CASES[name]
    complaints = [complaint(case, *attempt) for attempt in case.attempts()]
    assert [text for text in complaints if text] == []


def test_every_public_callable_that_takes_input_has_a_row():
    public = {
        f"{name}.{thing}"
        for name in MODULES
        for thing in takes_input(importlib.import_module(f"course_utils.{name}"))
    }
    assert len(public) > 80
    assert public - EXEMPT.keys() == CASES.keys()
    assert EXEMPT.keys() <= public
    assert len(CASES) == len(LISTED), "two rows have one name"


def refuse(error, text):
    def call(width):
        raise error(text)

    return call


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda width: None, "was accepted"),
        (refuse(RuntimeError, "mat1 and mat2"), "raised RuntimeError"),
        (refuse(TypeError, "width must be at least 1, got -7"), "raised TypeError"),
        (refuse(ValueError, "it must be at least 1, got -7"), "does not name width"),
        (refuse(ValueError, "width must be at least 1, got less"), "does not say what came"),
        (refuse(ValueError, "width must be at least 1, got -7"), None),
    ],
)
def test_a_refusal_that_falls_short_is_noticed(call, expected):
    case = Case("planted", call, {"width": 3}, {"width": Bad((), (-7,))})
    found = complaint(case, "width", ValueError, -7)
    assert found is None if expected is None else found.startswith(expected)


# A number that is NaN or infinite inside a tensor is no wrong input: it has to show in the result.

Q, K, V = torch.ones(2, 1), torch.tensor([[1.0], [2.0], [3.0], [5.0], [7.0]]), torch.eye(5)
HIDDEN = torch.tensor([[True, True, True, True, False]])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("k_keep", [1, 2, 5])
@pytest.mark.parametrize("may_attend", [None, HIDDEN])
def test_a_score_without_a_rank_leaves_no_finite_weight_among_the_allowed(bad, k_keep, may_attend):
    k = K.clone()
    k[1] = bad
    for attention in (attend, lambda *a, **kw: top_k_attend(*a, k_keep=k_keep, **kw)):
        out, weights = attention(Q, k, V, may_attend=may_attend)
        allowed = torch.ones(5, dtype=torch.bool) if may_attend is None else may_attend[0]
        assert weights[:, allowed].isnan().all()
        assert bool((weights[:, ~allowed] == 0).all())
        assert out.isnan().any(dim=-1).all()


def test_only_the_row_that_holds_it_is_lost():
    q = torch.tensor([[1.0], [float("nan")]])
    out, weights = top_k_attend(q, K, V, k_keep=2)
    assert weights[1].isnan().all() and out[1].isnan().all()
    assert weights[0].isfinite().all() and int((weights[0] > 0).sum()) == 2


def test_a_score_that_may_not_be_read_does_no_harm():
    k = K.clone()
    k[4] = float("nan")
    _, weights = top_k_attend(Q, k, V[:, :4], k_keep=2, may_attend=HIDDEN)
    assert weights.isfinite().all() and bool((weights[:, 2:4] > 0).all())
