"""GPT-2: part by part the model of transformers; its sizes, its cache, its two attentions."""

import pytest
import torch
from torch.nn import functional

from course_utils.layers import KVCache
from course_utils.models.gpt2 import ATTENTIONS, GPT2, GPT2Config
from course_utils.models.gpt2_weights import load_gpt2
from tests.core.support_gpt2 import CLOSE, SIZES, D, F, H, L, P, V, ours, some_ids, theirs

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


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_each_state_as_transformers(attention, reference, folder, ids):
    model = load_gpt2(folder, attention=attention)
    states, heads = model.trace(ids)
    output = reference(ids, output_hidden_states=True)
    expected = output.hidden_states
    for found, state in zip(states[:-1], expected[:-1], strict=True):
        torch.testing.assert_close(found, state, **CLOSE)
    # theirs counts the last norm as part of the last state
    torch.testing.assert_close(model.norm(states[-1]), expected[-1], **CLOSE)
    torch.testing.assert_close(model(ids), output.logits, **CLOSE)
    torch.testing.assert_close(model.logits(states[-1]), output.logits, **CLOSE)
    if attention == "flash":
        assert heads == (None,) * L
    else:
        assert [of_block.weights.shape for of_block in heads] == [(B, H, T, T)] * L
        assert [of_block.queries.shape for of_block in heads] == [(B, H, T, D)] * L


# How many numbers are learned.


@pytest.mark.parametrize("changed", [{}, {"feedforward_width": F}, {"num_layers": 5}])
def test_parameters_by_formula(changed):
    config = GPT2Config(**SIZES | changed)
    model = GPT2(config)

    def count(part):
        return sum(parameter.numel() for parameter in part.parameters())

    assert count(model) == config.parameters
    assert count(model.blocks[0]) == config.block_parameters


def test_parameters_of_the_published_model():
    with torch.device("meta"):
        model = GPT2(GPT2Config())
    assert sum(parameter.numel() for parameter in model.blocks[0].parameters()) == 7_087_872
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808


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


# What a block is made of.


def test_flash_is_the_same_model(ids):
    attend, flash = ours(), ours(attention="flash")
    torch.testing.assert_close(flash(ids), attend(ids), **CLOSE)
    for model in (attend, flash):
        functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
    for (name, one), two in zip(attend.named_parameters(), flash.parameters(), strict=True):
        torch.testing.assert_close(two.grad, one.grad, **CLOSE, msg=name)


# The cache.


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("chunks", [[1] * T, [3, 1, 2, 1], [T]])
def test_cached_steps_equal_the_full_pass(attention, chunks, ids):
    model = ours(attention=attention)
    full, caches, start = model(ids), model.new_caches(), 0
    for part in ids.split(chunks, dim=1):
        found = model(part, caches=caches)
        end = start + part.shape[1]
        torch.testing.assert_close(found, full[:, start:end], **CLOSE)
        assert [cache.length for cache in caches] == [end] * L
        start = end
    assert all(cache.max_positions == P for cache in caches)


def test_cache_passes_between_attentions(ids):
    attend, flash = ours(), ours(attention="flash")
    caches = flash.new_caches()
    flash(ids[:, :3], caches=caches)
    torch.testing.assert_close(attend(ids[:, 3:], caches=caches), attend(ids)[:, 3:], **CLOSE)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_last_position_alone(attention, ids):
    model = ours(attention=attention)
    found = model(ids, last_only=True)
    assert found.shape == (B, 1, V)
    torch.testing.assert_close(found, model(ids)[:, -1:], **CLOSE)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions(attention, dtype, ids):
    exact, model = ours().double()(ids), ours(attention=attention).to(dtype)
    found = model(ids)
    assert found.dtype == dtype
    # bfloat16 has 8 bits: 0.4 % each time, over some twenty roundings of numbers of size 1 to 4.
    atol = 1e-10 if dtype == torch.float64 else 0.3
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=atol)


# What is refused.


def filled(length, batch=1, dtype=torch.float32, **options):
    cache = KVCache(**options)
    cache.append(*torch.zeros(2, batch, H, length, D, dtype=dtype))
    return cache


IDS = some_ids(1, 3)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("later", [{"batch": 2}, {"dtype": torch.float64}, {"max_positions": 3}])
def test_a_refused_call_changes_no_cache(attention, later):
    caches = [filled(2), filled(2, **later)]
    with pytest.raises((TypeError, ValueError)):
        ours(attention=attention)(IDS, caches=caches)
    assert [cache.length for cache in caches] == [2, 2]
