"""The further stages of a whole GPT-2: where it starts from, and whether it can learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from course_utils.models.story_gpt import SHORT_STORIES, story_batch
from course_utils.seeds import own_random_numbers
from course_utils.teaching.outcomes import Tolerance
from lectures.l06_gpt2_block.exercises.my_gpt import MY_GPT, MyGPT, with_steps


def _begin(answer: Any) -> Callable[..., Any]:
    """Make the model, and measure its loss before any training."""

    def run(V, P, C, L, H, inputs, targets):
        with own_random_numbers(0):
            model = answer(V, P, C, L, H)
        with torch.no_grad():
            return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    return run if isinstance(answer, type) else answer


def _learn(answer: Any) -> Callable[..., Any]:
    """Make the model, and send one gradient back through it."""

    def run(V, P, C, L, H, inputs, targets):
        with own_random_numbers(0):
            model = answer(V, P, C, L, H)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        if loss.requires_grad:
            loss.backward()
        with torch.no_grad():
            return _obstacle(model, inputs)

    return run if isinstance(answer, type) else answer


def _obstacle(model: nn.Module, inputs: torch.Tensor) -> tuple[str, float]:
    """What keeps the model from learning, and a number that shows it."""
    learned = dict(model.named_parameters())
    if still := sum(each.grad is None for each in learned.values()):
        return "no gradient", still
    absent = ~torch.isin(torch.arange(len(learned["tokens.weight"])), inputs)
    arrived = learned["tokens.weight"].grad
    if arrived is not None and not arrived[absent].any():
        return "no gradient at the output", int(absent.sum())
    gain = min(each.mean().item() for name, each in learned.items() if "norm.weight" in name)
    if gain < 0.5:
        return "small gains", gain
    tokens, positions = learned["tokens.weight"], learned["positions.weight"]
    differ = tokens.std(dim=0).mean().item()
    if differ < 1e-3:
        return "words alike", differ
    times = (positions.norm(dim=-1).mean() / tokens.norm(dim=-1).mean()).item()
    return ("large positions", times) if times > 20 else ("none", 0.0)


_STORIES = story_batch(64, 8, SHORT_STORIES)(torch.Generator().manual_seed(0))

UNTRAINED = MY_GPT.stage(
    watch=_begin,
    probes=(
        {"V": 180, "P": 64, "C": 64, "L": 2, "H": 4}
        | dict(zip(("inputs", "targets"), _STORIES, strict=True)),
    ),
    parts=("the first loss",),
    facts=lambda inputs, got: {},
    tolerance=Tolerance(relative=0.15),  # which numbers are drawn moves it by less
    praise="With given weights its scores are right, and untrained it pays about ln 180 = 5.2 "
    "nats, as a fair die does.",
)


@UNTRAINED.mistake()
def large_embeddings():
    """With given weights its scores are right. But untrained it pays {got} nats on stories, where a
    fair die pays ln 180 = 5.2: it is sure that every word comes again. Its token vectors
    start from numbers of size 1. Draw them smaller at the end of `__init__`, with
    `nn.init.normal_(…, std=0.02)`. (Without `std=`, the second argument is the mean.)"""
    return with_steps(start=lambda self: None)


@UNTRAINED.mistake()
def small_positions_only():
    """With given weights its scores are right. But untrained it pays {got} nats: you made the
    position vectors small. The output is made from the *tokens'* vectors; make those small too."""
    return with_steps(start=lambda self: nn.init.normal_(self.positions.weight, std=0.02))


LEARNS = MY_GPT.stage(
    watch=_learn,
    probes=UNTRAINED.probes,
    parts=("what keeps it from learning", "how much"),
    facts=lambda inputs, got: {"much": got[1]} if isinstance(got, tuple) else {},
    tolerance=Tolerance(),
    praise=UNTRAINED.praise + " Every weight gets a gradient. This is all of GPT-2, and it can "
    "learn.",
)
_YET = "Its scores and its first loss are right, but it would learn slowly or not at all. "


def _all_small(self: nn.Module) -> None:
    for parameter in self.parameters():
        nn.init.normal_(parameter, std=0.02)


@LEARNS.mistake(part=0, begins=_YET)
def small_gains():
    """The gains of one of its norms are {much} on average, so almost nothing comes out of it. The
    gains start from 1; draw small numbers for the two embeddings only."""
    return with_steps(start=_all_small)


@LEARNS.mistake(part=0, begins=_YET)
def words_alike():
    """From one word to another its token vectors differ by {much}, so the blocks cannot tell the
    words from each other. Draw both embeddings at random, with `std=0.02`."""
    return with_steps(
        start=lambda self: [nn.init.zeros_(e.weight) for e in (self.tokens, self.positions)]
    )


@LEARNS.mistake(part=0, begins=_YET)
def large_positions():
    """Its position vectors are {much} times as large as its token vectors, and the blocks read
    their sum: the words are lost in it. Make the positions small too."""
    return with_steps(start=lambda self: nn.init.normal_(self.tokens.weight, std=0.02))


@LEARNS.mistake(part=0, begins=_YET)
def no_gradient_at_the_output():
    """The vectors of {much} words that do not occur in a text get no gradient from it, though the
    output is made from them: something like `.detach()` or `.data` cuts the output off."""
    return with_steps(scores=lambda self, x: self.norm(x) @ self.tokens.weight.detach().T)


@LEARNS.mistake(part=0, begins=_YET)
def no_gradient():
    """No gradient reaches {much} of its weight tensors. Look for `torch.no_grad()`, `.detach()`,
    `.data` and `.item()`, in the class and in the parts that it uses."""
    return with_steps(forward=torch.no_grad()(MyGPT.forward))
