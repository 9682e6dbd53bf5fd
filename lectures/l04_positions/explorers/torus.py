"""Two pairs of a key under RoPE: where it goes as its position grows, and which pair counts."""

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider, Steps

KEYS = 64  # positions
BASES = (25, 100, 400)
NEAR = {"m": 10, "n": 16, "slow": 50, "base": 100}
FAR = {**NEAR, "n": 54}


class RopeTorus(Explorer):
    """Positions m and n, the length in the slow pair, base → a path on a torus, and the score."""

    title = "Which pair does a score listen to?"
    inputs = {
        "m": Slider("query's position m", 0, KEYS - 1, NEAR["m"], in_picture=True),
        "n": Slider("key's position n", 0, KEYS - 1, NEAR["n"], in_picture=True),
        "slow": Slider("slow pair's squared length", 0, 100, NEAR["slow"], step=5, unit="%"),
        "base": Steps("base of the angles", BASES, NEAR["base"]),
    }
    presets = {
        "6 apart": NEAR,
        "44 apart": FAR,
        "… with a long fast pair": {**FAR, "slow": 10},
        "… with a long slow pair": {**FAR, "slow": 90},
        "… and a slower slow pair": {**FAR, "slow": 90, "base": 400},
        "only the slow pair": {**NEAR, "slow": 100},
    }
    view = "torus.js"
    reading = (
        "Two pairs have two angles, so a key whose position grows winds around a doughnut: its "
        "fast pair takes it around the tube, its slow pair around the ring. Each bead is a "
        "position, teal where the score with the query is high, magenta where it is negative. A "
        "thicker tube is a longer fast pair. Drag m or n along the beads, and drag the doughnut to "
        "look around. The doughnut shows both angles; distances on it are not those of the vectors."
    )
