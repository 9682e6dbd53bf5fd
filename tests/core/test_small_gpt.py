"""The packaged small GPT: what it knows, what it writes, and that it is what the script makes."""

import pytest
import torch

from course_utils.data.course_text import course_prose
from course_utils.data.package_files import DATA
from course_utils.language_modeling import (
    split_text,
    text_loss,
    unigram_entropy,
)
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


def test_loss_as_documented(model, texts, pairs):
    held_out = torch.tensor(pairs.encode(texts[1]))
    # Rounded otherwise on another machine, a mean over 8000 tokens moves by far less.
    assert text_loss(model, held_out, length=T) == pytest.approx(3.80, abs=0.006)
    assert unigram_entropy(held_out, SMALL_GPT.vocab_size) == pytest.approx(5.77, abs=0.006)


def test_tokens_of_the_text(texts, pairs):
    assert train_bpe(texts[0], 280).merges == pairs.merges[:24]
