"""Which tiles each Triton kernel uses on which kind of GPU."""

from typing import NamedTuple

__all__ = ["Configuration", "constants_of", "tiles_for"]


class Configuration(NamedTuple):
    """Tiles of ``block_m`` queries by ``block_n`` keys, warps to a program, loads under way."""

    block_m: int
    block_n: int
    warps: int
    stages: int


# By how the device multiplies matrices: "wgmma" (Hopper), "tcgen05" (Blackwell for data centres),
# "mma.sync" (other NVIDIA), "mfma" (AMD). For heads up to 64 wide and up to 128: forward,
# backward_queries, backward_keys. Chosen for what the compiler reports (no spills, shared memory
# within the limit: course_utils.kernels.inspect).
FIXED = {
    ("wgmma", 16, 64): ((128, 64, 4, 3), (128, 64, 8, 2), (64, 128, 8, 2)),
    ("wgmma", 16, 128): ((128, 128, 8, 2), (128, 64, 8, 2), (64, 64, 8, 2)),
    ("tcgen05", 16, 64): ((128, 64, 4, 2), (64, 64, 4, 2), (64, 64, 4, 2)),
    ("tcgen05", 16, 128): ((128, 64, 8, 2), (64, 64, 4, 2), (64, 64, 8, 2)),
    ("mma.sync", 16, 64): ((128, 64, 8, 2), (64, 64, 4, 2), (32, 128, 8, 2)),
    ("mma.sync", 16, 128): ((128, 32, 8, 2), (64, 64, 8, 2), (64, 64, 8, 2)),
    # NVIDIA's tensor cores do not multiply float32 in full precision: no matrix instruction.
    ("fma", 32, 64): ((32, 32, 4, 2), (32, 32, 4, 2), (32, 32, 8, 2)),
    ("fma", 32, 128): ((32, 16, 8, 2), (32, 16, 4, 2), (32, 32, 8, 2)),
    ("mfma", 32, 64): ((32, 32, 4, 2), (32, 32, 4, 2), (32, 32, 4, 2)),
    ("mfma", 32, 128): ((32, 32, 4, 2), (32, 32, 4, 2), (32, 32, 4, 2)),
    ("mfma", 16, 64): ((128, 64, 8, 2), (64, 64, 4, 2), (64, 64, 4, 2)),
    ("mfma", 16, 128): ((64, 64, 4, 2), (64, 64, 4, 2), (32, 64, 4, 2)),
}
ORDER = ("forward", "backward_queries", "backward_keys")


def tiles_for(kernel: str, instruction: str, bits: int, D: int) -> Configuration:
    """Return the tiles of a kernel for heads D wide in numbers of so many bits.

    >>> tiles_for("forward", "wgmma", 16, D=128).block_m
    128
    """
    plain = bits == 32 and instruction != "mfma"
    row = FIXED["fma" if plain else instruction, bits, 64 if D <= 64 else 128]
    return Configuration(*row[ORDER.index(kernel)])


def constants_of(
    kernel: str, tiles: Configuration, *, D: int, group: int, causal: bool, T: int
) -> dict[str, int]:
    """Return what a kernel is compiled for, besides dtypes and strides.

    Args:
        kernel: its name.
        tiles: the size of a tile.
        D: head width.
        group: query heads to a key/value head.
        causal: whether a query is kept from later keys.
        T: queries.

    >>> tiles = Configuration(64, 32, warps=4, stages=2)
    >>> constants_of("forward", tiles, D=40, group=1, causal=False, T=7)["BLOCK_D"]
    64
    """
    constants = {
        "GROUP": group,
        "D": D,
        "BLOCK_D": max(16, 1 << (D - 1).bit_length()),  # a power of two, as blocks must be
        "CAUSAL": causal,
        "BLOCK_M": tiles.block_m,
        "BLOCK_N": tiles.block_n,
    }
    if kernel == "backward_keys":
        constants["EVEN"] = T % tiles.block_m == 0  # no tile of queries is cut off
    return constants
