"""Real GPUs in numbers: how much each level of memory holds, how fast it is, how fast they compute.

Each entry names the vendor's documents that its figures are from. They were checked against quotes
of these documents and against each other: a tensor rate is lanes × SMs × clock. Tensor rates are
for dense bfloat16 and float16 products with float32 sums: the doubled figure on a datasheet is
"with sparsity", which needs half the weights to be zero. Derived are the rates of the memories on
the chip, the rate of the special functions, and the size of all SMs together. What no vendor
document gives is None.

Sizes on the chip count in 1024s (KB = 1024 bytes), sizes of the main memory in 1000s (GB = 10^9
bytes), as the datasheets do.

B200 is left out: published values of its memory bandwidth differ (8.0 TB/s on datasheets, 7.7 from
the bus width and clock that the driver reports), and no document at hand gives its clock.
"""

from dataclasses import dataclass, replace

__all__ = ["GB", "GPU", "GPUS", "KB", "MB", "SHARED_PER_BLOCK"]

KB = 1024
MB = 1024**2
GB = 10**9
# Bytes that the 32 banks of one SM's shared memory deliver at each tick of the clock, on every
# architecture here (CUDA C++ Programming Guide, shared memory: 32 banks of 32 bits).
SHARED_BYTES_PER_CLOCK = 128
# Results of exp2, log2, 1/x and the like that one SM gives at each tick, on every architecture here
# (the same guide, throughput of native arithmetic instructions). Shah et al., "FlashAttention-3",
# 2024, section 3.1, make of it the same 3.9 TFLOPS for an H100 as `special_rate` does.
SPECIAL_PER_CLOCK = 16

# Bytes of shared memory that one block of threads can have, by what a compiler calls the GPU: all
# but 1 KB of an SM's (the same guide, technical specifications); AMD CDNA 3 instruction set.
SHARED_PER_BLOCK = {
    "sm_80": 163 * KB,
    "sm_89": 99 * KB,
    "sm_90": 227 * KB,
    "sm_100": 227 * KB,
    "sm_120": 99 * KB,
    "gfx942": 64 * KB,
}

CUDA_GUIDE = "NVIDIA, CUDA C++ Programming Guide, technical specifications per compute capability"


@dataclass(frozen=True)
class GPU:
    """One GPU. Bytes, bytes per second, floating-point operations per second.

    Attributes:
        name: as people say it.
        driver_name: as its driver says it.
        target: what a compiler calls it.
        num_sms: streaming multiprocessors: the units that run blocks of threads.
        clock: boost clock in Hz, at which the tensor rate holds.
        registers_per_sm: register file of one SM.
        shared_per_sm: most that one SM can give to shared memory.
        l2: level-2 cache, for all SMs together.
        l2_per_clock: bytes that it delivers per tick, or None where the vendor does not say.
        memory: main memory, HBM or GDDR.
        memory_bandwidth: bytes per second from it.
        tensor_flops: dense bfloat16 or float16 products with float32 sums.
        vector_flops: float32, outside the tensor cores.
        sources: where the numbers stand.
    """

    name: str
    driver_name: str
    target: str
    num_sms: int
    clock: float
    registers_per_sm: int
    shared_per_sm: int
    l2: int
    l2_per_clock: int | None
    memory: int
    memory_bandwidth: float
    tensor_flops: float
    vector_flops: float
    sources: tuple[str, ...]

    @property
    def shared_per_block(self) -> int:
        """Most shared memory that one block of threads can have."""
        return SHARED_PER_BLOCK[self.target]

    @property
    def shared_bandwidth(self) -> float:
        """Derived: 128 bytes per clock and SM, all SMs together."""
        return SHARED_BYTES_PER_CLOCK * self.num_sms * self.clock

    @property
    def l2_bandwidth(self) -> float | None:
        """Derived from the bytes per clock, where these are published."""
        return None if self.l2_per_clock is None else self.l2_per_clock * self.clock

    @property
    def special_rate(self) -> float:
        """Derived: results of special functions (exp, log) per second, all SMs together."""
        return SPECIAL_PER_CLOCK * self.num_sms * self.clock

    @property
    def ridge(self) -> float:
        """FLOPs per byte at which products take as long as reading: tensor_flops / bandwidth."""
        return self.tensor_flops / self.memory_bandwidth

    @property
    def levels(self) -> tuple[tuple[str, int, float | None], ...]:
        """Name, bytes on the whole GPU and bytes per second of each level, nearest first."""
        return (
            ("registers", self.num_sms * self.registers_per_sm, None),
            ("shared memory", self.num_sms * self.shared_per_sm, self.shared_bandwidth),
            ("L2 cache", self.l2, self.l2_bandwidth),
            ("main memory", self.memory, self.memory_bandwidth),
        )


_A100 = GPU(
    name="A100 SXM 80GB",
    driver_name="NVIDIA A100-SXM4-80GB",
    target="sm_80",
    num_sms=108,
    clock=1.41e9,
    registers_per_sm=256 * KB,
    shared_per_sm=164 * KB,
    l2=40 * MB,
    l2_per_clock=5120,
    memory=80 * GB,
    memory_bandwidth=2.039e12,
    tensor_flops=312e12,
    vector_flops=19.5e12,
    sources=(
        "NVIDIA, A100 Tensor Core GPU datasheet, 2021 (80 GB, bandwidth, rates)",
        "NVIDIA, A100 Tensor Core GPU Architecture, whitepaper, 2020 (SMs, clock, L2)",
        "NVIDIA, Ampere Tuning Guide (shared memory)",
        CUDA_GUIDE,
    ),
)
_H100 = GPU(
    name="H100 SXM",
    driver_name="NVIDIA H100 80GB HBM3",
    target="sm_90",
    num_sms=132,
    clock=1.83e9,
    registers_per_sm=256 * KB,
    shared_per_sm=228 * KB,
    l2=50 * MB,
    l2_per_clock=None,
    memory=80 * GB,
    memory_bandwidth=3.35e12,
    tensor_flops=989.4e12,
    vector_flops=66.9e12,
    sources=(
        "NVIDIA, H100 Tensor Core GPU datasheet (80 GB, bandwidth; 1,979 with sparsity)",
        "NVIDIA, H100 Tensor Core GPU Architecture, whitepaper, 2022 (SMs, clock, L2, dense rates)",
        "NVIDIA, Hopper Tuning Guide (shared memory)",
        CUDA_GUIDE,
    ),
)
# The same chip as the H100's, with more and faster memory around it.
_H200 = replace(
    _H100,
    name="H200 SXM",
    driver_name="NVIDIA H200",
    memory=141 * GB,
    memory_bandwidth=4.8e12,
    sources=(
        "NVIDIA, H200 Tensor Core GPU datasheet (141 GB, bandwidth; rates as of H100)",
        "NVIDIA, H100 Tensor Core GPU Architecture, whitepaper, 2022 (the same chip)",
        "NVIDIA, Hopper Tuning Guide (shared memory)",
        CUDA_GUIDE,
    ),
)
_RTX_4090 = GPU(
    name="RTX 4090",
    driver_name="NVIDIA GeForce RTX 4090",
    target="sm_89",
    num_sms=128,
    clock=2.52e9,
    registers_per_sm=256 * KB,
    shared_per_sm=100 * KB,
    l2=72 * MB,
    l2_per_clock=None,
    memory=24 * GB,
    memory_bandwidth=1.008e12,
    tensor_flops=165.2e12,
    vector_flops=82.6e12,
    sources=(
        "NVIDIA, Ada GPU Architecture, whitepaper, 2022, appendix A (all rates, clock, L2, 24 GB)",
        "NVIDIA, Ada Tuning Guide (shared memory)",
        CUDA_GUIDE,
    ),
)
GPUS: dict[str, GPU] = {gpu.name: gpu for gpu in (_A100, _H100, _H200, _RTX_4090)}
