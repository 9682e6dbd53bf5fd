"""The GPUs of the lecture side by side, as a table."""

from course_utils.kernels.gpus import GB, GPUS, KB, MB


def gpu_table() -> str:
    """The GPUs side by side as a Markdown table, with the sources under it."""
    gpus = GPUS.values()
    rows = [
        ("SMs", lambda gpu: f"{gpu.num_sms}"),
        ("registers, one SM", lambda gpu: _kilobytes(gpu.registers_per_sm)),
        ("shared memory, one SM", lambda gpu: _kilobytes(gpu.shared_per_sm)),
        ("shared memory, one block at most", lambda gpu: _kilobytes(gpu.shared_per_block)),
        ("L2 cache", lambda gpu: f"{gpu.l2 // MB} MB"),
        ("main memory", lambda gpu: f"{gpu.memory // GB} GB"),
        ("its bandwidth", lambda gpu: f"{gpu.memory_bandwidth / 1e12:.2f} TB/s"),
        ("shared memory's, all SMs (derived)", lambda gpu: _terabytes(gpu.shared_bandwidth)),
        ("16-bit matrix products, dense", lambda gpu: f"{gpu.tensor_flops / 1e12:.0f} TFLOP/s"),
        ("float32, not tensor cores", lambda gpu: f"{gpu.vector_flops / 1e12:.1f} TFLOP/s"),
        ("exp, log (derived)", lambda gpu: f"{gpu.special_rate / 1e12:.1f} T a second"),
        ("FLOPs per byte read (ridge)", lambda gpu: f"{gpu.ridge:.0f} FLOP/byte"),
    ]
    lines = [["", *GPUS], ["---"] * (1 + len(GPUS))]
    lines += [[label, *(value(gpu) for gpu in gpus)] for label, value in rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines).replace("|  |", "| |")
    sources = dict.fromkeys(source for gpu in gpus for source in gpu.sources)
    units = "On the chip 1 KB is 1024 bytes and 1 MB 1024 KB; elsewhere units count in thousands."
    return "\n".join([table, "", units, "", "Sources: " + "; ".join(sources) + "."])


def _kilobytes(size: int) -> str:
    return f"{size // KB} KB"


def _terabytes(rate: float) -> str:
    return f"{rate / 1e12:.1f} TB/s"
