"""Lecture 06's explorers of a small GPT: what they show is what the model and the library say."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from course_utils.explorers.style import new_figure
from course_utils.lectures.l06_gpt2_block.explorers import next_token as next_token_06
from course_utils.lectures.l06_gpt2_block.explorers import reading as reading_06
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
)
from course_utils.lectures.l06_gpt2_block.explorers.reading import token_name
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.sampling import next_token_probabilities
from course_utils.tokens import train_bpe
from tests.explorers.support_explorers import move
from tests.explorers.support_explorers import overhang
from tests.lectures.l06_gpt2_block.support_viz_06 import TOKENIZER, random_model, scores_of

IDS = (5, 271, 7, 256, 11)


@pytest.fixture(scope="module")
def model():
    return random_model()


# The next token


@pytest.fixture(scope="module")
def following(model):
    made = NextToken(model, TOKENIZER, prompt="the cat")
    made.widget()
    return made


SET = {"prompt": "the cat", "temperature": 0.8, "k": 20, "p": 0.85, "draw": 3}


def test_the_bars_are_the_models_and_the_librarys(model, following):
    state = following.compute(**SET)
    logits = torch.from_numpy(scores_of(model, TOKENIZER.encode("the cat"))).double()
    order = logits.argsort(descending=True)[:SHOWN]
    assert state.names == tuple(token_name(TOKENIZER.tokens[token]) for token in order)
    np.testing.assert_allclose(state.before, logits.softmax(-1)[order], atol=1e-5)
    after = next_token_probabilities(logits, temperature=0.8, k=20, p=0.85)
    np.testing.assert_allclose(state.after, after[order], atol=1e-5)
    assert state.kept == int((after > 0).sum()) < SHOWN + 10
    sums = (logits / 0.8).softmax(-1).sort(descending=True).values.cumsum(-1)
    np.testing.assert_allclose(state.warm_sums, sums[state.ranks - 1], atol=1e-5)
    assert state.p_limit == pytest.approx(0.85 * sums[19].item(), abs=1e-5)
    own = logits.softmax(-1)[after > 0].sum().item()
    assert state.own_share == pytest.approx(own, abs=1e-5)


def test_the_text_is_drawn_from_the_librarys_probabilities(model, following):
    """Each token is the first, in order of probability, whose sum passes the number drawn."""
    chances = np.random.default_rng(3).random(WRITTEN)
    ids = TOKENIZER.encode("the cat")
    start = len(ids)
    for chance in chances:
        logits = torch.from_numpy(scores_of(model, ids)).double()
        shares = next_token_probabilities(logits, temperature=0.8, k=20, p=0.85)
        sorted_shares, order = shares.sort(descending=True, stable=True)
        ids.append(int(order[int((sorted_shares.cumsum(-1) <= chance).sum())]))
    state = following.compute(**SET)
    assert state.text == reading_06.readable(TOKENIZER.decode(ids[start:]))
    assert state.reached == pytest.approx(chances[0] * state.warm_share)
    shown = following._read("the cat")[0].scored.order
    assert shown[state.drawn - 1] == ids[start]


def test_each_number_of_a_draw_writes_its_own_text_and_greedy_all_the_same(following):
    hot = {**SET, "temperature": 2.0, "k": EVERY, "p": 1.0}
    texts = {following.compute(**{**hot, "draw": draw}).text for draw in range(1, DRAWS + 1)}
    assert len(texts) == DRAWS
    for greedy in ({"temperature": 0.0}, {"k": 1}):
        texts = {following.compute(**{**hot, **greedy, "draw": draw}).text for draw in (1, 2, 3)}
        assert len(texts) == 1


def test_the_words_of_the_next_token(following):
    following.set(**{**SET, "k": EVERY, "p": 1.0})
    assert "Temperature 0.8, top-k all, top-p 1.00: all 273 tokens are kept." in following.words
    assert re.search(
        r"Draw 3 begins with the \d+(st|nd|rd|th) most probable \(black\) and writes “",
        (following.words),
    )
    following.set(temperature=0.0)
    assert "1 of 273 tokens is kept; the model gave it 0." in following.words
    assert "has 1.00 now. No chance is left: each draw writes “" in following.words
    following.set(temperature=1.0, k=5)
    assert "top-k 5, top-p 1.00: 5 of 273 tokens are kept; the model gave them 0." in (
        following.words
    )
    following.set(prompt="")
    assert "An empty prompt is read as a line break" in following.words
    following.set(prompt="the cat sat " * 20)
    room = 41 - WRITTEN
    assert f"Of the prompt's {len(TOKENIZER.encode('the cat sat ' * 20))} tokens" in following.words
    assert f"the last {room} are read" in following.words
    following.set(prompt="the")
    assert "are read" not in following.words and "line break" not in following.words


def test_half_a_letter_is_a_sentence_under_the_controls(following):
    following.set(**SET)
    before = following.png()
    move(following, prompt="cat \ud83d")
    assert "half of a surrogate pair" in str(following.error) and following.png() == before
    move(following, prompt="cat")
    assert following.error is None


def test_crosses_stand_where_tokens_are_cut(following):
    following.set(**{**SET, "k": 5, "p": 1.0})
    assert following._cut.get_ydata().round(1).tolist() == [4.9, 5.9, 6.9, 7.9, 8.9]
    x, y = following._limits.get_data()
    assert x[3:] == pytest.approx([np.log10(5)] * 2) and np.isnan(y[:3]).all()
    following.set(k=EVERY, p=0.5)
    x, y = following._limits.get_data()
    assert y[:2] == pytest.approx([0.5, 0.5]) and np.isnan(x[3:]).all()
    dot = following._warm.get_xydata()[-1]
    assert dot[0] == np.log10(following.state.kept) and dot[1] > 0.499


# The logit lens


@pytest.fixture(scope="module")
def lens(model):
    made = LogitLens(model, TOKENIZER, prompt="the cat sat on")
    made.widget()
    return made


def test_the_lens_is_the_norm_and_the_embeddings_of_every_state(model):
    ids = IDS[:5]
    found = look_through(model, ids)
    with torch.no_grad():
        h = model.tokens(torch.tensor([ids])) + model.positions(torch.arange(5))
        states = [h]
        for block in model.blocks:
            h, _ = block(h)
            states.append(h)
        norm = model.norm
        shares = [
            (torch.nn.functional.layer_norm(h[0], (15,), norm.weight, norm.bias)
             @ model.tokens.weight.T).softmax(-1).numpy()
            for h in states
        ]  # fmt: skip
    final = shares[-1].argmax(-1)
    assert found.final.tolist() == final.tolist() and found.own.tolist() == list(ids)
    for layer, table in enumerate(shares):
        for place in range(5):
            of_final = table[place, final[place]]
            assert found.probability[layer, place] == pytest.approx(of_final, abs=1e-5)
            assert found.rank[layer, place] == 1 + (table[place] > of_final).sum()
            best = (-table[place]).argsort()[:5]
            assert found.best[layer, place].tolist() == best.tolist()
            np.testing.assert_allclose(found.best_share[layer, place], table[place, best], 1e-4)
    assert (found.rank[-1] == 1).all() and (found.rank[:-1] > 1).any()


def test_the_column_is_the_tokens(lens):
    count = len(TOKENIZER.encode("the cat sat on"))
    last = lens.compute(prompt="the cat sat on", back=0, layer=ALL_LAYERS)
    first = lens.compute(prompt="the cat sat on", back=count - 1, layer="2")
    beyond = lens.compute(prompt="the cat sat on", back=count, layer="2")
    assert (last.position, first.position, beyond.position) == (count - 1, 0, 0)
    assert (last.layer, first.layer) == (None, 2)
    assert (first.beyond, beyond.beyond) == (False, True)
    assert (last.column == last.probability[:, -1]).all()
    assert first.best[0] == first.names[2] and first.shares[0] == first.best_share[2]


def test_the_words_of_the_lens(lens):
    count = len(TOKENIZER.encode("the cat sat on"))
    lens.set(prompt="the cat sat on", back=0, layer=ALL_LAYERS)
    places = ", ".join(str(rank) for rank in lens.state.ranks)
    assert f"Behind token {count} of {count}, “" in lens.words
    assert f"From the embedding up it stands at place {places}, with " in lens.words
    lens.set(layer="3")
    assert "After block 3 it would be “" in lens.words
    assert "the final choice is first, with " in lens.words
    lens.set(layer=EMBEDDING, back=MOST_TOKENS - 1)
    assert "At the embedding it would be “" in lens.words
    assert "There is no token before: the first one is shown." in lens.words
    lens.set(prompt="the cat " * 40)
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
def test_it_is_said_from_which_block_on_the_choice_stands(lens, ranks, said):
    state = lens.compute(prompt="the cat sat on", back=0, layer=ALL_LAYERS)
    assert lens.caption(dataclasses.replace(state, ranks=np.array(ranks))).endswith(said)


def test_where_the_embedding_repeats_the_token_it_is_said():
    """With W_e far larger than W_p, the vectors that score are nearest to themselves."""
    torch.manual_seed(0)
    model = GPT2(GPT2Config(TOKENIZER.vocab_size, 31, 64, 1, 4)).eval()
    lens = LogitLens(model, TOKENIZER, prompt="the cat", layer=EMBEDDING)
    lens.png()
    assert lens.state.repeats_itself
    assert "The first of these is the token that is read" in lens.words


def test_the_map_has_the_embedding_at_the_bottom(lens):
    lens.set(prompt="the cat sat on", back=1, layer="1")
    levels = lens._heat._levels
    scaled = (np.log10(lens.state.probability.clip(1e-3)) + 3) / 3 * 255
    assert (levels[-1] == scaled[0].astype(np.uint8)).all()
    assert (levels[0] == scaled[-1].astype(np.uint8)).all()
    assert lens._frame.get_xy() == (lens.state.position - 0.5, 0.5)


# What both take


def test_the_layers_to_look_behind_are_the_models(model, lens):
    assert lens.inputs["layer"].values == (ALL_LAYERS, EMBEDDING, "1", "2", "3")
    with pytest.raises(ValueError, match="layer must be one of"):
        lens.set(layer="4")


@pytest.mark.parametrize("kind", [NextToken, LogitLens])
def test_a_model_and_a_tokenizer_that_do_not_fit_are_refused(kind, model):
    with pytest.raises(TypeError, match="must be given together; got one"):
        kind(model)
    with pytest.raises(TypeError, match="must be given together; got one"):
        kind(tokenizer=TOKENIZER)
    with pytest.raises(TypeError, match="model must be a GPT2; got Linear"):
        kind(torch.nn.Linear(3, 3), TOKENIZER)
    with pytest.raises(TypeError, match="tokenizer must be a BytePairs; got list"):
        kind(model, [])
    with pytest.raises(ValueError, match=r"as many tokens as the model \(273\); got 256"):
        kind(model, train_bpe("", 256))


@pytest.mark.parametrize(
    ("place", "said"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
     (21, "21st"), (102, "102nd"), (111, "111th"), (1000, "1000th")],
)  # fmt: skip
def test_places_are_said_as_they_are_counted(place, said):
    assert next_token_06._ordinal(place) == said


@pytest.mark.parametrize("kind", [NextToken, LogitLens])
def test_no_explorer_of_the_lecture_cuts_anything_off(kind, model, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "course_utils.explorers.explorer.new_figure",
        lambda *size: drawn.append(new_figure(*size)) or drawn[0],
    )
    kind(model, TOKENIZER, prompt="the cat sat on the mat, and the rat").png()
    for artist in drawn[0].findobj(lambda each: each.get_animated()):
        artist.set_animated(False)
    assert overhang(drawn[0]) <= 1
