"""A layer of heads by its steps, right and wrong, and how the check runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.teaching.outcomes import Outcome, UnfitError, is_untouched
from course_utils.teaching.rows import wave

LAYERS = ("query", "key", "value", "output")


class MultiHead(nn.Module):
    """The right layer; each mistake replaces one of its steps."""

    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in LAYERS)

    def forward(self, x, may_attend=None):
        q, k, v = (self.split(part(x)) for part in (self.query, self.key, self.value))
        scores = q @ k.mT / self.divisor(x, q)
        return self.project(self.merge(self.weights(scores, may_attend) @ v))

    def split(self, y):
        B, T, C = y.shape
        return y.view(B, T, self.num_heads, C // self.num_heads).transpose(1, 2)

    def divisor(self, x, q):
        return math.sqrt(q.shape[-1])

    def weights(self, scores, may_attend):
        if may_attend is not None:
            scores = scores.masked_fill(~may_attend, -torch.inf)
        return scores.softmax(dim=-1)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def project(self, merged):
        return self.output(merged)


def with_steps(**steps: Callable[..., Any]) -> type:
    """The layer with other steps."""
    return type("MultiHead", (MultiHead,), steps)


class NotSetUp(nn.Module):
    """A layer without a place for its layers."""

    def __init__(self, width, num_heads):
        self.query = nn.Linear(width, width)


def view(self, y):
    """Cut as heads first, without a transpose."""
    return y.view(len(y), self.num_heads, y.shape[1], -1)


def view_back(self, heads):
    """Merged without a transpose."""
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


def dealt(self, y):
    """The channels, dealt out to the heads one by one."""
    return y.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)


def dealt_back(self, heads):
    """One channel of each head in turn."""
    return heads.permute(0, 2, 3, 1).flatten(2)


def hidden_late(self, scores, may_attend):
    """Hidden after the softmax."""
    weights = scores.softmax(dim=-1)
    return weights if may_attend is None else weights * may_attend


def zeroed(self, scores, may_attend):
    """Hidden scores of 0."""
    return (scores if may_attend is None else scores * may_attend).softmax(dim=-1)


def opposite(self, scores, may_attend):
    """What may be attended to is hidden."""
    return MultiHead.weights(self, scores, None if may_attend is None else ~may_attend)


def root_of_D(self, x, q):
    """√D, whatever the split."""
    return math.sqrt(x.shape[-1] // self.num_heads)


def with_x(self, x, may_attend=None):
    """The output with x added."""
    return x + MultiHead.forward(self, x, may_attend)


def _is_unwritten(answer: type, name: str) -> bool:
    """Whether a method is still as the stub has it, or is nobody's but PyTorch's."""
    method = getattr(answer, name, getattr(nn.Module, name))
    return method is getattr(nn.Module, name) or is_untouched(method, Outcome())


def _filled(answer: Any, width: int, num_heads: int, weights: Mapping[str, Tensor]) -> nn.Module:
    """The layer, with the weights of the probe."""
    layer = answer(width, num_heads)
    has = layer.state_dict()
    if set(has) != set(weights):
        raise UnfitError(
            "the layer must have query, key, value and output, each nn.Linear(width, width), "
            f"and nothing else that is learned. Yours has {', '.join(sorted(has)) or 'nothing'}"
        )
    for name, weight in weights.items():
        if has[name].shape != weight.shape:
            raise UnfitError(
                f"`{name}` has shape {tuple(has[name].shape)}, expected {tuple(weight.shape)}: "
                "each layer is nn.Linear(width, width), for all heads together"
            )
    layer.load_state_dict(weights)
    return layer


def applied(answer: Any) -> Callable[..., Any]:
    """Build the layer, give it the weights of the probe, and let it attend."""

    def run(width, num_heads, weights, x, may_attend):
        if isinstance(answer, nn.Module):
            raise UnfitError("the check needs the class itself, `MultiHead`, without a call")
        if all(_is_unwritten(answer, name) for name in ("__init__", "forward")):
            return ...
        layer = _filled(answer, width, num_heads, weights)
        with torch.no_grad():
            return layer(x) if may_attend is None else layer(x, may_attend)

    return run if isinstance(answer, type | nn.Module) else answer


def without_gradient(answer: Any) -> Callable[..., str]:
    """Which of its layers the loss of an output does not reach."""

    def run(width, num_heads, weights, x, may_attend):
        layer = _filled(answer, width, num_heads, weights)
        out = layer(x, may_attend)
        if out.requires_grad:
            out.sum().backward()
        gradients = {name: part.grad for name, part in layer.named_parameters()}
        cut = [name for name in LAYERS if gradients[f"{name}.weight"] is None]
        return ", ".join(cut) or "none"

    return run


def probe(B: int, T: int, C: int, H: int, mask: Tensor | None = None) -> Mapping[str, Any]:
    """Inputs for the check: x (B, T, C), and weights without a pattern."""
    weights = {}
    for place, name in enumerate(LAYERS):
        weights[f"{name}.weight"] = 0.5 * wave(C, C, phase=0.7 + place)
        weights[f"{name}.bias"] = 0.3 * wave(C, phase=2.1 + place)
    x = wave(B, T, C, phase=0.3)
    return {"width": C, "num_heads": H, "weights": weights, "x": x, "may_attend": mask}


def facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes, and the number of the output that is furthest off."""
    x, C, H = inputs["x"], inputs["width"], inputs["num_heads"]
    facts: dict[str, Any] = {"C": C, "H": H, "D": C // H, "T": x.shape[1]}
    facts |= {"root_C": math.sqrt(C), "root_D": math.sqrt(C // H)}
    right = applied(MultiHead)(*inputs.values())
    if isinstance(got, torch.Tensor) and got.shape == right.shape:
        worst = int((got - right).abs().nan_to_num(nan=torch.inf).argmax())
        facts |= {"gave": float(got.flatten()[worst]), "want": float(right.flatten()[worst])}
    return facts
