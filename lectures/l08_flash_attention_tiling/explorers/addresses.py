"""A tile that is moved over a matrix in memory: its rows and columns of pointers, and the mask."""

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider, Steps, Toggle

ROWS, COLUMNS, BLOCK = 7, 6, 4
FIRST = {"row": 0, "column": 0, "entry": 6, "stride": 6, "masked": True}


class Addresses(Explorer):
    """The tile's first row and column → the place of each of its numbers, and which exist."""

    title = "Where in memory is a tile?"
    inputs = {
        "row": Slider("first row of the tile", 0, ROWS - 1, 0, in_picture=True),
        "column": Slider("first column of the tile", 0, COLUMNS - 1, 0, in_picture=True),
        "entry": Slider("number of the tile", 0, BLOCK * BLOCK - 1, 6, in_picture=True),
        "stride": Steps("places from row to row", (6, 8), 6),
        "masked": Toggle("mask", True),
    }
    presets = {
        "first tile": FIRST,
        "past the last row": {**FIRST, "row": 4},
        "past the last column": {**FIRST, "row": 1, "column": 4},
        "the same, no mask": {**FIRST, "row": 1, "column": 4, "masked": False},
        "rows further apart": {**FIRST, "row": 1, "column": 1, "stride": 8},
    }
    view = "addresses.js"
    reading = (
        "On the left a matrix; the small numbers are places in memory. Drag the frame, or move it "
        "by arrow keys. On the right the tile: a column of row numbers, a row of column numbers, "
        "and for each pair the place row · stride + column. A crossed place is not the matrix's: "
        "the mask leaves it out. Below lies the memory as it is, one long row; grey places exist "
        "and belong to no row. Click a place to follow it."
    )
