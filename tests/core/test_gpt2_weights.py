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


def test_loading_draws_nothing(folder):
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    model = load_gpt2(folder)
    assert torch.equal(torch.rand(5), expected)
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(parameter.is_contiguous() for parameter in model.parameters())


# What is written.


@pytest.mark.parametrize(
    "changed", [{}, {"feedforward_width": 47}, {"eps": 0.01}, {"num_layers": 3}]
)
def test_what_is_saved_is_loaded_again(tmp_path, changed):
    model = ours(**changed)
    save_gpt2(model, tmp_path / "new" / "folder")
    again = load_gpt2(tmp_path / "new" / "folder")
    assert again.config == model.config
    assert_same(parameters(again), parameters(model))


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


def test_end_of_text_token(tmp_path):
    save_gpt2(ours(vocab_size=50257, width=3, num_layers=1), tmp_path)
    assert json.loads((tmp_path / CONFIG).read_text())["eos_token_id"] == 50256


# What is refused, by name.


def assert_refused(folder, said, error=GPT2RefusedError):
    with pytest.raises(error, match=re.escape(said)):
        load_gpt2(folder)


@pytest.mark.parametrize(
    "name", ["transformer.wpe.weight", "transformer.h.1.ln_2.bias", "transformer.ln_f.weight"]
)
def test_a_missing_tensor_is_named(folder, name):
    change_tensors(folder, lambda found: {n: t for n, t in found.items() if n != name})
    assert_refused(folder, f"{WEIGHTS}: {name} is missing")


def test_missing_ones_are_counted(folder):
    change_config(folder, n_layer=L + 1)
    assert_refused(folder, f"{WEIGHTS}: transformer.h.2.attn.c_attn.bias is missing (and 11 more)")


@pytest.mark.parametrize(
    "name",
    ["transformer.h.0.attn.q_norm.weight", "transformer.h.2.attn.bias", "adapter", "ln_f.bias"],
)
def test_a_tensor_left_over_is_named(folder, name):
    change_tensors(folder, lambda tensors: tensors.update({name: torch.zeros(3)}))
    assert_refused(folder, f"{WEIGHTS}: {name} is not part of this GPT-2")


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("h.1.mlp.c_fc.weight", (4 * C, C), (C, 4 * C)),  # as nn.Linear would have it
        ("h.0.attn.c_attn.weight", (C, C), (C, 3 * C)),
        ("wte.weight", (V + 1, C), (V, C)),
        ("h.0.ln_1.bias", (1, C), (C,)),
    ],
)
def test_a_misshapen_tensor_is_named(folder, name, shape, expected):
    name = f"transformer.{name}"
    change_tensors(folder, lambda tensors: tensors.update({name: torch.zeros(shape)}))
    assert_refused(folder, f"{WEIGHTS}: {name} must have shape {expected}, got {shape}")


def test_whole_numbers_are_no_weights(folder):
    name = "transformer.ln_f.bias"
    change_tensors(folder, lambda tensors: tensors.update({name: torch.zeros(C).long()}))
    assert_refused(folder, f"{WEIGHTS}: {name} must be floating-point, got torch.int64")


@pytest.mark.parametrize(
    "changed", [torch.zeros(V, C), torch.zeros(V, 2), torch.zeros(V, C).half()]
)
def test_untied_output_is_refused(folder, changed):
    change_tensors(folder, lambda tensors: tensors.update({"lm_head.weight": changed}))
    assert_refused(
        folder,
        f"{WEIGHTS}: lm_head.weight must equal transformer.wte.weight, "
        "as the output layer of GPT-2 does",
    )


CONFIGS = [
    ({"model_type": "llama"}, ": model_type must be 'gpt2', got 'llama'"),
    ({"activation_function": "gelu"}, ": activation_function must be 'gelu_new', got 'gelu'"),
    ({"scale_attn_weights": False}, ": scale_attn_weights must be True, got False"),
    ({"scale_attn_by_inverse_layer_idx": True},
     ": scale_attn_by_inverse_layer_idx must be False, got True"),
    ({"add_cross_attention": True}, ": add_cross_attention must be False, got True"),
    ({"tie_word_embeddings": False}, ": tie_word_embeddings must be True, got False"),
    ({"n_head": "absent", "n_embd": "absent"}, " must give n_embd, n_head"),
    ({"n_layer": "2"}, ": n_layer must be a positive integer"),
    ({"n_head": 7}, ": num_heads (7) must divide width (15)"),
    ({"layer_norm_epsilon": 0}, ": n_inner and layer_norm_epsilon must be positive"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "said"), CONFIGS)
def test_configs_of_other_models(folder, changed, said):
    change_config(folder, **changed)
    assert_refused(folder, CONFIG + said)


def test_broken_configs(folder):
    (folder / CONFIG).write_text("[1]")
    assert_refused(folder, f"{CONFIG} must be a JSON object, got [1]")
    for broken in ("{", "[" * 10**5):
        (folder / CONFIG).write_text(broken)
        with pytest.raises(GPT2RefusedError, match=f"^{CONFIG} must be JSON, got: "):
            load_gpt2(folder)


@pytest.mark.parametrize("changed", [{"n_layer": 10**9}, {"n_embd": 3 * 10**9}])
def test_configs_too_large(folder, changed):
    change_config(folder, **changed)
    said = (
        rf"^{CONFIG} must describe a model that fits into {WEIGHTS} \(\d+ bytes\), got one of \d+"
    )
    with pytest.raises(GPT2RefusedError, match=said):
        load_gpt2(folder)


RULE = f"path must be a folder with {CONFIG}, {WEIGHTS}, got "


def test_pickles_are_not_opened(folder):
    (folder / WEIGHTS).unlink()
    torch.save({"wte.weight": torch.zeros(V, C)}, folder / "pytorch_model.bin")
    assert_refused(
        folder,
        f"{RULE}{str(folder)!r} without {WEIGHTS} "
        "(pytorch_model.bin is not read: a pickle can run any program)",
        GPT2NotFoundError,
    )
    file = folder / "pytorch_model.bin"
    assert_refused(file, f"{RULE}the file {str(file)!r}", GPT2NotFoundError)


@pytest.mark.parametrize("pickled", [True, False])
def test_foreign_files_by_this_name(folder, pickled):
    if pickled:
        torch.save({"wte.weight": torch.zeros(V, C)}, folder / WEIGHTS)
    else:
        content = (folder / WEIGHTS).read_bytes()
        (folder / WEIGHTS).write_bytes(content[: len(content) // 2])
    with pytest.raises(GPT2RefusedError, match=f"^{re.escape(WEIGHTS)} must be a safetensors file"):
        load_gpt2(folder)


def test_missing_files_are_named(tmp_path):
    assert_refused(
        tmp_path, f"{RULE}{str(tmp_path)!r} without {CONFIG}, {WEIGHTS}", GPT2NotFoundError
    )
    (tmp_path / CONFIG).write_text("{}")
    assert_refused(tmp_path, f"{RULE}{str(tmp_path)!r} without {WEIGHTS}", GPT2NotFoundError)
