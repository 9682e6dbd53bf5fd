"""Lecture 06's picture of a block: its costs are those of the tensors and of a run."""

from functools import cache

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_utils.models.gpt2 import GPT2Block, GPT2Config
from course_utils.models.story_gpt import STORY_GPT
from lectures.l06_gpt2_block.explorers.block import MODELS, PARTS, SMALL, TOKENS, Block
from tests.explorers.support_browser import InBrowser, differences

PRIMES = GPT2Config(vocab_size=7, max_positions=19, width=15, num_heads=5, feedforward_width=23)
TENSORS = {
    "LN₁": "attention_norm", "W_Q": "attention.query", "W_K": "attention.key",
    "W_V": "attention.value", "W_O": "attention.output", "LN₂": "feedforward_norm",
    "W₁": "feedforward.expand", "W₂": "feedforward.contract",
}  # fmt: skip


@pytest.fixture(scope="module")
def block():
    with InBrowser(Block()) as found:
        yield found


@cache
def tensors_of(config):
    """The shapes of the tensors of each part that has any."""
    with torch.device("meta"):
        made = GPT2Block(config)
    return {
        part: [each.shape for each in made.get_submodule(name).parameters()]
        for part, name in TENSORS.items()
    }


def of_the_tensors(model, tokens, part, shares):
    """Parameters as there are in the block; two FLOPs for each and token, where it is a matrix."""
    config = MODELS[model]
    T, C, H = tokens, config.width, config.num_heads
    tensors = tensors_of(config)
    parameters = [sum(each.numel() for each in tensors.get(part, ())) for part in PARTS]
    matrices = {name: [each for each in tensors.get(name, ()) if len(each) == 2] for name in PARTS}
    flops = [2 * T * sum(each.numel() for each in matrices[name]) for name in PARTS]
    for name in ("scores", "mix"):
        flops[PARTS.index(name)] = 2 * T * T * C
    return {
        "parameters": parameters,
        "all_parameters": config.block_parameters,
        "flops": flops,
        "all_flops": sum(flops),
        "stream": (T, C),
        "per_head": (H, T, C // H),
        "pairs": (H, T, T),
        "wide": (T, config.hidden),
        "context": config.max_positions,
    }


def test_costs_of_a_blocks_parts_are_its_tensors(block):
    assert differences(block, of_the_tensors) == []


def test_sizes_of_the_models_are_the_published(block):
    known = {
        "GPT-2": 124_439_808, "GPT-2 medium": 354_823_168, "GPT-2 large": 774_030_080,
        "GPT-2 XL": 1_557_611_200,
    }  # fmt: skip
    assert {name: MODELS[name].parameters for name in known} == known
    assert block.compute().all_parameters == 7_087_872
    assert MODELS["our story GPT"] == STORY_GPT


@torch.no_grad()
def test_flops_and_shapes_of_a_block_are_those_of_a_run(monkeypatch):
    """Counted by torch, for sizes of which no two are equal."""
    T, shapes = 17, {}
    made, counter = GPT2Block(PRIMES), FlopCounterMode(display=False)
    for part, name in TENSORS.items():
        made.get_submodule(name).register_forward_hook(
            lambda _, inputs, out, part=part: shapes.update(
                {part: [list(inputs[0].shape[1:]), list(out.shape[1:])]}
            )
        )
    with counter:
        _, heads = made(torch.randn(1, T, PRIMES.width))
    monkeypatch.setitem(MODELS, SMALL, PRIMES)
    with InBrowser(Block()) as primes:
        state = primes.compute(tokens=T)
    flops = dict(zip(PARTS, state.flops.tolist(), strict=True))
    stream, per_head, pairs, wide = (
        each.tolist() for each in (state.stream, state.per_head, state.pairs, state.wide)
    )
    assert state.all_parameters == sum(each.numel() for each in made.parameters())
    assert state.all_flops == counter.get_total_flops()
    linear = counter.get_flop_counts()
    for part, name in TENSORS.items():
        assert flops[part] == sum(linear.get(f"GPT2Block.{name}", {}).values()), part
    assert flops["scores"] == flops["mix"] == 2 * T * T * PRIMES.width
    assert shapes["W_Q"] == [stream, stream] and [T, per_head[0] * per_head[2]] == stream
    assert shapes["W₁"] == [stream, wide] and shapes["W₂"] == [wide, stream]
    assert list(heads.weights.shape) == [1, *pairs]


@pytest.mark.parametrize("model", MODELS)
def test_scores_and_mix_overtake_the_feedforward_part_at_four_widths(block, model):
    equal = block.compute(model=model).equal_at
    assert equal == 4 * MODELS[model].width

    def lead(state):
        flops = dict(zip(PARTS, state.flops, strict=True))
        return flops["scores"] + flops["mix"] - flops["W₁"] - flops["W₂"]

    places = (equal - 1, equal, equal + 1)
    before, at, after = block.states([{"model": model, "tokens": each} for each in places])
    assert lead(before) < lead(at) == 0 < lead(after)
    assert TOKENS[0] < equal < TOKENS[-1], "the slider reaches both sides"


def test_nothing_of_a_blocks_shares_is_said_before_they_are_asked_for(block):
    for part in PARTS:
        covered, shown = block.states([{"part": part, "shares": each} for each in (False, True)])
        assert "%" not in covered.words
        has_cost = "No parameters, no matrix product." not in shown.words
        assert ("%" in shown.words) is has_cost
    assert Block().values["shares"] is False


@pytest.mark.parametrize(
    ("part", "tokens", "said"),
    [
        ("LN₁", 64, "1,536 parameters, 0.02 % of the block; no matrix product."),
        ("W_Q", 64, "590,592 parameters, 8.3 % of the block; 75.5 MFLOP, 8.2 %."),
        ("W_Q", 1024, "makes the queries: (1,024, 768) to (12, 1,024, 64)."),
        ("W₁", 1024, "2,362,368 parameters, 33 % of the block; 4.83 GFLOP, 27 %."),
    ],
)
def test_costs_in_words(block, part, tokens, said):
    state = block.compute(part=part, tokens=tokens, shares=True)
    assert said in state.words.replace("\N{NO-BREAK SPACE}", " ")
