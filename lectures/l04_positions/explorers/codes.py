"""Three ways to write down a position, and how far the codes of two positions are apart."""

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Slider

POSITIONS = 64
NUMBER, BINARY, WAVES = "one number", "binary digits", "waves"
START = {"code": WAVES, "m": 7, "n": 8}


class PositionCodes(Explorer):
    """A way to write positions, two positions → the table of codes, distances from the first."""

    title = "How would you write down a position?"
    inputs = {
        "code": Choice(
            "position written as", (NUMBER, BINARY, WAVES), START["code"], in_picture=True
        ),
        "m": Slider("first position", 0, POSITIONS - 1, START["m"], in_picture=True),
        "n": Slider("second position", 0, POSITIONS - 1, START["n"], in_picture=True),
    }
    presets = {
        "number: 7 and 57": {"code": NUMBER, "m": 7, "n": 57},
        "binary: 7 and 8": {**START, "code": BINARY},
        "binary: 7 and 15": {"code": BINARY, "m": 7, "n": 15},
        "waves: 7 and 8": START,
        "waves: 31 and 32": {"code": WAVES, "m": 31, "n": 32},
    }
    view = "codes.js"
    reading = (
        "Above, each column is the code of one position, 0 to 63, and each row one number of the "
        "code: light is 0 and dark is large, and in the waves teal is 1 and magenta −1. Below, "
        "the height of the line is how far a position's code is from the code at the round "
        "handle: the length of their difference. Drag either handle."
    )
