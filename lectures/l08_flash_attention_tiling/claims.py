"""What lecture 08 claims of random inputs; `make claims LECTURE=08` runs its cells."""

from course_utils.teaching.claims import Claim, Setting

CELLS = ("setup", "sums", "sums-run")
SETTINGS = (
    Setting("4 × keys", arguments={"KEYS": 4 * 4096}),
    Setting("width 128", arguments={"WIDTH": 128}),
    Setting("scores 3 × as large", arguments={"LARGER": 3.0}),
)
IN_FLOAT32, IN_BFLOAT16 = "tiles, sums in torch.float32", "tiles, sums in torch.bfloat16"


def read_errors(cell):
    """The errors over all keys, and how those in bfloat16 grow from a sixteenth of the keys on."""
    many = cell.many
    return {
        "float32": many[IN_FLOAT32],
        "whole grid": many["whole grid, float32"],
        "bfloat16 sums": many[IN_BFLOAT16],
        "growth": many[IN_BFLOAT16] / cell.few[IN_BFLOAT16],
    }


CLAIMS = (
    Claim(
        name="tiles_round_like_the_whole",
        sentence="Over 4,096 random keys in float32, the error of tiles is less than one and a "
        "half times that of the whole grid.",
        cells=CELLS,
        read=read_errors,
        holds=lambda n: n["float32"] < 1.5 * n["whole grid"],
        effect="float32",
        unit="of the output",
        rival="whole grid",
        control=Setting(
            "old sums not rescaled",
            edits={"alpha, p = (m - m_new).exp(),": "alpha, p = torch.ones_like(m),"},
        ),
        quick={"KEYS": 512},
        settings=SETTINGS,
    ),
    Claim(
        name="sums_in_bfloat16",
        sentence="Over 4,096 random keys, with l and acc in bfloat16, the error is 0.5 to 2 % of "
        "the output, more than ten thousand times the error with both in float32, and 2.5 to 5 "
        "times as large as over 256 keys.",
        cells=CELLS,
        read=read_errors,
        holds=lambda n: (
            0.005 < n["bfloat16 sums"] < 0.02
            and n["bfloat16 sums"] > 1e4 * n["float32"]
            and 2.5 < n["growth"] < 5
        ),
        effect="bfloat16 sums",
        unit="of the output",
        rival="float32",
        control=Setting(
            "all sums in float32",
            edits={"tiled_in(dtype, *narrow)": "tiled_in(torch.float32, *narrow)"},
        ),
        quick={"KEYS": 512},
        settings=SETTINGS,
    ),
)
