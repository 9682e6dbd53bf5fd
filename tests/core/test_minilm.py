"""MiniLM through our encoder: against transformers, and the figures that the lectures quote."""

import pytest
import torch

from course_utils.attention import effective_tokens
from course_utils.models import load_minilm

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
def test_as_transformers(minilm, reference, text):
    reading = minilm.read(text)
    tokens, output = reference(text)
    assert list(reading.tokens) == tokens
    # The bound the course promises. Both are float32, and each is up to 5e-6 from the exact value.
    for ours, theirs in zip(reading.hidden_states, output.hidden_states, strict=True):
        assert torch.allclose(ours, theirs[0], rtol=0, atol=1e-5)
    for ours, theirs in zip(reading.attentions, output.attentions, strict=True):
        assert torch.allclose(ours, theirs[0], rtol=0, atol=1e-5)


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
def test_head_of_it(minilm, text, key, expected):
    # Three decimals are quoted; 1e-3 leaves room for another machine's rounding.
    assert weight(minilm, text, 3, 1, "it", key) == pytest.approx(expected, abs=1e-3)


def test_effective_tokens_of_the_heads(minilm):
    reading = minilm.read(TIRED)
    per_query = torch.stack([effective_tokens(weights) for weights in reading.attentions])
    assert len(reading.tokens) == 16
    typical = per_query.log().mean(-1).exp()  # exp of the head's mean entropy
    assert typical.min().item() == pytest.approx(1.0, abs=0.05)
    assert typical.max().item() == pytest.approx(12.5, abs=0.05)
    # The plain mean over the queries is another number.
    assert per_query.mean(-1).max().item() == pytest.approx(13.0, abs=0.05)


# Reading


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


def test_each_is_a_model_of_its_own(minilm, folder):
    before, changed = minilm.read(TIRED), load_minilm(str(folder))
    changed.encoder.get_parameter("embeddings.positions.weight")[3].zero_()
    now = changed.read(TIRED)
    assert (now.hidden_states[0] - before.hidden_states[0]).abs().amax(dim=1).argmax() == 3
    for other in (minilm, load_minilm(folder)):
        assert torch.equal(other.read(TIRED).hidden_states[-1], before.hidden_states[-1])
