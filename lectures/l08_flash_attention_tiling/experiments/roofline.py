"""What a GPU makes of a cost: the least time, and what limits it.

Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", 2009.
"""

from course_utils.kernels.gpus import GPU
from lectures.l08_flash_attention_tiling.experiments.traffic import Cost


def least_times(cost: Cost, gpu: GPU) -> dict[str, float]:
    """Return the seconds that each part of a GPU needs at least for its share of a cost.

    The largest is the least time that the GPU could take, the parts overlapped. No kernel reaches
    it. It is only as true as the bytes: what a cache spares has to be left out of the cost.
    """
    return {
        "products": cost.matmul_flops / gpu.tensor_flops,
        "vector units": cost.vector_flops / gpu.vector_flops,
        "special functions": cost.special_results / gpu.special_rate,
        "memory": cost.bytes / gpu.memory_bandwidth,
    }
