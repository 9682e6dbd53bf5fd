"""The digit reader: what it is asked, that it learns, and what each rule deletes."""

import pytest
import torch

from course_utils.layers.pruning import kept_weights, magnitude_mask, prune, saliency_mask
from course_utils.lectures.l07_dynamic_pruning.experiments.pruning import (
    PIXELS,
    RULES,
    DigitReader,
    digit_accuracy,
    digit_batch,
    digit_loss,
    loss_rises,
    pruned_accuracies,
    rescale_units,
    retrain,
    train_digit_readers,
)


@pytest.fixture(scope="module")
def readers():
    return train_digit_readers(seeds=(0, 1))


def test_the_digits_are_drawn_as_said():
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


def test_rules_beat_chance_and_a_third_costs_nothing(readers):
    found = pruned_accuracies(readers.models, (0, 0.3, 0.6))
    assert list(found) == list(RULES)
    for rule in ("magnitude", "brain damage"):
        assert torch.equal(found[rule][:, 0].double(), readers.scores[:, -1].float().double())
        assert (found[rule][:, 1] > found[rule][:, 0] - 0.02).all()
        assert (found[rule][:, 2] > found["random"][:, 2] + 0.3).all()


def test_rescaling_changes_no_answer_but_the_magnitudes_order(readers):
    model = readers.models[0]
    other = rescale_units(model, torch.Generator().manual_seed(0))
    pixels, _ = digit_batch(torch.Generator().manual_seed(5))
    torch.testing.assert_close(other(pixels), model(pixels), rtol=0, atol=1e-4)
    found = pruned_accuracies([model, other], [0.6], rules=["magnitude", "brain damage"])
    damage, size = found["brain damage"].flatten(), found["magnitude"].flatten()
    assert abs(damage[0] - damage[1]) < 0.01  # the same weights go, but for ties in rounding
    assert size[1] < size[0] - 0.05
    unchanged = rescale_units(model, torch.Generator(), spread=1)
    assert torch.equal(unchanged.expand.weight, model.expand.weight)


def test_loss_rises_are_those_of_single_deletions(readers):
    model = readers.models[0]
    foretold, measured, sizes = loss_rises(model, every=97)
    assert len(foretold) == len(measured) == len(sizes) == len(range(0, 1752, 97))
    mask = torch.ones(24, PIXELS, dtype=torch.bool)
    mask.view(-1)[97] = False
    data = digit_batch(torch.Generator().manual_seed(2**32 - 2), batch=512)
    with torch.no_grad():
        rise = digit_loss(prune(model, {"expand.weight": mask}), *data) - digit_loss(model, *data)
    torch.testing.assert_close(measured[1], rise, rtol=0, atol=1e-6)
    assert sizes[1] == model.expand.weight.view(-1)[97].abs().item()


def test_retraining_repairs_and_keeps_the_zeros(readers):
    model = readers.models[0]
    masks = magnitude_mask(model, 0.8)
    before = digit_accuracy(prune(model, masks))
    again = retrain(model, masks, steps=40)
    assert digit_accuracy(again) > before + 0.05
    for name, mask in masks.items():
        assert (again.get_parameter(name)[~mask] == 0).all()
    assert digit_accuracy(model) == readers.scores[0, -1]  # the model is as it was


def test_random_deletions_are_the_same_each_time():
    model = DigitReader()
    first, second = (pruned_accuracies([model], [0.5], rules=["random"]) for _ in range(2))
    assert torch.equal(first["random"], second["random"])
    everything = saliency_mask({"a": torch.rand(2, 3)}, 0)
    assert everything["a"].all()
