"""Since when does it know: the first depth from which the lens shows the final choice."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.watched import watched


def _norm(x):
    x = x - x.mean(dim=-1, keepdim=True)
    return x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() + 0.8 * torch.arange(
        x.shape[-1]
    )


def _lens_choices(streams, norm, embedding):
    return (norm(streams) @ embedding.T).argmax(dim=-1)


def _from_choices(depths_of):
    """An answer from what the lens says at each depth, (L + 1, T)."""

    def settled(streams, norm, embedding):
        return depths_of(_lens_choices(streams, norm, embedding))

    return settled


def _kept(choices):
    agrees = (choices == choices[-1]).int()
    return len(choices) - agrees.flip(0).cumprod(dim=0).sum(dim=0)


_settled = _from_choices(_kept)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """What the lens says where the first answer is wrong."""
    expected, choices = _settled(**inputs), _lens_choices(**inputs)
    alike = isinstance(got, torch.Tensor) and got.shape == expected.shape
    t = int((got != expected).int().argmax()) if alike else 0
    facts: dict[str, Any] = {"t": t, "depth": int(expected[t])}
    facts["says"] = ", ".join(map(str, choices[:, t].tolist()))
    if alike:
        facts["gave"] = got[t].item()
    return facts


def _as_tensor(value: Any, *inputs: Any) -> Any:
    """A list of numbers is as good as a tensor."""
    try:
        return torch.tensor(value) if isinstance(value, list | tuple) else value
    except (TypeError, ValueError, RuntimeError):
        return value


def _streams(seed: int, depths: int, T: int, width: int) -> dict[str, Any]:
    """Streams of a few words: what is said goes back and forth."""
    dice = torch.Generator().manual_seed(seed)
    embedding = torch.randn(4, width, generator=dice)
    streams = torch.randn(depths, T, width, generator=dice)
    streams[2::2] = streams[-1] + 0.1 * streams[2::2]
    streams[-1] = streams[-2]
    return {"streams": streams, "norm": _norm, "embedding": embedding}


SETTLED = Exercise(
    title="Since when does it know?",
    difficulty=3,
    minutes=12,
    function="settled",
    reference=_settled,
    watch=partial(watched, look=_as_tensor),
    probes=(_streams(1, 5, 7, 6), _streams(2, 7, 11, 5)),
    parts=("depths",),
    facts=_facts,
    tolerance=Tolerance(),
    praise="A choice that comes, leaves and comes back has not been settled the first time.",
)

_OF = "At position {t} the lens says {says}, so it is settled from depth {depth}; you gave {gave}. "


@SETTLED.mistake(begins=_OF)
def the_first_time(streams, norm, embedding):
    """You take the first depth that agrees with the last. It may change its mind once more: count
    back from the end, to the first that does not agree."""
    choices = _lens_choices(streams, norm, embedding)
    return (choices == choices[-1]).int().argmax(dim=0)


@SETTLED.mistake(begins=_OF)
def one_too_early(streams, norm, embedding):
    """That is the last depth that does *not* agree, one too early."""
    return _settled(streams, norm, embedding) - 1


@SETTLED.mistake(begins=_OF)
def counted_from_the_end(streams, norm, embedding):
    """You return for how many depths it has been settled, not since which."""
    return len(streams) - _settled(streams, norm, embedding)


@SETTLED.mistake(begins=_OF)
def how_many_agree(streams, norm, embedding):
    """You count the depths that do not agree. Where it changes its mind and comes back, that is not
    the depth from which it stays."""
    choices = _lens_choices(streams, norm, embedding)
    return (choices != choices[-1]).sum(dim=0)


@SETTLED.mistake()
def no_norm(streams, norm, embedding):
    """You read the stream without the last norm. The output layer has never seen such numbers:
    `norm(streams) @ embedding.T`."""
    return _kept((streams @ embedding.T).argmax(dim=-1))
