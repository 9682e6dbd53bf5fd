"""GPT-2: part by part the model of transformers, and its sizes. Its cache: test_grouped.py."""

import pytest
import torch

from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.models.gpt2_weights import load_gpt2
from tests.core.support_gpt2 import CLOSE, D, F, H, L, P, V, ours, some_ids, theirs

B, T = 2, 7


@pytest.fixture(scope="module")
def reference():
    return theirs()


@pytest.fixture(scope="module")
def folder(reference, tmp_path_factory):
    """The reference's weights."""
    folder = tmp_path_factory.mktemp("gpt2")
    reference.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def ids():
    return some_ids(B, T)


@pytest.mark.parametrize("changed", [{"n_inner": F}, {"layer_norm_epsilon": 0.1}, {"n_layer": 3}])
def test_other_sizes_too(changed, tmp_path, ids):
    reference = theirs(**changed)
    reference.save_pretrained(tmp_path)
    found = load_gpt2(tmp_path)(ids)
    torch.testing.assert_close(found, reference(ids).logits, **CLOSE)


def test_each_state_as_transformers(reference, folder, ids):
    model = load_gpt2(folder)
    states, heads = model.trace(ids)
    output = reference(ids, output_hidden_states=True)
    expected = output.hidden_states
    for found, state in zip(states[:-1], expected[:-1], strict=True):
        torch.testing.assert_close(found, state, **CLOSE)
    # theirs counts the last norm as part of the last state
    torch.testing.assert_close(model.norm(states[-1]), expected[-1], **CLOSE)
    torch.testing.assert_close(model(ids), output.logits, **CLOSE)
    torch.testing.assert_close(model.logits(states[-1]), output.logits, **CLOSE)
    assert [of_block.weights.shape for of_block in heads] == [(B, H, T, T)] * L
    assert [of_block.queries.shape for of_block in heads] == [(B, H, T, D)] * L


def test_tied_output_layer(ids):
    model = ours()
    unseen = (set(range(V)) - set(ids.flatten().tolist())).pop()
    before = model(ids)
    model(ids).sum().backward()
    assert model.tokens.weight.grad[unseen].abs().max() > 0
    with torch.no_grad():
        model.tokens.weight[unseen] += 1
    changed = (model(ids) - before).abs().amax(dim=(0, 1)) > 1e-5
    assert changed.nonzero().flatten().tolist() == [unseen]


def test_initial_weights():
    model = GPT2(GPT2Config(vocab_size=211, max_positions=101, width=96, num_layers=3, num_heads=2))
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert bool((parameter == 0).all())
        elif "norm" in name:
            assert bool((parameter == 1).all())
        else:
            added = name.endswith(("attention.output.weight", "feedforward.contract.weight"))
            expected = 0.02 / 6**0.5 if added else 0.02
            # At least 9216 numbers each: the estimate is off by 0.8 %, five of those at most.
            assert abs(parameter.std().item() / expected - 1) < 0.04, name


def test_last_position_alone(ids):
    model = ours()
    found = model(ids, last_only=True)
    assert found.shape == (B, 1, V)
    torch.testing.assert_close(found, model(ids)[:, -1:], **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions(dtype, ids):
    exact, model = ours().double()(ids), ours().to(dtype)
    found = model(ids)
    assert found.dtype == dtype
    # bfloat16 has 8 bits: 0.4 % each time, over some twenty roundings of numbers of size 1 to 4.
    atol = 1e-10 if dtype == torch.float64 else 0.3
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=atol)


def test_a_text_that_is_too_long():
    model, caches = ours(), ours().new_caches()
    model(some_ids(1, P - 1), caches=caches)
    with pytest.raises(ValueError, match=f"{P + 1}"):
        model(some_ids(1, 2), caches=caches)
    assert [cache.length for cache in caches] == [P - 1] * L


@pytest.mark.parametrize("wrong", [-1, V])
def test_an_unknown_id(wrong):
    with pytest.raises(ValueError, match=f"{wrong}"):
        ours()(torch.full((1, 3), wrong))
