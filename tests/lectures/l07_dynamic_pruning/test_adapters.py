"""Adapters on disk: small, read back exactly, and refused where they would mean nothing."""

import pytest
import safetensors.torch
import torch
from torch import nn

from course_utils.layers.lora import adapter_state, add_lora, lora_layers
from course_utils.models.adapters import (
    AdapterNotFoundError,
    AdapterRefusedError,
    load_adapter,
    save_adapter,
)
from course_utils.models.gpt2_weights import save_gpt2
from tests.core.support_gpt2 import ours, some_ids
from tests.support_errors import raises_saying

R, FIRST = 2, "blocks.0.attention.query"


def adapted(model=None, rank=R, **options):
    return add_lora(ours() if model is None else model, rank, **options)


def learned(model):
    for _, layer in lora_layers(model):
        nn.init.normal_(layer.up)
    return model


@pytest.fixture
def file(tmp_path):
    return tmp_path / "adapter.safetensors"


def test_an_adapter_is_read_back_bit_for_bit(file):
    model, ids = ours(), some_ids(2, 7)
    one, two = learned(adapted(model, alpha=3)), adapted(model, alpha=3)
    save_adapter(one, file)
    assert not torch.equal(two(ids), one(ids))
    load_adapter(two, str(file))
    assert torch.equal(two(ids), one(ids))


def test_only_the_adapter_is_saved(file, tmp_path):
    model = learned(adapted())
    save_adapter(model, file)
    saved = safetensors.torch.load_file(file)
    assert saved.keys() == adapter_state(model).keys()
    assert sum(tensor.numel() for tensor in saved.values()) == sum(
        weight.numel() for weight in model.parameters() if weight.requires_grad
    )
    save_gpt2(ours(), tmp_path / "whole")
    assert file.stat().st_size < (tmp_path / "whole/model.safetensors").stat().st_size / 5


def test_one_saved_while_merged_is_for_the_same_weights(file):
    model = ours()
    one, two = learned(adapted(model)), adapted(model)
    for _, layer in lora_layers(one):
        layer.merge()
    save_adapter(one, file)
    load_adapter(two, file)
    assert all(map(torch.equal, adapter_state(one).values(), adapter_state(two).values()))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"rank": 3},
         f"state must fit the model: {FIRST}.down must have shape (2, 15), got (3, 15)"),
        ({"alpha": 5}, f"alpha of {FIRST} must be 2.0, got 5.0"),
        ({"names": ["query"]}, "must adapt the layers that the model adapts, "
         "got blocks.0.attention.value in the model alone"),
        ({"names": ["key", "query", "value"]}, "must adapt the layers that the model adapts, "
         "got blocks.0.attention.key in the file alone"),
    ],
)  # fmt: skip
def test_another_adapter_is_refused_and_the_model_left(other, said, file):
    model = ours()
    save_adapter(learned(adapted(model, **{"alpha": 2} | other)), file)
    here = learned(adapted(model))
    before = {name: tensor.clone() for name, tensor in adapter_state(here).items()}
    gap = "" if said.startswith("must") else ":"
    with raises_saying(AdapterRefusedError, f"{file.name}{gap} {said}"):
        load_adapter(here, file)
    assert all(map(torch.equal, before.values(), adapter_state(here).values()))


def test_one_for_other_weights_is_refused(file):
    """Of the same sizes: nothing but the weights tells them apart."""
    save_adapter(learned(adapted(ours(seed=1))), file)
    said = r"must be made for the model's weights \(SHA-256 \w{12}\), got one made for others"
    with pytest.raises(AdapterRefusedError, match=said):
        load_adapter(adapted(ours(seed=0)), file)


def test_other_files_are_refused(file, tmp_path):
    model, missing = adapted(), tmp_path / "none"
    said = f"path must be a file from save_adapter; there is no file {str(missing)!r}"
    with raises_saying(AdapterNotFoundError, said):
        load_adapter(model, missing)
    torch.save(adapter_state(model), file)
    with pytest.raises(AdapterRefusedError, match="must be a safetensors file, got: "):
        load_adapter(model, file)
    safetensors.torch.save_file({"x": torch.zeros(3)}, file)
    with raises_saying(
        AdapterRefusedError, f"{file.name} must be an adapter from save_adapter, got another file"
    ):
        load_adapter(model, file)


def test_models_that_cannot_take_or_give_one_are_refused(file, tmp_path):
    said = "model must have been adapted by add_lora, got GPT2 without a LoRALinear"
    for call in (save_adapter, load_adapter):
        with raises_saying(ValueError, said):
            call(ours(), file)
    with raises_saying(ValueError, f"path must be a file, got the folder {str(tmp_path)!r}"):
        save_adapter(adapted(), tmp_path)
    model = adapted()
    save_adapter(model, file)
    next(iter(lora_layers(model)))[1].merge()
    with raises_saying(
        ValueError, f"model must be unmerged, got one whose layer {FIRST} is merged"
    ):
        load_adapter(model, file)
