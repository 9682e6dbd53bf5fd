"""The PNG writer, against Pillow's reader."""

import io

import numpy as np
import pytest
from PIL import Image

from course_utils.explorers.png import encode_png
from tests.support_errors import raises_saying

SIZES = [(1, 1), (1, 7), (7, 1), (2, 3), (37, 53)]


def some_pixels(height, width, channels):
    random = np.random.default_rng(height * width)
    return random.integers(0, 256, (height, width, channels), dtype=np.uint8)


def decoded(png):
    with Image.open(io.BytesIO(png)) as image:
        image.load()
        assert image.format == "PNG"
        return image.mode, np.asarray(image)


@pytest.mark.parametrize("channels", [3, 4, 5])
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_pillow_reads_back_the_same_pixels(height, width, channels):
    pixels = some_pixels(height, width, channels)
    mode, read = decoded(encode_png(pixels))
    assert mode == "RGB"
    assert np.array_equal(read, pixels[..., :3])


def test_rows_that_are_not_contiguous_are_read_as_they_look():
    pixels = some_pixels(37, 53, 4)
    for view in (pixels[::-1], pixels[:, ::2], pixels.transpose(1, 0, 2)):
        assert np.array_equal(decoded(encode_png(view))[1], view[..., :3])


def test_the_pixels_given_stay_as_they_were():
    pixels = some_pixels(5, 7, 4)
    before = pixels.copy()
    encode_png(pixels)
    assert np.array_equal(pixels, before)


def test_same_pixels_same_bytes_and_nothing_but_the_picture():
    pixels = some_pixels(37, 53, 4)
    png = encode_png(pixels)
    assert png == encode_png(pixels.copy())
    # Three chunks alone: no time stamp and no software name that would differ between machines.
    assert [png.count(kind) for kind in (b"IHDR", b"IDAT", b"IEND")] == [1, 1, 1]
    assert not any(kind in png for kind in (b"tEXt", b"tIME", b"pHYs"))


@pytest.mark.parametrize(
    ("pixels", "came"),
    [
        (np.zeros((5, 7), np.uint8), "uint8 of shape (5, 7)"),
        (np.zeros((5, 7, 2), np.uint8), "uint8 of shape (5, 7, 2)"),
        (np.zeros((5, 7, 3)), "float64 of shape (5, 7, 3)"),
        (np.zeros((5, 7, 3), np.int8), "int8 of shape (5, 7, 3)"),
        (np.zeros((0, 7, 3), np.uint8), "uint8 of shape (0, 7, 3)"),
        (np.zeros((5, 0, 3), np.uint8), "uint8 of shape (5, 0, 3)"),
    ],
)
def test_other_shapes_and_types_are_refused(pixels, came):
    rule = "pixels must be bytes of shape (height, width, 3 or 4); got "
    with raises_saying(ValueError, rule + came):
        encode_png(pixels)
