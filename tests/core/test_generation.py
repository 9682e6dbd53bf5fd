"""Writing: as transformers writes, with the cache as without it, and by the chances it states."""

import pytest
import torch

from course_utils.models.generation import generate
from course_utils.models.gpt2_weights import load_gpt2
from course_utils.sampling import next_token_probabilities
from tests.core.support_gpt2 import P, V, ours, some_ids, theirs

B, T, NEW = 2, 3, 7
VARIED = 12  # with this seed, greedy text of the reference has many different tokens


@pytest.fixture(scope="module")
def ids():
    return some_ids(B, T)


@pytest.mark.parametrize("use_cache", [True, False])
def test_greedy_as_transformers(use_cache, ids, tmp_path):
    reference = theirs(VARIED)
    reference.save_pretrained(tmp_path)
    model = load_gpt2(tmp_path)
    expected = reference.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=NEW
    )
    found = generate(model, ids, NEW, temperature=0, use_cache=use_cache)
    assert found.tolist() == expected.tolist()
    assert all(len(set(text)) > 3 for text in found[:, T:].tolist())  # not one over and over


@pytest.mark.parametrize("draw", [{"temperature": 0}, {}, {"temperature": 0.7, "k": 5}, {"p": 0.9}])
def test_same_text_with_the_cache(draw, ids):
    model = ours(3)
    kept, again = (
        generate(
            model,
            ids,
            P - T,
            use_cache=use_cache,
            generator=torch.Generator().manual_seed(1),
            **draw,
        )
        for use_cache in (True, False)
    )
    assert kept.shape == (B, P)
    assert kept.tolist() == again.tolist()
    assert torch.equal(kept[:, :T], ids)


@pytest.mark.parametrize("use_cache", [True, False])
def test_each_token_is_read_once(use_cache, ids):
    model, read, scored = ours(), [], []
    model.blocks[0].register_forward_pre_hook(lambda _, inputs: read.append(inputs[0].shape[1]))
    model.norm.register_forward_pre_hook(lambda _, inputs: scored.append(inputs[0].shape[1]))
    generate(model, ids, NEW, use_cache=use_cache)
    assert scored == [1] * NEW
    expected = [T] + [1] * (NEW - 1) if use_cache else list(range(T, T + NEW))
    assert read == expected


def test_seeds_decide_the_text(ids):
    model = ours()
    texts = [
        generate(model, ids, NEW, generator=torch.Generator().manual_seed(seed)).tolist()
        for seed in (5, 5, 7)
    ]
    assert texts[0] == texts[1] != texts[2]
    alone = []
    for _ in range(2):
        torch.manual_seed(11)
        alone.append(generate(model, ids, NEW).tolist())
    assert alone[0] == alone[1]


@pytest.mark.parametrize("draw", [{}, {"temperature": 0.5, "k": 4, "p": 0.9}])
def test_frequencies_as_probabilities(draw):
    model, prompt, rows = ours(), some_ids(1, T), 4001
    drawn = generate(model, prompt.repeat(rows, 1), 1, **draw)[:, -1]
    expected = next_token_probabilities(model(prompt)[0, -1].detach(), **draw)
    shares = drawn.bincount(minlength=V) / rows
    assert bool((shares[expected == 0] == 0).all())
    # Five standard deviations of a share of 4001 draws.
    assert bool(((shares - expected).abs() <= 5 * (expected / rows).sqrt()).all())


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("temperature", [0, 0.5])
def test_a_model_that_has_diverged(use_cache, temperature, ids):
    model = ours()
    model.blocks[1].feedforward.contract.bias.data[4] = torch.nan
    with pytest.raises(ValueError, match="got nan"):
        generate(model, ids, NEW, temperature=temperature, use_cache=use_cache)
