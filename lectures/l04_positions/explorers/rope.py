"""Queries and keys as clock hands that turn with their positions."""

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider, Steps

PAIRS = 32
FARTHEST = 8192
BASES = (100, 1_000, 10_000, 100_000, 500_000, 1_000_000)
AIMS = (0, 1, 2, 5, 10, 20)
NEAR = {"m": 17, "n": 12, "base": 10_000, "pair": 4, "aim": 0}
FAR = {**NEAR, "m": 4012}


class RopeClock(Explorer):
    """Positions m and n, base, pair → hands, the score over m − n, all clocks at once."""

    title = "RoPE: does a score depend on where two tokens are, or on how far apart?"
    inputs = {
        "m": Slider("query's position m", 0, FARTHEST, NEAR["m"], fine=30, colour="query"),
        "n": Slider("key's position n", 0, FARTHEST, NEAR["n"], fine=30, colour="key"),
        "base": Steps("base of the angles", BASES, NEAR["base"]),
        "aim": Steps("query aims back by", AIMS, NEAR["aim"]),
        "pair": Slider("pair of dimensions", 0, PAIRS - 1, NEAR["pair"], in_picture=True),
    }
    presets = {
        "5 apart": NEAR,
        "move both: nothing changes": {**NEAR, "m": 27, "n": 22},
        "both 5,000 further": {**NEAR, "m": 5017, "n": 5012},
        "far apart": FAR,
        "base 10,000 → 500,000": {**FAR, "base": 500_000},
        "a query that aims 5 back": {**NEAR, "aim": 5},
    }
    view = "rope.js"
    reading = (
        "RoPE cuts a query and a key into 32 pairs of numbers. Each pair is a clock: position m "
        "turns the query's hand, position n the key's hand. Pair 0 turns fastest, pair 31 slowest. "
        "Hands that point the same way add to the score, opposite hands subtract; the score is the "
        "mean cosine of all 32 angles. Turn a hand to move one position, turn the face to move "
        "both, drag the dot to change the distance, and choose a clock to see it large."
    )
