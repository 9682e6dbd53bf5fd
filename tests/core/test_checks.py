"""The checks of arguments: what they take, and their messages word for word."""

import math

import numpy as np
import pytest
import torch

from course_utils import checks
from tests.support_errors import refusal

T, S = 5, 7
CPU = torch.device("cpu")


def test_integers_of_numpy():
    assert checks.check_int("layer", np.int64(0), minimum=0, maximum=5) == 0


def test_numbers_become_floats():
    assert isinstance(checks.check_finite("scale", -2), float)
    assert isinstance(checks.check_positive("eps", 2), float)


@pytest.mark.parametrize("shape", [(T, S), (1, S), (T, 1), (S,), (1,), ()])
def test_masks_that_broadcast(shape):
    checks.check_may_attend(torch.ones(shape, dtype=torch.bool), (T, S), CPU)


@pytest.mark.parametrize("leading", [(), (2,), (2, 11), (0, 11)])
def test_any_leading_axes(leading):
    q, k, v = (torch.zeros(*leading, *shape) for shape in ((T, 3), (S, 3), (S, 2)))
    checks.check_attention_inputs(q, k, v)


def test_a_long_value_is_cut():
    assert len(refusal(lambda: checks.check_int("layer", "x" * 10**6))) < 150


REFUSED = [
    (lambda: checks.check_int("x", True), "TypeError: x must be an integer, got True (bool)"),
    (lambda: checks.check_int("x", 2.0), "TypeError: x must be an integer, got 2.0 (float)"),
    (lambda: checks.check_int("x", None), "TypeError: x must be an integer, got None (NoneType)"),
    (lambda: checks.check_int("x", 0), "ValueError: x must be at least 1, got 0"),
    (lambda: checks.check_int("x", 6, minimum=0, maximum=5),
     "ValueError: x must be at most 5, got 6"),
    (lambda: checks.check_finite("x", math.nan), "ValueError: x must be finite, got nan"),
    (lambda: checks.check_finite("x", -math.inf), "ValueError: x must be finite, got -inf"),
    (lambda: checks.check_finite("x", 10**400),
     "ValueError: x must be finite, got a number beyond the largest float"),
    (lambda: checks.check_finite("x", True), "TypeError: x must be a real number, got True (bool)"),
    (lambda: checks.check_finite("x", 1j), "TypeError: x must be a real number, got 1j (complex)"),
    (lambda: checks.check_positive("x", 0), "ValueError: x must be positive, got 0"),
    (lambda: checks.check_positive("x", "1"), "TypeError: x must be a real number, got '1' (str)"),
    (lambda: checks.check_divides("num_heads", 7, "width", 512),
     "ValueError: num_heads (7) must divide width (512)"),
    (lambda: checks.check_divides("num_heads", 0, "width", 512),
     "ValueError: num_heads must be at least 1, got 0"),
    (lambda: checks.check_seed(-1), "ValueError: seed must be at least 0, got -1"),
    (lambda: checks.check_seed(2**63),
     "ValueError: seed must be at most 9223372036854775807, got 9223372036854775808"),
    (lambda: checks.check_seeds([]), "ValueError: seeds must not be empty, got []"),
    (lambda: checks.check_seeds(3), "TypeError: seeds must be a sequence, got 3 (int)"),
    (lambda: checks.check_seeds([3, 1, 3]),
     "ValueError: seeds must differ from one another, got [3, 1, 3]"),
    (lambda: checks.check_seeds([1, 0.5]),
     "TypeError: seeds[1] must be an integer, got 0.5 (float)"),
    (lambda: checks.check_seeds([1, -1]), "ValueError: seeds[1] must be at least 0, got -1"),
    (lambda: checks.check_instance("x", 3, torch.Generator, "a torch.Generator"),
     "TypeError: x must be a torch.Generator, got 3 (int)"),
    (lambda: checks.check_callable("x", 3), "TypeError: x must be callable, got 3 (int)"),
    (lambda: checks.check_text("x", b"a"), "TypeError: x must be a string, got b'a' (bytes)"),
    (lambda: checks.check_choice("x", ["gru"], ("rnn", "gru")),
     "ValueError: x must be one of rnn, gru, got ['gru']"),
    (lambda: checks.check_choice("x", "cnn", ("rnn", "gru")),
     "ValueError: x must be one of rnn, gru, got 'cnn'"),
    (lambda: checks.check_flag("x", 0), "TypeError: x must be True or False, got 0 (int)"),
    (lambda: checks.check_sequence("x", "abc"), "TypeError: x must be a sequence, got 'abc' (str)"),
    (lambda: checks.check_sequence("x", torch.tensor(3)),
     "TypeError: x must be a sequence, got tensor(3) (Tensor)"),
    (lambda: checks.check_sequence("x", ()), "ValueError: x must not be empty, got ()"),
    (lambda: checks.check_generator("x", None),
     "TypeError: x must be a torch.Generator, got None (NoneType)"),
    (lambda: checks.check_rank("x", [1.0], "T C"), "TypeError: x must be a torch.Tensor, got list"),
    (lambda: checks.check_rank("x", torch.zeros(2, 3, 5), "T C"),
     "ValueError: x must have 2 axes (T, C), got shape (2, 3, 5)"),
    (lambda: checks.check_rank("x", torch.zeros(5), "T C", exactly=False),
     "ValueError: x must have at least 2 axes (..., T, C), got shape (5,)"),
    (lambda: checks.check_not_empty("x", torch.zeros(3, 0, 2), axes=2),
     "ValueError: x must not be empty, got shape (3, 0, 2)"),
    (lambda: checks.check_floating("x", torch.zeros(2, dtype=torch.bool)),
     "TypeError: x must be a floating-point tensor, got torch.bool"),
    (lambda: checks.check_floating("x", torch.zeros(2).to(torch.float8_e4m3fn)),
     "TypeError: x must have 16 bits or more to a number, got torch.float8_e4m3fn"),
    (lambda: checks.check_like("k", torch.zeros(2).half(), "q", torch.zeros(2)),
     "TypeError: k must have the dtype of q (torch.float32), got torch.float16"),
    (lambda: checks.check_like("k", torch.zeros(2, device="meta"), "q", torch.zeros(2)),
     "ValueError: k must be on the device of q (cpu), got meta"),
    (lambda: checks.check_broadcasts("x", torch.zeros(7, 5), "the scores", (5, 7)),
     "ValueError: x must broadcast to the scores = (5, 7), got shape (7, 5)"),
    (lambda: checks.check_broadcasts("x", torch.zeros(2, 1, 1), "the scores", (5, 7)),
     "ValueError: x must broadcast to the scores = (5, 7), got shape (2, 1, 1)"),
    (lambda: checks.check_values("x", torch.tensor([1.0, math.nan]), "N"),
     "ValueError: x must be finite, got NaN or infinity"),
    (lambda: checks.check_values("x", torch.tensor([]), "N"),
     "ValueError: x must not be empty, got shape (0,)"),
    (lambda: checks.check_all_finite("x", torch.tensor([[math.inf]])),
     "ValueError: x must be finite, got NaN or infinity"),
    (lambda: checks.check_ids("x", torch.tensor([5.0]), "T", 31),
     "TypeError: x must be torch.int64, got torch.float32"),
    (lambda: checks.check_ids("x", torch.tensor([5, 31]), "T", 31),
     "ValueError: x must lie in 0 to 30, got 31"),
    (lambda: checks.check_ids("x", torch.tensor([-1, 99]), "T", 31),
     "ValueError: x must lie in 0 to 30, got -1"),
    (lambda: checks.check_may_attend(torch.zeros(T, S), (T, S), CPU),
     "TypeError: may_attend must be boolean, True = may attend, got torch.float32: this looks "
     "like an additive mask; pass mask == 0 (or mask > -inf) instead"),
    (lambda: checks.check_may_attend(torch.ones(T, S).long(), (T, S), CPU),
     "TypeError: may_attend must be boolean, True = may attend, got torch.int64: pass "
     "mask.bool() if 1 means may attend, mask == 0 if it means hidden"),
    (lambda: checks.check_may_attend([[True]], (T, S), CPU),
     "TypeError: may_attend must be a torch.Tensor, got list"),
    (lambda: checks.check_may_attend(torch.ones(S, T) > 0, (T, S), CPU),
     "ValueError: may_attend must broadcast to the scores (..., T, S) = (5, 7), got shape (7, 5)"),
    (lambda: checks.check_may_attend(torch.ones(2, T, S) > 0, (T, S), CPU),
     "ValueError: may_attend must broadcast to the scores (..., T, S) = (5, 7), got shape (2, "
     "5, 7)"),
    (lambda: checks.check_may_attend(torch.ones(T, S, device="meta") > 0, (T, S), CPU),
     "ValueError: may_attend must be on the device of q (cpu), got meta"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused(call, message):
    assert refusal(call) == message
