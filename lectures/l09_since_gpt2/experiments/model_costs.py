"""What a published model costs, computed from its configuration: parameters, cache, FLOPs a token.

Counted are the weights of matrices; norms, biases and convolutions come to less than a thousandth.
What a convolution keeps of the last tokens is not counted: 7 % of a short text's cache at most.
"""

from __future__ import annotations

from dataclasses import dataclass

BYTES = 2  # of a number in 16 bits


@dataclass(frozen=True, kw_only=True)
class Experts:
    """A mixture in the place of the feed-forward part.

    Attributes:
        count: how many there are to choose from.
        chosen: by each token.
        hidden: hidden units of one.
        shared: hidden units of what each token visits besides.
        dense_first: layers at the bottom that have no mixture.
    """

    count: int
    chosen: int
    hidden: int
    shared: int = 0
    dense_first: int = 0


@dataclass(frozen=True, kw_only=True)
class Latent:
    """Latent attention: widths of the thin vector, of the key with RoPE, and of the heads.

    Attributes:
        width: numbers of the thin vector for keys and values, R.
        rope: numbers of the one key with RoPE, shared by all heads.
        query: numbers of the queries' own thin vector; 0 for none.
        key: of a head's key without RoPE.
        value: of a head's value.
    """

    width: int = 512
    rope: int = 64
    query: int = 1536
    key: int = 128
    value: int = 128


@dataclass(frozen=True, kw_only=True)
class State:
    """A layer that keeps a matrix for each head, and no keys and values.

    Attributes:
        heads: how many matrices.
        key_heads: of queries and keys; each may serve several matrices.
        width: of a key and of a value.
        extra: columns of what gates and decay are made from, for each number of the width C.
    """

    heads: int
    key_heads: int
    width: int = 128
    extra: int = 0


@dataclass(frozen=True, kw_only=True)
class Model:
    """A configuration, as far as it decides what a model costs.

    Attributes:
        year: of its publication.
        pattern: the kinds of its layers from the bottom: full, window, latent or state; repeated.
        layers: how many layers.
        width: of a token's vector, C.
        heads: query heads, H.
        kv_heads: heads of keys and values, G.
        head_width: of a head, D.
        hidden: hidden units of a dense feed-forward part.
        vocabulary: how many tokens it knows, V.
        gated_hidden: three matrices in the feed-forward part, not two (SwiGLU).
        gated_output: a gate for each number of a head's output.
        tied: the output reuses the table of the input.
        positions: rows of learned positions.
        window: tokens that a window layer keeps.
        words: what the table says of it.
    """

    year: int
    layers: int
    width: int
    heads: int
    vocabulary: int
    kv_heads: int = 0
    head_width: int = 128
    hidden: int = 0
    pattern: tuple[str, ...] = ("full",)
    gated_hidden: bool = True
    gated_output: bool = False
    tied: bool = False
    positions: int = 0
    window: int = 0
    experts: Experts | None = None
    latent: Latent = Latent()
    state: State = State(heads=0, key_heads=0)
    words: str = ""


def stack_of(model: Model) -> tuple[str, ...]:
    """The kind of each layer, from the bottom."""
    return tuple(model.pattern[i % len(model.pattern)] for i in range(model.layers))


def attention_weights(model: Model, kind: str) -> int:
    """Weights of queries, keys, values and output in a layer of this kind."""
    C, H, G, D = model.width, model.heads, model.kv_heads, model.head_width
    if kind == "latent":
        thin = model.latent
        query = thin.query or C  # what the heads' queries are made from
        made = C * thin.query + query * H * (thin.key + thin.rope)
        made += C * (thin.width + thin.rope) + thin.width * H * (thin.key + thin.value)
        return made + H * thin.value * C
    if kind == "state":
        state = model.state
        return C * state.width * (2 * state.key_heads + 2 * state.heads) + C * state.extra
    return C * D * (2 * H + 2 * G + H * model.gated_output)


def feedforward_weights(model: Model, layer: int, *, active: bool) -> int:
    """Weights of a layer's feed-forward part: all of them, or those that one token meets."""
    matrices, mixture = (3 if model.gated_hidden else 2), model.experts
    if mixture is None or layer < mixture.dense_first:
        return matrices * model.width * model.hidden
    experts = mixture.chosen if active else mixture.count
    units = experts * mixture.hidden + mixture.shared
    return matrices * model.width * units + model.width * mixture.count  # and the router


def parameters(model: Model, *, active: bool = False) -> int:
    """All weights; or those that one new token is multiplied by: no table of the input."""
    in_layers = sum(
        attention_weights(model, kind) + feedforward_weights(model, layer, active=active)
        for layer, kind in enumerate(stack_of(model))
    )
    tables = 1 if active or model.tied else 2
    embedded = tables * model.vocabulary + (0 if active else model.positions)
    return in_layers + embedded * model.width


def kept_numbers(model: Model, kind: str, length: int) -> int:
    """Numbers that a layer keeps of a text of so many tokens."""
    if kind == "state":
        return model.state.heads * model.state.width**2  # S of each head, however long
    if kind == "latent":
        return (model.latent.width + model.latent.rope) * length
    tokens = min(length, model.window) if kind == "window" else length
    return 2 * model.kv_heads * model.head_width * tokens


def cache_bytes(model: Model, length: int) -> int:
    """Bytes that one text of `length` tokens keeps in all layers, at 16 bits a number."""
    return BYTES * sum(kept_numbers(model, kind, length) for kind in stack_of(model))


def products_with_kept(model: Model, kind: str, length: int) -> int:
    """Multiplications of one new token with what its layer has kept."""
    if kind == "state":
        return 3 * kept_numbers(model, kind, length)  # read the old value, write, read
    if kind == "latent":  # absorbed: scores with R and RoPE, and a mixture of R numbers
        return model.heads * (2 * model.latent.width + model.latent.rope) * length
    tokens = min(length, model.window) if kind == "window" else length
    return 2 * model.heads * model.head_width * tokens  # a score and a mixture


def flops_per_token(model: Model, length: int) -> tuple[int, int]:
    """FLOPs of the last of `length` tokens: with weights, and with what is kept."""
    kept = sum(products_with_kept(model, kind, length) for kind in stack_of(model))
    return 2 * parameters(model, active=True), 2 * kept
