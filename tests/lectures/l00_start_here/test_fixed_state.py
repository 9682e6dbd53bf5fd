"""Recall from a state of fixed size: the task, the LSTM beside PyTorch's, and both models."""

import pytest
import torch
from torch import nn

from course_utils.lectures.l00_start_here.experiments.fixed_state import (
    VALUES,
    AttentionRecall,
    LSTMCell,
    LSTMRecall,
    pairs_known,
    recall_batch,
    train_first_token,
    train_recall,
)
from tests.lectures.support_notebooks import NOTEBOOKS, read


def test_our_lstm_is_torchs():
    torch.manual_seed(3)
    ours, theirs = LSTMCell(7, 5, forget_bias=0.0), nn.LSTM(7, 5, batch_first=True)
    named = {"weight_ih_l0": ours.input.weight, "bias_ih_l0": ours.input.bias}
    named |= {"weight_hh_l0": ours.recurrent.weight, "bias_hh_l0": ours.recurrent.bias}
    theirs.load_state_dict(named)
    x = torch.randn(3, 11, 7)
    torch.testing.assert_close(ours(x), theirs(x)[0][:, -1])


def test_forget_bias_goes_to_the_forget_gate():
    torch.manual_seed(3)
    plain = LSTMCell(7, 5, forget_bias=0.0).input.bias
    torch.manual_seed(3)
    moved = LSTMCell(7, 5, forget_bias=3.0).input.bias
    assert (moved - plain).round().tolist() == [0.0] * 5 + [3.0] * 5 + [0.0] * 10


def test_the_answer_is_the_names_value():
    names, values, asked, answers = recall_batch(torch.Generator().manual_seed(1), 11, size=200)
    assert (names.sort(dim=1).values == torch.arange(11)).all()
    assert torch.equal(values[names == asked[:, None]], answers)
    assert answers.unique().numel() == VALUES


@pytest.mark.parametrize("model", [LSTMRecall, AttentionRecall])
def test_pairs_count_and_order_is_free(model):
    torch.manual_seed(5)
    trained = model(6, 8)
    names, values, asked, _ = recall_batch(torch.Generator().manual_seed(1), 6, size=4)
    logits = trained(names, values, asked)
    assert logits.shape == (4, VALUES)
    assert not torch.allclose(logits, trained(names, (values + 1) % VALUES, asked))
    turned = trained(names.flip(1), values.flip(1), asked)
    assert torch.allclose(logits, turned, atol=1e-5) == (model is AttentionRecall)


def test_attention_recalls_all():
    done = train_recall(AttentionRecall, 8, seeds=[3], steps=150)
    assert pairs_known(done.scores[0, -1].item(), 8) > 7.9


def test_first_token_is_the_answer():
    done = train_first_token(3.0, seeds=[3], steps=60, length=3)
    assert done.scores[0, -1] > 0.9


def in_the_lecture(*names):
    """What these cells of the lecture define, with small models for a test."""
    cells = {cell.id: cell.source for cell in read(NOTEBOOKS[0]).cells}
    found = {"torch": torch}
    for name in names:
        exec(cells[name], found)
    return found


def test_the_lectures_lstm_is_the_one_of_the_claims():
    theirs = in_the_lecture("recall-lstm")["RecallLSTM"](state=5)
    ours = LSTMRecall(16, 5)
    ours.names, ours.values = theirs.people, theirs.numbers
    ours.questions, ours.readout = theirs.asked, theirs.readout
    lstm = theirs.lstm
    ours.lstm.input.load_state_dict({"weight": lstm.weight_ih_l0, "bias": lstm.bias_ih_l0})
    ours.lstm.recurrent.load_state_dict({"weight": lstm.weight_hh_l0, "bias": lstm.bias_hh_l0})
    row = recall_batch(torch.Generator().manual_seed(1), 16, size=7)[:3]
    torch.testing.assert_close(theirs(*row), ours(*row))


def test_the_lectures_head_is_the_one_of_the_claims():
    theirs, ours = in_the_lecture("recall-head")["RecallHead"](), AttentionRecall(16, 16)
    ours.names, ours.values = theirs.people, theirs.numbers
    ours.query, ours.key, ours.value = theirs.query, theirs.key, theirs.value
    ours.readout = theirs.readout
    row = recall_batch(torch.Generator().manual_seed(1), 16, size=7)[:3]
    torch.testing.assert_close(theirs(*row), ours(*row))
    assert theirs.weights.shape == (7, 1, 16)
