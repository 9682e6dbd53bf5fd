"""Lecture 06's explorers of a small GPT: what they show is what the model and the library say."""

from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_utils.models.gpt2 import GPT2Block, GPT2Config
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer
from course_utils.models.story_gpt import STORY_GPT
from course_utils.sampling import next_token_probabilities, with_temperature
from lectures.l06_gpt2_block.explorers.block import MODELS, PARTS, SMALL, TOKENS, Block
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
from tests.explorers.support_browser import InBrowser, differences

TOKENIZER = small_gpt_tokenizer()
TEXT = "The softmax of"
IDS = tuple(TOKENIZER.encode(TEXT))
SET = {"prompt": TEXT, "own_text": "", "temperature": 0.8, "k": 20, "p": 0.85, "chance": 0.37}


@cache
def small_gpt():
    return load_small_gpt()


# The next token


@pytest.fixture(scope="module")
def sampler():
    with InBrowser(NextToken()) as found:
        yield found


@cache
@torch.no_grad()
def scores_of(text):
    """What the model itself says of the token after a text."""
    ids = TOKENIZER.encode(text)[-SMALL_GPT.max_positions :]
    return small_gpt()(torch.tensor([ids]))[0, -1].double()


def drawn_from(prompt, own_text, temperature, k, p, chance):
    """The model and the library's way from its logits to probabilities."""
    logits = scores_of(own_text or prompt)
    order = logits.argsort(descending=True, stable=True)
    own, warm = (with_temperature(logits, each)[order] for each in (1, temperature))
    after = next_token_probabilities(logits, temperature=temperature, k=k, p=p)[order]
    kept = int((after > 0).sum())
    drawn = int((after[: kept - 1].cumsum(0) <= chance).sum())
    return {
        "text": -1 if own_text else TEXTS.index(prompt),
        "own": own,
        "warm": warm,
        "after": after,
        "kept": kept,
        "own_share": own[:kept].sum(),
        "reached": warm[:kept].sum() / warm[:k].sum(),
        "drawn": drawn,
        "share": after[drawn],
        "token": token_name(TOKENIZER.tokens[order[drawn]]),
    }


def test_bars_are_the_models_and_the_librarys(sampler):
    assert differences(sampler, drawn_from) == []


def test_what_is_left_reaches_p_and_holds_the_draw(sampler):
    grid = [
        {**SET, "temperature": temperature, "k": k, "p": p}
        for temperature, k, p in product((0.0, 0.1, 1.0, 2.0), (1, 7, 277, V), (0.05, 0.5, 0.95, 1))
    ]
    for values, state in zip(grid, sampler.states(grid), strict=True):
        assert state.reached >= values["p"] * (1 - 1e-5), values
        before = state.after[: state.drawn].sum()
        assert before <= 0.37 < before + state.share + 1e-9, values
        assert state.after.sum() == pytest.approx(1)


def test_chances_are_those_of_the_bars(sampler):
    """Draws spread evenly over the strip hit a token as often as it is probable."""
    hits = np.zeros(V)
    for state in sampler.states([{**SET, "chance": i / 500 + 0.001} for i in range(500)]):
        hits[state.drawn] += 1
    after = sampler.compute(**SET).after
    np.testing.assert_allclose(hits / 500, after, atol=0.0021)
    assert (hits > 0).sum() == (after > 0).sum() > 5


def test_top_p_keeps_few_where_the_model_is_sure(sampler):
    open_end = {**SET, "temperature": 1.0, "k": V, "p": 0.9}
    states = sampler.states([{**open_end, "prompt": text} for text in TEXTS])
    counts = {text: state.kept for text, state in zip(TEXTS, states, strict=True)}
    assert counts[SURE] == 3 and counts[TEXT] == 92 and min(counts.values()) == counts[SURE]


def test_ones_own_text_is_served():
    own = "Each query reads"
    with InBrowser(NextToken(own_text=own)) as sampler:
        assert differences(sampler, drawn_from) == []
        same = sampler.compute(**{**SET, "own_text": TEXT})
        np.testing.assert_array_equal(same.after, sampler.compute(**SET).after)
        long = "the queries " * 16
        is_long = len(TOKENIZER.encode(long)) > SMALL_GPT.max_positions
        assert sampler.compute(own_text=long).cut is is_long
        wide = sampler.compute(own_text="茶🙂" * 60)
        assert wide.cut and "only the last 128 tokens are read" in wide.words


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


def test_the_lens_is_norm_and_embeddings():
    model = small_gpt()
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


def test_no_token_is_predicted_from_a_later_one():
    """What is read up to a token is the same, whatever the text goes on with."""
    whole, start = (look_through(small_gpt(), ids) for ids in (IDS, IDS[:2]))
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


@pytest.fixture(scope="module")
def block():
    with InBrowser(Block()) as found:
        yield found


@cache
def tensors_of(config):
    """The shapes of the tensors of each part that has any."""
    with torch.device("meta"):
        made = GPT2Block(config)
    return {
        part: [each.shape for each in made.get_submodule(name).parameters()]
        for part, name in TENSORS.items()
    }


def of_the_tensors(model, tokens, part, shares):
    """Parameters as there are in the block; two FLOPs for each and token, where it is a matrix."""
    config = MODELS[model]
    T, C, H = tokens, config.width, config.num_heads
    tensors = tensors_of(config)
    parameters = [sum(each.numel() for each in tensors.get(part, ())) for part in PARTS]
    matrices = {name: [each for each in tensors.get(name, ()) if len(each) == 2] for name in PARTS}
    flops = [2 * T * sum(each.numel() for each in matrices[name]) for name in PARTS]
    for name in ("scores", "mix"):
        flops[PARTS.index(name)] = 2 * T * T * C
    return {
        "parameters": parameters,
        "all_parameters": config.block_parameters,
        "flops": flops,
        "all_flops": sum(flops),
        "stream": (T, C),
        "per_head": (H, T, C // H),
        "pairs": (H, T, T),
        "wide": (T, config.hidden),
        "context": config.max_positions,
    }


def test_costs_of_a_blocks_parts_are_its_tensors(block):
    assert differences(block, of_the_tensors) == []


def test_sizes_of_the_models_are_the_published(block):
    known = {
        "GPT-2": 124_439_808, "GPT-2 medium": 354_823_168, "GPT-2 large": 774_030_080,
        "GPT-2 XL": 1_557_611_200,
    }  # fmt: skip
    assert {name: MODELS[name].parameters for name in known} == known
    assert block.compute().all_parameters == 7_087_872
    assert MODELS["our story GPT"] == STORY_GPT


@torch.no_grad()
def test_flops_and_shapes_of_a_block_are_those_of_a_run(monkeypatch):
    """Counted by torch, for sizes of which no two are equal."""
    T, shapes = 17, {}
    made, counter = GPT2Block(PRIMES), FlopCounterMode(display=False)
    for part, name in TENSORS.items():
        made.get_submodule(name).register_forward_hook(
            lambda _, inputs, out, part=part: shapes.update(
                {part: [list(inputs[0].shape[1:]), list(out.shape[1:])]}
            )
        )
    with counter:
        _, heads = made(torch.randn(1, T, PRIMES.width))
    monkeypatch.setitem(MODELS, SMALL, PRIMES)
    with InBrowser(Block()) as primes:
        state = primes.compute(tokens=T)
    flops = dict(zip(PARTS, state.flops.tolist(), strict=True))
    stream, per_head, pairs, wide = (
        each.tolist() for each in (state.stream, state.per_head, state.pairs, state.wide)
    )
    assert state.all_parameters == sum(each.numel() for each in made.parameters())
    assert state.all_flops == counter.get_total_flops()
    linear = counter.get_flop_counts()
    for part, name in TENSORS.items():
        assert flops[part] == sum(linear.get(f"GPT2Block.{name}", {}).values()), part
    assert flops["scores"] == flops["mix"] == 2 * T * T * PRIMES.width
    assert shapes["W_Q"] == [stream, stream] and [T, per_head[0] * per_head[2]] == stream
    assert shapes["W₁"] == [stream, wide] and shapes["W₂"] == [wide, stream]
    assert list(heads.weights.shape) == [1, *pairs]


@pytest.mark.parametrize("model", MODELS)
def test_scores_and_mix_overtake_the_feedforward_part_at_four_widths(block, model):
    equal = block.compute(model=model).equal_at
    assert equal == 4 * MODELS[model].width

    def lead(state):
        flops = dict(zip(PARTS, state.flops, strict=True))
        return flops["scores"] + flops["mix"] - flops["W₁"] - flops["W₂"]

    places = (equal - 1, equal, equal + 1)
    before, at, after = block.states([{"model": model, "tokens": each} for each in places])
    assert lead(before) < lead(at) == 0 < lead(after)
    assert TOKENS[0] < equal < TOKENS[-1], "the slider reaches both sides"


def test_nothing_of_a_blocks_shares_is_said_before_they_are_asked_for(block):
    for part in PARTS:
        covered, shown = block.states([{"part": part, "shares": each} for each in (False, True)])
        assert "%" not in covered.words
        has_cost = "No parameters, no matrix product." not in shown.words
        assert ("%" in shown.words) is has_cost
    assert Block().values["shares"] is False


@pytest.mark.parametrize(
    ("part", "tokens", "said"),
    [
        ("LN₁", 64, "1,536 parameters, 0.02 % of the block; no matrix product."),
        ("W_Q", 64, "590,592 parameters, 8.3 % of the block; 75.5 MFLOP, 8.2 %."),
        ("W_Q", 1024, "makes the queries: (1,024, 768) to (12, 1,024, 64)."),
        ("W₁", 1024, "2,362,368 parameters, 33 % of the block; 4.83 GFLOP, 27 %."),
    ],
)
def test_costs_in_words(block, part, tokens, said):
    state = block.compute(part=part, tokens=tokens, shares=True)
    assert said in state.words.replace("\N{NO-BREAK SPACE}", " ")
