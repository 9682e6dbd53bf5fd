"""The small causal model: no leak, a cache that changes nothing, six ways to bring in order."""

import pytest
import torch
from support_errors import raises_saying
from torch.nn import functional as F

from course_utils.layers import KVCache, Rotary
from course_utils.masks import causal_mask
from course_utils.models.causal_lm import POSITIONS, CausalLM, CausalLMConfig
from course_utils.training import train

B, T, V, C, H, LONGEST = 2, 7, 31, 12, 3, 13
STRETCHED = "rope, stretched"
SCHEMES = (*POSITIONS, STRETCHED)
# Two float32 paths through two blocks; logits are of size 1.
CLOSE = {"rtol": 0, "atol": 1e-5}


def build(scheme="learned", **changed) -> CausalLM:
    sizes = {"vocab_size": V, "width": C, "num_layers": 2, "num_heads": H} | changed
    positions = "rope" if scheme == STRETCHED else scheme
    model = CausalLM(CausalLMConfig(**sizes, max_positions=LONGEST, positions=positions))
    if scheme == STRETCHED:
        model.set_rotary(Rotary(interpolation=3, ntk=2))
    return model


@pytest.fixture
def token_ids():
    return torch.randint(V, (B, T), generator=torch.Generator().manual_seed(1))


def reach(model, token_ids, **options):
    """How much each output depends on each token's vector: (T, T), by autograd."""
    vectors = model.tokens.weight[token_ids].detach().requires_grad_()
    model.tokens.forward = lambda ids: vectors
    logits = model(token_ids, **options)
    rows = [
        torch.autograd.grad(logits[:, t].square().sum(), vectors, retain_graph=True)[0]
        for t in range(token_ids.shape[1])
    ]
    return torch.stack([row.abs().sum(dim=(0, 2)) for row in rows])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_output_depends_on_a_later_token(scheme, token_ids):
    found = reach(build(scheme), token_ids)
    allowed = causal_mask(T)
    assert bool((found[~allowed] == 0).all())
    assert bool((found[allowed] > 0).all())


def test_the_same_look_catches_a_mask_that_is_off_by_one(token_ids):
    leaky = torch.ones(T, T, dtype=torch.bool).tril(1)
    found = reach(build(), token_ids, may_attend=leaky)
    assert bool((found.diagonal(1) > 0).all())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("chunks", [[1] * T, [3, 1, 2, 1], [T]])
def test_with_caches_every_step_equals_the_full_pass(scheme, chunks, token_ids):
    model = build(scheme)
    full, caches = model(token_ids), model.new_caches()
    start = 0
    for part in token_ids.split(chunks, dim=1):
        found = model(part, caches=caches)
        end = start + part.shape[1]
        torch.testing.assert_close(found, full[:, start:end], **CLOSE)
        assert [cache.length for cache in caches] == [end] * 2
        start = end


def test_without_gradients_too_where_the_cache_keeps_room(token_ids):
    model = build("rope")
    with torch.no_grad():
        caches = model.new_caches()
        parts = [model(part, caches=caches) for part in token_ids.split(1, dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(token_ids), **CLOSE)


def test_a_step_that_starts_again_at_position_0_would_be_noticed(token_ids):
    """The same keys and values, but the newest token at a wrong place."""
    for scheme in ("learned", "sinusoidal"):
        model = build(scheme)
        expected, caches = model(token_ids)[:, -1:], model.new_caches()
        model(token_ids[:, :-1], caches=caches)
        with torch.no_grad():
            model.positions.copy_(model.positions.roll(LONGEST - T + 1, dims=0))
        found = model(token_ids[:, -1:], caches=caches)
        assert (found - expected).abs().max() > 1e-2


def last_logits(scheme, token_ids):
    return build(scheme, num_layers=1)(token_ids)[:, -1]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_matters_to_all_but_the_model_without_positions(scheme, token_ids):
    """One layer: with two, a causal mask alone tells tokens' places apart."""
    torch.manual_seed(3)
    first = last_logits(scheme, token_ids)
    shuffled = token_ids.clone()
    shuffled[:, :-1] = token_ids[:, :-1].flip(1)
    torch.manual_seed(3)
    second = last_logits(scheme, shuffled)
    if scheme == "none":
        torch.testing.assert_close(first, second, **CLOSE)
    else:
        assert (first - second).abs().max() > 1e-3


def test_two_layers_tell_order_by_the_mask_alone(token_ids):
    model, shuffled = build("none"), token_ids.clone()
    shuffled[:, :-1] = token_ids[:, :-1].flip(1)
    assert (model(token_ids) - model(shuffled))[:, -1].abs().max() > 1e-3


@pytest.mark.parametrize("scheme", ["rope", "alibi", STRETCHED])
def test_relative_schemes_do_not_see_where_the_sequence_starts(scheme, token_ids):
    """The same tokens behind others that no one may read."""
    model = build(scheme)
    before = torch.randint(V, (B, 4), generator=torch.Generator().manual_seed(2))
    longer = torch.cat((before, token_ids), dim=1)
    may_attend = causal_mask(T + 4).clone()
    may_attend[4:, :4] = False
    found = model(longer, may_attend=may_attend)[:, 4:]
    torch.testing.assert_close(found, model(token_ids), **CLOSE)
    absolute = build("sinusoidal")
    moved = absolute(longer, may_attend=may_attend)[:, 4:]
    assert (moved - absolute(token_ids)).abs().max() > 1e-2


def test_a_stretched_model_reads_a_stretched_place_as_the_old_one():
    """Position interpolation by 2: distance 2 n after it is distance n before."""
    model, gap = build("rope", num_layers=1), torch.randint(V, (1, LONGEST))
    before = model(gap[:, ::2])
    hidden = torch.zeros(LONGEST, dtype=torch.bool)
    hidden[::2] = True  # only every other token may be read
    model.set_rotary(Rotary(interpolation=2))
    after = model(gap, may_attend=causal_mask(LONGEST) & hidden)[:, ::2]
    torch.testing.assert_close(after, before, **CLOSE)


def test_parameters_differ_by_the_learned_table_alone():
    def count(scheme):
        return sum(parameter.numel() for parameter in build(scheme).parameters())

    plain = count("none")
    block = 4 * (C * C + C) + (2 * 4 * C * C + 4 * C + C) + 2 * 2 * C
    assert plain == 2 * V * C + 2 * block + 2 * C
    assert count("learned") == plain + LONGEST * C
    assert all(count(scheme) == plain for scheme in ("sinusoidal", "rope", "alibi"))
    # The table of sinusoids follows from the sizes: no weight file holds it.
    assert build("sinusoidal").state_dict().keys() == build("none").state_dict().keys()


def batch(generator):
    """Repeat the token two places back."""
    ids = torch.randint(5, (16, T), generator=generator)
    return ids, ids.roll(2, dims=1)


def loss(model, ids, targets):
    return F.cross_entropy(model(ids)[:, 2:].flatten(0, 1), targets[:, 2:].flatten())


@pytest.mark.parametrize("scheme", POSITIONS)
def test_it_trains_side_by_side_as_alone(scheme):
    def small():
        return build(scheme, vocab_size=5)

    done = train(small, batch, loss, seeds=(0, 1), steps=2, learning_rate=0.01)
    for row in (0, 1):
        torch.manual_seed(row)
        alone, stream = small(), torch.Generator().manual_seed(row)
        expected = loss(alone, *batch(stream))
        torch.testing.assert_close(done.losses[row, 0], expected.detach(), **CLOSE)
        # Two steps of Adam move a weight by twice the learning rate at most.
        moved = alone.logits.weight - done.models[row].logits.weight
        assert 0.01 < moved.abs().max() < 0.021


def test_it_learns():
    done = train(
        lambda: build("rope", vocab_size=5, width=24),
        batch, loss, seeds=(0, 1), steps=40, learning_rate=0.01,
    )  # fmt: skip
    assert done.losses[:, -5:].mean() < done.losses[:, :5].mean() - 0.2  # chance is log 5 = 1.6


def test_float64_and_a_batch_of_one():
    ids = torch.randint(V, (1, 1))
    for scheme in SCHEMES:
        assert build(scheme).double()(ids).dtype == torch.float64


# A cache that is longer than the model's positions, and other misuse, by name.


@pytest.mark.parametrize("scheme", SCHEMES)
def test_more_tokens_than_positions_are_refused(scheme):
    model = build(scheme)
    ids = torch.randint(V, (1, LONGEST))
    assert model(ids).shape == (1, LONGEST, V)
    said = r"token_ids must make at most max_positions \(13\) tokens, got 14"
    with pytest.raises(ValueError, match=said + "$"):
        model(torch.randint(V, (1, LONGEST + 1)))
    caches = model.new_caches()
    model(ids, caches=caches)
    with pytest.raises(ValueError, match=said + r" \(13 in the caches and 1 new\)$"):
        model(ids[:, :1], caches=caches)
    assert [cache.length for cache in caches] == [LONGEST] * 2


@pytest.mark.parametrize("bad", [-1, V])
def test_an_unknown_token_is_named(bad, token_ids):
    token_ids[1, 2] = bad
    said = f"token_ids must lie in 0 to V - 1 (30), got {bad}"
    with raises_saying(ValueError, said):
        build()(token_ids)


def test_caches_that_do_not_fit_are_refused(token_ids):
    model = build()
    caches = model.new_caches()
    said = "caches must be one for each block (2), got 3"
    with raises_saying(ValueError, said):
        model(token_ids, caches=[*caches, KVCache()])
    model.blocks[0](torch.zeros(B, 1, C), None, caches[0])
    said = "caches must hold equally many positions, got [1, 0]"
    with raises_saying(ValueError, said):
        model(token_ids, caches=caches)


def test_only_rope_can_be_stretched():
    said = "rotary must be set on a model with positions 'rope', got one with 'alibi'"
    with raises_saying(ValueError, said):
        build("alibi").set_rotary(Rotary())
