"""Let the output layer share the embedding's matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.shapes import Float, Int
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance, describe, observe
from course_utils.teaching.watched import watched

__all__ = ["TIE", "Untied"]

LEARNING_RATE = 0.5


class Untied(nn.Module):
    """A small language model whose output layer has a matrix (V, C) of its own."""

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


def _after_a_step(model: Any, given: Untied) -> tuple[Any, ...]:
    """What a tied model shows: its logits, its size, its gradient, and both matrices a step on."""
    if not (hasattr(model, "embedding") and hasattr(model, "head")):
        raise TypeError(f"`tie` should return the model; you gave {describe(model)}")
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


def _copy(model):
    model.head.weight = nn.Parameter(model.embedding.weight.clone())
    return model


def _two_parameters(model):
    model.head.weight = nn.Parameter(model.embedding.weight.data)
    return model


def _other_way_round(model):
    model.embedding.weight = model.head.weight
    return model


def _transposed(model):
    model.head.weight = nn.Parameter(model.embedding.weight.T)
    return model


def _no_parameter(model):
    model.head.weight = model.embedding.weight.detach()
    return model


def _layer_shared(model):
    model.head = model.embedding
    return model


def _nothing_returned(model):
    model.head.weight = model.embedding.weight


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    V, C = inputs["model"].embedding.weight.shape
    # A token that the probe's text neither reads nor holds.
    row = V - 1
    right = observe(watched(_tie, _after_a_step), inputs).value
    facts: dict[str, Any] = {"V": V, "C": C, "VC": V * C, "row": row, "right_count": right[1]}
    facts["row_right"] = float(right[2][row].norm())
    if isinstance(got, tuple):
        _, facts["count"], gradient, embedding, head = got
        facts["row_gave"] = float(gradient[row].norm())
        facts["apart"] = float((embedding - head).abs().max())
    return facts


_COUNT = "The model has {count} parameters, {right_count} when tied. "


TIE = Exercise(
    title="Tie the embedding",
    difficulty=1,
    minutes=5,
    function="tie",
    reference=_tie,
    watch=lambda answer: watched(answer, _after_a_step),
    probes=({"model": Untied(11, 5)}, {"model": Untied(13, 3)}),
    parts=("logits", "parameters", "gradient", "embedding", "head"),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-6),
    praise="One matrix under two names, V·C parameters fewer. Its gradient is the sum of two: "
    "from the rows that were read, and from the logits, which touch every row, read or not.",
    mistakes=(
        Mistake(
            "nothing changed",
            lambda model: model,
            _COUNT + "The head still has its own matrix, {V} × {C} = {VC} numbers: give it the "
            "embedding's, `model.head.weight = …`.",
        ),
        Mistake(
            "a copy",
            _copy,
            _COUNT + "The head has a copy of the embedding: the logits are right today. After one "
            "step of training the two differ by up to {apart}. Share the parameter itself, "
            "without `clone` or `copy_`.",
        ),
        Mistake(
            "two parameters over one memory",
            _two_parameters,
            _COUNT + "`.data` and `.detach()` share the numbers, and make a second parameter of "
            "them, with a gradient of its own: that of the embedding lacks the logits' part, "
            "{row_gave} instead of {row_right} on row {row}, a token never read. An optimiser "
            "steps twice, and Adam's two steps are not that of the sum. Share the parameter.",
        ),
        Mistake(
            "the embedding takes the head's matrix",
            _other_way_round,
            "Shared, {count} parameters, and the numbers kept are the head's. Asked for was that "
            "the embedding keeps its own: `model.head.weight = model.embedding.weight`, which "
            "reads from right to left.",
        ),
        Mistake(
            "transposed",
            _transposed,
            "You transpose. A linear layer from {C} to {V} keeps its weight as ({V}, {C}), output "
            "first, which is the embedding's shape: no transposition.",
        ),
        Mistake(
            "a tensor instead of the parameter",
            _no_parameter,
            "torch wants a parameter there, and `.data`, `.detach()`, `.clone()` and `.T` give "
            "plain tensors. Do not make a new one: assign the embedding's parameter itself.",
        ),
        Mistake(
            "the embedding layer as head",
            _layer_shared,
            "The head is now the embedding layer, which looks rows up by token id; it is given "
            "vectors to multiply. Share the weight, not the layer: `model.head.weight = …`.",
        ),
        Mistake(
            "nothing returned",
            _nothing_returned,
            "You return nothing. The last line is `return model`.",
        ),
    ),
)
