"""A whole GPT-2, the last part of the reader's GPT; ours is what others get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.seeds import own_random_numbers
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance, UnfitError
from course_utils.teaching.rows import wave

SIZES = ("V", "P", "C", "L", "H")


class MultiHead(nn.Module):
    """Heads as lecture 03 builds them, by PyTorch's own attention."""

    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, may_attend=None):
        layers = (self.query, self.key, self.value)
        q, k, v = (layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for layer in layers)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=may_attend)
        return self.output(out.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Each token by itself: expand, curve, contract."""

    def __init__(self, width):
        super().__init__()
        self.expand, self.contract = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.contract(F.gelu(self.expand(x), approximate="tanh"))


class Block(nn.Module):
    """Two sums, each over a normalised copy of the stream."""

    def __init__(self, width, num_heads):
        super().__init__()
        self.attention_norm, self.feedforward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.feedforward = MultiHead(width, num_heads), FeedForward(width)

    def forward(self, x):
        may_attend = self.may_attend(x.shape[1])
        x = x + self.attention(self.attention_norm(x), may_attend)
        return x + self.feedforward(self.feedforward_norm(x))

    def may_attend(self, T):
        return torch.ones(T, T, dtype=torch.bool).tril()


class MyGPT(nn.Module):
    """The right model; each mistake replaces one of its steps."""

    def __init__(self, V, P, C, L, H):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, C), nn.Embedding(P, C)
        self.blocks = self.stack(C, L, H)
        self.norm = nn.LayerNorm(C)
        self.start()

    def forward(self, token_ids):
        x = self.tokens(token_ids) + self.places(token_ids)
        for block in self.blocks:
            x = block(x)
        return self.scores(x)

    def stack(self, C, L, H):
        return nn.ModuleList(Block(C, H) for _ in range(L))

    def start(self):
        for embedding in (self.tokens, self.positions):
            nn.init.normal_(embedding.weight, std=0.02)

    def places(self, token_ids):
        return self.positions.weight[: token_ids.shape[1]]

    def scores(self, x):
        return self.norm(x) @ self.tokens.weight.T


def with_steps(**steps: Callable[..., Any]) -> type:
    """The model with other steps."""
    return type("MyGPT", (MyGPT,), steps)


class _SeesAll(Block):
    def may_attend(self, T):
        return None


class _InAList(MyGPT):
    def stack(self, C, L, H):
        return [Block(C, H) for _ in range(L)]


class _Untied(MyGPT):
    def __init__(self, V, P, C, L, H):
        super().__init__(V, P, C, L, H)
        self.head = nn.Linear(C, V, bias=False)

    def scores(self, x):
        return self.head(self.norm(x))


def _must_fit(model: nn.Module, weights: Mapping[str, torch.Tensor], shape: tuple[int, int]):
    """Say which learned numbers the model has too many or too few, by name."""
    has = model.state_dict()
    more = [name for name in has if name not in weights]
    fewer = [name for name in weights if name not in has]
    # What is tied has two names in `state_dict`, and one among the parameters.
    own = {name for name, each in model.named_parameters() if tuple(each.shape) == shape}
    if own & {*more} and not fewer:
        raise UnfitError("it has an output matrix of its own")
    if isinstance(getattr(model, "blocks", None), list | tuple):
        raise UnfitError("its blocks are in a Python list")
    if more or fewer:
        raise UnfitError(
            "its learned numbers must have the names that GPT2 has, as in the cell above. "
            f"Too many: {_some(more)}. Missing: {_some(fewer)}"
        )


def _some(names: list[str]) -> str:
    """The first names, and how many there are besides."""
    rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return (", ".join(f"`{name}`" for name in names[:4]) or "none") + rest


def _read(answer: Any) -> Callable[..., Any]:
    """Make the model, give it the probe's weights, and read."""

    def run(V, P, C, L, H, weights, token_ids):
        with own_random_numbers(0):
            model = answer(V, P, C, L, H)
        _must_fit(model, weights, (V, C))
        model.load_state_dict(weights)
        with torch.no_grad():
            return model(token_ids)

    return run if isinstance(answer, type) else answer


def _probe(V: int, P: int, C: int, L: int, H: int, B: int, T: int) -> Mapping[str, Any]:
    """Sizes, weights of these sizes and by these names, and tokens."""
    sizes = dict(zip(SIZES, (V, P, C, L, H), strict=True))
    with own_random_numbers(0):
        shapes = {
            name: each.shape for name, each in GPT2(GPT2Config(V, P, C, L, H)).named_parameters()
        }
    weights = {
        name: ("norm.weight" in name) + 0.5 * wave(*shape, phase=0.7 + place)
        for place, (name, shape) in enumerate(shapes.items())
    }
    token_ids = torch.arange(B * T).mul(5).remainder(V).view(B, T)
    return {**sizes, "weights": weights, "token_ids": token_ids}


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The score that is furthest off."""
    right = _read(MyGPT)(*inputs.values())
    facts = {"T": inputs["token_ids"].shape[1], "last": inputs["L"] - 1}
    if isinstance(got, torch.Tensor) and got.shape == right.shape:
        worst = int((got - right).abs().argmax())
        facts |= {"gave": float(got.flatten()[worst]), "want": float(right.flatten()[worst])}
    return facts


_OFF = "With the same weights, one score is {gave}, expected {want}. "

MY_GPT = Exercise(
    title="A GPT that can learn",
    difficulty=1,
    minutes=6,
    function="MyGPT",
    kept_as="MyGPT",
    reference=MyGPT,
    watch=_read,
    probes=(_probe(13, 11, 6, 3, 2, B=2, T=7), _probe(17, 7, 10, 2, 5, B=3, T=5)),
    parts=("the scores",),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-4),
    praise="With given weights its scores are right.",
    written=lambda wrong: wrong(),  # a mistake is declared as what makes its class
)


@MY_GPT.mistake()
def not_tied():
    """Your class has an output matrix of its own. GPT-2's output is the embedding used again, which
    costs no parameters: `self.norm(x) @ self.tokens.weight.T`."""
    return _Untied


@MY_GPT.mistake()
def blocks_in_a_list():
    """Your blocks are in a Python list, and PyTorch does not look into those: their weights are
    neither trained nor loaded. Put them into an `nn.ModuleList`."""
    return _InAList


@MY_GPT.mistake(begins=_OFF)
def sees_the_future():
    """Every position attends to the whole text, so each token can read its own answer. Give
    attention the mask: `may_attend=causal_mask(x.shape[1])`."""
    return with_steps(stack=lambda self, C, L, H: nn.ModuleList(_SeesAll(C, H) for _ in range(L)))


@MY_GPT.mistake(begins=_OFF)
def no_last_norm():
    """The stream goes into the scores as it is. The blocks only ever add to it, so it needs one
    more norm at the end: `self.norm(x) @ self.tokens.weight.T`."""
    return with_steps(scores=lambda self, x: x @ self.tokens.weight.T)


@MY_GPT.mistake(begins=_OFF)
def no_positions():
    """No position vector is added. Attention alone does not know what comes first (lecture 04): add
    `self.positions.weight[:T]` to the tokens."""
    return with_steps(places=lambda self, token_ids: 0)


@MY_GPT.mistake(begins=_OFF)
def positions_from_the_end():
    """You take the last {T} position vectors. A text begins at position 0, so it takes the first:
    `[: token_ids.shape[1]]`."""
    return with_steps(places=lambda self, token_ids: self.positions.weight[-token_ids.shape[1] :])


@MY_GPT.mistake(begins=_OFF)
def one_position_for_all():
    """Every token gets the vector of the last position. Position t has row t: a slice,
    `weight[: token_ids.shape[1]]`."""
    return with_steps(places=lambda self, token_ids: self.positions.weight[token_ids.shape[1] - 1])


@MY_GPT.mistake(begins=_OFF)
def one_block_for_all():
    """All your blocks are one and the same: `[block] * L` repeats one module, and it has the
    weights of block {last} everywhere. Make L of them: `Block(C, H) for _ in range(L)`."""
    return with_steps(stack=lambda self, C, L, H: nn.ModuleList([Block(C, H)] * L))


@MY_GPT.mistake(begins=_OFF)
def scores_made_smaller():
    """You divide the scores. That cures the start, but trained weights would not fit your class any
    more. Leave the scores as they are, and make the embeddings' numbers small instead."""
    return with_steps(
        scores=lambda self, x: self.norm(x) @ self.tokens.weight.T / x.shape[-1] ** 0.5
    )


@MY_GPT.mistake(begins=_OFF)
def probabilities():
    """You return probabilities. The loss and the sampler apply the softmax themselves: return the
    scores."""
    return with_steps(scores=lambda self, x: MyGPT.scores(self, x).softmax(dim=-1))
