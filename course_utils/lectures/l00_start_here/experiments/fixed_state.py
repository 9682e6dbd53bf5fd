"""What a recurrent network learns to remember: recall of K pairs by an LSTM and by attention.

A sequence shows K names in random order, each with a value, then asks for one of the names. An LSTM
has to keep all K values in its state until it hears the question. Attention looks back at them.
The lecture builds both models in its cells; these can train several seeds side by side.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.attention import attend
from course_utils.shapes import Float, Int
from course_utils.threads import one_thread
from course_utils.training import TEST_SEED, Training, train

__all__ = ["AttentionRecall", "LSTMRecall", "pairs_known", "train_first_token", "train_recall"]

VALUES = 8
WIDTH = 32  # of what enters


class LSTMCell(nn.Module):
    """An LSTM, step by step: ``nn.LSTM`` cannot train several seeds side by side."""

    def __init__(self, width: int, state: int, forget_bias: float) -> None:
        super().__init__()
        self.input = nn.Linear(width, 4 * state)
        self.recurrent = nn.Linear(state, 4 * state)
        for parameter in self.parameters():  # PyTorch's default for recurrent layers
            nn.init.uniform_(parameter, -(state**-0.5), state**-0.5)
        with torch.no_grad():
            self.input.bias[state : 2 * state] += forget_bias

    def forward(self, x: Float[Tensor, "B N C"]) -> Float[Tensor, "B state"]:
        """Return the last state."""
        x = self.input(x)
        hidden = cell = x.new_zeros(len(x), x.shape[-1] // 4)
        for now in x.unbind(dim=1):
            enter, forget, new, leave = (now + self.recurrent(hidden)).chunk(4, dim=-1)
            cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
            hidden = leave.sigmoid() * cell.tanh()
        return hidden


class LSTMRecall(nn.Module):
    """Pairs and then the question enter an LSTM; two layers read the answer from its state."""

    def __init__(self, pairs: int, state: int) -> None:
        super().__init__()
        self.names, self.values = nn.Embedding(pairs, WIDTH), nn.Embedding(VALUES, WIDTH)
        self.questions = nn.Embedding(pairs, WIDTH)
        self.lstm = LSTMCell(WIDTH, state, forget_bias=1.0)
        self.readout = nn.Sequential(nn.Linear(state, 128), nn.ReLU(), nn.Linear(128, VALUES))

    def forward(
        self, names: Int[Tensor, "B K"], values: Int[Tensor, "B K"], asked: Int[Tensor, " B"]
    ) -> Float[Tensor, "B V"]:
        """Return logits of the values."""
        pairs = self.names(names) + self.values(values)
        return self.readout(self.lstm(torch.cat([pairs, self.questions(asked)[:, None]], dim=1)))


class AttentionRecall(nn.Module):
    """The question is the query, the pairs are keys and values; the head has the state's width."""

    def __init__(self, pairs: int, width: int) -> None:
        super().__init__()
        self.names, self.values = nn.Embedding(pairs, WIDTH), nn.Embedding(VALUES, WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, width) for _ in range(3))
        self.readout = nn.Linear(width, VALUES)

    def forward(
        self, names: Int[Tensor, "B K"], values: Int[Tensor, "B K"], asked: Int[Tensor, " B"]
    ) -> Float[Tensor, "B V"]:
        """Return logits of the values."""
        pairs, question = self.names(names) + self.values(values), self.names(asked)[:, None]
        out, _ = attend(self.query(question), self.key(pairs), self.value(pairs))
        return self.readout(out[:, 0])


def recall_batch(generator: torch.Generator, pairs: int, size: int = 32) -> tuple[Tensor, ...]:
    """Names in random order and their values, (B, K) each, a name that is asked for, its value.

    >>> names, values, asked, answers = recall_batch(torch.Generator().manual_seed(0), 4, size=3)
    >>> torch.equal(values[names == asked[:, None]], answers)
    True
    """
    names = torch.rand(size, pairs, generator=generator).argsort(dim=1)
    values = torch.randint(VALUES, (size, pairs), generator=generator)
    row, place = torch.arange(size), torch.randint(pairs, (size,), generator=generator)
    return names, values, names[row, place], values[row, place]


def answer_loss(model: Callable[..., Tensor], *batch: Tensor) -> Tensor:
    """The cross-entropy of the answers, the last part of the batch."""
    return cross_entropy(model(*batch[:-1]), batch[-1])


def train_recall(
    model: Callable[[int, int], nn.Module],
    pairs: int,
    *,
    state: int = 16,
    seeds: Sequence[int] = (0,),
    steps: int = 1000,
    learning_rate: float = 0.01,
) -> Training:
    """Train ``LSTMRecall`` or ``AttentionRecall``; the last score is the share of right answers."""
    unseen = recall_batch(torch.Generator().manual_seed(TEST_SEED), pairs, size=1000)
    return _train(
        lambda: model(pairs, state),
        lambda g: recall_batch(g, pairs),
        unseen,
        seeds,
        steps,
        learning_rate,
    )


def pairs_known(share: float, pairs: int) -> float:
    """How many of the pairs are known if the rest is guessed: a share of 1 / 8 is none.

    >>> pairs_known(1.0, 4), pairs_known(1 / 8, 4)
    (4.0, 0.0)
    """
    return pairs * (share - 1 / VALUES) / (1 - 1 / VALUES)


class FirstToken(nn.Module):
    """An LSTM that is to name the first token of a sequence after its last."""

    def __init__(self, forget_bias: float, state: int = 32) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VALUES, WIDTH)
        self.lstm = LSTMCell(WIDTH, state, forget_bias)
        self.readout = nn.Linear(state, VALUES)

    def forward(self, token_ids: Int[Tensor, "B N"]) -> Float[Tensor, "B V"]:
        """Return logits of the first token."""
        return self.readout(self.lstm(self.tokens(token_ids)))


def train_first_token(
    forget_bias: float, *, seeds: Sequence[int], steps: int, length: int = 31, state: int = 32
) -> Training:
    """Train an LSTM to name the first of 31 tokens; the last score is the share it has right."""

    def batch(generator: torch.Generator, size: int = 32) -> tuple[Tensor, ...]:
        token_ids = torch.randint(VALUES, (size, length), generator=generator)
        return token_ids, token_ids[:, 0]

    unseen = batch(torch.Generator().manual_seed(TEST_SEED), 1000)
    return _train(lambda: FirstToken(forget_bias, state), batch, unseen, seeds, steps)


def _train(
    build: Callable[[], nn.Module],
    batch: Callable[[torch.Generator], tuple[Tensor, ...]],
    unseen: tuple[Tensor, ...],
    seeds: Sequence[int],
    steps: int,
    learning_rate: float = 0.01,
) -> Training:
    def share_right(model: nn.Module) -> Tensor:
        return (model(*unseen[:-1]).argmax(dim=-1) == unseen[-1]).float().mean()

    with one_thread():
        return train(
            build, batch, answer_loss, seeds=seeds, steps=steps, learning_rate=learning_rate,
            evaluate=share_right, every=steps,
        )  # fmt: skip
