"""What the hardware table, the costs and the memory count must refuse, as a table."""

import numpy as np

from course_utils.lectures.l08_flash_attention_tiling import figures as figures_08
from course_utils.lectures.l08_flash_attention_tiling.experiments import hardware, roofline
from course_utils.lectures.l08_flash_attention_tiling.experiments import (
    traffic as attention_traffic,
)
from course_utils.measure import peak_memory
from tests.core.support_bad_core import COUNT, FLAG, INF, NAN, POSITIVE, choice
from tests.core.support_bad_input import Bad, Case, Said

NAMES = Bad((None, 3, "H100 SXM"), ([], Said(["H100"], "'H100'"), Said([None], "None")))
SIZES = {"T": 7, "S": 11, "D": 5}
BAD_SIZES = {**dict.fromkeys(SIZES, COUNT), "element_size": COUNT, "heads": COUNT}
TILES = {"block_m": 3, "block_n": 2}
BAD_TILES = {**dict.fromkeys(TILES, COUNT), "causal": FLAG}
H100 = hardware.find_gpu("H100 SXM")
NO_GPU = Bad((None, "H100 SXM", {}))
NUMBERS = Bad(
    (None, 3, Said("12", "'12'"), Said([1, "2"], "'2'")),
    ([], Said([1.0, NAN], "nan"), Said([1.0, INF], "inf"), Said([1, 0], "0"), Said([1, -2], "-2")),
)

LENGTHS = np.array([2.0, 4.0, 8.0])
PEAKS = {"naive": LENGTHS**2, "tiled": LENGTHS}
FIVE = {name: LENGTHS for name in "abcde"}
BAD_PEAKS = Bad(
    (None, [LENGTHS], Said({"a": [1.0]}, "list"), Said({1: LENGTHS}, "1 (int)")),
    ({}, Said(FIVE, "5"), Said({"a": LENGTHS[:2]}, "(2,)"), Said({"a": LENGTHS * 0}, "0"),
     Said({"a": LENGTHS * NAN}, "NaN")),
)  # fmt: skip
BAD_LENGTHS = Bad(
    (None, "x", [1.0, 2.0]),
    (LENGTHS[:0], LENGTHS[:, None], LENGTHS * 0, LENGTHS * NAN, Said(LENGTHS[::-1], "[8.0, 4.0"),
     Said(LENGTHS[:1], "[2.0]")),
)  # fmt: skip
TIMES = {"SDPA": LENGTHS, "tiled": LENGTHS}
BAD_TIMES = Bad(
    (None, [LENGTHS], Said({"SDPA": [1.0]}, "list"), Said({1: LENGTHS}, "1 (int)")),
    ({}, Said({"SDPA": LENGTHS * 0}, "0"), Said({**TIMES, "tiled": LENGTHS[:2]}, "(2,)"),
     Said({"SDPA": LENGTHS * NAN}, "NaN")),
)  # fmt: skip
NO_REFERENCE = Bad((None, 3), ("naive",))

CASES = [
    Case("hardware.find_gpu", hardware.find_gpu, {"name": "H100 SXM"}, {"name": choice("h100")}),
    Case("hardware.level_table", hardware.level_table, {"name": "H100 SXM"}, {
        "name": choice("h100"),
    }),
    Case("hardware.gpu_table", hardware.gpu_table, {"names": ["H100 SXM"]}, {
        "names": Bad(NAMES.types[1:], NAMES.values),
    }),
    *(
        Case(f"attention_traffic.{name}", getattr(attention_traffic, name), SIZES, BAD_SIZES)
        for name in ("naive_forward", "naive_backward")
    ),
    *(
        Case(f"attention_traffic.{name}", getattr(attention_traffic, name), {**SIZES, **TILES}, {
            **BAD_SIZES, **BAD_TILES, flag: FLAG,
        })
        for name, flag in (("tiled_forward", "cached"), ("tiled_backward", "fused"))
    ),
    Case("roofline.cost_table", roofline.cost_table, {**SIZES, **TILES}, {
        **BAD_SIZES, **BAD_TILES,
    }),
    Case("roofline.tile_memory", roofline.tile_memory, {**TILES, "D": 5}, {
        **dict.fromkeys(TILES, COUNT), "D": COUNT, "element_size": COUNT, "stages": COUNT,
    }),
    Case("roofline.attainable_flops", roofline.attainable_flops, {"gpu": H100, "intensity": 2.0}, {
        "gpu": NO_GPU, "intensity": POSITIVE,
    }),
    Case("roofline.time_bound", roofline.time_bound,
         {"cost": attention_traffic.naive_forward(**SIZES), "gpu": H100}, {
        "cost": Bad((None, 3, "x")), "gpu": NO_GPU,
    }),
    Case("peak_memory.peak_bytes", peak_memory.peak_bytes, {"function": lambda: None}, {
        "function": Bad((None, 3, "x", [print])),
    }),
    Case("peak_memory.growth_exponent", peak_memory.growth_exponent,
         {"sizes": [1, 2], "values": [3, 4]}, {
        "sizes": Bad(NUMBERS.types, (*NUMBERS.values, Said([2, 2], "[2, 2]"))),
        "values": Bad(NUMBERS.types, (*NUMBERS.values, Said([1, 2, 3], "3"))),
    }),
    *(
        Case(f"viz.figures_08.{kind}_{what}", getattr(figures_08, f"{kind}_{what}"), good, bad)
        for kind in ("draw", "describe")
        for what, good, bad in (
            ("levels", {"gpu": "H100 SXM"}, {"gpu": choice("h100")}),
            ("memory", {"lengths": LENGTHS, "peaks": PEAKS}, {
                "lengths": BAD_LENGTHS, "peaks": BAD_PEAKS,
            }),
            ("times", {"times": TIMES, "reference": "SDPA"}, {
                "times": BAD_TIMES, "reference": NO_REFERENCE,
            }),
        )
    ),
]  # fmt: skip
