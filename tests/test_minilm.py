"""MiniLM through our encoder: against transformers, the figures the lectures quote, bad files."""

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch
from support_errors import refuses

from course_utils import minilm_files
from course_utils.attention import effective_tokens
from course_utils.minilm_files import (
    HUB_FOLDER,
    MINILM_SHA256,
    NEEDED_FILES,
    MiniLMNotFoundError,
    MiniLMRefusedError,
    find_minilm,
    read_verified_weights,
)
from course_utils.models import Encoder, load_minilm
from course_utils.models.minilm import _load, config_from_bert, weights_from_bert

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
SENTENCES = [
    TIRED,
    WIDE,
    "The bat flew out of the cave.",
    "He swung the bat at the ball!",
    "naïve café, 3.14159 and 日本語",
    "word " * 61 + "end",
]


@pytest.fixture(scope="module")
def minilm():
    return load_minilm()


@pytest.fixture(scope="module")
def folder():
    return find_minilm()


@pytest.fixture
def copied(folder, tmp_path):
    """A folder with the small files; each test adds the weights it wants to try."""
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(folder / name, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="module")
def reference(folder):
    """The same files through transformers: another tokenizer front end, another model."""
    from transformers import AutoTokenizer, BertModel

    model = BertModel.from_pretrained(folder, attn_implementation="eager", local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)

    def read(text, dtype=torch.float32):
        with torch.no_grad():
            inputs = tokenizer(text, return_tensors="pt")
            run = model.eval().to(dtype)
            output = run(**inputs, output_attentions=True, output_hidden_states=True)
        return tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), output

    return read


@pytest.mark.parametrize("text", SENTENCES)
def test_agrees_with_transformers(minilm, reference, text):
    reading = minilm.read(text)
    tokens, output = reference(text)
    assert list(reading.tokens) == tokens
    # The bound the course promises. Both are float32, and each is up to 5e-6 from the exact value.
    for ours, theirs in zip(reading.hidden_states, output.hidden_states, strict=True):
        assert torch.allclose(ours, theirs[0], rtol=0, atol=1e-5)
    for ours, theirs in zip(reading.attentions, output.attentions, strict=True):
        assert torch.allclose(ours, theirs[0], rtol=0, atol=1e-5)


def test_agrees_with_transformers_in_double_precision(minilm, reference):
    encoder = copy.deepcopy(minilm.encoder).double()
    _, output = reference(TIRED, torch.float64)
    ours = encoder(torch.tensor([minilm.tokenizer.encode(TIRED).ids]))
    # Nothing but float64's rounding is left between the two.
    for mine, theirs in zip(ours.hidden_states, output.hidden_states, strict=True):
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-12)
    for mine, theirs in zip(ours.attentions, output.attentions, strict=True):
        assert torch.allclose(mine, theirs, rtol=0, atol=1e-12)


def test_agreement_would_notice_a_small_mistake(minilm, reference):
    _, output = reference(TIRED)
    wrong = Encoder(replace(minilm.encoder.config, norm_eps=1e-5))  # PyTorch's default
    wrong.load_state_dict(minilm.encoder.state_dict())
    ids = torch.tensor([minilm.tokenizer.encode(TIRED).ids])
    with torch.no_grad():
        states = wrong.eval()(ids).hidden_states
    assert not torch.allclose(states[-1], output.hidden_states[-1], rtol=0, atol=1e-5)


# What the lectures say about it. Layers and heads count from 0.


def weight(minilm, text, layer, head, query, key):
    reading = minilm.read(text)
    attention = reading.attentions[layer][head]
    return attention[reading.tokens.index(query), reading.tokens.index(key)].item()


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        (TIRED, "animal", 0.677),
        (TIRED, "street", 0.050),
        (WIDE, "animal", 0.281),
        (WIDE, "street", 0.121),
    ],
)
def test_what_it_refers_to_at_layer_3_head_1(minilm, text, key, expected):
    # Three decimals are quoted; 1e-3 leaves room for another machine's rounding.
    assert weight(minilm, text, 3, 1, "it", key) == pytest.approx(expected, abs=1e-3)


def test_counting_from_one_would_find_another_head(minilm):
    assert weight(minilm, TIRED, 2, 0, "it", "animal") < 0.3


def test_layer_0_head_2_reads_the_previous_token(minilm):
    previous = minilm.read(TIRED).attentions[0][2].diagonal(-1)
    assert previous.mean().item() == pytest.approx(1.0, abs=0.005)
    assert previous.min() > 0.99


def test_effective_tokens_range_over_the_heads(minilm):
    reading = minilm.read(TIRED)
    per_query = torch.stack([effective_tokens(weights) for weights in reading.attentions])
    assert len(reading.tokens) == 16
    typical = per_query.log().mean(-1).exp()  # exp of the head's mean entropy
    assert typical.min().item() == pytest.approx(1.0, abs=0.05)
    assert typical.max().item() == pytest.approx(12.5, abs=0.05)
    # The plain mean over the queries is another number.
    assert per_query.mean(-1).max().item() == pytest.approx(13.0, abs=0.05)


def test_size_is_the_one_quoted(minilm):
    config = minilm.encoder.config
    assert (config.num_layers, config.num_heads, config.width) == (6, 12, 384)
    # The pooler's 147,840 parameters are left aside; with them it is 22.7 million.
    assert sum(p.numel() for p in minilm.encoder.parameters()) + 384 * 385 == 22_713_216


# Reading


def test_readings_have_no_batch_axis(minilm):
    reading = minilm.read("one two three")
    assert [tuple(x.shape) for x in reading.hidden_states] == [(5, 384)] * 7
    assert [tuple(x.shape) for x in reading.attentions] == [(12, 5, 5)] * 6
    assert [tuple(x.shape) for x in reading.queries] == [(12, 5, 32)] * 6
    assert [tuple(x.shape) for x in reading.keys] == [(12, 5, 32)] * 6
    assert reading.truncated is False


def test_nothing_asks_for_gradients(minilm):
    reading = minilm.read(TIRED)
    assert not any(p.requires_grad for p in minilm.encoder.parameters())
    assert not any(x.requires_grad for x in reading.hidden_states)
    assert not any(module.training for module in minilm.encoder.modules())


def test_a_long_text_is_cut_and_says_so(minilm):
    reading = minilm.read("word " * 500)
    assert reading.tokens == ("[CLS]", *["word"] * 62, "[SEP]")
    assert reading.truncated is True
    short = minilm.read("word word word word", max_tokens=5)
    assert short.tokens == ("[CLS]", "word", "word", "word", "[SEP]")
    # The tokenizer's own limit of 128 is off.
    longer = minilm.read("word " * 300, max_tokens=512)
    assert (len(longer.tokens), longer.truncated) == (302, False)
    exact = minilm.read("word word word word", max_tokens=6)
    assert (len(exact.tokens), exact.truncated) == (6, False)


@pytest.mark.parametrize("text", ["😀", "日本語のテキスト", "مرحبا بالعالم", "a\x00b", "x" * 999])
def test_any_script_is_read(minilm, text):
    reading = minilm.read(text)
    assert len(reading.tokens) >= 3
    assert all(x.isfinite().all() for x in reading.hidden_states)


@pytest.mark.parametrize("text", ["", "  \n\t ", "\u200b", "\x00"])
def test_a_text_with_nothing_to_read_is_refused(minilm, text):
    with refuses(ValueError, f"text must contain at least one word or sign, got {text!r}"):
        minilm.read(text)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None,), TypeError, "text must be a string, got None (NoneType)"),
        (("\ud83d",), ValueError, "text must be valid Unicode, got half of a surrogate pair"),
        (("a", 2), ValueError, "max_tokens must be at least 3, got 2"),
        (("a", 513), ValueError, "max_tokens must be at most 512, got 513"),
        (("a", 8.0), TypeError, "max_tokens must be an integer, got 8.0 (float)"),
    ],
)
def test_read_refuses_bad_arguments(minilm, arguments, error, message):
    with refuses(error, message):
        minilm.read(*arguments)


# Finding and verifying the files


def test_loading_twice_gives_the_same_object(minilm, folder):
    assert load_minilm(folder) is minilm
    assert load_minilm(str(folder)) is minilm


def test_loading_leaves_the_callers_random_numbers_alone(folder):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    _load.__wrapped__(folder)
    assert torch.equal(torch.rand(3), expected)


def test_the_package_is_found_without_running_it():
    program = (
        "import sys\n"
        "from course_utils.minilm_files import PACKAGE, find_minilm\n"
        "print(find_minilm().name, PACKAGE in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "model False False\n"


def make_snapshot(hub: Path, name: str) -> Path:
    snapshot = hub / HUB_FOLDER / "snapshots" / name
    snapshot.mkdir(parents=True)
    for needed in NEEDED_FILES:
        (snapshot / needed).write_bytes(b"")
    return snapshot


@pytest.mark.parametrize(
    ("variable", "hub"),
    [("HF_HUB_CACHE", "."), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")],
)
def test_the_hub_cache_is_found_where_the_variables_say(monkeypatch, tmp_path, variable, hub):
    monkeypatch.setattr(minilm_files, "PACKAGE", "no_such_package")
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    snapshot = make_snapshot(tmp_path / hub, "abc")
    assert find_minilm() == snapshot.resolve()


def test_the_hub_cache_prefers_the_main_branch(monkeypatch, tmp_path):
    monkeypatch.setattr(minilm_files, "PACKAGE", "no_such_package")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    make_snapshot(tmp_path, "aaa")
    newest = make_snapshot(tmp_path, "bbb")
    (tmp_path / HUB_FOLDER / "refs").mkdir()
    (tmp_path / HUB_FOLDER / "refs" / "main").write_text("bbb\n")
    assert find_minilm() == newest.resolve()


def test_an_incomplete_snapshot_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setattr(minilm_files, "PACKAGE", "no_such_package")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    (make_snapshot(tmp_path, "aaa") / "config.json").unlink()
    with pytest.raises(MiniLMNotFoundError):
        find_minilm()


def test_where_nothing_is_found_the_error_says_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(minilm_files, "PACKAGE", "no_such_package")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    message = "MiniLM is not installed here: `make setup` (or `python course.py setup`) installs it"
    with refuses(FileNotFoundError, message):
        load_minilm()


def test_a_folder_without_the_files_is_refused_by_what_it_lacks(copied):
    with pytest.raises(MiniLMNotFoundError, match=r"has no model\.safetensors$"):
        load_minilm(copied)
    (copied / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(MiniLMNotFoundError, match=r"pytorch_model\.bin are never read"):
        load_minilm(copied)
    with refuses(TypeError, "path must be a folder, got 3 (int)"):
        load_minilm(3)


def test_one_flipped_bit_is_refused(folder, copied):
    damaged = bytearray((folder / "model.safetensors").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (copied / "model.safetensors").write_bytes(damaged)
    with pytest.raises(MiniLMRefusedError, match="damaged or belongs to another model"):
        load_minilm(copied)


class Trap:
    """Unpickling it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_foreign_files_are_refused_unread(copied):
    weights, sprung = copied / "model.safetensors", copied / "sprung"
    foreign = [
        safetensors.torch.save({"x": torch.zeros(3)}),
        pickle.dumps(Trap(sprung)),
        b"version https://git-lfs.github.com/spec/v1\n",
        b"",
    ]
    for content in foreign:
        weights.write_bytes(content)
        with pytest.raises(MiniLMRefusedError, match=f"SHA-256 {MINILM_SHA256[:16]}.*make setup"):
            load_minilm(copied)
    assert not sprung.exists()
    pickle.loads(foreign[1])
    assert sprung.exists()  # the trap does work


def test_verified_weights_are_the_bytes_on_disk(folder):
    assert read_verified_weights(folder) == (folder / "model.safetensors").read_bytes()


def test_a_foreign_tokenizer_or_config_is_refused(folder, copied):
    shutil.copy(folder / "model.safetensors", copied)
    tokenizer = json.loads((copied / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["model"]["vocab"].pop("animal")
    (copied / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    message = "tokenizer.json must have the model's vocabulary (30522), got 30521 tokens"
    with refuses(MiniLMRefusedError, message):
        load_minilm(copied)
    (copied / "tokenizer.json").write_text("{}")
    with pytest.raises(MiniLMRefusedError, match=r"tokenizer\.json must be a tokenizer, got: "):
        load_minilm(copied)
    (copied / "config.json").write_text("not JSON")
    with pytest.raises(MiniLMRefusedError, match=r"config\.json must be JSON, got: "):
        load_minilm(copied)


def test_config_refuses_what_our_encoder_is_not(folder):
    bert = json.loads((folder / "config.json").read_text())
    assert config_from_bert(bert) == load_minilm().encoder.config
    with refuses(MiniLMRefusedError, "config.json: hidden_act must be 'gelu', got 'gelu_new'"):
        config_from_bert(bert | {"hidden_act": "gelu_new"})
    del bert["hidden_size"], bert["layer_norm_eps"]
    with refuses(MiniLMRefusedError, "config.json must give hidden_size, layer_norm_eps"):
        config_from_bert(bert)


# Mapping the names


@pytest.fixture(scope="module")
def tensors(folder):
    return safetensors.torch.load_file(folder / "model.safetensors")


def test_every_tensor_is_used_once(tensors, minilm):
    expected = minilm.encoder.state_dict()
    mapped = weights_from_bert(tensors, expected)
    assert mapped.keys() == expected.keys()
    assert len(tensors) == len(mapped) + 3  # the pooler's two and position_ids


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.pop("encoder.layer.4.attention.self.key.bias"),
            "weights: layers.4.attention.key.bias is missing",
        ),
        (
            lambda t: t.update({"encoder.layer.6.output.dense.bias": torch.zeros(384)}),
            "weights: layers.6.contract.bias is not part of this encoder",
        ),
        (
            lambda t: t.update({"a": torch.zeros(1), "b": torch.zeros(1)}),
            "weights: a is not part of this encoder (and 1 more)",
        ),
        (
            lambda t: t.update({"encoder.layer.0.intermediate.dense.bias": torch.zeros(3)}),
            "weights: layers.0.expand.bias must have shape (1536,), got (3,)",
        ),
    ],
)
def test_a_missing_extra_or_misshapen_tensor_is_named(tensors, minilm, change, message):
    changed = dict(tensors)
    change(changed)
    with refuses(MiniLMRefusedError, message):
        weights_from_bert(changed, minilm.encoder.state_dict())
