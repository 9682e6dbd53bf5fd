"""The broken GPTs: what each switch does, what the stored runs show, what the check says."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course_utils.layers.cache import KVCache
from lectures.l09_since_gpt2.exercises.broken_gpts import NAME, STAGES
from lectures.l09_since_gpt2.experiments.broken_gpts import (
    FAULTS,
    SOUND,
    H,
    SmallGPT,
    V,
    balance,
    train,
)
from lectures.l09_since_gpt2.experiments.broken_runs import (
    EVIDENCE,
    LETTERS,
    exceeds,
    runs_of,
    sheet_of,
    sound_spread,
    stored_runs,
    trainings,
)
from lectures.l09_since_gpt2.experiments.broken_sheets import (
    MEASURES,
    measure_end,
    measure_start,
    measures,
    packed,
    unpacked,
)
from lectures.l09_since_gpt2.explorers.broken_gpts import A_SOUND_ONE, BrokenGPTs

IDS = torch.randint(V, (3, 20), generator=torch.Generator().manual_seed(7))
ONLY_TRAINING = {"unshifted targets", "dead experts", "learning rate"}


def gpt(fault, seed=5):
    """An untrained GPT whose scores differ enough to be compared."""
    torch.manual_seed(seed)
    model = SmallGPT(fault)
    with torch.no_grad():
        model.tokens.weight.mul_(20)
    return model.eval()


def rotated(x):
    """RoPE by complex numbers: coordinate i and i + D/2 are one number."""
    T, D = x.shape[-2:]
    angles = torch.arange(T)[:, None] * 10_000 ** -(torch.arange(D // 2) / (D / 2))
    z = torch.complex(*x.chunk(2, dim=-1)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([z.real, z.imag], dim=-1)


def reference(model, ids):
    """The sound GPT from PyTorch's own functions; each token goes to its best expert."""
    x = model.tokens.weight[ids]
    for layer in model.blocks:
        y = layer.norm1(x)
        q, k, v = (
            part.unflatten(-1, (H, -1)).transpose(1, 2)
            for part in layer.attention.project(y).chunk(3, dim=-1)
        )
        out = F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        x = x + layer.attention.out(out.transpose(1, 2).flatten(2))
        y = layer.norm2(x)
        if layer is model.blocks[0]:
            x = x + layer.feedforward.contract(F.gelu(layer.feedforward.expand(y)))
        else:
            gates, best = layer.feedforward.router(y).softmax(-1).max(-1)
            every = torch.stack([expert(y) for expert in layer.feedforward.experts])
            x = x + gates[..., None] * every.gather(0, best[None, ..., None].expand_as(x[None]))[0]
    return model.norm(x) @ model.tokens.weight.T


@torch.no_grad()
def word_by_word(model, parts=(1,) * 20):
    caches = [KVCache() for _ in model.blocks]
    return torch.cat([model(part, caches=caches) for part in IDS.split(parts, dim=1)], dim=1)


@torch.no_grad()
def test_without_a_fault_it_is_the_usual_gpt():
    model = gpt(SOUND)
    torch.testing.assert_close(model(IDS), reference(model, IDS), atol=1e-3, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_model_is_seen_in_its_scores_or_its_cache(fault):
    model = gpt(fault)
    gap = (model(IDS) - reference(model, IDS)).abs().max()
    if fault in ONLY_TRAINING:
        assert gap < 1e-3
    elif fault == "positions off by one in the cache":
        assert gap < 1e-3 < (word_by_word(model) - model(IDS)).abs().max()
    else:
        assert gap > 0.1


@torch.no_grad()
@pytest.mark.parametrize("parts", [(1,) * 20, (7, 1, 1, 11), (20,)])
def test_a_sound_cache_is_one_pass(parts):
    model = gpt(SOUND)
    torch.testing.assert_close(word_by_word(model, parts), model(IDS), atol=1e-3, rtol=1e-4)


def test_a_wrong_sign_favours_the_busy():
    for fault, busiest in ((SOUND, -0.01), ("dead experts", 0.01)):
        model = gpt(fault)
        model(IDS)
        load = model.blocks[1].feedforward.routing.assigned
        balance(model)
        bias = model.blocks[1].feedforward.balance_bias
        assert bias[load.argmax()] == pytest.approx(busiest)
        assert bias[load.argmin()] == pytest.approx(-busiest)


def test_training_differs_only_where_the_fault_is():
    losses = {fault: train(fault, 3, steps=2).losses for fault in (SOUND, *FAULTS)}
    same = {fault for fault in FAULTS if losses[fault] == losses[SOUND]}
    assert "positions off by one in the cache" in same, "no training has a cache"
    # Rates and balance act from the second step on at the earliest.
    first = {fault for fault in FAULTS if losses[fault][0] == losses[SOUND][0]}
    assert first == same | {"learning rate", "dead experts"}


def test_a_sheet_survives_the_file():
    model = gpt(SOUND)
    sheet = measure_start(model) | measure_end(model)
    again = unpacked(packed(sheet))
    assert again.keys() == sheet.keys()
    for name, values in sheet.items():
        np.testing.assert_allclose(again[name], values, rtol=1e-3, err_msg=name)


def test_all_trainings_are_stored():
    assert [(run.fault, run.seed) for run in stored_runs()] == list(trainings())
    assert len(runs_of(SOUND)) >= 6
    assert all(len(runs_of(fault)) >= 3 for fault in FAULTS)
    assert len({run.seed for run in stored_runs()}) == len(stored_runs())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_beyond_every_sound_one_on_every_seed(fault):
    name, is_larger = EVIDENCE[fault]
    low, high = sound_spread()[name]
    values = [measures(run.sheet)[name] for run in runs_of(fault)]
    assert min(values) > high if is_larger else max(values) < low
    # By more than the whole spread of the sound ones, not only by a hair.
    assert all(exceeds(fault, run.sheet) for run in runs_of(fault))


@pytest.mark.parametrize("fault", FAULTS)
def test_no_other_fault_has_all_of_its_signs(fault):
    def signs(each):
        return {other for other in FAULTS if exceeds(other, sheet_of(each))}

    letter = next(each for each in LETTERS if LETTERS[each] == fault)
    assert all(signs(letter) != signs(other) for other in LETTERS if other != letter)


def test_sound_ones_have_no_sign():
    assert not any(exceeds(fault, run.sheet) for fault in FAULTS for run in runs_of(SOUND))
    assert all(
        measures(run.sheet)[name] == 0
        for run in runs_of(SOUND)
        for name in ("future", "unseen past")
    )
    assert set(MEASURES) == {name for name, _ in EVIDENCE.values()}


def test_letters_are_all_faults_in_another_order():
    assert sorted(LETTERS.values()) == sorted(FAULTS)
    assert not any(a == b for a, b in zip(LETTERS.values(), FAULTS, strict=True))


def with_one(letter, name):
    return lambda each: name if each == letter else LETTERS[each]


@pytest.mark.parametrize("letter", LETTERS)
def test_any_wrong_name_hears_of_its_evidence_and_of_nothing_else(letter):
    for name in FAULTS:
        if name == LETTERS[letter]:
            continue
        verdict = NAME.check(with_one(letter, name))
        assert not verdict.passed and f"GPT {letter}" in verdict.message
        assert "sound" in verdict.message and any(c.isdigit() for c in verdict.message)
        assert LETTERS[letter] not in verdict.message, "the right name is for the reader"


def test_the_first_wrong_letter_is_named_first():
    verdict = NAME.check(lambda letter: "no scaling" if letter in "DG" else LETTERS[letter])
    assert "GPT D" in verdict.message and "GPT G" not in verdict.message
    assert NAME.check(LETTERS.__getitem__).passed


@pytest.mark.parametrize("names", [{"A": LETTERS["A"]}.get, {"A": LETTERS["A"]}.__getitem__])
def test_a_letter_without_a_name_yet_is_no_fault(names):
    message = NAME.check(lambda letter: names(letter)).message
    assert "GPT B" in message and "KeyError" not in message and FAULTS[0] not in message


def test_a_name_that_is_none_hears_the_ten():
    verdict = NAME.check(lambda letter: "too little data")
    assert "you gave 'too little data'" in verdict.message
    assert all(fault in verdict.message for fault in FAULTS)


@pytest.mark.parametrize("letter", LETTERS)
def test_declared_mistakes_are_told_apart(letter):
    stage = STAGES[letter]
    assert stage.confusions() == []
    for mistake in stage.mistakes:
        said = NAME.check(with_one(letter, mistake.answer(letter))).message
        assert said.startswith("GPT") and "{" not in said


def test_nothing_that_is_sent_says_the_fault():
    explorer = BrokenGPTs()
    for name in (A_SOUND_ONE, *LETTERS):
        state = explorer.compute(gpt=name)
        words = f"{explorer.caption(state)} {explorer.reading}"
        assert not any(fault in words for fault in FAULTS)
        assert "fault" not in state
        for key, values in state.items():
            assert key == "gpt" or np.isfinite(values).all(), key
        assert len(explorer.caption(state).split()) <= 25
