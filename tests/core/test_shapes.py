"""Axis letters, the annotations' fallback, and the messages of the input checks."""

import math
import subprocess
import sys

import pytest
import torch

from course_utils.checks import (
    check_attention_inputs,
    check_divides,
    check_finite,
    check_floating,
    check_int,
    check_like,
    check_may_attend,
    check_rank,
)
from course_utils.shapes import AXES, axis_table
from tests.support_errors import raises_saying

T, S, D, E = 5, 7, 3, 2


def qkv(*leading, dtype=torch.float32):
    return (
        torch.zeros(*leading, T, D, dtype=dtype),
        torch.zeros(*leading, S, D, dtype=dtype),
        torch.zeros(*leading, S, E, dtype=dtype),
    )


def test_axis_letters_are_the_published_nine():
    assert "".join(AXES) == "BHGTSDECV"


def test_axis_table_lists_every_letter_once():
    lines = axis_table().splitlines()
    assert lines[0] == "| axis | meaning |"
    assert [line.split("`")[1] for line in lines[2:]] == list(AXES)


def test_axis_table_keeps_the_order_asked_for():
    assert [line.split("`")[1] for line in axis_table("DT").splitlines()[2:]] == ["D", "T"]


def test_axis_table_refuses_an_unknown_letter():
    with raises_saying(ValueError, "letters must be taken from BHGTSDECV, got 'Q'"):
        axis_table("TQ")


def test_modules_run_without_jaxtyping():
    program = (
        "import sys; sys.modules['jaxtyping'] = None\n"
        "import torch\n"
        "from course_utils.shapes import Float\n"
        "from course_utils.attention import attend\n"
        "assert Float[torch.Tensor, 'T D'] is torch.Tensor\n"
        "q = torch.ones(2, 3)\n"
        "print(attend(q, q, q)[1].tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[[0.5, 0.5], [0.5, 0.5]]\n", "")


def test_importing_the_package_loads_nothing_heavy():
    program = (
        "import sys, course_utils\n"
        "print(course_utils.__version__, {'torch', 'numpy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "0.1.0 set()\n"


@pytest.mark.parametrize("value", [True, 2.0, "3", None, math.nan])
def test_check_int_refuses_what_is_no_integer(value):
    with raises_saying(
        TypeError, f"window must be an integer, got {value!r} ({type(value).__name__})"
    ):
        check_int("window", value)


def test_check_int_takes_numpy_integers_and_bounds():
    import numpy as np

    assert check_int("layer", np.int64(0), minimum=0, maximum=5) == 0
    with raises_saying(ValueError, "layer must be at most 5, got 6"):
        check_int("layer", 6, minimum=0, maximum=5)
    with raises_saying(ValueError, "layer must be at least 0, got -1"):
        check_int("layer", -1, minimum=0, maximum=5)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_check_finite_refuses_infinity_and_nan(value):
    with raises_saying(ValueError, f"scale must be finite, got {value}"):
        check_finite("scale", value)


@pytest.mark.parametrize("value", [True, "1", None, 1j])
def test_check_finite_refuses_what_is_no_real_number(value):
    with raises_saying(
        TypeError, f"scale must be a real number, got {value!r} ({type(value).__name__})"
    ):
        check_finite("scale", value)


def test_check_finite_returns_a_float():
    assert check_finite("scale", -2) == -2.0
    assert isinstance(check_finite("scale", -2), float)


def test_check_divides_names_both():
    with raises_saying(ValueError, "num_heads (7) must divide width (512)"):
        check_divides("num_heads", 7, "width", 512)
    assert check_divides("num_heads", 8, "width", 512) is None


def test_check_rank_names_type_axes_and_shape():
    with raises_saying(TypeError, "x must be a torch.Tensor, got list"):
        check_rank("x", [1.0], "T C")
    with raises_saying(ValueError, "x must have 2 axes (T, C), got shape (2, 3, 5)"):
        check_rank("x", torch.zeros(2, 3, 5), "T C")
    with raises_saying(ValueError, "x must have at least 2 axes (..., T, C), got shape (5,)"):
        check_rank("x", torch.zeros(5), "T C", exactly=False)
    assert check_rank("x", torch.zeros(2, 3, 5), "T C", exactly=False) is None


def test_check_floating_and_like_name_the_dtypes():
    with raises_saying(TypeError, "q must be a floating-point tensor, got torch.bool"):
        check_floating("q", torch.zeros(2, dtype=torch.bool))
    with raises_saying(TypeError, "k must have the dtype of q (torch.float32), got torch.float16"):
        check_like("k", torch.zeros(2).half(), "q", torch.zeros(2))
    with raises_saying(ValueError, "k must be on the device of q (cpu), got meta"):
        check_like("k", torch.zeros(2, device="meta"), "q", torch.zeros(2))


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (
            torch.zeros(T, S),
            TypeError,
            "may_attend must be boolean, True = may read, got torch.float32: this looks like an "
            "additive mask; pass mask == 0 (or mask > -inf) instead",
        ),
        (
            torch.ones(T, S, dtype=torch.int64),
            TypeError,
            "may_attend must be boolean, True = may read, got torch.int64: pass mask.bool() "
            "if 1 means may read, mask == 0 if it means hidden",
        ),
        ([[True]], TypeError, "may_attend must be a torch.Tensor, got list"),
        (
            torch.ones(S, T, dtype=torch.bool),
            ValueError,
            "may_attend must broadcast to the scores (..., T, S) = (5, 7), got shape (7, 5)",
        ),
        (
            torch.ones(2, T, S, dtype=torch.bool),
            ValueError,
            "may_attend must broadcast to the scores (..., T, S) = (5, 7), got shape (2, 5, 7)",
        ),
        (
            torch.ones(T, S, dtype=torch.bool, device="meta"),
            ValueError,
            "may_attend must be on the device of q (cpu), got meta",
        ),
    ],
    ids=["additive", "integer", "list", "transposed", "more-axes", "device"],
)
def test_check_may_attend_says_what_is_wrong(mask, error, message):
    with raises_saying(error, message):
        check_may_attend(mask, (T, S), torch.device("cpu"))


@pytest.mark.parametrize("shape", [(T, S), (1, S), (T, 1), (S,), (1,), ()])
def test_check_may_attend_takes_what_broadcasts(shape):
    mask = torch.ones(shape, dtype=torch.bool)
    assert check_may_attend(mask, (T, S), torch.device("cpu")) is None


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"q": [0.0]}, TypeError, "q must be a torch.Tensor, got list"),
        (
            {"q": torch.zeros(D)},
            ValueError,
            "q must have at least 2 axes (..., T, D), got shape (3,)",
        ),
        (
            {"k": torch.zeros(S, D, dtype=torch.int64)},
            TypeError,
            "k must be a floating-point tensor, got torch.int64",
        ),
        (
            {"v": torch.zeros(S, E).double()},
            TypeError,
            "v must have the dtype of q (torch.float32), got torch.float64",
        ),
        ({"q": torch.zeros(0, D)}, ValueError, "q must not be empty, got shape (0, 3)"),
        ({"k": torch.zeros(0, D)}, ValueError, "k must not be empty, got shape (0, 3)"),
        (
            {"k": torch.zeros(11, S, D)},
            ValueError,
            "k must have the leading axes of q (), got shape (11, 7, 3)",
        ),
        (
            {"k": torch.zeros(S, E)},
            ValueError,
            "k must have the head width of q, D (3), got shape (7, 2)",
        ),
        (
            {"v": torch.zeros(T, E)},
            ValueError,
            "v must have a row for each key, S (7), got shape (5, 2)",
        ),
        ({"scale": math.nan}, ValueError, "scale must be finite, got nan"),
        ({"scale": True}, TypeError, "scale must be a real number, got True (bool)"),
    ],
)
def test_check_attention_inputs_names_the_argument(changed, error, message):
    inputs = dict(zip("qkv", qkv(), strict=True)) | changed
    with raises_saying(error, message):
        check_attention_inputs(**inputs)


@pytest.mark.parametrize("leading", [(), (2,), (2, 11), (0, 11)])
def test_check_attention_inputs_takes_any_leading_axes(leading):
    assert check_attention_inputs(*qkv(*leading)) is None
