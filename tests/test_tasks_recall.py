"""The recall task against a plain loop, and what its readers can and cannot tell apart."""

import pytest
import torch
from support_errors import raises_saying

from course_utils.layers import Rotary
from course_utils.tasks_recall import (
    KEYS,
    SCHEMES,
    VALUES,
    NoteReader,
    note_loss,
    recall_accuracy,
    recall_notes,
    stretch_rotary,
)
from course_utils.training import train

B, T = 5, 29


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_each_note_recalls_what_a_notebook_would_say():
    keys, values, last, earlier = recall_notes(B, T, seeded())
    for row in range(B):
        book, count = {}, {}
        for t in range(T):
            key = keys[row, t].item()
            assert earlier[row, t] == count.get(key, 0)
            if key in book:
                assert last[row, t] == book[key]
            book[key], count[key] = values[row, t], count.get(key, 0) + 1


def test_a_quarter_as_many_kinds_as_notes_unless_told_otherwise():
    keys, values, *_ = recall_notes(64, 67, seeded())
    assert max(len(set(row.tolist())) for row in keys) == 67 // 4
    assert keys.max() < KEYS and values.max() == VALUES - 1
    few, *_ = recall_notes(64, 67, seeded(), num_keys=3)
    assert max(len(set(row.tolist())) for row in few) == 3


def test_all_kinds_of_keys_are_met():
    keys, *_ = recall_notes(256, 17, seeded())
    assert len(keys.unique()) == KEYS


@pytest.mark.parametrize("positions", SCHEMES)
def test_no_reader_sees_its_own_value_or_a_later_note(positions):
    torch.manual_seed(0)
    reader = NoteReader(positions, width=24, num_heads=3, max_positions=31)
    keys, values, *_ = recall_notes(2, T, seeded())
    at = 13
    other_keys, other_values = keys.clone(), values.clone()
    other_keys[:, at + 1 :] = (keys[:, at + 1 :] + 1) % KEYS
    other_values[:, at + 1 :] = (values[:, at + 1 :] + 1) % VALUES
    before = reader(keys, values)[:, : at + 1]
    assert torch.equal(before, reader(other_keys, other_values)[:, : at + 1])
    read = reader.attention(reader.attention_norm(torch.randn(1, T, 24)), may_attend=None)
    assert read[1].weights[0, 0].triu(0).sum() > 0, "without the mask it would read ahead"


def shuffled_past(keys, values):
    """The same notes, in another order but for the last one."""
    order = torch.cat([torch.randperm(T - 1, generator=seeded(1)), torch.tensor([T - 1])])
    return keys[:, order], values[:, order]


@pytest.mark.parametrize("positions", SCHEMES)
def test_only_positions_tell_the_order_of_the_past(positions):
    torch.manual_seed(0)
    reader = NoteReader(positions, width=24, num_heads=3, max_positions=31)
    keys, values, *_ = recall_notes(2, T, seeded())
    plain = reader(keys, values)[:, -1]
    shuffled = reader(*shuffled_past(keys, values))[:, -1]
    assert torch.allclose(plain, shuffled, atol=1e-5) == (positions == "none")


def test_the_loss_counts_only_notes_with_a_past():
    torch.manual_seed(0)
    reader = NoteReader("alibi", width=24, num_heads=3)
    keys, values, last, earlier = recall_notes(2, T, seeded())
    wrong_where_unasked = torch.where(earlier > 0, last, (last + 1) % VALUES)
    asked = note_loss(reader, keys, values, last, earlier)
    assert torch.equal(asked, note_loss(reader, keys, values, wrong_where_unasked, earlier))
    everywhere = note_loss(reader, keys, values, (last + 1) % VALUES, earlier)
    assert not torch.equal(asked, everywhere)


def test_a_short_training_with_order_beats_one_without():
    def trained(positions):
        return train(
            lambda: NoteReader(positions, width=32),
            lambda generator: recall_notes(16, 12, generator),
            note_loss,
            steps=100,
            learning_rate=1e-2,
            seeds=(0, 1),
        ).models

    with_order = [recall_accuracy(model, [12])[0] for model in trained("rope")]
    without = [recall_accuracy(model, [12])[0] for model in trained("none")]
    assert min(with_order) > max(without) + 0.1


def test_stretching_changes_scores_at_a_distance_alone():
    torch.manual_seed(0)
    reader = NoteReader("rope", width=24, num_heads=3)
    keys, values, *_ = recall_notes(1, T, seeded())
    plain = reader(keys, values)
    stretch_rotary(reader, Rotary(interpolation=4))
    assert not torch.allclose(plain[:, 2:], reader(keys, values)[:, 2:], atol=1e-4)
    # The second note reads the first alone, whatever the score.
    assert torch.allclose(plain[:, :2], reader(keys, values)[:, :2], atol=1e-6)


def test_bad_input_is_named():
    with raises_saying(ValueError, "num_keys must be at most 64, got 65"):
        recall_notes(2, 8, seeded(), num_keys=65)
    with raises_saying(
        ValueError, "positions must be one of none, learned, sinusoidal, rope, alibi, got 'roman'"
    ):
        NoteReader("roman")
    with raises_saying(ValueError, "num_heads (7) must divide width (64)"):
        NoteReader("none", num_heads=7)
    with raises_saying(ValueError, "the number of notes in keys, T, must be at most 16, got 17"):
        NoteReader("learned", max_positions=16)(*recall_notes(2, 17, seeded())[:2])
    with raises_saying(ValueError, "values must have the shape of keys (2, 8), got (2, 7)"):
        keys, values, *_ = recall_notes(2, 8, seeded())
        NoteReader("none")(keys, values[:, :7])
    with raises_saying(ValueError, "lengths must be long enough for a key to repeat, got 2"):
        recall_accuracy(NoteReader("none"), [2])
    with raises_saying(ValueError, "model must have rope positions, got None"):
        stretch_rotary(NoteReader("none"), Rotary())
    with raises_saying(TypeError, "rotary must be a Rotary, got int"):
        stretch_rotary(NoteReader("rope"), 4)
