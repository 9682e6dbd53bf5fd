"""The language model with routed blocks: GPT-2 at capacity 1, causal by its predictor alone."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from course_utils.layers.mod import MixtureOfDepths, kept_tokens, predictor_loss
from course_utils.masks import causal_mask
from course_utils.measure.dependence import gradient_reach, leaks
from course_utils.models.depth_lm import DepthLM, depth_loss, write_by_prediction
from course_utils.models.generation import generate
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.training import train
from tests.support_errors import raises_saying

V, P, C, H, L, T = 31, 23, 15, 3, 5, 11
CONFIG = GPT2Config(V, P, C, L, H)
CLOSE = {"rtol": 0, "atol": 1e-5}  # float32, five blocks of numbers of size one


@pytest.fixture
def gpt2():
    model = GPT2(CONFIG)
    with torch.no_grad():  # weights large enough that every block does something
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


@pytest.fixture
def ids():
    return torch.randint(V, (2, T))


def routed(model):
    return [block for block in model.gpt2.blocks if isinstance(block, MixtureOfDepths)]


def half_through(model, ids):
    """Shift each predictor so that about half the tokens go through its block."""
    for index, block in enumerate(routed(model)):
        with torch.no_grad():
            _, kept = model(ids, routing="predicted")
            block.predictor[-1].bias -= kept[index].predictions.quantile(0.5)  # between two
    return model


def test_at_capacity_1_it_is_the_gpt2_and_a_copy(gpt2, ids):
    model = DepthLM(gpt2, 1)
    assert torch.equal(model(ids).logits, gpt2(ids))
    with torch.no_grad():
        model.gpt2.tokens.weight.add_(1)
    assert not torch.equal(model(ids).logits, gpt2(ids))
    assert not any(isinstance(block, MixtureOfDepths) for block in gpt2.blocks)


def test_every_second_block_takes_its_share(gpt2, ids):
    model = DepthLM(gpt2, 0.4)
    names = [type(block).__name__ for block in model.gpt2.blocks]
    assert names == ["GPT2Block", "MixtureOfDepths"] * 2 + ["GPT2Block"]
    _, kept = model(ids)
    assert [each.mask.sum(dim=1).tolist() for each in kept] == [[kept_tokens(T, 0.4)] * 2] * 2
    model.set_capacity(0.9)
    assert model(ids).kept[1].mask.sum(dim=1).tolist() == [kept_tokens(T, 0.9)] * 2


def after_embedding(model, routing):
    """The logits as a function of the embedded tokens, for gradients to pass through."""

    def run(h):
        h = h[None]
        for block in model.gpt2.blocks:
            options = {"routing": routing} if isinstance(block, MixtureOfDepths) else {}
            h, _ = block(h, **options)
        return model.gpt2.logits(h)[0]

    return run


def test_with_the_predictor_no_logit_feels_a_later_token(gpt2, ids):
    model = half_through(DepthLM(gpt2, 0.5), ids)
    embedded = torch.randn(T, C)
    reach = gradient_reach(after_embedding(model, "predicted"), embedded)
    assert leaks(reach, causal_mask(T)) == []
    logits, kept = model(ids, routing="predicted")
    assert all(0 < each.mask.sum() < 2 * T for each in kept)
    for place in range(1, T):
        changed = ids.clone()
        changed[:, place:] = torch.randint(V, (2, T - place))
        other, others = model(changed, routing="predicted")
        torch.testing.assert_close(other[:, :place], logits[:, :place], **CLOSE)
        for ours, theirs in zip(kept, others, strict=True):
            assert torch.equal(ours.mask[:, :place], theirs.mask[:, :place])


def test_with_the_best_of_the_sequence_logits_do_change(gpt2, ids):
    model, changes = DepthLM(gpt2, 0.5), 0
    reach = gradient_reach(after_embedding(model, "top_k"), torch.randn(T, C))
    assert leaks(reach, causal_mask(T)) == []  # and no gradient shows it
    for place in range(1, T):
        changed = ids.clone()
        changed[:, place:] = torch.randint(V, (2, T - place))
        difference = model(changed).logits[:, :place] - model(ids).logits[:, :place]
        changes += int((difference.abs().amax(dim=(1, 2)) > 1e-3).sum())
    assert changes > 5


@pytest.mark.parametrize("temperature", [0, 0.8])
def test_writing_with_the_cache_is_writing_without(gpt2, ids, temperature):
    model = half_through(DepthLM(gpt2, 0.5), ids)
    prompt = ids[:1, :3]
    one, other = (
        write_by_prediction(
            model, prompt, P - 3, temperature=temperature, use_cache=use_cache,
            generator=torch.Generator().manual_seed(2),
        )
        for use_cache in (True, False)
    )  # fmt: skip
    assert torch.equal(one, other) and one.shape == (1, P) and torch.equal(one[:, :3], prompt)


def test_caches_of_routed_blocks_hold_fewer(gpt2, ids):
    model = half_through(DepthLM(gpt2, 0.5), ids)
    with torch.no_grad():
        caches = model.new_caches()
        parts = ids[:1].split((4, 1, 6), dim=1)
        found = [model(part, routing="predicted", caches=caches).logits for part in parts]
        expected, kept = model(ids[:1], routing="predicted")
    torch.testing.assert_close(torch.cat(found, dim=1), expected, **CLOSE)
    counts = [int(each.mask.sum()) for each in kept]
    assert [cache.length for cache in caches] == [T, counts[0], T, counts[1], T]


def test_where_all_are_let_through_it_writes_as_the_gpt2_does(gpt2, ids):
    model = DepthLM(gpt2, 1)
    for block in routed(model):
        with torch.no_grad():
            block.predictor[-1].bias.fill_(100)
    expected = generate(gpt2, ids[:1, :3], 9, temperature=0)
    assert torch.equal(write_by_prediction(model, ids[:1, :3], 9, temperature=0), expected)


def test_the_loss_is_that_of_the_text_and_of_the_predictors(gpt2, ids):
    model = DepthLM(gpt2, 0.5)
    logits, kept = model(ids[:, :-1])
    text = cross_entropy(logits.transpose(1, 2), ids[:, 1:])
    expected = text + predictor_loss(kept[0]) + predictor_loss(kept[1])
    torch.testing.assert_close(depth_loss(model, ids[:, :-1], ids[:, 1:]), expected)


def test_it_trains_side_by_side():
    def batch(generator):
        drawn = torch.randint(5, (4, T), generator=generator)
        return drawn, drawn

    small = GPT2Config(5, T, 6, 2, 2)
    build = lambda: DepthLM(GPT2(small), 0.5)  # noqa: E731
    done = train(build, batch, depth_loss, seeds=(0, 1), steps=12, learning_rate=0.1)
    assert done.losses[:, -1].mean() < done.losses[:, 0].mean() - 0.5


def test_more_tokens_than_positions(gpt2):
    model = DepthLM(gpt2, 0.5)
    caches = model.new_caches()
    with torch.no_grad():
        model(torch.zeros(1, P, dtype=torch.int64), routing="predicted", caches=caches)
    said = f"token_ids must bring the cache to at most max_positions ({P}), got {P + 1}"
    with raises_saying(ValueError, said):
        model(torch.zeros(1, 1, dtype=torch.int64), routing="predicted", caches=caches)
