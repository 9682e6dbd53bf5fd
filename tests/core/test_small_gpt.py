"""The packaged small GPT: what it knows, what it writes, and that it is what the script makes."""

import re
import shutil

import pytest
import torch
import transformers

from course_utils.data import package_files
from course_utils.data.course_text import course_prose
from course_utils.data.package_files import DATA, PackagedFileError
from course_utils.language_modeling import (
    split_text,
    text_loss,
    unigram_entropy,
)
from course_utils.models import GPT2
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer
from course_utils.tokens import train_bpe
from tools.scripts import train_small_gpt as script

T = SMALL_GPT.max_positions


@pytest.fixture(scope="module")
def model():
    return load_small_gpt()


@pytest.fixture(scope="module")
def pairs():
    return small_gpt_tokenizer()


@pytest.fixture(scope="module")
def texts():
    """What it learned from, and what was held out."""
    return split_text(course_prose(), script.SHARE)


@pytest.fixture(scope="module")
def ids(texts, pairs):
    """Some of both, in tokens."""
    return tuple(torch.tensor(pairs.encode(text[:7_000])) for text in texts)


@pytest.fixture(scope="module")
def samples(model, pairs):
    return some_samples(model, pairs)


def some_samples(model, pairs):
    """The script's samples, but shorter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(script, "LENGTH", 48)
        return script.write_samples(model, pairs)


def test_it_is_small_and_not_tiny(model, pairs):
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert parameters == SMALL_GPT.parameters == model.config.parameters
    assert 500_000 <= parameters <= 1_000_000
    assert pairs.vocab_size == SMALL_GPT.vocab_size
    assert (DATA / "small_gpt" / "model.safetensors").stat().st_size < 2_000_000


def test_each_call_a_new_model(model):
    other = load_small_gpt()
    assert not other.training and other.tokens.weight.dtype == torch.float32
    with torch.no_grad():
        other.tokens.weight.zero_()
    assert model.tokens.weight.abs().sum() > 0
    assert torch.equal(load_small_gpt().tokens.weight, model.tokens.weight)


def test_transformers_reads_it(model, ids):
    reference = transformers.GPT2LMHeadModel.from_pretrained(
        DATA / "small_gpt", dtype=torch.float32
    ).eval()
    some = ids[1][None, :T]
    with torch.no_grad():
        # Logits of size 10 through three blocks in float32.
        torch.testing.assert_close(model(some), reference(some).logits, rtol=0, atol=1e-4)


def test_better_than_counting_tokens(model, ids):
    """Also the text that it never read, by 1.5 nats a token and more."""
    learned, held_out = (text_loss(model, part, length=T) for part in ids)
    counting = unigram_entropy(ids[1], SMALL_GPT.vocab_size)
    assert learned < held_out < counting - 1.5
    untrained = GPT2(SMALL_GPT)
    assert text_loss(untrained, ids[1], length=T) > counting


def test_loss_as_documented(model, texts, pairs):
    held_out = torch.tensor(pairs.encode(texts[1]))
    # Rounded otherwise on another machine, a mean over 8000 tokens moves by far less.
    assert text_loss(model, held_out, length=T) == pytest.approx(3.80, abs=0.006)
    assert unigram_entropy(held_out, SMALL_GPT.vocab_size) == pytest.approx(5.77, abs=0.006)


def words(text):
    return re.findall(r"[a-z]{2,}", text.lower())


def test_samples_look_like_the_text(samples, texts, pairs):
    known = set(words(texts[0]))
    written = [word for sample in samples for word in words(sample)]
    assert len(written) > 150
    assert sum(word in known for word in written) > 0.7 * len(written)
    untrained = some_samples(GPT2(SMALL_GPT).eval(), pairs)
    noise = [word for sample in untrained for word in words(sample)]
    assert sum(word in known for word in noise) < 0.5 * len(noise)


def test_samples_are_not_copied(samples, texts):
    assert 10 < script.longest_copy(samples, texts[0]) < 80


def test_tokens_of_the_text(texts, pairs):
    assert train_bpe(texts[0], 280).merges == pairs.merges[:24]


def test_a_file_that_changed_is_refused(monkeypatch, tmp_path):
    shutil.copytree(DATA / "small_gpt", tmp_path / "small_gpt")
    monkeypatch.setattr(package_files, "DATA", tmp_path)
    weights = tmp_path / "small_gpt" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(PackagedFileError, match=r"^small_gpt/model\.safetensors must have SHA-256"):
        load_small_gpt()
    weights.unlink()
    with pytest.raises(PackagedFileError, match=r"^small_gpt/model\.safetensors must be readable"):
        load_small_gpt()


def test_the_script_trains(ids, monkeypatch, capsys):
    monkeypatch.setattr(script, "BATCH", 2)
    model = script.trained(ids[0], ids[1][:300], 3)
    assert isinstance(model, GPT2) and "step     3  batch 6." in capsys.readouterr().out


def test_learning_rate_rises_and_falls():
    rates = [script.rate(step, 600) for step in range(1, 601)]
    top = rates.index(max(rates))
    assert rates[top] == 1 and rates[top] == rates[script.WARMUP - 1]
    assert rates[0] == 1 / script.WARMUP and rates[-1] < 1e-4
    assert sorted(rates[: top + 1]) == rates[: top + 1]
    assert sorted(rates[top:], reverse=True) == rates[top:]


def test_the_longest_copy():
    assert script.longest_copy(["xxabcdexx", "cdefg"], "abcdefg") == 5
    assert script.longest_copy(["xyz", ""], "abc") == 0
