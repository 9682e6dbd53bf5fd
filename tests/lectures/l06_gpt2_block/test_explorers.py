"""Lecture 06's explorers of a small GPT: what they show is what the model and the library say."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_utils.models.gpt2 import GPT2Block, GPT2Config
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer
from course_utils.models.story_gpt import STORY_GPT
from course_utils.sampling import next_token_probabilities
from lectures.l06_gpt2_block.explorers.block import (
    MODELS,
    PARTS,
    TOKENS,
    Block,
    costs_of,
)
from lectures.l06_gpt2_block.explorers.logit_lens import (
    LAST,
    PIECES,
    PROMPTS,
    QUERIES,
    ROWS,
    SOFTMAX,
    LogitLens,
    look_through,
)
from lectures.l06_gpt2_block.explorers.next_token import PROMPTS as TEXTS
from lectures.l06_gpt2_block.explorers.next_token import SURE, NextToken, V
from lectures.l06_gpt2_block.explorers.prompts import read_prompt, token_name

TOKENIZER = small_gpt_tokenizer()
TEXT = "The softmax of"
IDS = tuple(TOKENIZER.encode(TEXT))
SET = {"prompt": TEXT, "own_text": "", "temperature": 0.8, "k": 20, "p": 0.85, "chance": 0.37}


@pytest.fixture(scope="module")
def model():
    return load_small_gpt()


@torch.no_grad()
def scores_of(model, text):
    """What the model itself says of the token after a text."""
    return model(torch.tensor([TOKENIZER.encode(text)]))[0, -1].double()


# The next token


@pytest.mark.parametrize("temperature", [0.0, 0.1, 1.0, 2.0])
@pytest.mark.parametrize("k", [1, 7, 277, V])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.95, 1.0])
def test_bars_are_the_models_and_the_librarys(model, temperature, k, p):
    state = NextToken().compute(**{**SET, "temperature": temperature, "k": k, "p": p})
    logits = scores_of(model, TEXT)
    order = logits.argsort(descending=True, stable=True)
    after = next_token_probabilities(logits, temperature=temperature, k=k, p=p)
    np.testing.assert_allclose(state.own, logits.softmax(-1)[order], atol=1e-9)
    np.testing.assert_allclose(state.after, after[order], atol=1e-9)
    assert state.kept == int((after > 0).sum())
    assert state.own_share == pytest.approx(logits.softmax(-1)[after > 0].sum().item())
    assert state.reached >= p * (1 - 1e-5)
    drawn = order[state.drawn]
    assert state.token == token_name(TOKENIZER.tokens[drawn])
    before = after[order][: state.drawn].sum().item()
    assert before <= 0.37 < before + after[drawn].item() + 1e-9
    assert state.share == pytest.approx(after[drawn].item())


def test_chances_are_those_of_the_bars():
    """Draws spread evenly over the strip hit a token as often as it is probable."""
    made, hits = NextToken(), np.zeros(V)
    for chance in np.arange(0.0005, 1, 0.001):
        hits[made.compute(**{**SET, "chance": float(chance)}).drawn] += 1
    after = made.compute(**SET).after
    np.testing.assert_allclose(hits / 1000, after, atol=0.0011)
    assert (hits > 0).sum() == (after > 0).sum() > 5


def test_top_p_keeps_few_where_the_model_is_sure():
    made = NextToken()
    counts = {
        text: made.compute(**{**SET, "prompt": text, "temperature": 1.0, "k": V, "p": 0.9}).kept
        for text in TEXTS
    }
    assert counts[SURE] == 3 and counts[TEXT] == 92 and min(counts.values()) == counts[SURE]


def test_ones_own_text_is_served():
    made = NextToken(own_text="Each query reads")
    assert made.state.text == -1 and made.given(own_text="Each query reads")["own"] is not None
    same = made.given(own_text=TEXT)
    np.testing.assert_array_equal(same["own"]["logits"], same["texts"][0]["logits"])
    long = "the queries " * 16
    assert made.compute(**{**SET, "own_text": long}).cut is (
        len(TOKENIZER.encode(long)) > SMALL_GPT.max_positions
    )
    wide = made.compute(**{**SET, "own_text": "茶🙂" * 60})
    assert wide.cut and "only the last 128 tokens are read" in made.caption(wide)


# Prompts and names


@pytest.mark.parametrize(
    ("token", "name"),
    [(b" the", "␣the"), (b"\n\n", "↵↵"), (b"\t", "⇥"), ("é".encode(), "é"), (b"\xc3", "\\xc3"),
     (b"\x00", "\\x00"), (b"$x_1$", "$x_1$"), ("“a”".encode(), '"a"')],
)  # fmt: skip
def test_names_of_tokens(token, name):
    assert token_name(token) == name


def test_every_token_has_a_printable_name():
    names = [token_name(token) for token in TOKENIZER.tokens]
    assert all(name.isprintable() and name.strip() for name in names)


def test_a_prompt_keeps_its_end():
    prompt = read_prompt(TEXT, TOKENIZER, 2)
    assert prompt.ids == IDS[-2:] and prompt.cut
    assert read_prompt(TEXT, TOKENIZER, len(IDS)) == (IDS, False)
    assert read_prompt("", TOKENIZER, 5).ids == tuple(TOKENIZER.encode("\n"))


# The logit lens


def cell(prompt, position, layer, **values):
    made = LogitLens()
    chosen = {"prompt": prompt, "own_text": "", "inside": True, **values}
    return made.compute(position=position, layer=layer, **chosen)


def test_the_lens_is_norm_and_embeddings(model):
    found = look_through(model, IDS)
    with torch.no_grad():
        h = model.tokens(torch.tensor([IDS])) + model.positions(torch.arange(len(IDS)))
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
    assert found.final.tolist() == final.tolist() and found.own.tolist() == list(IDS)
    for layer, table in enumerate(shares):
        for place in range(len(IDS)):
            of_final = table[place, final[place]]
            assert found.probability[place, layer] == pytest.approx(of_final, abs=1e-5)
            assert found.rank[place, layer] == 1 + (table[place] > of_final).sum()
            best = (-table[place]).argsort()[:5]
            assert found.best[place, layer].tolist() == best.tolist()
            np.testing.assert_allclose(found.best_share[place, layer], table[place, best], 1e-4)
    assert (found.rank[:, -1] == 1).all() and (found.rank[:, :-1] > 1).any()


def test_no_token_is_predicted_from_a_later_one(model):
    """What is read up to a token is the same, whatever the text goes on with."""
    whole, start = (look_through(model, ids) for ids in (IDS, IDS[:2]))
    assert (whole.best[:2, :, 0] == start.best[..., 0]).all()
    np.testing.assert_allclose(whole.probability[:2], start.probability, atol=1e-5)


def test_what_the_browser_gets_is_the_state():
    given = LogitLens().given(own_text="")
    for number, prompt in enumerate(PROMPTS):
        assert not cell(prompt, 0, 0).cut
        text = given["texts"][number]
        for position in range(len(text["tokens"])):
            for layer in range(LAST + 1):
                state = cell(prompt, position, layer)
                at = position * (LAST + 1) + layer
                assert (state.text, state.read) == (number, text["tokens"][position])
                assert state.says == text["best"][5 * at]
                assert state.share == text["shares"][position, layer, 0]
                assert state.rank == text["ranks"][position, layer]
                assert (state.says == state.final) is (state.rank == 1)


def test_presets_show_what_they_say():
    assert [cell(QUERIES, 8, layer).says for layer in range(4)] == ["␣and"] + 3 * ["␣values"]
    assert cell(QUERIES, 5, 0).own_again
    assert [cell(SOFTMAX, 4, layer).rank for layer in (1, 2, 3)] == [1, 2, 1]
    assert cell(ROWS, 7, 3).settled == LAST
    assert [cell(PIECES, 2, layer).says for layer in (1, 2, 3)] == ["s"] * 3


# A block's parts


PRIMES = GPT2Config(vocab_size=7, max_positions=19, width=15, num_heads=5, feedforward_width=23)
TENSORS = {
    "LN₁": "attention_norm", "W_Q": "attention.query", "W_K": "attention.key",
    "W_V": "attention.value", "W_O": "attention.output", "LN₂": "feedforward_norm",
    "W₁": "feedforward.expand", "W₂": "feedforward.contract",
}  # fmt: skip


@pytest.mark.parametrize("config", [*MODELS.values(), PRIMES], ids=[*MODELS, "primes"])
def test_parameters_of_a_blocks_parts_are_its_tensors(config):
    with torch.device("meta"):
        block = GPT2Block(config)
    costs = costs_of(config, 13)
    for part, cost in costs.items():
        tensors = block.get_submodule(TENSORS[part]).parameters() if part in TENSORS else ()
        assert cost.parameters == sum(each.numel() for each in tensors), part
    assert sum(cost.parameters for cost in costs.values()) == config.block_parameters


def test_sizes_of_the_models_are_the_published():
    known = {
        "GPT-2": 124_439_808, "GPT-2 medium": 354_823_168, "GPT-2 large": 774_030_080,
        "GPT-2 XL": 1_557_611_200,
    }  # fmt: skip
    assert {name: MODELS[name].parameters for name in known} == known
    assert Block().state.all_parameters == 7_087_872
    assert MODELS["our story GPT"] == STORY_GPT


@torch.no_grad()
def test_flops_and_shapes_of_a_block_are_those_of_a_run():
    """Counted by torch, for sizes of which no two are equal."""
    T, shapes = 17, {}
    block, counter = GPT2Block(PRIMES), FlopCounterMode(display=False)
    for part, name in TENSORS.items():
        block.get_submodule(name).register_forward_hook(
            lambda _, inputs, out, part=part: shapes.update(
                {part: (tuple(inputs[0].shape[1:]), tuple(out.shape[1:]))}
            )
        )
    with counter:
        _, heads = block(torch.randn(1, T, PRIMES.width))
    costs = costs_of(PRIMES, T)
    assert sum(cost.flops for cost in costs.values()) == counter.get_total_flops()
    linear = counter.get_flop_counts()
    for part, name in TENSORS.items():
        counted = sum(linear.get(f"GPT2Block.{name}", {}).values())
        assert costs[part].flops == counted, part
    assert costs["scores"].flops == costs["mix"].flops == 2 * T * T * PRIMES.width
    assert shapes["W₁"] == ((T, 15), (T, 23)) and shapes["W₂"] == ((T, 23), (T, 15))
    assert heads.weights.shape == (1, 5, T, T)


@pytest.mark.parametrize("model", MODELS)
def test_scores_and_mix_overtake_the_feedforward_part_at_four_widths(model):
    made, config = Block(), MODELS[model]
    equal = made.compute(model=model, tokens=64, part="scores", shares=True).equal_at
    assert equal == 4 * config.width

    def lead(tokens):
        costs = costs_of(config, tokens)
        return sum(costs[each].flops for each in ("scores", "mix")) - sum(
            costs[each].flops for each in ("W₁", "W₂")
        )

    assert lead(equal - 1) < lead(equal) == 0 < lead(equal + 1)
    assert TOKENS[0] < equal < TOKENS[-1], "the slider reaches both sides"


def test_nothing_of_a_blocks_shares_is_said_before_they_are_asked_for():
    for part in PARTS:
        covered, shown = (Block(part=part, shares=shares).caption_text for shares in (False, True))
        assert "%" not in covered
        has_cost = "No parameters, no matrix product." not in shown
        assert ("%" in shown) is has_cost
    assert Block().values["shares"] is False
