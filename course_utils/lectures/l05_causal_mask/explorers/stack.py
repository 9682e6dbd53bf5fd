"""A small stack of masked attention layers with random weights, and its gradients by formula.

Backpropagation through six layers for every channel takes a tenth of a second, too long for a
slider. One layer's Jacobian is a short formula, and a stack's is the product of its layers', so
here the same numbers come within a few milliseconds. A test holds them against backpropagation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

MOST_TOKENS = 24
MOST_LAYERS = 6
WIDTH = 4
SEED = 5


class Layer(NamedTuple):
    """One head: the matrices that make queries, keys and values, each (C, C)."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray


class Reach(NamedTuple):
    """What the tokens of a stack attend to, and what its outputs depend on.

    `weights` (S, S) are those of the first layer. `gradient` (T, S) is, for each of the last T
    tokens, the sum of |d out_t / d x_s| over all channels of both, through all layers.
    """

    weights: np.ndarray
    gradient: np.ndarray


@lru_cache(maxsize=1)
def problem() -> tuple[np.ndarray, tuple[Layer, ...]]:
    """The tokens (24, C), of which a picture takes the first few, and the layers; always the same.

    Queries and keys are drawn large enough for weights that differ at sight, values small enough
    for six layers to leave the size of the tokens alone.
    """
    random = np.random.default_rng(SEED)
    sizes = np.array([1.3, 1.3, 0.8])[:, None, None] / np.sqrt(WIDTH)
    layers = [
        Layer(*(sizes * random.standard_normal((3, WIDTH, WIDTH))).astype(np.float32))
        for _ in range(MOST_LAYERS)
    ]
    return random.standard_normal((MOST_TOKENS, WIDTH)).astype(np.float32), tuple(layers)


def stack_reach(may_attend: np.ndarray, num_layers: int, num_queries: int) -> Reach:
    """Run the first S tokens through the layers, and form the gradients of the last T.

    Args:
        may_attend: (S, S), True where a token may attend to another; every row has a True.
        num_layers: L, up to 6.
        num_queries: T, the newest of the S tokens.
    """
    x, layers = problem()
    x = x[: len(may_attend)]
    jacobians, first = [], np.empty(0)
    for depth, layer in enumerate(layers[:num_layers]):
        x, weights, jacobian = _step(x, layer, may_attend)
        jacobians.append(jacobian)
        first = weights if depth == 0 else first
    size = x.size
    chain = jacobians.pop()[-num_queries:].reshape(-1, size)
    while jacobians:
        chain = chain @ jacobians.pop().reshape(size, size)
    gradient = np.abs(chain).reshape(num_queries, WIDTH, -1, WIDTH).sum((1, 3))
    return Reach(first, gradient)


def _step(
    x: np.ndarray, layer: Layer, may_attend: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One layer with its residual connection: x + A v, the weights A, and the Jacobian.

    A row's softmax has the Jacobian A (1[s = r] - A), and the score q_t . k_s / sqrt(C) depends
    on x_t by its query and on x_s by its key. So d out_t / d x_u has a part through the value of
    u, a part through its key, and for u = t the residual and the part through the query.
    """
    q, k, v = x @ layer.query.T, x @ layer.key.T, x @ layer.value.T
    scale = np.float32(1 / np.sqrt(WIDTH))
    scores = np.where(may_attend, scale * q @ k.T, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    mixed = weights @ v
    pull = weights[:, :, None] * (v[None] - mixed[:, None])  # (t, u, c): d out_t by the score of u
    through_value = weights[:, None, :, None] * layer.value[None, :, None, :]
    through_key = pull.transpose(0, 2, 1)[..., None] * (scale * q @ layer.key)[:, None, None, :]
    jacobian = through_value + through_key  # (t, c, u, e)
    through_query = pull.transpose(0, 2, 1) @ (scale * k @ layer.query)
    own = np.arange(len(x))
    jacobian[own, :, own, :] += through_query + np.eye(WIDTH, dtype=np.float32)
    return x + mixed, weights, jacobian
