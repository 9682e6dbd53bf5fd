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
