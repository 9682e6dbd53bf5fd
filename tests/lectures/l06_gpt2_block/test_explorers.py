"""Lecture 06's explorers of a small GPT: what they show is what the model and the library say."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from course_utils.lectures.l06_gpt2_block.explorers.logit_lens import (
    EMBEDDING,
    MOST_TOKENS,
    LogitLens,
    look_through,
)
from course_utils.lectures.l06_gpt2_block.explorers.logit_lens import EVERY as ALL_LAYERS
from course_utils.lectures.l06_gpt2_block.explorers.next_token import (
    DRAWS,
    EVERY,
    SHOWN,
    WRITTEN,
    NextToken,
    Writer,
    _ordinal,
    cut,
)
from course_utils.lectures.l06_gpt2_block.explorers.reading import (
    read_prompt,
    readable,
    token_name,
)
from course_utils.models.generation import generate
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer
from course_utils.sampling import next_token_probabilities
from tests.explorers.support_explorers import move

TOKENIZER = small_gpt_tokenizer()
TEXT = "The softmax of"
IDS = tuple(TOKENIZER.encode(TEXT))


@pytest.fixture(scope="module")
def model():
    return load_small_gpt()


@torch.no_grad()
def scores_of(model, ids):
    """What the model itself says of the token after these."""
    return model(torch.tensor([ids]))[0, -1]


# The next token


@pytest.fixture(scope="module")
def following():
    made = NextToken()
    made.widget()
    return made


SET = {"prompt": TEXT, "temperature": 0.8, "k": 20, "p": 0.85, "draw": 3}


def test_bars_are_the_models_and_the_librarys(model, following):
    state = following.compute(**SET)
    logits = scores_of(model, IDS).double()
    order = logits.argsort(descending=True)[:SHOWN]
    assert state.names == tuple(token_name(TOKENIZER.tokens[token]) for token in order)
    np.testing.assert_allclose(state.before, logits.softmax(-1)[order], atol=1e-5)
    after = next_token_probabilities(logits, temperature=0.8, k=20, p=0.85)
    np.testing.assert_allclose(state.after, after[order], atol=1e-5)
    assert state.kept == int((after > 0).sum()) < 20
    sums = (logits / 0.8).softmax(-1).sort(descending=True).values.cumsum(-1)
    np.testing.assert_allclose(state.warm_sums, sums[state.ranks - 1], atol=1e-5)
    assert state.p_limit == pytest.approx(0.85 * sums[19].item(), abs=1e-5)
    own = logits.softmax(-1)[after > 0].sum().item()
    assert state.own_share == pytest.approx(own, abs=1e-5)


def test_the_text_is_drawn_as_the_library_says(model, following):
    """Each token is the first, in order of probability, whose sum passes the number drawn."""
    chances = np.random.default_rng(3).random(WRITTEN)
    ids = list(IDS)
    for chance in chances:
        logits = scores_of(model, ids).double()
        shares = next_token_probabilities(logits, temperature=0.8, k=20, p=0.85)
        sorted_shares, order = shares.sort(descending=True, stable=True)
        ids.append(int(order[int((sorted_shares.cumsum(-1) <= chance).sum())]))
    state = following.compute(**SET)
    assert state.text == readable(TOKENIZER.decode(ids[len(IDS) :]))
    assert state.reached == pytest.approx(chances[0] * state.warm_share)
    order = scores_of(model, IDS).argsort(descending=True)
    assert order[state.drawn - 1] == ids[len(IDS)]


def test_draws_differ_unless_greedy(following):
    hot = {**SET, "temperature": 2.0, "k": EVERY, "p": 1.0}
    texts = {following.compute(**{**hot, "draw": draw}).text for draw in (1, 2, 7, DRAWS)}
    assert len(texts) == 4
    for greedy in ({"temperature": 0.0}, {"k": 1}):
        texts = {following.compute(**{**hot, **greedy, "draw": draw}).text for draw in (1, 2, 3)}
        assert len(texts) == 1


def test_words_of_the_next_token(following):
    following.set(**{**SET, "k": EVERY, "p": 1.0})
    assert "Temperature 0.8, top-k all, top-p 1.00: all 1024 tokens are kept." in following.words
    assert re.search(
        r"Draw 3 begins with the \d+(st|nd|rd|th) most probable \(black\) and writes “",
        (following.words),
    )
    following.set(temperature=0.0)
    assert "1 of 1024 tokens is kept; the model gave it 0." in following.words
    assert "has 1.00 now. No chance is left: each draw writes “" in following.words
    following.set(temperature=1.0, k=5)
    assert "top-k 5, top-p 1.00: 5 of 1024 tokens are kept; the model gave them 0." in (
        following.words
    )
    following.set(prompt="")
    assert "An empty prompt is read as a line break" in following.words
    following.set(prompt="the queries " * 90)
    room = SMALL_GPT.max_positions - WRITTEN
    assert f"Of the prompt's {len(TOKENIZER.encode('the queries ' * 90))} tokens" in following.words
    assert f"the last {room} are read" in following.words
    following.set(prompt="the")
    assert "are read" not in following.words and "line break" not in following.words


def test_half_a_letter_is_an_error_in_words(following):
    following.set(**SET)
    before = following.png()
    move(following, prompt="cat \ud83d")
    assert "half of a surrogate pair" in str(following.error) and following.png() == before
    move(following, prompt="cat")
    assert following.error is None


def test_crosses_stand_at_cut_tokens(following):
    following.set(**{**SET, "k": 5, "p": 1.0})
    assert following._cut.get_ydata().round(1).tolist() == [4.9, 5.9, 6.9, 7.9, 8.9]
    x, y = following._limits.get_data()
    assert x[3:] == pytest.approx([np.log10(5)] * 2) and np.isnan(y[:3]).all()
    following.set(k=EVERY, p=0.5)
    x, y = following._limits.get_data()
    assert y[:2] == pytest.approx([0.5, 0.5]) and np.isnan(x[3:]).all()
    dot = following._warm.get_xydata()[-1]
    assert dot[0] == np.log10(following.state.kept) and dot[1] > 0.499


# The model that writes


def test_it_scores_as_the_model_does(model):
    writer = Writer(model)
    for count in range(1, len(IDS) + 1):
        order, scores = writer.score(IDS[:count])
        assert (np.diff(scores) <= 0).all()
        expected = scores_of(model, IDS[:count]).numpy()
        np.testing.assert_allclose(scores, expected[order], atol=1e-4)


def test_greedily_it_writes_what_generate_writes(model):
    written = Writer(model).write(IDS, 13, lambda step, order, scores: int(order[0]))
    expected = generate(model, torch.tensor([IDS]), 13, temperature=0)[0, len(IDS) :]
    assert list(written) == expected.tolist()


def test_what_was_written_before_costs_no_step(model, monkeypatch):
    writer, calls = Writer(model), []
    forward = model.forward
    monkeypatch.setattr(
        model, "forward", lambda ids, **how: calls.append(ids) or forward(ids, **how)
    )
    rank = [0] * 9

    def choose(step, order, scores):
        return int(order[rank[step]])

    first = writer.write(IDS, 9, choose)
    # The prompt at once, then a token at a time; the last one written is not read.
    assert [ids.shape[1] for ids in calls] == [len(IDS)] + [1] * 8
    assert writer.write(IDS, 9, choose) == first and len(calls) == 9
    rank[6] = 1
    second = writer.write(IDS, 9, choose)
    assert first[:6] == second[:6] and first[6] != second[6]
    # All before the change at once, into new caches.
    assert [ids.shape[1] for ids in calls[9:]] == [len(IDS) + 7, 1]
    assert second == Writer(model).write(IDS, 9, choose)


@pytest.mark.parametrize("temperature", [0, 0.1, 1, 2])
@pytest.mark.parametrize("k", [1, 7, 277, 1000])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95, 1.0])
def test_what_is_kept_is_what_the_library_keeps(temperature, k, p):
    random = torch.Generator().manual_seed(3)
    logits = (4 * torch.randn(277, generator=random)).round(decimals=1)  # some of them equal
    expected = next_token_probabilities(logits.double(), temperature=temperature, k=k, p=p)
    order = (-logits).argsort(stable=True).numpy()
    warm, kept = cut(logits.numpy()[order], temperature, k, p)
    assert kept == int((expected > 0).sum())
    found = np.where(np.arange(277) < kept, warm, 0) / warm[:kept].sum()
    np.testing.assert_allclose(found, expected.numpy()[order], atol=1e-12)


# Prompts and names


@pytest.mark.parametrize(
    ("token", "name"),
    [(b" the", "␣the"), (b"\n\n", "↵↵"), (b"\t", "⇥"), ("é".encode(), "é"), (b"\xc3", "\\xc3"),
     (b"\x00", "\\x00"), (b"$x_1$", "$x_1$")],
)  # fmt: skip
def test_names_of_tokens(token, name):
    assert token_name(token) == name


def test_every_token_has_a_printable_name():
    names = [token_name(token) for token in TOKENIZER.tokens]
    assert all(name.isprintable() and name.strip() for name in names)


def test_quotes_around_a_text_are_the_only_curly_ones():
    assert readable("a “b” 'c'") == "a \"b\" 'c'"


def test_a_prompt_keeps_its_end():
    prompt = read_prompt(TEXT, TOKENIZER, 2)
    assert prompt.ids == IDS[-2:] and prompt.count == len(IDS) > 2
    assert read_prompt("", TOKENIZER, 5).ids == tuple(TOKENIZER.encode("\n"))


# The logit lens


@pytest.fixture(scope="module")
def lens():
    made = LogitLens()
    made.widget()
    return made


def test_the_lens_is_norm_and_embeddings(model):
    ids = IDS
    found = look_through(model, ids)
    with torch.no_grad():
        h = model.tokens(torch.tensor([ids])) + model.positions(torch.arange(len(ids)))
        states = [h]
        for block in model.blocks:
            h, _ = block(h)
            states.append(h)
        norm = model.norm
        shares = [
            (torch.nn.functional.layer_norm(h[0], (SMALL_GPT.width,), norm.weight, norm.bias)
             @ model.tokens.weight.T).softmax(-1).numpy()
            for h in states
        ]  # fmt: skip
    final = shares[-1].argmax(-1)
    assert found.final.tolist() == final.tolist() and found.own.tolist() == list(ids)
    for layer, table in enumerate(shares):
        for place in range(len(ids)):
            of_final = table[place, final[place]]
            assert found.probability[layer, place] == pytest.approx(of_final, abs=1e-5)
            assert found.rank[layer, place] == 1 + (table[place] > of_final).sum()
            best = (-table[place]).argsort()[:5]
            assert found.best[layer, place].tolist() == best.tolist()
            np.testing.assert_allclose(found.best_share[layer, place], table[place, best], 1e-4)
    assert (found.rank[-1] == 1).all() and (found.rank[:-1] > 1).any()


def test_the_column_is_the_tokens_own(lens):
    count = len(IDS)
    last = lens.compute(prompt=TEXT, back=0, layer=ALL_LAYERS)
    first = lens.compute(prompt=TEXT, back=count - 1, layer="2")
    beyond = lens.compute(prompt=TEXT, back=count, layer="2")
    assert (last.position, first.position, beyond.position) == (count - 1, 0, 0)
    assert (last.layer, first.layer) == (None, 2)
    assert (first.beyond, beyond.beyond) == (False, True)
    assert (last.column == last.probability[:, -1]).all()
    assert first.best[0] == first.says[2][0] and first.shares[0] == first.best_share[2]


def test_the_words_of_the_lens(lens):
    count = len(IDS)
    lens.set(prompt=TEXT, back=0, layer=ALL_LAYERS)
    places = ", ".join(str(rank) for rank in lens.state.ranks)
    assert f"After token {count} of {count}, “" in lens.words
    assert f"From the embedding up it stands at place {places}, with " in lens.words
    lens.set(layer="3")
    assert "After block 3 it would be “" in lens.words
    assert "the final choice is first, with " in lens.words
    lens.set(layer=EMBEDDING, back=MOST_TOKENS - 1)
    assert "At the embedding it would be “" in lens.words
    assert "There is no token before: the first one is shown." in lens.words
    lens.set(prompt="the queries " * 40)
    assert f"tokens the last {MOST_TOKENS} are read." in lens.words


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([1, 1, 1, 1], "It is first from the embedding on."),
        ([7, 1, 1, 1], "It is first from block 1 on."),
        ([7, 1, 2, 1], "An earlier layer puts it first, and a later one does not."),
        ([1, 3, 1, 1], "It is first from block 2 on."),
        ([7, 5, 2, 1], "No earlier layer puts it first."),
    ],
)
def test_from_which_block_on_the_choice_stands(lens, ranks, said):
    state = lens.compute(prompt=TEXT, back=0, layer=ALL_LAYERS)
    assert lens.caption(dataclasses.replace(state, ranks=np.array(ranks))).endswith(said)


def test_an_embedding_that_repeats_its_token(lens):
    lens.set(prompt=TEXT, back=0, layer=EMBEDDING)
    state = lens.state
    for repeats in (True, False):
        words = lens.caption(dataclasses.replace(state, repeats_itself=repeats))
        assert ("The first of these is the token that is read" in words) is repeats


def test_the_map_has_the_embedding_at_the_bottom(lens):
    lens.set(prompt=TEXT, back=1, layer="1")
    levels = lens._heat._levels
    scaled = (np.log10(lens.state.probability.clip(1e-3)) + 3) / 3 * 255
    assert (levels[-1] == scaled[0].astype(np.uint8)).all()
    assert (levels[0] == scaled[-1].astype(np.uint8)).all()
    assert lens._frame.get_xy() == (lens.state.position - 0.5, 0.5)


@pytest.mark.parametrize(
    ("place", "said"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (102, "102nd"), (111, "111th"), (1000, "1000th")],
)  # fmt: skip
def test_ordinals(place, said):
    assert _ordinal(place) == said
