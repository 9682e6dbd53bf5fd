"""What one transformer block costs when part of it is left out, in six variants: by formula.

Every variant starts from the same pre-LN block of GPT-2: attention of H heads, a feed-forward
network of hidden width F = 4 C, two norms, biases everywhere. T tokens pass through it once.

FLOPs are those of matrix products, as in ``costs``. A token *meets* a parameter if the parameter
takes part in what is computed for that token; ``active`` is their number, on average over T tokens.
"""

from dataclasses import dataclass
from typing import NamedTuple

from course_utils.layers.mod import kept_tokens
from course_utils.measure.costs import attention_flops, attention_parameters, kv_cache_bytes

# Each variant of the block, what it leaves out, and when that is decided.
VARIANTS = {
    "dense": ("nothing", "-"),
    "top-k attention": ("connections", "dynamic"),
    "pruned weights": ("weights", "static"),
    "MoE": ("experts", "dynamic"),
    "GQA": ("key/value heads", "static"),
    "LoRA": ("rank of a change", "static"),
    "MoD": ("tokens", "dynamic"),
}
_BYTES = 4  # of a float32


class Costs(NamedTuple):
    """What one block costs.

    Attributes:
        parameters: numbers it is made of, zeros included.
        active: those that a token meets, on average.
        trained: those that training changes.
        flops: of matrix products, for T tokens at once.
        cache_bytes: of the keys and values of T tokens, in float32.
    """

    parameters: int
    active: float
    trained: int
    flops: int
    cache_bytes: int


@dataclass(frozen=True)
class Sizes:
    """The sizes of the block, and how much each variant leaves out.

    Attributes:
        width: model width, C.
        num_heads: query heads, H; they divide the width.
        length: number of tokens, T.
        keys_kept: top-k attention: keys that a query keeps.
        sparsity: pruned weights: the share of the matrices' entries that is zero.
        num_experts: MoE: experts, each as large as the feed-forward network.
        experts_per_token: MoE: experts that a token takes, k.
        num_kv_heads: GQA: heads of keys and values, G; they divide H.
        rank: LoRA: rank of the change to the query's and the value's matrices, r.
        capacity: MoD: the share of tokens that the block takes.
    """

    width: int = 64
    num_heads: int = 8
    length: int = 64
    keys_kept: int = 8
    sparsity: float = 0.9
    num_experts: int = 8
    experts_per_token: int = 2
    num_kv_heads: int = 2
    rank: int = 4
    capacity: float = 0.5


def formula_costs(sizes: Sizes) -> dict[str, Costs]:
    """Return what the block costs in each of the ``VARIANTS``.

    - **top-k attention** forms all scores and a dense product: it costs what dense attention does.
    - **pruned weights**: ``(1 - s) * (12 C^2)`` numbers that are not zero, beside biases and norms.
      Their matrices are as large as before, and multiplied in full.
    - **MoE**: E feed-forward networks and a router of ``E * C``; a token meets k of them.
    - **GQA**: matrices of keys and values of ``G / H`` the size, and so the cache.
    - **LoRA**: ``2 * 2 C r`` numbers more, and those alone are trained. Before merging.
    - **MoD**: the block for K = ``capacity * T`` tokens, attention for K^2 pairs; a router of C and
      a predictor of about ``C^2 / 4`` for all. Keys and values of the K alone are kept.
    """
    C, T, F = sizes.width, sizes.length, 4 * sizes.width
    feedforward = 2 * C * F + F + C
    rest = attention_parameters(C) + 4 * C  # with both norms
    whole = rest + feedforward
    flops = attention_flops(T, C) + 4 * T * C * F
    cache = _cache_bytes(sizes, sizes.num_heads, T)
    dense = Costs(whole, whole, whole, flops, cache)

    zeros = round(sizes.sparsity * 12 * C * C)
    router, k, E = sizes.num_experts * C, sizes.experts_per_token, sizes.num_experts
    shared = C * sizes.num_kv_heads // sizes.num_heads  # G * D, in the place of C
    grouped = whole - 2 * (C + 1) * (C - shared)
    learned = 2 * 2 * C * sizes.rank
    return {
        "dense": dense,
        "top-k attention": dense,
        "pruned weights": dense._replace(active=whole - zeros, trained=whole - zeros),
        "MoE": dense._replace(
            parameters=rest + E * feedforward + router,
            active=rest + k * feedforward + router,
            trained=rest + E * feedforward + router,
            flops=flops + (k - 1) * 4 * T * C * F + 2 * T * router,
        ),
        "GQA": Costs(
            parameters=grouped,
            active=grouped,
            trained=grouped,
            flops=flops - 4 * T * C * (C - shared),
            cache_bytes=_cache_bytes(sizes, sizes.num_kv_heads, T),
        ),
        "LoRA": dense._replace(
            parameters=whole + learned,
            active=whole + learned,
            trained=learned,
            flops=flops + 2 * T * learned,
        ),
        "MoD": _depths(sizes, whole),
    }


def _depths(sizes: Sizes, block: int) -> Costs:
    C, T, F = sizes.width, sizes.length, 4 * sizes.width
    K = kept_tokens(T, sizes.capacity)
    hidden = -(-C // 4)
    predictor_weights = C * hidden + hidden
    predictor = predictor_weights + hidden + 1  # with its biases
    return Costs(
        parameters=block + C + predictor,
        active=(K * block + T * (C + predictor)) / T,  # rounded once, as a mean is
        trained=block + C + predictor,
        flops=attention_flops(K, C) + 4 * K * C * F + 2 * T * (C + predictor_weights),
        cache_bytes=_cache_bytes(sizes, sizes.num_heads, K),
    )


def _cache_bytes(sizes: Sizes, heads: int, length: int) -> int:
    D = sizes.width // sizes.num_heads
    return kv_cache_bytes(1, heads, D, length, bytes_per_number=_BYTES)
