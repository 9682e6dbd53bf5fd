"""Exercise 3 of lecture 06: let the output layer share the embedding's matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.shapes import Float, Int
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance, observe, words
from course_utils.teaching.verdict import Verdict
from course_utils.teaching.watched import watched

__all__ = ["TIE", "Untied", "check_tie"]

LEARNING_RATE = 0.5


class Untied(nn.Module):
    """A small language model whose output layer has a matrix of its own, (V, C) as the embedding.

    >>> model = Untied(11, 5)
    >>> tuple(model(torch.tensor([[3, 7]])).shape)
    (1, 2, 11)
    >>> model.embedding.weight.shape == model.head.weight.shape
    True
    """

    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, width)
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, vocab_size, bias=False)
        for place, parameter in enumerate(self.parameters()):
            wave = torch.sin(torch.arange(parameter.numel()) * 1.9 + place)
            parameter.data = 0.8 * wave.reshape(parameter.shape)

    def forward(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Return the scores of the token that follows each position."""
        return self.head(torch.tanh(self.body(self.embedding(token_ids))))


# The tokens that are read, and those that follow them; many of the vocabulary are not read.
_IDS, _TARGETS = torch.tensor([[2, 5, 3, 5]]), torch.tensor([[5, 3, 5, 7]])


def _look(model: Any, given: Untied) -> tuple[Any, ...]:
    """What a tied model shows: its logits, its size, its gradient, and both matrices a step on."""
    width = given.body.in_features
    parameters = list(model.parameters())
    logits = model(_IDS)
    nn.functional.cross_entropy(logits.flatten(0, 1), _TARGETS.flatten()).backward()
    matrix = model.embedding.weight
    gradient = torch.zeros_like(matrix) if matrix.grad is None else matrix.grad.clone()
    with torch.no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter -= LEARNING_RATE * parameter.grad
        # What the head multiplies by, whatever it is made of.
        head = model.head(torch.eye(width)).mT.clone()
    count = sum(parameter.numel() for parameter in parameters)
    return logits.detach(), count, gradient.detach(), matrix.detach().clone(), head


def _tie(model):
    model.head.weight = model.embedding.weight
    return model


def _head_weight(made_of: Callable[[Tensor], Any]) -> Callable[..., Any]:
    """The head gets a weight that ``made_of`` makes of the embedding's."""

    def tie(model):
        model.head.weight = made_of(model.embedding.weight)
        return model

    return tie


def _head(made_of: Callable[[Untied], Any]) -> Callable[..., Any]:
    """The head is replaced by what ``made_of`` makes of the model."""

    def tie(model):
        model.head = made_of(model)
        return model

    return tie


def _embedding_weight(made_of: Callable[[Tensor], Any]) -> Callable[..., Any]:
    def tie(model):
        model.embedding.weight = made_of(model.head.weight)
        return model

    return tie


def _head_as_embedding(model):
    model.embedding = model.head
    return model


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    V, C = inputs["model"].embedding.weight.shape
    # A token that the probe's text neither reads nor holds.
    row = V - 1
    right = observe(watched(_tie, _look), inputs).value
    facts: dict[str, Any] = {"V": V, "C": C, "VC": V * C, "row": row, "right_count": right[1]}
    facts["row_right"] = float(right[2][row].norm())
    if isinstance(got, tuple):
        _, facts["count"], gradient, embedding, head = got
        facts["row_gave"] = float(gradient[row].norm())
        facts["apart"] = float((embedding - head).abs().max())
    return facts


_COUNT = "The model has {count} parameters, {right_count} when tied. "


def _mistake(name: str, tie: Callable[..., Any], message: str) -> Mistake:
    return Mistake(name, watched(tie, _look), message)


TIE = Exercise(
    title="Tie the embedding",
    difficulty=1,
    minutes=5,
    reference=watched(_tie, _look),
    probes=({"model": Untied(11, 5)}, {"model": Untied(13, 3)}),
    parts=("logits", "parameters", "gradient", "embedding", "head"),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-6),
    praise="One matrix under two names, V·C parameters fewer. Its gradient is the sum of two: "
    "from the rows that were read, and from the logits, which touch every row, read or not.",
    mistakes=(
        _mistake(
            "nothing changed",
            lambda model: model,
            _COUNT + "The head still has its own matrix, {V} × {C} = {VC} numbers: give it the "
            "embedding's, `model.head.weight = …`.",
        ),
        _mistake(
            "a copy",
            _head_weight(lambda weight: nn.Parameter(weight.clone())),
            _COUNT + "The head has a copy of the embedding: the logits are right today. After one "
            "step of training the two differ by up to {apart}. Share the parameter itself, "
            "without `clone` or `copy_`.",
        ),
        _mistake(
            "two parameters over one memory",
            _head_weight(lambda weight: nn.Parameter(weight.data)),
            _COUNT + "`.data` and `.detach()` share the numbers, and make a second parameter of "
            "them, with a gradient of its own: that of the embedding lacks the logits' part, "
            "{row_gave} instead of {row_right} on row {row}, a token never read. An optimiser "
            "steps twice, and Adam's two steps are not that of the sum. Share the parameter.",
        ),
        _mistake(
            "a frozen head",
            _head_weight(lambda weight: nn.Parameter(weight.data, requires_grad=False)),
            _COUNT + "The head uses the embedding's numbers and gets no gradient. Row {row} of the "
            "embedding, a token never read, then learns nothing ({row_gave}); tied, the logits "
            "teach it as well ({row_right}).",
        ),
        _mistake(
            "the embedding takes the head's matrix",
            _embedding_weight(lambda weight: weight),
            "Shared, {count} parameters, and the numbers kept are the head's. Asked for was that "
            "the embedding keeps its own: `model.head.weight = model.embedding.weight`, which "
            "reads from right to left.",
        ),
        _mistake(
            "the embedding gets a copy of the head's matrix",
            _embedding_weight(lambda weight: nn.Parameter(weight.clone())),
            _COUNT + "The embedding has a copy of the head's matrix: the wrong way round, and a "
            "copy. The head takes the embedding's own parameter.",
        ),
        _mistake(
            "a softmax behind it",
            _head(lambda model: nn.Sequential(_tie(model).head, nn.Softmax(dim=-1))),
            "Tied, and then a softmax: each row of your logits sums to 1. `cross_entropy` takes "
            "logits and has the softmax inside; so does drawing with a temperature.",
        ),
        _mistake(
            "transposed",
            _head_weight(lambda weight: nn.Parameter(weight.T)),
            "You transpose. A linear layer from {C} to {V} keeps its weight as ({V}, {C}), output "
            "first, which is the embedding's shape: no transposition.",
        ),
        _mistake(
            "a tensor instead of the parameter",
            _head_weight(lambda weight: weight.detach()),
            "torch wants a parameter there, and `.data`, `.detach()`, `.clone()` and `.T` give "
            "plain tensors. Do not make a new one: assign the embedding's parameter itself.",
        ),
        _mistake(
            "the embedding layer as head",
            _head(lambda model: model.embedding),
            "The head is now the embedding layer, which looks rows up by token id; it is given "
            "vectors to multiply. Share the weight, not the layer: `model.head.weight = …`.",
        ),
        _mistake(
            "the head as embedding layer",
            _head_as_embedding,
            "The embedding is now the head's layer, which multiplies vectors; it is given token "
            "ids to look up. Share the weight, not the layer: `model.head.weight = …`.",
        ),
        _mistake(
            "a parameter as head",
            _head(lambda model: model.embedding.weight),
            "`model.head` is the layer; the matrix is `model.head.weight`.",
        ),
        _mistake(
            "nothing returned",
            lambda model: None,
            "You return nothing. The last line is `return model`.",
        ),
    ),
)


def check_tie(tie: Any) -> Verdict:
    """Judge ``tie(model)``, which returns the model with its head's matrix the embedding's own.

    ``model.embedding`` is an ``nn.Embedding`` (V, C), ``model.head`` an ``nn.Linear`` from C to V
    without bias. The check looks at the logits, counts the parameters, and takes a step of
    training (Press, Wolf 2017; Radford et al. 2018, equation 2).

    >>> check_tie(lambda model: model).passed
    False
    """
    if callable(tie):
        value = observe(tie, TIE.probes[0]).value
        model = hasattr(value, "embedding") and hasattr(value, "head")
        if value is not None and value is not ... and not model:
            said = f"`tie` should return the model; you gave {words(value)}."
            return Verdict(False, True, said, TIE.heading)
    return TIE.check(watched(tie, _look))
