"""Formulas for the cost and the path length of layers, which the lectures check by measuring.

Costs are floating-point operations (FLOPs) of one layer for one sequence. A multiply-add counts as
two, so a product of an (m, k) and a (k, n) matrix costs ``2 * m * k * n``. Only these products are
counted, not biases, activations, gates and the softmax.

Lengths are numbers of tokens (N in the lectures), widths are model widths (C). Parameters are
numbers, memory is in bytes.
"""

from typing import Literal, get_args

from course_utils.checks import check_choice

__all__ = [
    "Cell",
    "Geometry",
    "Layer",
    "attention_flops",
    "attention_mixing_flops",
    "attention_parameters",
    "attention_projection_flops",
    "crossover_length",
    "kv_cache_bytes",
    "layers_needed",
    "path_length",
    "recurrent_flops",
    "sequential_steps",
]

Cell = Literal["rnn", "gru", "lstm"]
Layer = Literal["recurrent", "convolution", "dilated convolution", "attention"]
Geometry = Literal["one-sided", "centred"]

# Pairs of (C, C) products in each step: one on the input, one on the last state, for each gate.
_GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def recurrent_flops(length: int, width: int, *, cell: Cell = "rnn") -> int:
    """Return the FLOPs of a recurrent layer: ``4 * gates * N * C^2``.

    In each of the N steps, each gate multiplies the input and the last state by a (C, C) matrix:
    two products of ``2 * C^2``. A vanilla RNN has 1 such gate, a GRU 3, an LSTM 4.

    Args:
        length: number of tokens, N.
        width: width of the input and of the state, C.
        cell: which recurrent layer.

    >>> recurrent_flops(10, 8), recurrent_flops(10, 8, cell="lstm")
    (2560, 10240)
    """
    return 4 * _GATES[cell] * length * width**2


def attention_projection_flops(length: int, width: int) -> int:
    """Return the FLOPs of self-attention's four projections: ``8 * N * C^2``.

    Queries, keys, values and the output each multiply N tokens by a (C, C) matrix. The number
    of heads does not matter.

    Args:
        length: number of tokens, N.
        width: model width, C.

    >>> attention_projection_flops(10, 8)
    5120
    """
    return 8 * length * width**2


def attention_mixing_flops(length: int, width: int) -> int:
    """Return the FLOPs of the scores and of mixing the values: ``4 * N^2 * C``.

    The products of N queries with N keys cost ``2 * N^2 * C`` over all heads. Mixing the values
    costs the same again.

    Args:
        length: number of tokens, N.
        width: model width, C.

    >>> attention_mixing_flops(10, 8)
    3200
    """
    return 4 * length**2 * width


def attention_flops(length: int, width: int) -> int:
    """Return the FLOPs of a whole self-attention layer: ``8 * N * C^2 + 4 * N^2 * C``.

    Args:
        length: number of tokens, N.
        width: model width, C.

    >>> attention_flops(10, 8) == attention_projection_flops(10, 8) + attention_mixing_flops(10, 8)
    True
    """
    return attention_projection_flops(length, width) + attention_mixing_flops(length, width)


def attention_parameters(width: int, *, bias: bool = True) -> int:
    """Return the parameters of a multi-head attention layer: ``4 * C^2``, and ``4 * C`` biases.

    Queries, keys, values and the output have a (C, C) matrix and C biases each. The number of
    heads does not matter: each of H heads has matrices of C / H columns.

    Args:
        width: model width, C.
        bias: whether the four layers add biases.

    >>> attention_parameters(512, bias=False), attention_parameters(512)
    (1048576, 1050624)
    """
    return 4 * width**2 + (4 * width if bias else 0)


def kv_cache_bytes(
    num_layers: int,
    num_kv_heads: int,
    head_width: int,
    length: int,
    *,
    batch: int = 1,
    bytes_per_number: int = 2,
) -> int:
    """Return the bytes of a KV-cache: ``2 * layers * G * D * S * B * bytes per number``.

    Each layer keeps a key and a value, of D numbers each, for every key/value head, position and
    sequence.

    Args:
        num_layers: number of layers.
        num_kv_heads: key/value heads of a layer, G; as many as query heads, or fewer if these
            share them.
        head_width: width of a head, D.
        length: cached positions, S.
        batch: sequences at once, B.
        bytes_per_number: 2 for float16 and bfloat16, 4 for float32.

    Source: Pope et al., "Efficiently scaling transformer inference", 2022.

    >>> kv_cache_bytes(32, 32, 128, 4096) / 2**30  # Llama 2 7B at its longest, in GiB
    2.0
    """
    return 2 * num_layers * num_kv_heads * head_width * length * batch * bytes_per_number


def crossover_length(width: int, *, cell: Cell = "rnn", count_projections: bool = False) -> int:
    """Return the length N at which self-attention and a recurrent layer cost the same.

    Attention is cheaper for shorter sequences, the recurrent layer for longer ones.

    Without the projections, ``4 * N^2 * C = 4 * gates * N * C^2`` gives ``N = gates * C``: C for
    a vanilla RNN, 3C for a GRU, 4C for an LSTM. This is the comparison of Vaswani et al.,
    table 1. With them, ``N = (gates - 2) * C``: C for a GRU, 2C for an LSTM; and the four
    projections alone cost more than a vanilla RNN, so there attention is never cheaper and the
    answer is 0.

    Args:
        width: model width, C.
        cell: which recurrent layer.
        count_projections: whether attention's q, k, v and output projections count.

    Source: Vaswani et al., "Attention is all you need", 2017, section 4 and table 1.

    >>> crossover_length(512), crossover_length(512, cell="gru", count_projections=True)
    (512, 512)
    >>> crossover_length(512, count_projections=True)
    0
    """
    gates = _GATES[cell] - (2 if count_projections else 0)
    return max(0, gates) * width


def sequential_steps(layer: Layer, length: int) -> int:
    """Return how many steps of one layer must wait for one another.

    A recurrent layer needs N, because each state needs the one before. The others need 1: all
    their tokens can be computed at once.

    Args:
        layer: the kind of layer.
        length: number of tokens, N.

    Source: Vaswani et al., 2017, table 1.

    >>> sequential_steps("recurrent", 64), sequential_steps("attention", 64)
    (64, 1)
    """
    return length if check_choice("layer", layer, get_args(Layer)) == "recurrent" else 1


def layers_needed(
    length: int, *, kernel_width: int, geometry: Geometry = "one-sided", dilated: bool = False
) -> int:
    """Return how many convolutions connect the last of N tokens to the first.

    It depends on the position of the kernel of width k:

    - ``"one-sided"``: an output sees its own and the k - 1 inputs before it (padding on the left
      alone, as in a causal network). Each layer reaches k - 1 tokens further back.
    - ``"centred"``: an output sees (k - 1) / 2 inputs on each side (padding on both sides). Each
      layer reaches (k - 1) / 2 tokens, so the whole way takes twice as many layers.

    Plain layers need ``ceil((N - 1) / reach)``: they grow in proportion to N. With width 3 this
    is (N - 1) / 2 one-sided and N - 1 centred. Dilated by 1, k, k^2, ..., L one-sided layers reach
    k^L - 1 tokens back, so ``ceil(log_k N)`` are enough.

    Centred dilated layers have no such number: each distance has a single path, which may run
    through the padding. With N = 3 and width 3 the distance 2 is 3 - 1, and no number of layers
    connects the two ends.

    Args:
        length: number of tokens, N.
        kernel_width: k, at least 2; odd if centred.
        geometry: the position of the kernel.
        dilated: whether layer i skips by k^i, i = 0, 1, ...

    Raises:
        ValueError: if the geometry is unknown, or centred with an even width or dilation.

    Source: van den Oord et al., "WaveNet", 2016, section 2.1; Vaswani et al., 2017, table 1.

    >>> layers_needed(65, kernel_width=3), layers_needed(65, kernel_width=3, geometry="centred")
    (32, 64)
    >>> layers_needed(65, kernel_width=3, dilated=True)
    4
    """
    reach = kernel_width - 1
    if check_choice("geometry", geometry, get_args(Geometry)) == "centred":
        if kernel_width % 2 == 0:
            raise ValueError(f"kernel_width must be odd if centred, got {kernel_width}")
        if dilated:
            raise ValueError("geometry must be 'one-sided' if dilated, got 'centred'")
        reach //= 2
    if not dilated:
        return -(-(length - 1) // reach)  # rounded up
    # Counted, not computed: a logarithm rounds, and would be one off at exact powers.
    layers = 0
    while kernel_width**layers < length:
        layers += 1
    return layers


def path_length(
    layer: Layer, length: int, *, kernel_width: int = 3, geometry: Geometry = "one-sided"
) -> int:
    """Return the longest path that a signal takes from one of N tokens to another.

    Counted in operations: steps of a recurrent layer (N - 1), convolutions
    (``layers_needed``), or self-attention layers (1, whatever the distance).

    Args:
        layer: the kind of layer.
        length: number of tokens, N; 0 for a single token.
        kernel_width: for convolutions, as in ``layers_needed``.
        geometry: for convolutions, as in ``layers_needed``.

    Source: Vaswani et al., 2017, table 1, whose logarithm holds for the dilated stack alone.

    >>> kinds = ["recurrent", "convolution", "dilated convolution", "attention"]
    >>> [path_length(kind, 81) for kind in kinds]
    [80, 40, 4, 1]
    """
    check_choice("layer", layer, get_args(Layer))
    if layer == "recurrent":
        return length - 1
    if layer == "attention":
        return min(1, length - 1)
    dilated = layer == "dilated convolution"
    return layers_needed(length, kernel_width=kernel_width, geometry=geometry, dilated=dilated)
