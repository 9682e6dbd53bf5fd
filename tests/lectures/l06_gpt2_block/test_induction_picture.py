"""The picture of heads that copy: switches, marks, and the models that come with the package."""

import itertools
import math

import numpy as np
import pytest
import torch

from lectures.l06_gpt2_block.experiments.induction import (
    CONFIG,
    LENGTH,
    induction_scores,
    repeat_loss,
    repeated_tokens,
    shifted_repeats,
)
from lectures.l06_gpt2_block.experiments.induction_runs import (
    INDUCTION_RUNS,
    load_induction_run,
)
from lectures.l06_gpt2_block.explorers.induction import (
    HEADS,
    NAMES,
    ONE,
    WITH,
    WITHOUT,
    Induction,
)

D = CONFIG.head_width
KNOWS_WHAT_IS_LEFT = math.log(math.factorial(7)) / 7  # nats, without the order


@pytest.fixture(scope="module")
def rows():
    return shifted_repeats(torch.Generator().manual_seed(71), batch=256)[0]


def chosen(**values):
    explorer = Induction()
    explorer.set(**values)
    return explorer.state


@torch.no_grad()
def shares_without(model, tokens, off):
    """The next tokens' probabilities, where what these heads mixed is zeroed on its way."""

    def silenced(layer):
        def hook(module, inputs):
            mixed = inputs[0].clone()
            for head in (head for at, head in off if at == layer):
                mixed[..., head * D : (head + 1) * D] = 0
            return (mixed,)

        return hook

    hooks = [
        block.attention.output.register_forward_pre_hook(silenced(layer))
        for layer, block in enumerate(model.blocks)
    ]
    shares = model(torch.tensor(tokens)[None])[0].softmax(dim=-1)
    for each in hooks:
        each.remove()
    return shares.numpy()


@pytest.mark.parametrize("name", INDUCTION_RUNS)
@pytest.mark.parametrize("off", [(), (0,), (3,), (1, 2), (0, 1, 2, 3)])
def test_a_head_that_is_off_writes_nothing(name, off):
    switches = {NAMES[i]: i not in off for i in range(len(HEADS))}
    state = chosen(model=name, row=3, start=5, position=13, **switches)
    model = load_induction_run(name).double()
    shares = shares_without(model, state.tokens, [HEADS[i] for i in off])
    right = [shares[t, state.tokens[t + 1]] for t in range(2 * LENGTH - 1)]
    assert np.allclose(state.expected, shares[13])
    assert np.allclose(state.right, right)
    assert state.loss == pytest.approx(-np.log(right[LENGTH:]).mean())
    whole = chosen(model=name, row=3, start=5, position=13)
    assert state.whole_loss == whole.loss
    assert (abs(state.loss - whole.loss) > 1e-9) == bool(state.off)


def test_the_marks_are_the_earlier_token_and_the_one_after_it():
    for row, start, position in itertools.product((1, 8), range(LENGTH), range(2 * LENGTH)):
        state = chosen(row=row, start=start, position=position)
        tokens = state.tokens.tolist()
        assert sorted(tokens[:LENGTH]) == sorted(tokens[LENGTH:])
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
    assert max(loss[WITH], loss[WITHOUT]) < 0.1
    assert loss[ONE] > KNOWS_WHAT_IS_LEFT
    assert models[ONE].config.num_layers == 1


@torch.no_grad()
def test_the_one_without_looks_one_token_further():
    tokens = repeated_tokens(torch.Generator().manual_seed(79), batch=256)
    heads = load_induction_run(WITHOUT).trace(tokens).heads
    queries = torch.arange(LENGTH, 2 * LENGTH - 2)
    assert heads[1].weights[:, 0, queries, queries - LENGTH + 2].mean() > 0.8
    keys = torch.arange(2, LENGTH)
    assert heads[0].weights[:, 0, keys, keys - 1].mean() > 0.6
    assert heads[0].weights[:, 1, keys, keys - 2].mean() > 0.9


def test_presets_show_what_they_say():
    presets = Induction.presets
    explorer = Induction()
    losses = {}
    for name, values in presets.items():
        explorer.set(**values)
        losses[name] = explorer.state.loss
        is_known = explorer.state.earlier >= 0
        says_right = ": right" in explorer.caption_text
        assert says_right == (is_known and losses[name] < 1), name
    assert Induction().values == presets["whole model"], "it opens with all heads on"
    for name in ("layer 1, one off", "layer 0, one off"):
        assert losses[name] > math.log(16)
    assert KNOWS_WHAT_IS_LEFT < losses["one layer"] < math.log(16)
    wrapped = chosen(**presets["copy wraps"])
    assert (wrapped.earlier, wrapped.target) == (LENGTH - 1, 0)


@torch.no_grad()
@pytest.mark.parametrize(("head", "moves_content"), [(0, True), (1, False)])
def test_in_the_one_without_one_head_has_the_content_and_one_the_address(head, moves_content):
    tokens = repeated_tokens(torch.Generator().manual_seed(83), batch=256)
    model, query = load_induction_run(WITHOUT), LENGTH + 2
    place, other = query - LENGTH + 2, 6  # two after the earlier occurrence; further on

    def swapped(module, inputs):
        mixed = inputs[0].clone()
        mixed[:, place, head * D : (head + 1) * D] = inputs[0][:, other, head * D : (head + 1) * D]
        return (mixed,)

    model.blocks[0].attention.output.register_forward_pre_hook(swapped)
    found = model.trace(tokens).heads[1].weights[:, 0, query, place].mean()
    copied = model(tokens)[:, query].argmax(dim=-1) == tokens[:, other - 1]
    if moves_content:  # it is still found, and what is copied is the other place's
        assert found > 0.6 and copied.float().mean() > 0.6
    else:
        assert found < 0.3
