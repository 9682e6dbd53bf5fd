"""The small causal model: no leak, a cache that changes nothing, six ways to bring in order."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.nn import functional as F

from course_utils.masks import causal_mask
from course_utils.measure.dependence import gradient_reach
from course_utils.models.causal_lm import POSITIONS, CausalLM, CausalLMConfig
from course_utils.positions import alibi_bias, sinusoidal_positions
from tests.core.support_layers import torch_encoder_layer, with_random_norms

B, T, V, C, H, LONGEST = 2, 7, 31, 12, 3, 13
# Two float32 paths through two blocks; logits are of size 1.
CLOSE = {"rtol": 0, "atol": 1e-5}


def build(scheme="learned", **changed) -> CausalLM:
    sizes = {"vocab_size": V, "width": C, "num_layers": 2, "num_heads": H} | changed
    return CausalLM(CausalLMConfig(**sizes, max_positions=LONGEST, positions=scheme))


@pytest.fixture
def token_ids():
    return torch.randint(V, (B, T), generator=torch.Generator().manual_seed(1))


def torchs_logits(model, token_ids, **changed):
    """The same model, put together from PyTorch's own layers."""
    kind = model.config.positions
    tables = {"learned": model.positions, "sinusoidal": sinusoidal_positions(LONGEST, C)}
    x = F.embedding(token_ids, model.tokens.weight)
    if kind in tables:
        x = x + tables[kind][:T]
    added = nn.Transformer.generate_square_subsequent_mask(T)  # 0 and -inf
    if kind == "alibi":
        added = (added + alibi_bias(H, T, T)).repeat(B, 1, 1)
    for block in model.blocks:
        x = torch_encoder_layer(block, **changed)(x, src_mask=added)
    x = F.layer_norm(x, (C,), model.norm.weight, model.norm.bias)
    return x @ model.logits.weight.T


@pytest.mark.parametrize("scheme", [each for each in POSITIONS if each != "rope"])
def test_as_a_model_of_torch_layers(scheme, token_ids):
    """RoPE is not among torch's layers: tests/layers compares it with ``apply_rope``."""
    model = with_random_norms(build(scheme, feedforward_width=17))
    found = model(token_ids)
    # The norms' random weights make logits of size 10.
    close = {"rtol": 0, "atol": 1e-4}
    torch.testing.assert_close(found, torchs_logits(model, token_ids), **close)
    post_ln = torchs_logits(model, token_ids, norm_first=False)
    assert (found - post_ln).abs().max() > 1e-1
    assert [block.feedforward.expand.out_features for block in model.blocks] == [17] * 2


def reach(model, token_ids, **options):
    """How much each output feels each token's vector, (T, T), in the first sequence."""

    def run(vectors):
        with model.tokens.register_forward_hook(lambda *_: vectors[None]):
            return model(token_ids[:1], **options)[0]

    return gradient_reach(run, model.tokens.weight[token_ids[0]].detach())


@pytest.mark.parametrize("scheme", POSITIONS)
def test_causal_by_default(scheme, token_ids):
    assert torch.equal(reach(build(scheme), token_ids) != 0, causal_mask(T))


@pytest.mark.parametrize("scheme", POSITIONS)
@pytest.mark.parametrize("chunks", [[1] * T, [3, 1, 2, 1]])
def test_cached_steps_equal_the_full_pass(scheme, chunks, token_ids):
    model = build(scheme)
    full, caches = model(token_ids), model.new_caches()
    start = 0
    for part in token_ids.split(chunks, dim=1):
        found = model(part, caches=caches)
        end = start + part.shape[1]
        torch.testing.assert_close(found, full[:, start:end], **CLOSE)
        assert [cache.length for cache in caches] == [end] * 2
        start = end


def test_unknown_tokens_under_vmap(token_ids):
    models = [build(), build()]
    parameters, buffers = stack_module_state(models)

    def total(parameters, ids):
        return functional_call(models[0], (parameters, buffers), (ids,)).sum()

    both = vmap(grad(total))
    both(parameters, torch.stack([token_ids, token_ids]))
    wrong = torch.stack([token_ids, token_ids.clone()])
    wrong[1, 1, 2] = V
    with pytest.raises(ValueError, match="31"):
        both(parameters, wrong)


@pytest.mark.parametrize("scheme", POSITIONS)
def test_a_text_that_is_too_long(scheme):
    with pytest.raises(ValueError, match=f"{LONGEST + 1}"):
        build(scheme)(torch.ones(1, LONGEST + 1, dtype=torch.int64))
