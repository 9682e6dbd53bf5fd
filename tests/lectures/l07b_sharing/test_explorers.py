"""Lecture 07b's explorers: what is drawn is what plain loops, formulas and packaged runs give."""

import numpy as np
import pytest
import torch

from course_utils.formats import describe_bytes
from course_utils.layers.mod import MixtureOfDepths
from course_utils.measure.costs import kv_cache_bytes
from course_utils.models.gpt2 import GPT2Block
from course_utils.models.small_gpt import SMALL_GPT
from lectures.l07b_sharing.experiments.adapting import MATRICES
from lectures.l07b_sharing.experiments.depth_runs import CAPACITIES, depth_runs
from lectures.l07b_sharing.experiments.lora_runs import lora_runs
from lectures.l07b_sharing.explorers.depths import PREDICTOR, ROUTER, Depths
from lectures.l07b_sharing.explorers.ranks import RANKS, Ranks
from lectures.l07b_sharing.explorers.shared_heads import (
    LARGEST,
    OFFERED,
    SEVEN,
    SEVENTY,
    SMALL,
    SharedHeads,
)
from tests.explorers.support_browser import InBrowser, cases, differences
from tests.support_flops import counted_flops


def chosen(explorer, **values):
    return explorer.compute(**{**explorer.values, **values})


# Shared heads


@pytest.fixture(scope="module")
def sharing():
    with InBrowser(SharedHeads()) as found:
        yield found


def by_the_core(key_value_heads, model, length, batch):
    layers, H, _, width, _, _ = OFFERED[model]
    counts = [count for count in range(1, H + 1) if H % count == 0]
    G = max(count for count in counts if count <= key_value_heads)
    return {
        "heads": H,
        "key_value_heads": G,
        "reads": torch.arange(G).repeat_interleave(H // G),
        "counts": counts,
        "bytes": [kv_cache_bytes(layers, each, width, length, batch=batch) for each in counts],
        "cache": kv_cache_bytes(layers, G, width, length, batch=batch),
        "layers": layers,
        "head_width": width,
    }


def test_heads_read_and_cache_as_in_the_core(sharing):
    assert differences(sharing, by_the_core) == []


@pytest.mark.parametrize("model", OFFERED)
def test_heads_as_with_repeated_keys(sharing, model):
    H = OFFERED[model].heads
    groups = (1, 2, 4, H)
    states = sharing.states([{"model": model, "key_value_heads": G} for G in groups])
    for G, state in zip(groups, states, strict=True):
        assert state.reads.tolist() == torch.arange(G).repeat_interleave(H // G).tolist()
        assert (H % state.counts == 0).all() and len(state.counts) == sum(
            H % count == 0 for count in range(1, H + 1)
        )


def test_caches_of_published_models(sharing):
    presets = SharedHeads.presets
    for label, expected in {"Llama 2 7B": 2**31, "Mistral 7B": 2**29, "multi-query": 2**26}.items():
        assert sharing.compute(**presets[label]).cache == expected, label
    # Numbers of the cache for a token, a batch and one key/value head: twice layers times width.
    sizes = {SMALL: 1536, SEVEN: 8192, SEVENTY: 20_480, LARGEST: 32_256}
    for model, numbers in sizes.items():
        state = sharing.compute(model=model, key_value_heads=2, length=2048, batch=4)
        assert state.cache == numbers * 2 * 2048 * 4 * 2
        assert (state.bytes / state.bytes[0]).tolist() == state.counts.tolist()


def test_caches_in_words(sharing):
    for state in sharing.states(cases(SharedHeads())):
        H, G = state.heads, state.key_value_heads
        whole = "" if G == H else f", 1/{H // G} of {describe_bytes(state.bytes[-1])}"
        assert f": {describe_bytes(state.cache)}{whole}" in state.words
        assert ("would fit into a laptop" in state.words) == (state.cache <= 16e9)
        assert ("even for an H100" in state.words) == (state.cache > 80e9)


# Ranks


def test_gains_are_the_packaged_ones():
    found = lora_runs()
    given = Ranks().given()
    for i, run in enumerate(found.runs):
        np.testing.assert_allclose(given["learned"][i], found.code_before - run.code, atol=1e-6)
        np.testing.assert_allclose(given["forgotten"][i], run.prose - found.prose_before, atol=1e-6)
    for rank in RANKS:
        (run,) = (each for each in found.runs if each.rank == rank)
        state = chosen(Ranks(), rank=rank)
        assert state.learned == pytest.approx(found.code_before - run.code.median().item())
        assert state.forgotten == pytest.approx(run.prose.median().item() - found.prose_before)
        assert state.trained == rank * 3 * (4 * (128 + 128) + 2 * (128 + 512))
        assert given["cut"][RANKS.index(rank)] == found.code_before - found.cut[rank]
    assert found.runs[-2].only_matrices and found.runs[-1].rank is None


@pytest.mark.parametrize("rank", [1, 16, 64])
def test_what_the_rank_keeps(rank):
    spectra = lora_runs().spectra
    rows = Ranks().given()["spectra"]
    for block, matrix in ((0, "query"), (2, "contract"), (1, "output")):
        state = chosen(Ranks(), rank=rank, block=block, matrix=matrix)
        (values,) = (
            each for name, each in spectra.items() if f".{block}." in name and matrix in name
        )
        squares = np.sort(values.double().numpy() ** 2)[::-1]
        assert state.energy == pytest.approx(squares[:rank].sum() / squares.sum(), rel=1e-5)
        assert state.energies[block, MATRICES.index(matrix)] == state.energy
        row = rows[block * len(MATRICES) + MATRICES.index(matrix)]
        np.testing.assert_allclose(row, values, rtol=1e-6)


# Depths


@pytest.mark.parametrize("capacity", [0.25, 1.0])
def test_work_is_that_counted(capacity):
    state = chosen(Depths(), capacity=capacity)
    layer = MixtureOfDepths(GPT2Block(SMALL_GPT), capacity, SMALL_GPT.width)
    x = torch.randn(1, len(state.tokens), SMALL_GPT.width)
    ours, whole = (counted_flops(part, x) for part in (layer, GPT2Block(SMALL_GPT)))
    assert state.work[2] == pytest.approx(ours / whole)
    assert state.work[:2].tolist() == pytest.approx([capacity, capacity**2])


def test_passes_are_the_packaged_ones():
    found = depth_runs()
    explorer = Depths(text="second")
    for chooser, masks, losses in (
        (ROUTER, found.texts[1].routed, found.routed),
        (PREDICTOR, found.texts[1].predicted, found.predicted),
    ):
        for capacity in CAPACITIES:
            state = chosen(explorer, capacity=capacity, chooser=chooser)
            assert (state.passes == masks[capacity].numpy()).all()
            assert state.passes.shape == (3, 40)
            assert state.loss == pytest.approx(losses[capacity].median().item())
            idle = int((masks[capacity].sum(dim=0) == 0).sum())
            assert capacity == 1.0 or f"[b:{idle}] skip all" in explorer.caption(state)
