"""The stand-in for Triton: the kernels of lecture 08, as its readers without Triton run them."""

import re

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.teaching import check_close
from lectures.l08_flash_attention_tiling import numpy_triton
from tools.notebook_file import lecture_file, read_cells

CELLS = {cell.id: cell.source for cell in read_cells(lecture_file("08"))}
STEPS = ("steps-add", "steps-rows", "steps-tile", "steps-dot", "steps-flash", "steps-flash-run")
LINE = "places = rows * D + columns  # your line"  # as the reader finds it
ANSWER = re.search(r"`(places = .*?)`", CELLS["steps-tile-line"])[1]


def run(*edits):
    """Run the lecture's first kernels on the stand-in, after replacing each text by another."""
    torch.manual_seed(5)
    q, k, v = torch.randn(3, 203, 64)
    names = {"torch": torch, "device": "cpu", "check_close": check_close, "q": q, "k": k, "v": v}
    names |= {"triton": numpy_triton, "tl": numpy_triton, "attend": attend}
    source = "\n".join(CELLS[step] for step in STEPS)
    for old, new in ((LINE, ANSWER), *edits):
        assert source.count(old) == 1, f"{old!r} is not in the kernels once"
        source = source.replace(old, new)
    # New memory is filled with NaN: what an earlier run left there may be the right result.
    torch.use_deterministic_algorithms(True)
    try:
        exec(compile(source, "<lecture 08>", "exec"), names)
    finally:
        torch.use_deterministic_algorithms(False)
    return names


def test_the_lectures_kernels_agree(capsys):
    run()
    said = capsys.readouterr().out.splitlines()
    assert said.pop(2) == "9,135 of 9,135 numbers are right"
    names = ("add", "softmax of each row", "scores", "flash", "flash")
    assert [line.partition(",")[0] for line in said] == [f"agrees: {name}" for name in names]


@pytest.mark.parametrize(
    "places", ["rows * D + columns", "rows * N + columns", "columns * D + rows"]
)
def test_a_wrong_line_stays_inside_and_is_told(places, capsys):
    """What a reader may write first neither leaves the result nor passes."""
    try:
        run((ANSWER, f"places = {places}"))
    except numpy_triton.PlacesError as error:
        assert "both use place" in str(error)
    else:
        right = capsys.readouterr().out.splitlines()[2].partition(" of ")[0]
        assert int(right.replace(",", "")) < 9135 / 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + y, mask=exists", "x - y, mask=exists"),
        ("add[(triton.cdiv(203, 64),)]", "add[(203 // 64,)]"),
        ("z - tl.max(z, axis=0)", "z - columns"),
        ("l * alpha", "l"),
        ("acc * alpha[:, None]", "acc"),
        ("m, l, acc = take_tile", "_, l, acc = take_tile"),
        ("tl.where(keys.T < N", "tl.where(keys.T <= N"),
        ("flash[(triton.cdiv(203, 32),)]", "flash[(203 // 32,)]"),
    ],
)
def test_a_wrong_kernel_fails(old, new):
    with pytest.raises((AssertionError, numpy_triton.PlacesError)):
        run((old, new))


@pytest.mark.parametrize(("N", "D", "BLOCK"), [(37, 11, 8), (5, 3, 16), (16, 7, 16)])
def test_flash_at_other_sizes(N, D, BLOCK):
    q, k, v = torch.randn(3, N, D)
    out = torch.full_like(q, torch.nan)
    run()["flash"][(-(-N // BLOCK),)](q, k, v, out, N, D**-0.5, D=D, BLOCK=BLOCK)
    torch.testing.assert_close(out, attend(q, k, v)[0])


def memory(*numbers):
    return numpy_triton.Pointer(numpy_triton.Memory(torch.tensor(numbers)))


def test_masked_places_are_neither_read_nor_written():
    pointer = memory(0.0, 1.0, 2.0, 3.0, 4.0)
    at = pointer + 3 + np.arange(4)  # 3 to 6: two of them do not exist
    exists = np.arange(4) < 2
    read = numpy_triton.load(at, mask=exists, other=-1.0)
    assert read.tolist() == [3, 4, -1, -1] and read.dtype == np.float32
    numpy_triton.store(at, 10 * read, mask=exists)
    assert pointer.memory.numbers.tolist() == [0, 1, 2, 30, 40]
    assert np.isnan(numpy_triton.load(at, mask=exists)).tolist() == [False, False, True, True]
    with pytest.raises(numpy_triton.PlacesError):
        numpy_triton.load(at)


@numpy_triton.jit
def shift(x_ptr, out_ptr, step, BLOCK):
    at = numpy_triton.program_id(0) * step + numpy_triton.arange(0, BLOCK)
    numpy_triton.store(out_ptr + at, numpy_triton.load(x_ptr + at))


def test_two_programs_at_one_place_are_a_race():
    x, out = torch.arange(8.0), torch.zeros(8)
    shift[(2,)](x, out, 4, BLOCK=4)
    assert out.tolist() == x.tolist()
    shift[(2,)](x, out, 4, BLOCK=4)  # another launch comes after the first
    with pytest.raises(numpy_triton.PlacesError, match="programs 0 and 1 both use place 3"):
        shift[(2,)](x, out, 3, BLOCK=4)


def test_dtypes_are_those_of_a_compiled_kernel():
    half = numpy_triton.load(memory(1.0, 2.0) + np.arange(2)).to(numpy_triton.float16)
    (scale,) = [numpy_triton._as_given(0.5)]
    assert (half * scale).dtype == np.float32 and (half * 0.5).dtype == np.float16
    tile = half.reshape(1, 2)
    assert numpy_triton.dot(tile, tile.T).dtype == np.float32
    with pytest.raises(TypeError, match="float16 and float32"):
        numpy_triton.dot(tile, tile.T.to(numpy_triton.float32))
    with pytest.raises(TypeError, match="float16"):
        numpy_triton.exp(half)
