"""GPT-2's files: what transformers writes is read, what we write it reads, the rest is refused."""

import json
import re

import pytest
import safetensors.torch
import torch
import transformers

from course_utils.models.gpt2 import GPT2Config
from course_utils.models.gpt2_weights import (
    GPT2NotFoundError,
    GPT2RefusedError,
    load_gpt2,
    save_gpt2,
)
from tests.core.support_gpt2 import CLOSE, C, L, P, V, ours, some_ids, theirs

B, T = 2, 7
WEIGHTS, CONFIG = "model.safetensors", "config.json"


@pytest.fixture
def ids():
    return some_ids(B, T)


@pytest.fixture
def folder(tmp_path):
    """A checkpoint that transformers has written."""
    theirs().save_pretrained(tmp_path)
    return tmp_path


def change_tensors(folder, change):
    tensors = safetensors.torch.load_file(folder / WEIGHTS)
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    safetensors.torch.save_file(change(tensors) or tensors, folder / WEIGHTS)


def change_config(folder, **changed):
    fields = json.loads((folder / CONFIG).read_text()) | changed
    fields = {name: value for name, value in fields.items() if value != "absent"}
    (folder / CONFIG).write_text(json.dumps(fields))


def parameters(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def assert_same(one, two):
    assert one.keys() == two.keys()
    assert all(torch.equal(tensor, two[name]) for name, tensor in one.items())


# What is read.


def test_reads_transformers_files(folder, ids):
    model = load_gpt2(folder)
    torch.testing.assert_close(model(ids), theirs()(ids).logits, **CLOSE)
    assert model.config == GPT2Config(V, P, C, L, 3)
    assert torch.equal(load_gpt2(str(folder))(ids), model(ids))


def test_reads_files_without_output_layer(tmp_path, ids):
    """The names then begin without "transformer.", as in the files that OpenAI's became."""
    theirs().transformer.save_pretrained(tmp_path)
    assert "wte.weight" in safetensors.torch.load_file(tmp_path / WEIGHTS)
    torch.testing.assert_close(load_gpt2(tmp_path)(ids), theirs()(ids).logits, **CLOSE)


def test_constants_are_left_aside(folder, ids):
    def add(tensors):
        for block in range(L):
            tensors[f"transformer.h.{block}.attn.bias"] = torch.ones(1, 1, P, P).tril()
            tensors[f"transformer.h.{block}.attn.masked_bias"] = torch.tensor(-1e4)
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()

    change_tensors(folder, add)
    torch.testing.assert_close(load_gpt2(folder)(ids), theirs()(ids).logits, **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_become_float32(folder, dtype):
    expected = parameters(load_gpt2(folder))
    change_tensors(folder, lambda tensors: {name: t.to(dtype) for name, t in tensors.items()})
    found = parameters(load_gpt2(folder))
    assert all(tensor.dtype == torch.float32 for tensor in found.values())
    assert_same(found, {name: tensor.to(dtype).float() for name, tensor in expected.items()})


# What is written.


@pytest.mark.parametrize("changed", [{}, {"feedforward_width": 47, "eps": 0.01}])
def test_transformers_reads_ours(tmp_path, ids, changed):
    model = ours(**changed)
    save_gpt2(model, str(tmp_path))
    reference, notes = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert not any(notes.values()), notes
    assert type(reference) is transformers.GPT2LMHeadModel
    torch.testing.assert_close(reference.eval()(ids).logits, model(ids), **CLOSE)


def test_saved_over_its_own_file(folder, ids):
    """What is read must not lie in the file that is written anew."""
    model = load_gpt2(folder)
    expected = model(ids)
    save_gpt2(ours(seed=5), folder)
    assert torch.equal(model(ids), expected)
    save_gpt2(model, folder)
    assert torch.equal(load_gpt2(folder)(ids), expected)


# What is refused, by name.


def assert_refused(folder, named, error=GPT2RefusedError):
    with pytest.raises(error, match=re.escape(named)):
        load_gpt2(folder)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("transformer.wpe.weight", None),
        ("transformer.h.1.ln_2.bias", None),
        ("transformer.h.0.attn.q_norm.weight", torch.zeros(3)),  # of no GPT-2
        ("transformer.h.2.attn.bias", torch.zeros(3)),
        ("ln_f.bias", torch.zeros(3)),
        ("transformer.h.1.mlp.c_fc.weight", torch.zeros(4 * C, C)),  # as nn.Linear would have it
        ("transformer.wte.weight", torch.zeros(V + 1, C)),
        ("transformer.h.0.ln_1.bias", torch.zeros(1, C)),
        ("transformer.ln_f.bias", torch.zeros(C).long()),
        ("lm_head.weight", torch.zeros(V, C)),  # not tied
        ("lm_head.weight", torch.zeros(V, 2)),
    ],
)
def test_a_wrong_tensor_is_named(folder, name, tensor):
    """None: it is missing."""

    def change(found):
        return {n: t for n, t in (found | {name: tensor}).items() if t is not None}

    change_tensors(folder, change)
    assert_refused(folder, f"{WEIGHTS}: {name} ")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model_type", "llama"),
        ("activation_function", "gelu"),
        ("scale_attn_weights", False),
        ("scale_attn_by_inverse_layer_idx", True),
        ("add_cross_attention", True),
        ("tie_word_embeddings", False),
        ("n_head", "absent"),
        ("n_layer", "2"),
        ("n_head", 7),
        ("layer_norm_epsilon", 0),
        ("n_layer", 10**9),  # more than the weights' file can hold
        ("n_embd", 3 * 10**9),
    ],
)
def test_configs_of_other_models(folder, field, value):
    change_config(folder, **{field: value})
    assert_refused(folder, CONFIG)


@pytest.mark.parametrize("broken", ["[1]", "{", "[" * 10**5])
def test_broken_configs(folder, broken):
    (folder / CONFIG).write_text(broken)
    assert_refused(folder, CONFIG)


@pytest.mark.parametrize("name", [WEIGHTS, "pytorch_model.bin"])
def test_pickles_are_not_opened(folder, name):
    (folder / WEIGHTS).unlink()
    torch.save({"wte.weight": torch.zeros(V, C)}, folder / name)
    assert_refused(folder, WEIGHTS, GPT2RefusedError if name == WEIGHTS else GPT2NotFoundError)
    assert_refused(folder / name, name, GPT2NotFoundError)


def test_half_a_file(folder):
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[: len(content) // 2])
    assert_refused(folder, WEIGHTS)


def test_missing_files_are_named(tmp_path):
    assert_refused(tmp_path, f"{CONFIG}, {WEIGHTS}", GPT2NotFoundError)
