"""A trainer for small models that trains several seeds together.

One seed shows what happened once; several seeds show what happens. With a small model a processor
spends its time on Python, not on arithmetic, so the runs share every step: their parameters are
stacked on a leading axis, and ``torch.func.vmap`` computes all runs at once. The runs are
independent: each has its own initial weights, stream of data and optimiser state.
"""

import operator
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from tqdm.auto import tqdm

from course_utils.seeds import own_random_numbers
from course_utils.shapes import Float

__all__ = [
    "TEST_SEED",
    "Training",
    "learning_rates_times",
    "rate_factor",
    "train",
    "with_bar",
    "with_weights",
]

# The seed of test data: no training uses it, as their seeds are small. It is the largest one:
# torch's generator keeps the lower 32 bits of a seed, so 2**40 would give the stream of seed 0.
TEST_SEED = 2**32 - 1
OPTIMIZERS = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
Batch = tuple[Tensor, ...]
Step = TypeVar("Step")
_RATE_FACTOR = ContextVar("rate_factor", default=1.0)


@dataclass(frozen=True)
class Training:
    """The results of a training. Row r of each table is the run with the r-th seed.

    Attributes:
        losses: the loss on each step's batch, before that step. NaN or infinite if a run diverged.
        scores: the results of ``evaluate``; no columns without it.
        steps_checked: after how many steps each column of scores was measured.
        models: the trained models.
        seconds: how long it took.
    """

    losses: Float[Tensor, "runs steps"]
    scores: Float[Tensor, "runs checkpoints"]
    steps_checked: tuple[int, ...]
    models: list[nn.Module]
    seconds: float


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
    cooldown: int = 0,
    evaluate: Callable[[nn.Module], Tensor | float] | None = None,
    every: int = 100,
    label: str = "",
) -> Training:
    """Train one model per seed, all of them together.

    A run with seed s starts from ``torch.manual_seed(s); build()`` and draws its batches from a
    generator seeded with s. Up to rounding, it ends where it would end if it were trained alone.

    The learning rate is constant, after a linear warm-up if there is one: step n uses
    ``learning_rate * n / warmup``. So the first n steps do not depend on how many steps follow.
    During a cool-down, if there is one, it falls linearly, to ``learning_rate / cooldown`` at the
    last step: the noise of the steps fades.

    Gradients are recorded even where they are switched off, as under ``torch.no_grad()``. The
    caller's random numbers stay as they were, on the CPU and on every GPU.

    A run whose loss becomes NaN or infinite is a result, too: the others continue. Training ends
    early, with a warning, only when all runs have diverged.

    Args:
        build: makes a model with random weights. Its ``forward`` must work under ``vmap``: no
            branch on a tensor's value, no ``.item()``, no dropout, no batch statistics.
        batch: draws a tuple of tensors, for example inputs and targets, with the generator given.
        loss: ``loss(model, *tensors)`` returns a single number to minimise.
        seeds: one run for each; all different.
        steps: number of updates.
        learning_rate: of the optimiser.
        optimizer: "adam", or "sgd" without momentum. Both update each number independently, so
            one optimiser can serve stacked parameters.
        warmup: number of warm-up steps; 0 for none.
        cooldown: number of steps at the end with a falling learning rate; 0 for none.
        evaluate: ``evaluate(model)`` returns a number for one model, without gradients.
        every: number of steps between evaluations. The last step is always evaluated.
        label: name of the progress bar. ``TQDM_DISABLE=1`` hides the bar.

    Raises:
        ValueError: if seeds repeat, or the loss is not a single number.

    Source: "Model ensembling", the tutorial of ``torch.func``; Vaswani et al., "Attention is all
    you need", 2017, section 5.3, for the linear warm-up; Hägele et al., "Scaling laws and
    compute-optimal training beyond fixed training durations", 2024, for the cool-down.

    >>> def batch(generator):
    ...     x = torch.randn(7, 1, generator=generator)
    ...     return x, 3 * x
    >>> def squares(model, x, y):
    ...     return (model(x) - y).square().mean()
    >>> done = train(lambda: nn.Linear(1, 1), batch, squares, steps=200, learning_rate=0.1)
    >>> done.losses.shape, [round(model.weight.item(), 2) for model in done.models]
    (torch.Size([3, 200]), [3.0, 3.0, 3.0])
    """
    seeds = tuple(map(operator.index, seeds))
    if len(set(seeds)) < len(seeds):  # the same run twice would look like evidence
        raise ValueError(f"seeds must differ from one another, got {seeds}")
    learning_rate = learning_rate * rate_factor()

    # Wherever it is called, also where somebody has switched gradients off.
    with torch.inference_mode(False), torch.enable_grad():
        models = [_build_with_seed(build, seed) for seed in seeds]
        streams = [torch.Generator().manual_seed(seed) for seed in seeds]
        parameters, buffers = stack_module_state(models)  # type: ignore[arg-type]
        loss_of_runs = _loss_of_runs(models[0], loss, len(models))
        update = OPTIMIZERS[optimizer](parameters.values(), lr=learning_rate)
        losses, scores, steps_checked = [], [], []
        start = time.perf_counter()
        for step in with_bar(range(1, steps + 1), label):
            now = loss_of_runs(parameters, buffers, _stack([batch(stream) for stream in streams]))
            # The runs share no parameter, so the gradient of the sum is each run's own gradient.
            update.zero_grad()
            now.sum().backward()
            left = steps - step + 1
            if step <= warmup:
                update.param_groups[0]["lr"] = learning_rate * (step / warmup)
            elif left <= cooldown:
                update.param_groups[0]["lr"] = learning_rate * (left / cooldown)
            update.step()
            losses.append(now.detach())
            diverged = not bool(losses[-1].isfinite().any())
            last = diverged or step == steps
            if evaluate is not None and (step % every == 0 or last):
                _copy_back(parameters | buffers, models)
                scores.append(_evaluate(evaluate, models))
                steps_checked.append(step)
            if diverged:
                break
    if len(losses) < steps:
        warnings.warn(
            f"training stopped after {len(losses)} of {steps} steps: the loss of every run is NaN "
            "or infinite",
            stacklevel=2,
        )
    _copy_back(parameters | buffers, models)
    return Training(
        losses=torch.stack(losses, dim=1),
        scores=torch.stack(scores, dim=1) if scores else torch.zeros(len(models), 0),
        steps_checked=tuple(steps_checked),
        models=models,
        seconds=time.perf_counter() - start,
    )


@contextmanager
def learning_rates_times(factor: float) -> Iterator[None]:
    """Multiply the learning rate of every ``train`` inside by ``factor``.

    This tests whether a finding depends on the learning rate that its author chose. An experiment
    with its own training loop multiplies by ``rate_factor()``.

    >>> with learning_rates_times(3):
    ...     rate_factor()
    3
    """
    token = _RATE_FACTOR.set(factor)
    try:
        yield
    finally:
        _RATE_FACTOR.reset(token)


def rate_factor() -> float:
    """Return what learning rates are multiplied by: 1 outside ``learning_rates_times``."""
    return _RATE_FACTOR.get()


def with_bar(steps: Sequence[Step], label: str) -> Iterable[Step]:
    """Return the steps, with a progress bar until they are done; ``TQDM_DISABLE=1`` hides it.

    Args:
        steps: what to iterate over.
        label: name of the bar; none if empty.

    >>> list(with_bar(range(3), "counting"))
    [0, 1, 2]
    """
    # tqdm itself reads the variable only once, when it is imported.
    hidden = os.environ.get("TQDM_DISABLE", "") not in ("", "0")
    return tqdm(steps, desc=label or None, disable=hidden, leave=False)


def with_weights(
    model: nn.Module, parameters: Mapping[str, Tensor], buffers: Mapping[str, Tensor] | None = None
) -> Callable[..., object]:
    """Return a function that computes what ``model`` would with these parameters and buffers.

    >>> double = with_weights(nn.Linear(1, 1), {"weight": torch.eye(1) * 2, "bias": torch.zeros(1)})
    >>> double(torch.tensor([3.0])).tolist()
    [6.0]
    """

    def call(*args: object, **kwargs: object) -> object:
        return functional_call(model, (dict(parameters), dict(buffers or {})), args, kwargs)

    return call


def _build_with_seed(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    with own_random_numbers(seed):
        return build()


def _loss_of_runs(
    model: nn.Module, loss: Callable[..., Tensor], runs: int
) -> Callable[..., Tensor]:
    """Return a function from stacked weights and stacked batches to the loss of each run."""

    def loss_of_one_run(parameters: dict, buffers: dict, data: Batch) -> Tensor:
        value = loss(with_weights(model, parameters, buffers), *data)
        if value.ndim:  # backward would take the sum
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
    return tuple(torch.stack(parts) for parts in zip(*batches, strict=True))


@torch.no_grad()
def _copy_back(stacked: dict[str, Tensor], models: list[nn.Module]) -> None:
    for row, model in enumerate(models):
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            tensor.copy_(stacked[name][row])


@torch.no_grad()
def _evaluate(evaluate: Callable[[nn.Module], Tensor | float], models: list[nn.Module]) -> Tensor:
    scores = [float(evaluate(model)) for model in models]
    return torch.tensor(scores, dtype=torch.float64, device="cpu")
