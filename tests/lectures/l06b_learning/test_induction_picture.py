"""The picture of heads that copy: switches, marks, and the models that come with the package."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
import torch

from course_utils.threads import one_thread
from lectures.l06b_learning.experiments.induction import (
    LENGTH,
    induction_scores,
    repeat_loss,
    repeated_tokens,
    shifted_repeats,
)
from lectures.l06b_learning.experiments.induction_runs import (
    INDUCTION_RUNS,
    load_induction_run,
)
from lectures.l06b_learning.explorers.induction import (
    HEADS,
    NAMES,
    ONE,
    WITH,
    WITHOUT,
    Induction,
)
from tests.explorers.support_browser import InBrowser, differences


@pytest.fixture(scope="module")
def rows():
    return shifted_repeats(torch.Generator().manual_seed(71), batch=256)[0]


@pytest.fixture(scope="module")
def picture():
    with InBrowser(Induction()) as found:
        yield found


@cache
def loaded(name):
    """One of the trained models, in 64 bits as in the browser."""
    return load_induction_run(name).double()


@cache
def all_rows():
    """Each prepared row with its copy from each start on (rows, starts, 16)."""
    rows = Induction().given()["rows"]
    copies = np.stack([np.roll(rows, -start, axis=1) for start in range(LENGTH)], axis=1)
    return np.concatenate([np.broadcast_to(rows[:, None], copies.shape), copies], axis=2)


@cache
@one_thread()
@torch.no_grad()
def run_without(name, off, feedforward=True):
    """Maps and next probabilities of all rows, where what these heads mixed is zeroed on its way.

    Without `feedforward` what the feed-forward parts give is zeroed, too.

    Maps are (rows, starts, heads, 16, 16), probabilities (rows, starts, 16, 16).
    """

    def silenced(layer):
        def hook(module, inputs):
            mixed = inputs[0].clone()
            for head in (head for at, head in off if at == layer):
                mixed[..., head * D : (head + 1) * D] = 0
            return (mixed,)

        return hook

    model = loaded(name)
    D = model.config.head_width
    hooks = [
        block.attention.output.register_forward_pre_hook(silenced(layer))
        for layer, block in enumerate(model.blocks)
    ]
    if not feedforward:
        hooks += [
            block.feedforward.register_forward_hook(lambda part, inputs, out: torch.zeros_like(out))
            for block in model.blocks
        ]
    tokens = torch.from_numpy(all_rows()).long()
    trace = model.trace(tokens.flatten(0, 1))
    shares = model.logits(trace.hidden_states[-1]).softmax(dim=-1)
    for each in hooks:
        each.remove()
    maps = torch.cat([each.weights for each in trace.heads], dim=1)
    return [each.unflatten(0, tokens.shape[:2]).numpy() for each in (maps, shares)]


def by_torch(model, row, start, position, feedforward, **switches):
    heads = HEADS[: 2 * len(loaded(model).blocks)]
    off = tuple(each for each in heads if not switches[NAMES[HEADS.index(each)]])
    tokens, at = all_rows()[row - 1, start], (row - 1, start)
    maps, shares = (each[at] for each in run_without(model, off, feedforward))
    whole = run_without(model, ())[1][at]
    right, whole_right = (each[np.arange(15), tokens[1:]] for each in (shares, whole))
    return {
        "tokens": tokens,
        "heads": heads,
        "off": off,
        "feedforward": feedforward,
        "weights": maps[:, position],
        "expected": shares[position],
        "right": right,
        "loss": -np.log(right[LENGTH:]).mean(),
        "whole_loss": -np.log(whole_right[LENGTH:]).mean(),
    }


def test_a_head_that_is_off_writes_nothing(picture):
    assert differences(picture, by_torch) == []


@pytest.mark.parametrize("name", INDUCTION_RUNS)
@pytest.mark.parametrize("off", [(), (0,), (3,), (1, 2), (0, 1, 2, 3)])
def test_several_heads_off(picture, name, off):
    values = {**picture.explorer.values, "model": name, "row": 3, "start": 5, "position": 13}
    values |= {NAMES[i]: False for i in off}
    state = picture.compute(**values)
    for field, expected in by_torch(**values).items():
        assert np.allclose(np.ravel(getattr(state, field)), np.ravel(expected)), field
    assert (abs(state.loss - state.whole_loss) > 1e-9) == (len(state.off) > 0)


def test_the_marks_are_the_earlier_token_and_the_one_after_it(picture):
    places = itertools.product((1, 8), range(LENGTH), range(2 * LENGTH))
    asked = [dict(zip(("row", "start", "position"), each, strict=True)) for each in places]
    for values, state in zip(asked, picture.states(asked), strict=True):
        tokens, position = state.tokens.tolist(), values["position"]
        assert sorted(tokens[:LENGTH]) == sorted(tokens[LENGTH:])
        assert state.truth == (tokens[position + 1] if position < 2 * LENGTH - 1 else -1)
        if position < LENGTH:
            assert (state.earlier, state.target) == (-1, -1)
            continue
        assert tokens[state.earlier] == tokens[position]
        assert state.target == (state.earlier + 1) % LENGTH
        assert state.truth == (tokens[state.target] if position < 2 * LENGTH - 1 else -1)


@torch.no_grad()
def test_the_models_are_what_their_names_say(rows):
    front = repeated_tokens(torch.Generator().manual_seed(73), batch=256)
    models = {name: load_induction_run(name) for name in INDUCTION_RUNS}
    loss = {name: float(repeat_loss(model, rows)) for name, model in models.items()}
    score = {name: float(induction_scores(model, front).max()) for name, model in models.items()}
    assert score[WITH] > 0.9
    assert score[WITHOUT] < 0.2
    assert max(loss.values()) < 0.1
    assert models[ONE].config.num_layers == 1 and score[ONE] < 0.2


@torch.no_grad()
def test_the_one_without_looks_one_token_further():
    tokens = repeated_tokens(torch.Generator().manual_seed(79), batch=256)
    heads = load_induction_run(WITHOUT).trace(tokens).heads
    queries = torch.arange(LENGTH, 2 * LENGTH - 2)
    assert heads[1].weights[:, 0, queries, queries - LENGTH + 2].mean() > 0.8
    keys = torch.arange(2, LENGTH)
    assert heads[0].weights[:, 0, keys, keys - 1].mean() > 0.6
    assert heads[0].weights[:, 1, keys, keys - 2].mean() > 0.9


def test_presets_show_what_they_say(picture):
    presets = Induction.presets
    states = dict(zip(presets, picture.states(presets.values()), strict=True))
    for name, state in states.items():
        says_right = ": right" in state.words
        assert says_right == (state.earlier >= 0 and state.loss < 1), name
    assert Induction().values == presets["whole model"], "it opens with all heads on"
    for name in ("layer 1, one off", "layer 0, one off"):
        assert states[name].loss > math.log(16)
    assert states["one layer"].loss < 0.1
    assert states["no feed-forward"].loss > math.log(16)
    wrapped = states["copy wraps"]
    assert (wrapped.earlier, wrapped.target) == (LENGTH - 1, 0)


def test_what_is_off_in_words(picture):
    off = [(0,), (0, 1), (1, 2), (0, 1, 3), (0, 1, 2, 3)]
    states = picture.states([{NAMES[i]: False for i in each} for each in off])
    said = ["layer 0's head 0", "both heads of layer 0", "2 of its 4 heads", "3 of its 4 heads"]
    for state, words in zip(states, [*said, "any head"], strict=True):
        assert state.words.startswith(f"Without {words}, after the second ")


@torch.no_grad()
@pytest.mark.parametrize(("head", "moves_content"), [(0, True), (1, False)])
def test_in_the_one_without_one_head_has_the_content_and_one_the_address(head, moves_content):
    tokens = repeated_tokens(torch.Generator().manual_seed(83), batch=256)
    model, query = load_induction_run(WITHOUT), LENGTH + 2
    D = model.config.head_width
    mine = slice(head * D, (head + 1) * D)
    place, other = query - LENGTH + 2, 6  # two after the earlier occurrence; further on

    def swapped(module, inputs):
        mixed = inputs[0].clone()
        mixed[:, place, mine] = inputs[0][:, other, mine]
        return (mixed,)

    model.blocks[0].attention.output.register_forward_pre_hook(swapped)
    found = model.trace(tokens).heads[1].weights[:, 0, query, place].mean()
    copied = model(tokens)[:, query].argmax(dim=-1) == tokens[:, other - 1]
    if moves_content:  # it is still found, and what is copied is the other place's
        assert found > 0.6 and copied.float().mean() > 0.6
    else:
        assert found < 0.3
