"""The GPT of the browser against torch on the same numbers."""

import copy
import itertools
import random

import numpy as np
import pytest
import torch

from course_utils.explorers.gpt import packed
from course_utils.explorers.link import link
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.models.story_gpt import load_story_gpt
from course_utils.stories import ALL_WORDS, tell
from course_utils.threads import one_thread
from tests.explorers.support_gpt import CLOSE, GPT, SIZES, in_node, numbers, random_gpt, some_ids


@one_thread()
@torch.no_grad()
def scores_by_torch(model, ids):
    """All scores (T, V) at once, without a cache, in 64 bits."""
    return model.double()(torch.tensor([ids]))[0].numpy()


@one_thread()
@torch.no_grad()
def traced_by_torch(model, ids):
    """Hidden states and the weights of heads, in the order in which `step` gives them."""
    states, heads = model.double().trace(torch.tensor([ids]))
    weights = [
        each.weights[0, head, t, : t + 1]
        for t, each, head in itertools.product(
            range(len(ids)), heads, range(model.config.num_heads)
        )
    ]
    return torch.stack(states)[:, 0].transpose(0, 1).numpy(), torch.cat(weights).numpy()


@pytest.fixture(scope="module")
def small():
    """GPTs of prime and unequal sizes, each with as many ids as it has positions."""
    models = [random_gpt(*sizes) for sizes in SIZES]
    return [(model, some_ids(model, model.config.max_positions)) for model in models]


def off_by(scores, model, ids):
    return np.abs(scores - scores_by_torch(model, ids)).max()


def test_scores_weights_and_hidden_states_are_those_of_torch(small):
    source = """
console.log(JSON.stringify(models.map((model, i) => {
  const steps = fresh(model, told.texts[i]);
  const lens = steps.flatMap(each => each.hidden_states.map(h => logitsOf(model, h)));
  return [steps.map(each => each.logits), steps.flatMap(each => each.hidden_states),
    steps.flatMap(each => each.weights.flat()), lens].map(joined);
})));
"""
    models, texts = zip(*small, strict=True)
    for got, (model, ids) in zip(in_node(source, models, texts=texts), small, strict=True):
        sizes, T = model.config, len(ids)
        assert off_by(numbers(got[0], T, sizes.vocab_size), model, ids) < CLOSE
        states, weights = traced_by_torch(model, ids)
        assert np.allclose(numbers(got[1], *states.shape), states, rtol=0, atol=CLOSE)
        assert np.allclose(numbers(got[2], -1), weights, rtol=0, atol=CLOSE)
        lens = model.logits(torch.from_numpy(states)).detach().numpy()
        assert np.allclose(numbers(got[3], *lens.shape), lens, rtol=0, atol=CLOSE)


def test_a_cache_that_is_set_back_is_as_good_as_none(small):
    model, ids = small[0]
    source = """
const [model] = models;
const [first, second] = told.texts;
const cache = newCache(model);
read(model, cache, first);
const scores = [5, 0, 9].map(kept => {
  cache.length = Math.min(kept, cache.length);
  const rest = Uint8Array.from(second.slice(cache.length));
  return joined(read(model, cache, rest).map(each => each.logits));
});
const alone = second.map((_, t) => fresh(model, second.slice(0, t + 1)).at(-1).logits);
console.log(JSON.stringify([...scores, joined(alone)]));
"""
    second = ids[:5] + some_ids(model, len(ids) - 5, seed=2)
    assert second != ids
    for got in in_node(source, [model], texts=[ids, second]):
        scores = numbers(got, -1, model.config.vocab_size)
        assert np.abs(scores - scores_by_torch(model, second)[-len(scores) :]).max() < CLOSE


def test_what_cannot_be_read_is_said(small):
    source = """
const [model] = models;
const full = newCache(model);
read(model, full, told.ids);
const said = [saidBy(() => step(model, full, 1))];
for (const id of [31, -1, undefined]) said.push(saidBy(() => step(model, newCache(model), id)));
console.log(JSON.stringify([...said, full.length]));
"""
    model, ids = small[0]
    *said, length = in_node(source, [model], ids=ids)
    assert said == [
        "the model reads 13 tokens at most",
        *(f"id must be an integer from 0 to 30, got {id}" for id in ("31", "-1", "undefined")),
    ]
    assert length == 13


@torch.no_grad()
def without(model, block, head, mean):
    """A copy in which a head gives `mean`: its slice of the output projection is zeroed."""
    changed = copy.deepcopy(model).double()
    D = model.config.head_width
    output = changed.blocks[block].attention.output
    of_head = output.weight[:, head * D : (head + 1) * D]
    if mean is not None:
        output.bias += of_head @ torch.tensor(mean).double()
    of_head.zero_()
    return changed


def test_heads_that_are_replaced(small):
    model, ids = small[0]
    mean = [0.5, -1.0, 0.25, 2.0, -0.125]
    cases = [{f"{block}.{head}": None} for block in range(2) for head in range(3)]
    cases += [{"0.2": mean, "1.0": None}, {"1.1": mean, "1.2": mean}]
    source = """
console.log(JSON.stringify(told.cases.map(
  replaced => joined(fresh(models[0], told.ids, replaced).map(each => each.logits)))));
"""
    whole = scores_by_torch(model, ids)
    for replaced, got in zip(cases, in_node(source, [model], ids=ids, cases=cases), strict=True):
        changed = model
        for name, instead in replaced.items():
            changed = without(changed, *map(int, name.split(".")), instead)
        scores = numbers(got, *whole.shape)
        assert off_by(scores, changed, ids) < CLOSE, replaced
        assert np.abs(scores - whole).max() > 0.01, replaced


# Planted mistakes, in the text of the module as a browser gets it.

MISTAKES = {
    "GELU by erf": [("Math.tanh(inside)", "erf(x[i] / Math.SQRT2)")],
    "scores over the square root of the width": [("Math.sqrt(D)", "Math.sqrt(width)")],
    "no causal limit": [
        ("new Float64Array(position + 1)", "new Float64Array(keys.length / width)"),
        ("s <= position", "s < keys.length / width"),
    ],
    "not itself": [("s <= position", "s < Math.max(position, 1)")],
    "eps of 1e-6": [("x.length + eps", "x.length + 1e-6")],
    "eps outside the root": [
        ("1 / Math.sqrt(squares / x.length + eps)", "1 / (Math.sqrt(squares / x.length) + eps)")
    ],
    "variance over C - 1": [("squares / x.length", "squares / (x.length - 1)")],
    "positions of the token before": [("cache.length));", "Math.max(cache.length - 1, 0)));")],
    "no norm before the feed-forward": [("layerNorm(feedforward_norm, h, eps)", "h")],
    "no last norm": [("layerNorm(norm, h, config.eps)", "h")],
    "no bias": [("out[i] += bias[i]", "out[i] += 0")],
}
ERF = """
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const terms = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  return Math.sign(x) * (1 - terms.reduce((sum, each) => (sum + each) * t, 0) * Math.exp(-x * x));
}
"""  # Abramowitz, Stegun, "Handbook of mathematical functions", 1964, 7.1.26: to 1.5e-7


def test_a_planted_mistake_is_found(small, tmp_path):
    model, ids = small[0]
    right = link(GPT / "gpt.js", "export default entry;")
    texts = {"none": right}
    for name, changes in MISTAKES.items():
        texts[name] = right + ERF
        for old, new in changes:
            assert old in texts[name], name
            texts[name] = texts[name].replace(old, new)
    for number, text in enumerate(texts.values()):
        (tmp_path / f"{number}.mjs").write_text(text, encoding="utf-8")
    source = """
const [model] = models;
const scores = [];
for (const module of told.modules) {
  const { read, newCache } = (await import(module)).default;
  scores.push(joined(read(model, newCache(model), told.ids).map(each => each.logits)));
}
console.log(JSON.stringify(scores));
"""
    modules = [(tmp_path / f"{number}.mjs").as_uri() for number in range(len(texts))]
    got = in_node(source, [model], ids=ids, modules=modules)
    for name, sent in zip(texts, got, strict=True):
        error = off_by(numbers(sent, len(ids), model.config.vocab_size), model, ids)
        assert (error < CLOSE) == (name == "none"), f"{name}: {error}"
        assert name == "none" or error > 1e-5, f"{name} would pass in 32 bits: {error}"


# The packaged GPT of the stories

STORIES = 200
BEGINNINGS = 5


def story_texts(positions):
    """Stories as ids: one row that is full, and beginnings of any length."""
    ids = {word: number for number, word in enumerate(ALL_WORDS)}
    stories = [
        [0, *(ids[word] for word in tell(random.Random(seed)).words)] for seed in range(STORIES)
    ]
    full = list(itertools.chain.from_iterable(stories[:5]))[:positions]
    cut = random.Random(3)
    return [full, *(story[: cut.randint(8, len(story))] for story in stories[1:])]


@one_thread()
@torch.no_grad()
def test_the_story_gpt_scores_as_torch_does():
    model = load_story_gpt()
    texts = story_texts(model.config.max_positions)
    source = """
const [model] = models;
const scores = told.texts.flatMap(ids => fresh(model, ids).map(each => each.logits));
const written = told.texts.slice(0, told.beginnings).map(ids => {
  const cache = newCache(model);
  const text = ids.slice(0, 8);
  let { logits } = read(model, cache, text).at(-1);
  for (let i = 0; i < 40; i += 1) {
    const id = draw(nextTokenProbabilities(logits, { temperature: 0 }), 0, text.length);
    text.push(id);
    ({ logits } = step(model, cache, id));
  }
  return text;
});
console.log(JSON.stringify([joined(scores), written]));
"""
    scores, written = in_node(source, [model], half=True, texts=texts, beginnings=BEGINNINGS)
    ours = numbers(scores, -1, len(ALL_WORDS))
    rounded = model.half().float()
    theirs = torch.cat([rounded(torch.tensor([text]))[0] for text in texts]).numpy()
    error = np.abs(ours - theirs).max()
    assert error < 1e-3
    # Some words are equally likely: a choice has the highest score but for twice the rounding.
    first = np.take_along_axis(theirs, ours.argmax(-1)[:, None], -1)[:, 0]
    assert (theirs.max(-1) - first).max() <= 2 * error
    chosen = torch.tensor(written)
    scores = rounded(chosen[:, :-1])[:, 7:]  # those of the 40 words that it wrote
    first = scores.gather(-1, chosen[:, 8:, None])[..., 0]
    assert chosen.shape == (BEGINNINGS, 48) and (scores.amax(-1) - first).max() <= 2 * error


# What is packed


def test_what_is_packed_has_two_or_four_bytes_and_only_whole_models_are(small):
    model = random_gpt(*SIZES[0])
    for half, kind in ((True, np.float16), (False, np.float32)):
        sent = packed(model, half)["weights"]
        assert {each.dtype for each in sent.values()} == {np.dtype(kind)}
        for name, weight in model.state_dict().items():
            assert np.array_equal(sent[name], weight.numpy().astype(kind))
    with pytest.raises(TypeError, match=r"must be a GPT2, got DataParallel: use model\.module"):
        packed(torch.nn.DataParallel(model))
    with pytest.raises(ValueError, match="must have num_kv_heads=None, got num_kv_heads=1"):
        packed(GPT2(GPT2Config(31, 13, 15, 2, 3, num_kv_heads=1)))
    del model.norm.bias
    with pytest.raises(ValueError, match=r"weights of a plain GPT2, got no norm\.bias"):
        packed(model)


@torch.no_grad()
def test_a_weight_that_two_bytes_cannot_hold_is_not_sent():
    model = random_gpt(*SIZES[0])
    model.blocks[1].feedforward.expand.bias[3] = 70_000
    packed(model, half=False)
    with pytest.raises(
        ValueError, match=r"finite as float16: blocks\.1\.feedforward\.expand\.bias"
    ):
        packed(model)
