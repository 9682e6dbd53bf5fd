"""Saving a GPT-2: whole or not at all, and from a model that is one; else the message helps."""

import copy
import json
import os
import re
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from course_utils.layers.lora import LoRALinear, add_lora
from course_utils.models import GPT2, GPT2Config, load_gpt2, save_gpt2, with_grouped_attention
from tests.core.support_gpt2 import SIZES, drawn, ours, some_ids

WEIGHTS, CONFIG = "model.safetensors", "config.json"


@pytest.fixture
def kept(tmp_path):
    """A folder with a good checkpoint, and the model in it."""
    model = ours(seed=5)
    save_gpt2(model, tmp_path)
    return tmp_path, model


def assert_kept(folder, model):
    assert sorted(os.listdir(folder)) == [CONFIG, WEIGHTS]
    again = load_gpt2(folder)
    assert again.config == model.config
    assert torch.equal(again(some_ids(2, 7)), model(some_ids(2, 7)))


@pytest.mark.parametrize("kind", [np.int64, np.int16, torch.tensor])
def test_sizes_from_arrays(kept, kind):
    sizes = {name: kind(size) for name, size in SIZES.items()}
    model = drawn(GPT2(GPT2Config(**sizes, feedforward_width=kind(29), eps=np.float32(1e-3))), 3)
    save_gpt2(model, kept[0])
    assert_kept(kept[0], model)
    assert json.loads((kept[0] / CONFIG).read_text())["n_embd"] == SIZES["width"]


def test_a_whole_number_for_eps(kept):
    model = ours(eps=1)
    save_gpt2(model, kept[0])
    assert_kept(kept[0], model)


@pytest.mark.parametrize("failing", [CONFIG, WEIGHTS])
def test_a_full_disk(kept, monkeypatch, failing):
    folder, model = kept
    real = open

    def full(path, *args, **kwargs):
        if failing in str(path):
            raise OSError(28, "No space left on device")
        return real(path, *args, **kwargs)

    monkeypatch.setattr("builtins.open", full)
    with pytest.raises(OSError, match="No space"):
        save_gpt2(ours(seed=6, eps=0.1), folder)
    monkeypatch.undo()
    assert_kept(folder, model)


def compiled(model):
    """As torch.compile wraps it: it would compile at the first call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what torch itself imports for it
        return torch.compile(model)


def with_part(model, name, part):
    model = copy.deepcopy(model)
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, part)
    return model


WRAPPED = {
    "compiled": (compiled, "use model._orig_mod"),
    "parallel": (nn.DataParallel, "use model.module"),
    "both": (lambda model: compiled(nn.DataParallel(model)), "use model._orig_mod.module"),
    "averaged": (torch.optim.swa_utils.AveragedModel, "use model.module"),
    "no GPT-2": (lambda model: nn.Linear(3, 5), "must be a GPT2, got Linear"),
    "LoRA": (lambda model: add_lora(model, 2), "got blocks.0.attention.query.base"),
    "a compiled block": (
        lambda model: with_part(model, "blocks.1", compiled(model.blocks[1])),
        "got blocks.1._orig_mod.",
    ),
    "a layer more": (lambda model: with_part(model, "head", nn.Linear(3, 5)), "got head."),
    "a layer less": (
        lambda model: with_part(model, "blocks.1.attention_norm", nn.Identity()),
        "got no blocks.1.attention_norm.",
    ),
    "a wider table": (
        lambda model: with_part(model, "positions", nn.Embedding(17, 15)),
        "positions.weight (13, 15), got (17, 15)",
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_to_save_instead(kept, name):
    folder, model = kept
    wrap, says = WRAPPED[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(says)):
        save_gpt2(wrap(ours(seed=6)), folder)
    assert_kept(folder, model)
    with pytest.raises((TypeError, ValueError), match=re.escape(says)):
        with_grouped_attention(wrap(ours(seed=6)), 1)


def test_the_advice_is_right(kept):
    """The bases of a merged LoRA model, in their places, are the adapted model."""
    adapted, ids = drawn(add_lora(ours(), 2, alpha=3), 4), some_ids(2, 7)
    expected = adapted(ids)
    for name, part in list(adapted.named_modules()):
        if isinstance(part, LoRALinear):
            part.merge()
            parent, _, own = name.rpartition(".")
            setattr(adapted.get_submodule(parent), own, part.base)
    save_gpt2(adapted, kept[0])
    torch.testing.assert_close(load_gpt2(kept[0])(ids), expected, rtol=1e-4, atol=1e-4)
