"""What was measured of attention, in tables."""

from __future__ import annotations

from benchmarks._cases import Case
from benchmarks._goals import place
from benchmarks._rivals import LABELS
from benchmarks._tables import spread, table
from course_utils.kernels.gpus import GPU, GPUS

SHAPE = ("N", "D", "causal", "dtype", "B", "H", "G", "split")
PASSES = {"forward": "forward", "backward": "backward", "both": "forward+backward"}


def report(result: dict) -> str:
    """Return everything that was measured, the goals last."""
    lines = ["# Attention, measured", ""]
    lines += [f"- {name}: {value}" for name, value in result["conditions"].items()]
    lines += ["", *time_section(result["cases"], result["conditions"]["device"])]
    if result["memory"]:
        lines += ["", *memory_section(result["memory"])]
    lines += left_out_section(result)
    return "\n".join([*lines, "", *goals_section(result["goals"])])


def time_section(cases: list[dict], device: str) -> list[str]:
    """Return the table of times: one line for each rival and pass of a case."""
    gpu = next((each for each in GPUS.values() if each.driver_name == device), None)
    rows = []
    for case in cases:
        heads = f"B {case['B']} H {case['H']} G {case['G']} D {case['D']} {place(case)}"
        shape = Case(**{k: v for k, v in case.items() if k in SHAPE}, rivals=())
        for rival, found in case["results"].items():
            for what, timed in found["passes"].items():
                seconds = timed["ms"][0] / 1e3
                numbers = [*spread(timed["ms"], ".3g")]
                numbers += [f"{shape.operations(what) / seconds / 1e12:.3g}"]
                numbers += shares(shape, what, seconds, gpu)
                numbers += spread(timed.get("ours_takes_times"), ".2f")
                rows.append([heads, LABELS[rival], PASSES[what], *numbers])
    of_peak = ["of peak", "of exp's peak"] if gpu else []
    head = ["case", "who", "pass", "ms", "quartiles", "TFLOP/s", *of_peak]
    head += ["ours takes", "quartiles"]
    about_peak = (
        f" The {gpu.name} at its boost clock: {gpu.tensor_flops / 1e12:.0f} TFLOP/s in 16 bits, "
        f"{gpu.special_rate / 1e12:.1f} · 10¹² exponentials a second, of which each pass needs at "
        "least one a weight."
        if gpu
        else ""
    )
    return [
        "## Time",
        "",
        "Medians over rounds in which each ran once. TFLOP/s counts 4·N²·D operations a head "
        "forward, 2.5 times that backward, half of it where causal. 'Ours takes': our time over "
        "theirs in the same round, so below 1 we are faster. Split: heads side by side in memory, "
        "as a layer hands them over." + about_peak,
        "",
        *table(head, rows),
    ]


def shares(shape: Case, what: str, seconds: float, gpu: GPU | None) -> list[str]:
    """Return which part of a GPU's peaks was reached: of its products, of its exponentials."""
    if gpu is None:
        return []
    products = shape.operations(what) / gpu.tensor_flops
    exponentials = shape.exponentials(what) / gpu.special_rate
    return [f"{least / seconds:.0%}" for least in (products, exponentials)]


def memory_section(memory: list[dict]) -> list[str]:
    """Return the table of peak memory."""
    sizes = ("extra", "result", "beyond_result")
    rows = [
        [
            f"B {row['B']} H {row['H']} D {row['D']} {place(row)}",
            LABELS[row["rival"]],
            PASSES[row["what"]],
            *(f"{row[key] / 1e6:.1f}" for key in sizes),
        ]
        for row in memory
    ]
    return [
        "## Memory",
        "",
        "Peak beyond the inputs, in MB of 10⁶ bytes. The result is the output and, backward, the "
        "gradients. On a CPU: by how much a fresh process grows.",
        "",
        *table(["case", "who", "pass", "peak MB", "result MB", "beyond it MB"], rows),
    ]


def left_out_section(result: dict) -> list[str]:
    """Return who was left out of what, and why."""
    lines = [
        f"- {LABELS[rival]}: {reason} (D {case['D']} G {case['G']} {place(case)})"
        for case in result["cases"]
        for rival, reason in case["left_out"].items()
    ]
    lines += [f"- {text}" for text in result["left_out"]]
    return ["", "## Left out", "", *lines] if lines else []


def goals_section(goals: list[dict]) -> list[str]:
    """Return the table of goals; what is measured is the worst case."""
    verdicts = {True: "met", False: "not met", None: "not measured"}
    rows = [
        [
            goal["text"],
            f"{goal['bound']:g}",
            "-" if goal["worst"] is None else f"{goal['worst']:.2f}",
            goal["where"],
            verdicts[goal["met"]],
        ]
        for goal in goals
    ]
    return ["## Goals", "", *table(["times as long as", "at most", "worst", "where", ""], rows)]
