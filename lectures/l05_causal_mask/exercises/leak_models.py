"""Six small models as black boxes; one of them lets the future through.

Each maps rows (T, C), one for each token, to rows of the same shape. The kinds differ in what
output t depends on; their sizes, and the weights of the layers they share, are the same.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from course_utils.attention import masked_softmax
from course_utils.shapes import Float

TOKENS = 13
WIDTH = 5
NAMES = ("agate", "beryl", "coral", "flint", "jet", "opal")

# The places of queries (T, 1) and keys (S,) to what a query may attend to, (T, S).
Rule = Callable[[Tensor, Tensor], Tensor]


def _causal(t: Tensor, s: Tensor) -> Tensor:
    return s <= t


def _earlier(t: Tensor, s: Tensor) -> Tensor:
    return s < t


def _window(t: Tensor, s: Tensor) -> Tensor:
    return (s <= t) & (s > t - 3)


def _one_ahead(t: Tensor, s: Tensor) -> Tensor:
    return s <= t + 1


def _late_blocks(t: Tensor, s: Tensor) -> Tensor:
    """From token 5 on, tokens attend to all of their block of 5: 5 to 9, 10 to 14."""
    return (s <= t) | ((t >= 5) & (t // 5 == s // 5))


def _itself(t: Tensor, s: Tensor) -> Tensor:
    return s == t


def _third_next(t: Tensor, s: Tensor) -> Tensor:
    return (s <= t) | (s == t + 3)


@dataclass(frozen=True)
class Layer:
    """One layer of attention: its mask, and what is added to the scores of keys ahead."""

    may_attend: Rule
    added_ahead: float = 0.0


CAUSAL = Layer(_causal)

# How far ahead each leak reaches through its two layers, and the layers.
LEAKS: tuple[tuple[str, int, tuple[Layer, Layer]], ...] = (
    ("one ahead in both layers", 2, (Layer(_one_ahead), Layer(_one_ahead))),
    ("blocks from token 5 on", 4, (Layer(_late_blocks), CAUSAL)),
    # Meant as a mask, and -8 is not low enough: a weight of about exp(-8) is left. Output t depends
    # on input t + 3 and on none between: who counts the inputs ahead finds 1.
    ("the third next, faintly", 3, (Layer(_third_next, added_ahead=-8.0), Layer(_itself))),
    ("one ahead in the second layer", 1, (CAUSAL, Layer(_one_ahead))),
)

HONEST: dict[str, tuple[Layer, Layer]] = {
    "causal": (CAUSAL, CAUSAL),
    "window": (Layer(_window), Layer(_window)),
    "earlier": (Layer(_earlier), Layer(_earlier)),
}
# The two between are without attention.
KINDS = (*HONEST, "token by token", "recurrent", "leak")


@dataclass(frozen=True)
class Suspect:
    """A model as a black box: call it with rows (T, 5), and it gives rows of the same shape."""

    name: str
    kind: str = field(repr=False)
    leak: int = field(repr=False)

    def __call__(self, x: Float[Tensor, "T C"]) -> Float[Tensor, "T C"]:
        """Output t, for every token t."""
        if self.kind == "token by token":
            return x + torch.tanh(x @ _weights(0)) @ _weights(1)
        if self.kind == "recurrent":
            return _recurrent(x)
        layers = LEAKS[self.leak][2] if self.kind == "leak" else HONEST[self.kind]
        for index, layer in enumerate(layers):
            x = x + _attention(x, layer, 3 * index)
        return x


@functools.cache
def _weights(index: int) -> Tensor:
    generator = torch.Generator().manual_seed(index)
    return torch.randn(WIDTH, WIDTH, generator=generator) / WIDTH**0.5


def _attention(x: Tensor, layer: Layer, first: int) -> Tensor:
    s = torch.arange(len(x))
    t = s[:, None]
    q, k, v = (x @ _weights(first + i) for i in range(3))
    scores = q @ k.mT / WIDTH**0.5 + layer.added_ahead * (s > t)
    return masked_softmax(scores, layer.may_attend(t, s)) @ v


def _recurrent(x: Tensor) -> Tensor:
    state, states = torch.zeros(WIDTH), []
    for row in x:
        state = torch.tanh(state @ _weights(0) + row @ _weights(1))
        states.append(state)
    return torch.stack(states)


def leak_suspects(seed: int = 0) -> dict[str, Suspect]:
    """Six models by name; ``seed`` decides which name is which, and how the leaking one leaks."""
    kinds = list(KINDS)
    random.Random(seed).shuffle(kinds)
    leak = seed % len(LEAKS)
    return {name: Suspect(name, kind, leak) for name, kind in zip(NAMES, kinds, strict=True)}


def tokens() -> Float[Tensor, "T C"]:
    """The rows (13, 5) on which the suspects are tried."""
    return torch.sin(1.3 * torch.arange(TOKENS * WIDTH) + 0.5).reshape(TOKENS, WIDTH)


def reach(model: Suspect) -> Float[Tensor, "T S"]:
    """How strongly output t depends on input s: the sum of |d out_t / d x_s| over all channels."""
    return _reach(model.kind, model.leak if model.kind == "leak" else 0)


@functools.cache
def _reach(kind: str, leak: int) -> Tensor:
    model = Suspect("", kind, leak)
    jacobian = torch.autograd.functional.jacobian(model, tokens())
    assert isinstance(jacobian, Tensor)
    return jacobian.abs().sum(dim=(1, 3))
