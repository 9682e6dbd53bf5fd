"""The digit reader: what it is asked, that it learns, and what each rule deletes."""

import copy

import pytest
import torch

from course_utils.layers.pruning import brain_damage_saliency
from lectures.l07_dynamic_pruning.experiments import pruning
from lectures.l07_dynamic_pruning.experiments.pruning import (
    PIXELS,
    RULES,
    _brain_damage,
    _cut,
    digit_accuracy,
    digit_batch,
    digit_loss,
    pruned_accuracies,
    pruned_in_rounds,
    rescale_units,
    train_digit_readers,
)


def kept_weights(model):
    """How many of a model's parameters are not zero."""
    return sum(int(parameter.count_nonzero()) for parameter in model.parameters())


@pytest.fixture(scope="module")
def readers():
    return train_digit_readers(seeds=(0, 1))


def test_the_digits_as_drawn():
    pixels, digits = digit_batch(torch.Generator().manual_seed(0), batch=4000)
    assert set(pixels.unique().tolist()) == {0, 1} and pixels.shape == (4000, PIXELS)
    assert digits.bincount().shape == (10,) and digits.bincount().min() > 300
    field = pixels.view(-1, 7, 9)
    # The outer columns hold flipped points alone: one in twenty.
    assert field[:, :, [0, 8]].mean().item() == pytest.approx(0.05, abs=0.005)
    ones = field[digits == 1].mean(dim=0)
    assert ones[6, 4] > 0.9 and ones[6, 1] < 0.1  # its foot, three points wide, at three places
    again, _ = digit_batch(torch.Generator().manual_seed(0), batch=4000)
    assert torch.equal(again, pixels)


def test_it_learns_to_read(readers):
    assert readers.scores.min() > 0.95
    assert readers.losses[:, -10:].mean() < 0.3 < readers.losses[:, 0].min()
    assert [digit_accuracy(model) for model in readers.models] == readers.scores[:, -1].tolist()
    assert kept_weights(readers.models[0]) == 1752 + 34


def test_a_third_costs_nothing_by_rule(readers):
    found = pruned_accuracies(readers.models, (0, 0.3, 0.6))
    assert list(found) == list(RULES)
    for rule in ("magnitude", "brain damage"):
        assert torch.equal(found[rule][:, 0].double(), readers.scores[:, -1].float().double())
        assert (found[rule][:, 1] > found[rule][:, 0] - 0.02).all()
        assert (found[rule][:, 2] > found["random"][:, 2] + 0.3).all()


def test_rescaling_misleads_magnitudes(readers):
    model = readers.models[0]
    other = rescale_units(model, torch.Generator().manual_seed(0))
    pixels, _ = digit_batch(torch.Generator().manual_seed(5))
    torch.testing.assert_close(other(pixels), model(pixels), rtol=0, atol=1e-4)
    found = pruned_accuracies([model, other], [0.6], rules=["magnitude", "brain damage"])
    damage, size = found["brain damage"].flatten(), found["magnitude"].flatten()
    assert abs(damage[0] - damage[1]) < 0.01  # the same weights go, but for ties in rounding
    assert size[1] < size[0] - 0.05


def test_rounds_delete_for_good_and_train_on(readers):
    models = readers.models[:1]
    before = models[0].expand.weight.clone()
    shares = (0, 0.5, 0.9)
    found = pruned_in_rounds(models, shares, seeds=[0], steps=40)
    at_once = pruned_accuracies(models, shares)
    for rule in RULES:
        assert torch.equal(found[rule][:, 0], at_once[rule][:, 0])
        assert (found[rule][:, 2] > at_once[rule][:, 2]).all()
    assert (found["magnitude"][:, 2] > found["random"][:, 2] + 0.1).all()
    assert torch.equal(before, models[0].expand.weight)


def test_rules_train_together_as_each_by_itself(readers, monkeypatch):
    shares, few = (0, 0.5, 0.9), {"seeds": [0, 1], "steps": 5}
    each = [pruned_in_rounds(readers.models, shares, rules=[rule], **few) for rule in RULES]
    trainings = []

    def counted(**given):
        trainings.append(given["seeds"])
        return train_digit_readers(**given)

    monkeypatch.setattr(pruning, "train_digit_readers", counted)
    together = pruned_in_rounds(readers.models, shares, **few)
    assert len(trainings) == 2  # one in each round, for all rules
    for rule, by_itself in zip(RULES, each, strict=True):
        torch.testing.assert_close(together[rule], by_itself[rule], rtol=0, atol=1e-3)


def test_brain_damage_by_second_derivatives(readers):
    digits = digit_batch(torch.Generator().manual_seed(5), batch=61)
    for model in (readers.models[0], _cut(readers.models[1], "magnitude", 0.8, row=0)):
        found, wanted = (
            _brain_damage(model, digits[0]),
            brain_damage_saliency(model, digit_loss, *digits),
        )
        assert list(found) == list(wanted)
        for name, saliency in found.items():
            torch.testing.assert_close(saliency, wanted[name], rtol=1e-4, atol=1e-7)


def test_what_is_gone_stays_gone(readers):
    model = _cut(readers.models[0], "magnitude", 0.9, row=0)
    done = train_digit_readers(seeds=(5,), steps=10, build=lambda: copy.deepcopy(model))
    assert kept_weights(model) == kept_weights(done.models[0]) == 175 + 34
    other = _cut(done.models[0], "random", 0.95, row=0)
    assert kept_weights(other) == 88 + 34
    assert not (other.expand.weight.bool() & ~model.expand.weight.bool()).any()
