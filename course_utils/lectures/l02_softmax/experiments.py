"""What saturation costs in training: recall by one attention layer, with and without 1/√d_k.

The task is associative recall: a batch row shows pairs of a name and a value, all names different,
then asks for one of the names. The answer is its value. One head can do it, once its query matches
the key of the same name and no other; before, its weights fall on the wrong pairs.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.attention import attend
from course_utils.shapes import Float, Int
from course_utils.threads import one_thread
from course_utils.training import Training, train

__all__ = ["RATES", "STARTS", "Setting", "steps_until_done", "train_with_and_without_scale"]

NAMES, VALUES, PAIRS = 16, 8, 12
WIDTH = 32
# A small, a middle and a large rate. The unscaled model of width 64 learns best at the middle one.
RATES = {"adam": (0.001, 0.004, 0.016), "sgd": (0.03, 0.12, 0.5)}
DONE = 0.2  # the mean loss of 20 steps
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
    """

    def __init__(self, d_k: int, start: str) -> None:
        super().__init__()
        on_scores, on_query = STARTS[start]
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
        """Return logits of the values, and the weights on the pairs."""
        pairs = (self.names(names) + self.values(values)) / 2**0.5  # (B, S, C)
        question = self.names(asked).unsqueeze(-2)  # (B, 1, C)
        out, weights = attend(
            question @ self.query, pairs @ self.key, pairs @ self.value, scale=self.scale
        )
        return self.output(out.squeeze(-2)), weights.squeeze(-2)


def recall_batch(
    generator: torch.Generator, size: int = 32
) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B S"], Int[Tensor, " B"], Int[Tensor, " B"]]:
    """Names and values of 12 pairs, (B, S) each, a name that is asked for and the value it has.

    >>> names, values, asked, answers = recall_batch(torch.Generator().manual_seed(0), size=3)
    >>> pair = (names == asked[:, None]).int().argmax(dim=1)
    >>> torch.equal(values[torch.arange(3), pair], answers)
    True
    """
    names = torch.rand(size, NAMES, generator=generator).argsort(dim=1)[:, :PAIRS]
    values = torch.randint(VALUES, (size, PAIRS), generator=generator)
    row, pair = torch.arange(size), torch.randint(PAIRS, (size,), generator=generator)
    return names, values, names[row, pair], values[row, pair]


def recall_loss(
    model: Callable[..., tuple[Tensor, Tensor]],
    names: Int[Tensor, "B S"],
    values: Int[Tensor, "B S"],
    asked: Int[Tensor, " B"],
    answers: Int[Tensor, " B"],
) -> Float[Tensor, ""]:
    """The cross-entropy of the answers, in nats. Guessing gives ln 8 = 2.08."""
    logits, _ = model(names, values, asked)
    return cross_entropy(logits, answers)


def train_with_and_without_scale(
    *,
    widths: Sequence[int] = (4, 16, 64, 256),
    starts: Sequence[str] = ("scaled", "unscaled"),
    optimizers: Sequence[str] = ("adam", "sgd"),
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    steps: int = 250,
    rate: float | None = None,
) -> dict[Setting, Training]:
    """Train the recall model in every combination; nothing else differs between two trainings.

    Without a ``rate`` each optimiser has the middle one of ``RATES``.

    One seed means one stream of batches, and one draw of the weights at a given width, whatever
    the start and the optimiser: differences between curves of one seed come from those alone.

    >>> done = train_with_and_without_scale(widths=[4], optimizers=["adam"], steps=3)
    >>> [(*setting, tuple(training.losses.shape)) for setting, training in done.items()]
    [(4, 'scaled', 'adam', (5, 3)), (4, 'unscaled', 'adam', (5, 3))]
    """
    with one_thread():  # steps of a few milliseconds: a second thread is mostly waited for
        return {
            (setting := Setting(d_k, start, optimizer)): _train(setting, seeds, steps, rate)
            for optimizer in optimizers
            for d_k in widths
            for start in starts
        }


def steps_until_done(training: Training) -> list[int]:
    """After how many steps the mean loss of the last 20 was below 0.2, for each seed.

    A run that does not get there counts one step more than it had.
    """
    losses = training.losses
    window = min(20, losses.shape[1])
    done = losses.unfold(1, window, 1).mean(dim=-1) < DONE
    done = torch.cat([done, torch.ones(len(losses), 1, dtype=torch.bool)], dim=1)
    return (done.int().argmax(dim=1) + window).tolist()


def _train(setting: Setting, seeds: Sequence[int], steps: int, rate: float | None) -> Training:
    return train(
        lambda: OneHeadRecall(setting.d_k, setting.start),
        recall_batch,
        recall_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=rate or RATES[setting.optimizer][1],
        optimizer=setting.optimizer,
        label=f"d_k {setting.d_k}, {setting.start}, {setting.optimizer}",
    )
