"""A trainer for small models that trains several seeds side by side.

One seed shows what happened; a few show what happens. Small models keep a processor waiting for
Python, not for arithmetic, so the runs share every step: their parameters are stacked on a leading
axis, and ``torch.func.vmap`` puts all runs through the model at once. No run sees another: each has
its own initial weights, its own stream of data and its own optimiser state.
"""

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Real
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from tqdm.auto import tqdm

from course_utils.checks import (
    check_callable,
    check_choice,
    check_instance,
    check_int,
    check_positive,
    check_seeds,
    check_sequence,
    check_text,
)
from course_utils.shapes import Bool, Float

__all__ = ["TEST_SEED", "Training", "learning_rates_times", "rate_factor", "train", "with_bar"]

# A stream for tests that no training uses, whose seeds are small. It is the last one there is:
# torch's generator keeps the lower 32 bits of a seed, and 2**40 would give the stream of 0.
TEST_SEED = 2**32 - 1
OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
Batch = tuple[Tensor, ...]
Step = TypeVar("Step")
_RATE_FACTOR = ContextVar("rate_factor", default=1.0)


@dataclass(frozen=True)
class Training:
    """What several runs of one training did. Row r of each table is the run of the r-th seed.

    Attributes:
        losses: the loss on each step's batch, before that step.
        scores: what ``evaluate`` gave; no column without it.
        steps_checked: after how many steps each column of scores was measured.
        models: the trained models, ordinary modules.
        stopped_early: why fewer steps were made than asked for; "" if all were.
        seconds: how long it took.
    """

    losses: Float[Tensor, "runs steps"]
    scores: Float[Tensor, "runs checkpoints"]
    steps_checked: tuple[int, ...]
    models: list[nn.Module]
    stopped_early: str
    seconds: float

    @property
    def diverged(self) -> Bool[Tensor, " runs"]:
        """Which runs had a loss that was NaN or infinite. Such a run stays in the tables."""
        return ~self.losses.isfinite().all(dim=1)


def train(
    build: Callable[[], nn.Module],
    batch: Callable[[torch.Generator], Batch],
    loss: Callable[..., Tensor],
    *,
    seeds: Iterable[int] = (0, 1, 2),
    steps: int,
    learning_rate: float,
    optimizer: str = "adam",
    warmup: int = 0,
    budget_s: float | None = None,
    evaluate: Callable[[nn.Module], Tensor | float] | None = None,
    every: int = 100,
    label: str = "",
) -> Training:
    """Train one model per seed, all of them side by side.

    A run with seed s starts from ``torch.manual_seed(s); build()`` and draws its batches from a
    generator seeded with s. It ends where it would end if it were trained alone, up to rounding.

    The learning rate is constant, after a warm-up if there is one: step n of it is made with
    ``learning_rate * n / warmup``. Then a curve's point after n steps does not depend on how many
    steps were planned, and a run that the budget cut short is the beginning of the longer one.

    A loss that is NaN or infinite is a result, and may be what a lecture wants to show: the run is
    marked in ``Training.diverged`` and the others go on. When all have diverged, training ends.

    Args:
        build: makes a model with random weights. Its ``forward`` has to suit ``vmap``: no branch
            on a tensor's value, no ``.item()``, no dropout, no statistics of batches. A buffer that
            it changes in place is each run's own.
        batch: draws tensors, for example inputs and targets, with the generator it is given.
        loss: ``loss(model, *tensors)`` returns a single number to make small.
        seeds: one run for each; all different.
        steps: how many updates each run makes.
        learning_rate: of the optimiser, positive.
        optimizer: "adam", or "sgd" without momentum. Both treat each number on its own, which
            is why one optimiser can serve stacked parameters.
        warmup: how many steps the learning rate takes to rise to its full value, in equal parts;
            0 begins with all of it. One that is longer than the training never gets there.
        budget_s: seconds after which training stops and warns that it did; None for no limit.
        evaluate: ``evaluate(model)`` gives a real number for one model, without gradients.
        every: number of steps between evaluations. There is one after the last step, too.
        label: what the progress bar calls it. ``TQDM_DISABLE=1`` hides the bar.

    Raises:
        TypeError: if a function is not callable or returns something else than described, or
            another argument is of a wrong type.
        ValueError: if seeds are missing or repeated, a number is out of range, the optimiser is
            unknown, there is no parameter to train, batches differ in shape from seed to seed, or
            the loss is not a single number or depends on no parameter.

    Warns:
        UserWarning: if it stops before the last step.

    Source: "Model ensembling", the tutorial of ``torch.func``; Vaswani et al., "Attention is all
    you need", 2017, section 5.3, for a warm-up in equal parts.

    >>> def batch(generator):
    ...     x = torch.randn(7, 1, generator=generator)
    ...     return x, 3 * x
    >>> def squares(model, x, y):
    ...     return (model(x) - y).square().mean()
    >>> done = train(lambda: nn.Linear(1, 1), batch, squares, steps=200, learning_rate=0.1)
    >>> done.losses.shape, [round(model.weight.item(), 2) for model in done.models]
    (torch.Size([3, 200]), [3.0, 3.0, 3.0])
    """
    seeds = check_seeds(seeds)
    steps, every = check_int("steps", steps), check_int("every", every)
    learning_rate = check_positive("learning_rate", learning_rate) * rate_factor()
    check_choice("optimizer", optimizer, OPTIMIZERS)
    check_int("warmup", warmup, minimum=0)
    if budget_s is not None:
        check_positive("budget_s", budget_s)
    check_text("label", label)
    check_callable("batch", batch)
    if evaluate is not None:
        check_callable("evaluate", evaluate)

    models = [_build_with_seed(build, seed) for seed in seeds]
    streams = [torch.Generator().manual_seed(seed) for seed in seeds]
    parameters, buffers = stack_module_state(models)  # type: ignore[arg-type]
    loss_of_runs = _side_by_side(models[0], loss, len(models))
    update = OPTIMIZERS[optimizer](parameters.values(), lr=learning_rate)
    losses, scores, steps_checked, stopped_early = [], [], [], ""
    start = time.perf_counter()
    for step in with_bar(range(1, steps + 1), label):
        now = loss_of_runs(parameters, buffers, _stack([batch(stream) for stream in streams]))
        if not now.requires_grad:
            raise ValueError("loss must depend on a parameter of the model, got a constant")
        # The runs share no parameter, so the gradient of the sum holds each run's own.
        update.zero_grad()
        now.sum().backward()
        if step <= warmup:
            update.param_groups[0]["lr"] = learning_rate * (step / warmup)
        update.step()
        losses.append(now.detach())
        if step < steps:
            stopped_early = _reason_to_stop(losses, steps, start, budget_s)
        if evaluate is not None and (step % every == 0 or step == steps or stopped_early):
            _copy_back(parameters | buffers, models)
            scores.append(_evaluate(evaluate, models))
            steps_checked.append(step)
        if stopped_early:
            warnings.warn(stopped_early, stacklevel=2)
            break
    _copy_back(parameters | buffers, models)
    return Training(
        losses=torch.stack(losses, dim=1),
        scores=torch.stack(scores, dim=1) if scores else torch.zeros(len(models), 0),
        steps_checked=tuple(steps_checked),
        models=models,
        stopped_early=stopped_early,
        seconds=time.perf_counter() - start,
    )


@contextmanager
def learning_rates_times(factor: float) -> Iterator[None]:
    """Let every ``train`` inside use ``factor`` times its learning rate.

    It asks of a finding whether it hangs on the rate that its author chose. An experiment with a
    loop of its own multiplies by ``rate_factor()``; one that keeps its models keeps them by it.

    Raises:
        TypeError, ValueError: if the factor is not finite and positive.

    >>> with learning_rates_times(3):
    ...     rate_factor()
    3.0
    """
    token = _RATE_FACTOR.set(check_positive("factor", factor))
    try:
        yield
    finally:
        _RATE_FACTOR.reset(token)


def rate_factor() -> float:
    """Return what learning rates are multiplied by here: 1 outside ``learning_rates_times``."""
    return _RATE_FACTOR.get()


def with_bar(steps: Sequence[Step], label: str) -> Iterable[Step]:
    """Return the steps, and show on the way how many are done; ``TQDM_DISABLE=1`` hides the bar.

    Args:
        steps: what is gone through.
        label: what the bar calls it; no name if empty.

    Raises:
        TypeError: if steps is not a sequence, or label is not a string.
        ValueError: if there is no step.

    >>> list(with_bar(range(3), "counting"))
    [0, 1, 2]
    """
    check_sequence("steps", steps)
    check_text("label", label)
    # tqdm itself reads the variable only once, when it is imported.
    hidden = os.environ.get("TQDM_DISABLE", "") not in ("", "0")
    return tqdm(steps, desc=label or None, disable=hidden)


def _build_with_seed(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    check_callable("build", build)
    with torch.random.fork_rng(devices=[]):  # the reader's own random numbers stay as they are
        torch.manual_seed(seed)
        model = build()
    check_instance("what build returns", model, nn.Module, "an nn.Module")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            f"build must return a model with a parameter to train, got {type(model).__name__}"
        )
    return model


def _side_by_side(
    model: nn.Module, loss: Callable[..., Tensor], runs: int
) -> Callable[..., Tensor]:
    """Return a function from stacked weights and stacked batches to the loss of each run."""
    check_callable("loss", loss)

    def loss_of_one_run(parameters: dict, buffers: dict, data: Batch) -> Tensor:
        def with_these_weights(*args: object, **kwargs: object) -> object:
            return functional_call(model, (parameters, buffers), args, kwargs)

        value = loss(with_these_weights, *data)
        if not isinstance(value, Tensor):
            raise TypeError(f"loss must return a torch.Tensor, got {type(value).__name__}")
        if value.ndim:
            raise ValueError(f"loss must return a single number, got shape {tuple(value.shape)}")
        return value

    def loss_of_the_only_run(parameters: dict, buffers: dict, data: Batch) -> Tensor:
        own = {name: weights.squeeze(0) for name, weights in parameters.items()}
        kept = {name: buffer.squeeze(0) for name, buffer in buffers.items()}
        drawn = tuple(part.squeeze(0) for part in data)
        return loss_of_one_run(own, kept, drawn).unsqueeze(0)

    # Without vmap a step of a single run takes two thirds of the time.
    return vmap(loss_of_one_run) if runs > 1 else loss_of_the_only_run


def _stack(batches: list[Batch]) -> Batch:
    for drawn in batches:
        if not (isinstance(drawn, tuple) and all(isinstance(part, Tensor) for part in drawn)):
            raise TypeError(f"batch must return a tuple of tensors, got {type(drawn).__name__}")
    shapes = [[tuple(part.shape) for part in drawn] for drawn in batches]
    for other in shapes:
        if other != shapes[0]:
            raise ValueError(
                f"batch must return the same shapes for all seeds {shapes[0]}, got {other}"
            )
    return tuple(torch.stack(parts) for parts in zip(*batches, strict=True))


def _reason_to_stop(losses: list[Tensor], steps: int, start: float, budget_s: float | None) -> str:
    done = f"after {len(losses)} of {steps} steps"
    if not bool(losses[-1].isfinite().any()):
        return f"training stopped {done}: the loss of every run is NaN or infinite"
    if budget_s is not None and time.perf_counter() - start > budget_s:
        return f"training stopped {done}: its budget of {budget_s:g} s was spent"
    return ""


@torch.no_grad()
def _copy_back(stacked: dict[str, Tensor], models: list[nn.Module]) -> None:
    for row, model in enumerate(models):
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            tensor.copy_(stacked[name][row])


@torch.no_grad()
def _evaluate(evaluate: Callable[[nn.Module], Tensor | float], models: list[nn.Module]) -> Tensor:
    scores = []
    for model in models:
        score = evaluate(model)
        if isinstance(score, Tensor) and score.ndim:
            raise ValueError(f"evaluate must return a number, got shape {tuple(score.shape)}")
        number = score.item() if isinstance(score, Tensor) else score
        if isinstance(number, bool) or not isinstance(number, Real):
            raise TypeError(
                f"evaluate must return a number, got {score!r} ({type(score).__name__})"
            )
        scores.append(torch.tensor(float(number), dtype=torch.float64))
    return torch.stack(scores)
