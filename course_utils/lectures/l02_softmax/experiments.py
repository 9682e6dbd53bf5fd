"""What saturation costs in training: recall by one attention layer, with and without 1/√d_k.

The task is associative recall: a batch row shows pairs of a name and a value, all names different,
then asks for one of the names. The answer is its value. One head can do it, once its query matches
the key of the same name and no other; before, its weights fall on the wrong pairs.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.attention import attend
from course_utils.checks import (
    check_choice,
    check_finite,
    check_floating,
    check_generator,
    check_ids,
    check_int,
    check_not_empty,
    check_rank,
    check_sequence,
)
from course_utils.shapes import Float, Int
from course_utils.threads import one_thread
from course_utils.training import Training, train

__all__ = [
    "OneHeadRecall",
    "Setting",
    "recall_batch",
    "recall_loss",
    "steps_until",
    "train_with_and_without_scale",
]

NAMES, VALUES, PAIRS = 16, 8, 12
WIDTH = 32
# Within the rates at which the unscaled model learns best; the scaled one would bear more.
LEARNING_RATES = {"adam": 0.004, "sgd": 0.12}
# How the scores come to their size: (factor on the scores, factor on W_q at the start), as powers
# of d_k. "small start" has no scale, and begins with the scores that "scaled" begins with.
STARTS = {"scaled": (-0.5, 0.0), "unscaled": (0.0, 0.0), "small start": (0.0, -0.5)}


class Setting(NamedTuple):
    """One training: head width, "scaled", "unscaled" or "small start", "adam" or "sgd"."""

    d_k: int
    start: str
    optimizer: str


class OneHeadRecall(nn.Module):
    """One attention head that is asked for the value of a name.

    A pair is the sum of a vector for its name and one for its value, over √2. At the start the
    coordinates of queries and keys have variance 1, as the proof of 1/√d_k assumes (with "small
    start" those of the queries have 1/d_k).

    Args:
        d_k: width of queries and keys.
        start: "scaled" (scores times 1/√d_k), "unscaled", or "small start": unscaled, with W_q
            drawn √d_k times smaller.

    Raises:
        TypeError, ValueError: if d_k is not a positive integer, or start none of the three.
    """

    def __init__(self, d_k: int, start: str) -> None:
        super().__init__()
        d_k = check_int("d_k", d_k)
        on_scores, on_query = STARTS[check_choice("start", start, STARTS)]
        self.scale = d_k**on_scores
        self.names = nn.Embedding(NAMES, WIDTH)
        self.values = nn.Embedding(VALUES, WIDTH)
        self.query = nn.Parameter(torch.randn(WIDTH, d_k) / WIDTH**0.5 * d_k**on_query)
        self.key = nn.Parameter(torch.randn(WIDTH, d_k) / WIDTH**0.5)
        self.value = nn.Parameter(torch.randn(WIDTH, WIDTH) / WIDTH**0.5)
        self.output = nn.Linear(WIDTH, VALUES)

    def forward(
        self, names: Int[Tensor, "B S"], values: Int[Tensor, "B S"], asked: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B V"], Float[Tensor, "B S"]]:
        """Return logits of the values, and the weights on the pairs.

        Raises:
            TypeError: if one is not int64.
            ValueError: if names and values are not (B, S), asked not (B,), or one is not in 0 to
                15, 0 to 7, 0 to 15.
        """
        _check_rows(names, values, asked)
        pairs = (self.names(names) + self.values(values)) / 2**0.5  # (B, S, C)
        question = self.names(asked).unsqueeze(-2)  # (B, 1, C)
        out, weights = attend(
            question @ self.query, pairs @ self.key, pairs @ self.value, scale=self.scale
        )
        return self.output(out.squeeze(-2)), weights.squeeze(-2)


def recall_batch(
    generator: torch.Generator, size: int = 32
) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B S"], Int[Tensor, " B"], Int[Tensor, " B"]]:
    """Draw pairs, a question for each row, and its answer.

    Args:
        generator: where the random numbers come from.
        size: number of rows, B.

    Returns:
        Names and values of the 12 pairs, (B, S) each, the name that is asked for and the value
        that answers, (B,) each. The names of a row are 12 of 16, all different; there are 8 values.

    Raises:
        TypeError: if generator is no torch.Generator, or size not an integer.
        ValueError: if size is below 1.

    >>> names, values, asked, answers = recall_batch(torch.Generator().manual_seed(0), size=3)
    >>> place = (names == asked[:, None]).int().argmax(dim=1)
    >>> torch.equal(values[torch.arange(3), place], answers)
    True
    """
    check_generator("generator", generator)
    size = check_int("size", size)
    names = torch.rand(size, NAMES, generator=generator).argsort(dim=1)[:, :PAIRS]
    values = torch.randint(VALUES, (size, PAIRS), generator=generator)
    row, place = torch.arange(size), torch.randint(PAIRS, (size,), generator=generator)
    return names, values, names[row, place], values[row, place]


def recall_loss(
    model: Callable[..., tuple[Tensor, Tensor]],
    names: Int[Tensor, "B S"],
    values: Int[Tensor, "B S"],
    asked: Int[Tensor, " B"],
    answers: Int[Tensor, " B"],
) -> Float[Tensor, ""]:
    """Return the cross-entropy of the answers, in nats. Guessing gives ln 8 = 2.08.

    Raises:
        TypeError, ValueError: if model is not callable, or the tensors are not what
            ``recall_batch`` returns.

    >>> batch = recall_batch(torch.Generator().manual_seed(0))
    >>> recall_loss(OneHeadRecall(4, "scaled"), *batch).shape
    torch.Size([])
    """
    if not callable(model):
        raise TypeError(f"model must be callable, got {model!r} ({type(model).__name__})")
    _check_rows(names, values, asked)
    check_ids("answers", answers, "B", VALUES)
    _check_each_row("answers", answers, names)
    logits, _ = model(names, values, asked)
    return cross_entropy(logits, answers)


def train_with_and_without_scale(
    *,
    widths: Iterable[int] = (4, 16, 64, 256),
    starts: Iterable[str] = ("scaled", "unscaled"),
    optimizers: Iterable[str] = ("adam", "sgd"),
    seeds: Iterable[int] = (0, 1, 2, 3, 4),
    steps: int = 250,
    learning_rate: float | None = None,
) -> dict[Setting, Training]:
    """Train the recall model in every combination; nothing else differs between two trainings.

    One seed means one stream of batches, and one draw of the weights at a given width, whatever
    the start and the optimiser: differences between curves of one seed come from those alone.

    Args:
        widths: head widths d_k.
        starts: of "scaled", "unscaled" and "small start".
        optimizers: of "adam" and "sgd".
        seeds: one run for each, side by side.
        steps: updates of each training.
        learning_rate: for all; if None 0.004 for Adam and 0.12 for SGD. Both are chosen to suit
            the unscaled model; at twice as much the scaled one learns faster still.

    Returns:
        The training for each setting, in the order of the arguments.

    Raises:
        TypeError, ValueError: as ``train`` and ``OneHeadRecall`` do.

    >>> done = train_with_and_without_scale(widths=[4], optimizers=["adam"], steps=3)
    >>> [(key, tuple(training.losses.shape)) for key, training in done.items()]
    [(Setting(d_k=4, start='scaled', optimizer='adam'), (5, 3)), \
(Setting(d_k=4, start='unscaled', optimizer='adam'), (5, 3))]
    """
    settings = [
        Setting(
            check_int("widths", d_k),
            check_choice("starts", start, STARTS),
            check_choice("optimizers", optimizer, LEARNING_RATES),
        )
        for optimizer in check_sequence("optimizers", optimizers)
        for d_k in check_sequence("widths", widths)
        for start in check_sequence("starts", starts)
    ]
    seeds = check_sequence("seeds", seeds)
    with one_thread():  # steps of a few milliseconds: a second thread is mostly waited for
        return {setting: _train(setting, seeds, steps, learning_rate) for setting in settings}


def _train(
    setting: Setting, seeds: tuple[int, ...], steps: int, learning_rate: float | None
) -> Training:
    usual = LEARNING_RATES[setting.optimizer]
    return train(
        lambda: OneHeadRecall(setting.d_k, setting.start),
        recall_batch,
        recall_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=usual if learning_rate is None else learning_rate,
        optimizer=setting.optimizer,
        label=f"d_k {setting.d_k}, {setting.start}, {setting.optimizer}",
    )


def steps_until(
    losses: Float[Tensor, "runs steps"], below: float, *, window: int = 20
) -> Float[Tensor, " runs"]:
    """Return after how many steps the mean loss of the last ``window`` steps first is below a mark.

    Args:
        losses: the loss at each step.
        below: the mark.
        window: number of steps to average over; a single batch may be lucky.

    Returns:
        A number of steps for each run, infinity for a run that never gets there.

    Raises:
        TypeError: if losses is not a floating-point tensor, below not a real number, or window
            not an integer.
        ValueError: if losses is not (runs, steps), below not finite, or window not 1 to steps.

    >>> losses = torch.tensor([[3.0, 1.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0]])
    >>> steps_until(losses, 1.5, window=2).tolist()
    [3.0, inf]
    """
    check_rank("losses", losses, "runs steps")
    check_floating("losses", losses)
    check_not_empty("losses", losses, axes=2)
    check_finite("below", below)
    window = check_int("window", window, maximum=losses.shape[1])
    reached = losses.unfold(1, window, 1).mean(dim=-1) < below
    first = reached.int().argmax(dim=1) + float(window)
    return first.where(reached.any(dim=1), torch.inf)


def _check_rows(names: Tensor, values: Tensor, asked: Tensor) -> None:
    __tracebackhide__ = True
    check_ids("names", names, "B S", NAMES)
    check_ids("values", values, "B S", VALUES)
    check_ids("asked", asked, "B", NAMES)
    if values.shape != names.shape:
        raise ValueError(
            f"values must have the shape of names {tuple(names.shape)}, got {tuple(values.shape)}"
        )
    _check_each_row("asked", asked, names)


def _check_each_row(name: str, tensor: Tensor, names: Tensor) -> None:
    __tracebackhide__ = True
    if tensor.shape != names.shape[:1]:
        raise ValueError(
            f"{name} must have an entry for each row, B ({len(names)}), got {tuple(tensor.shape)}"
        )
