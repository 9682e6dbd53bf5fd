"""The story GPT's picture: against torch, with heads off, on every text that a reader may type."""

import copy
import itertools

import numpy as np
import pytest
import torch
from torch import nn

from course_utils.explorers.gpt.own import as_gpt2
from course_utils.explorers.gpt.story import COLOUR, WHO, StoryGPT
from course_utils.explorers.gpt.weights import mean_outputs
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.models.story_gpt import STORY_GPT, load_story_gpt, story_tokens
from course_utils.sampling import next_token_probabilities
from course_utils.stories.words import ALL_WORDS
from course_utils.threads import one_thread
from tests.explorers.support_browser import InBrowser
from tests.explorers.support_node import KIT, run_module

L, H, C, V = STORY_GPT.num_layers, STORY_GPT.num_heads, STORY_GPT.width, STORY_GPT.vocab_size
CLOSE = 1e-3  # what the weights' 16 bits leave of scores; here both have the same
WORDS = story_tokens()


@pytest.fixture(scope="module")
def browser():
    with InBrowser(StoryGPT()) as found:
        yield found


@pytest.fixture(scope="module")
def rounded():
    """The model as it is sent: each weight has 16 bits."""
    return load_story_gpt().half().double()


@one_thread()
@torch.no_grad()
def scores(model, text):
    return model(torch.tensor([WORDS.encode(f"\n{text}")]))[0]


@torch.no_grad()
def without(model, off, means):
    """A copy in which some heads give their means."""
    changed = copy.deepcopy(model)
    D = C // H
    for block, head in off:
        output = changed.blocks[block].attention.output
        of_head = output.weight[:, head * D : (head + 1) * D]
        output.bias += of_head @ means[block, head]
        of_head.zero_()
    return changed


def rows_of(off):
    return ["".join(".#"[(block, head) not in off] for head in range(H)) for block in range(L)]


def test_next_words_are_those_of_torch_with_any_heads_off(browser, rounded):
    means = browser.explorer.given()["means"].double()
    for off in ([], [(3, 3)], [(0, 1), (1, 2), (3, 0)]):
        expected = scores(without(rounded, off, means), WHO)
        for at, (temperature, k, p) in itertools.product(
            (0, 5, 37), ((1.0, V, 1.0), (0.5, 7, 1.0), (1.3, V, 0.8), (0.0, V, 1.0))
        ):
            state = browser.compute(
                text=WHO, heads=rows_of(off), at=at, temperature=temperature, k=k, p=p
            )
            theirs = next_token_probabilities(expected[at], temperature=temperature, k=k, p=p)
            assert np.allclose(state.after, theirs[np.array(state.rows)], atol=CLOSE)
            assert state.kept == (theirs > 0).sum()
            assert theirs[state.drawn] > 0
    assert float(next_token_probabilities(scores(rounded, WHO)[-1]).max()) == pytest.approx(
        browser.compute(text=WHO).chance, abs=CLOSE
    )


def test_bars_are_the_most_probable_words_with_and_without_the_heads(browser):
    whole, changed = (browser.compute(text=COLOUR, heads=rows_of(off)) for off in ([], [(3, 1)]))
    assert ALL_WORDS[whole.best] == "red"
    assert ALL_WORDS[changed.best] == "in"
    assert changed.before[list(changed.rows).index(whole.best)] == whole.after[0]
    assert changed.rows[0] == changed.best
    assert list(np.diff(np.maximum(changed.after, changed.before)[1:]) <= 0) == [True] * 6
    rare = browser.compute(text="", k=1)
    assert rare.kept == 1 and list(rare.after) == [1, *[0] * 7]
    assert ALL_WORDS[rare.rows[1]] == ALL_WORDS[browser.compute(text="").rows[1]], (
        "cut, and in order"
    )
    seeds = [browser.compute(text="", seed=seed) for seed in range(20)]
    assert all(state.drawn in state.rows for state in seeds)
    assert len({state.drawn for state in seeds}) > 8, "most names are not among the likeliest"


def test_weights_and_lens_are_those_of_torch(browser, rounded):
    with torch.no_grad():
        states, heads = rounded.trace(torch.tensor([WORDS.encode(f"\n{WHO}")]))
        lens = torch.stack([rounded.logits(h)[0].softmax(-1) for h in states])  # (L + 1, T, V)
    state = browser.compute(text=WHO, look="lens", at=11)
    for block in range(L):
        ours = np.array(state.weights[block])
        assert np.allclose(ours, heads[block].weights[0, :, 11, :12], atol=CLOSE)
    ids = np.array([[each["id"] for each in row] for row in state.lens]).T
    shares = np.array([[each["share"] for each in row] for row in state.lens]).T
    assert np.allclose(shares, lens.max(-1).values, atol=CLOSE)
    sure = lens.topk(2).values.diff().squeeze(-1).abs() > CLOSE
    assert np.array_equal(ids[sure], lens.argmax(-1)[sure])


def test_costs_are_those_of_the_matrices(browser):
    state = browser.compute(text=WHO, look="cache")
    T = len(WORDS.encode(f"\n{WHO}"))
    in_matrices = sum(
        weight.numel() for name, weight in load_story_gpt().named_parameters()
        if name.startswith("blocks.") and weight.dim() == 2
    )  # fmt: skip
    read = [in_matrices + 2 * L * C * t for t in range(1, T + 1)]
    assert state.costs["cached"] == pytest.approx((read[-1] + V * C) / 1e6)
    assert state.costs["anew"] == pytest.approx((sum(read) + V * C) / 1e6)
    caches = (gpt := load_story_gpt()).new_caches()
    gpt(torch.tensor([WORDS.encode(f"\n{WHO}")]), caches=caches)
    assert state.costs["kept"] == sum(each.keys.numel() + each.values.numel() for each in caches)


TEXTS = {
    "": [],
    "Meg": ["Meg"],
    "  Ann   was,in\n the park.": ["Ann", "was", ",", "in", "the", "park", "."],
    "ann": [None],
    "Ann met a <b>dragon</b>": ["Ann", None, "a", None, None, None, None, None, None, None, None],
    "שלום Ben": [None, "Ben"],
    "naïve_1 Ben": [None, "Ben"],
    "Ben was in the park. " * 40: (["Ben", "was", "in", "the", "park", "."] * 32)[:191],
}  # fmt: skip


@pytest.mark.parametrize(("text", "read"), TEXTS.items(), ids=lambda each: str(each)[:20])
def test_texts_that_a_reader_types(browser, text, read):
    state = browser.compute(text=text)
    known = [word for word in read if word is not None]
    assert [ALL_WORDS[number] for number in state.ids] == ["\n", *known]
    words = [each["word"] for each in state.pieces]
    assert "".join(words) == "".join(text.split())
    ids = [each["id"] for each in state.pieces]
    assert [number is None for number in ids[: len(read)]] == [word is None for word in read]
    assert len(state.ids) <= STORY_GPT.max_positions
    assert all(number is None for number in ids[len(read) :]), "what has no room is not read"


def test_it_reads_as_python_does_with_the_cache_and_without(browser):
    text = "Ben was in the tent. Ann found a big red drum. Ann gave it to"
    told = [browser.compute(text=text, cached=cached) for cached in (True, False)]
    assert np.array_equal(told[0].after, told[1].after)
    assert list(told[0].ids) == WORDS.encode(f"\n{text}")
    # A cache must forget: after this text, the one that has half of it is read as if it came first.
    half = text[: len(text) // 2]
    after = browser.compute(text=half)
    assert np.array_equal(after.after, browser.compute(text=half, cached=False).after)


def test_questions_about_the_thing_named_last_and_nearest_words():
    source = (
        f'import * as story from "{(KIT.parent / "gpt" / "story.text.js").as_uri()}";'
        + """
const { questions, nearest, spelled } = story;
const kinds = { things: ["hat", "drum"], he: ["Ben", "Tom"], she: ["Ann"] };
const asked = told.stories.map(each =>
  questions(each.match(/\\w+|[.?]/g) ?? [], kinds).map(one => one.text));
console.log(JSON.stringify([asked, told.typed.map(each => nearest(each, told.words)),
  spelled("ann was In dragon", told.words)]));
"""
    )
    stories = [
        "", "Ann was in the park.", "Ann found a hat. Ann found a drum.",
        "Ben sang. Ann gave the hat to him. Tom", "Ann gave the hat to Ben. Ben gave it to her.",
        "Ann found a hat. Who gave the hat to Ben?",
    ]  # fmt: skip
    typed = ["Benn", "hats", "zzz"]
    told = {"stories": stories, "typed": typed, "words": ALL_WORDS}
    asked, near, spelled = run_module(source, told)
    assert asked[0] == asked[1] == [""] * 4
    assert asked[2] == [
        "Who has the drum?", "Where is the drum?", "What colour is the drum?", "Who found the drum?"
    ]  # fmt: skip
    assert asked[3][3] == "Who gave the hat to Ben?"
    assert asked[4][3] == "Who gave the hat to Ann?"
    assert asked[5][3] == "Who found the hat?"
    assert near[0][0] == "Ben" and "hat" in near[1] and len(set(near[2])) == 3
    assert spelled == ["Ann", "was", "in", "dragon"]


class Own(nn.Module):
    """A reader's class: the names of a GPT-2's weights, and scores of its own."""

    def __init__(self, gpt, change=lambda scores: scores):
        super().__init__()
        self.tokens, self.positions = gpt.tokens, gpt.positions
        self.blocks, self.norm = gpt.blocks, gpt.norm
        self._gpt, self._change = [gpt], change

    def forward(self, ids):
        return self._change(self._gpt[0](ids))


def random_gpt(**sizes):
    torch.manual_seed(1)
    gpt = GPT2(GPT2Config(V, 37, 35, num_layers=2, num_heads=5, **sizes)).eval()
    for weight in gpt.parameters():
        nn.init.normal_(weight, std=0.4)
    return gpt


def test_a_readers_gpt_is_known_by_its_scores():
    gpt = random_gpt()
    found = as_gpt2(Own(gpt))
    assert found is not None and found.config == gpt.config
    explorer = StoryGPT(Own(gpt))
    assert explorer.served == ()
    sent = explorer.given()
    assert sent["whose"] == "yours"
    assert {each.dtype for each in sent["gpt"]["weights"].values()} == {np.dtype("float32")}
    assert explorer.inputs["heads"].default == ("#####", "#####")
    with InBrowser(explorer) as browser:
        state = browser.compute(text="Ann was in the park.")
        theirs = scores(gpt.double(), "Ann was in the park.")[-1].softmax(-1)
        assert np.allclose(state.after, theirs.detach()[np.array(state.rows)], atol=1e-6)


@pytest.mark.parametrize(
    "change", [lambda scores: 1.01 * scores, lambda scores: scores.roll(1, dims=1)]
)
def test_one_that_computes_otherwise_is_asked_in_python(change):
    model = Own(random_gpt(), change)
    assert as_gpt2(model) is None
    explorer = StoryGPT(model)
    assert explorer.served == ("text",)
    text = "Ann was xyz in the park."
    with InBrowser(explorer) as browser:
        state = browser.compute(text=text)
        theirs = scores(model, "Ann was in the park.")[-1].softmax(-1).detach()
        assert np.allclose(state.after, theirs[np.array(state.rows)], atol=1e-6)
        assert state.weights is None and state.lens is None


def test_a_model_of_other_words_is_refused():
    with pytest.raises(ValueError, match=r"scores of 180 words, \(B, T, 180\), got \(1, 37, 90\)"):
        as_gpt2(Own(random_gpt(), lambda scores: scores[..., ::2]))


@torch.no_grad()
def test_means_are_those_of_all_words():
    gpt = random_gpt().double()
    texts = [torch.randint(V, (2, 31)), torch.randint(V, (1, 7))]
    seen = []
    output = gpt.blocks[1].attention.output
    output.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].reshape(-1, 5, 7)))
    means = mean_outputs(gpt, texts)
    assert torch.allclose(means[1], torch.cat(seen).mean(0).float(), atol=1e-6)
