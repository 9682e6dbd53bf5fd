"""A small GPT that has read prose learns to read code: by all of its weights, or by a few.

The model is the one of lecture 06, trained on the course's sentences. The course's Python is
another text in the same tokens, and at first it reads it badly. A full fine-tune changes every
weight; LoRA of rank r learns ``r * (in + out)`` numbers for each matrix. Both are asked what they
have learned of the code, on a part of it that they have not seen, and what they have lost of the
prose.

Source: Hu et al., "LoRA: low-rank adaptation of large language models", 2021; Biderman et al.,
"LoRA learns less and forgets less", 2024, for the second question.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from course_utils.data.course_text import course_code, course_prose
from course_utils.language_modeling import next_token_loss, split_text, text_batch, text_loss
from course_utils.layers.lora import add_lora
from course_utils.models.small_gpt import load_small_gpt, small_gpt_tokenizer
from course_utils.shapes import Float, Int
from course_utils.training import Training, train

# Every matrix of a block; the model has no other linear layer. Hu et al. adapt queries and values
# alone, which learns less here.
MATRICES = ("query", "key", "value", "output", "expand", "contract")
LENGTH, BATCH = 64, 8
Model = TypeVar("Model", bound=nn.Module)
SHARE = 0.9  # of a text to learn from, as the small GPT's training had it
UNSEEN = 64 * LENGTH  # tokens to be asked on
# The best of three after 60 steps, in full and for ranks 2 to 16; higher ranks want less, rank 1
# more: tools/scripts/measure_lora.py tries them.
FULL_RATE, LORA_RATE = 1e-3, 1e-2


class CourseTokens(NamedTuple):
    """The course's two texts in the small GPT's tokens.

    Attributes:
        prose: what the small GPT was trained on.
        prose_unseen: what was held out then.
        code: what is learned now.
        code_unseen: what is held out now.
    """

    prose: Int[Tensor, " N"]
    prose_unseen: Int[Tensor, " N"]
    code: Int[Tensor, " N"]
    code_unseen: Int[Tensor, " N"]


@lru_cache(maxsize=1)
def course_tokens() -> CourseTokens:
    """Return the course's prose and code as ids, each cut in two as the small GPT's text was."""
    tokenizer = small_gpt_tokenizer()
    texts = (part for text in (course_prose(), course_code()) for part in split_text(text, SHARE))
    prose, prose_unseen, code, code_unseen = (
        torch.tensor(tokenizer.encode(text)) for text in texts
    )
    return CourseTokens(prose, prose_unseen[: UNSEEN + 1], code, code_unseen[: UNSEEN + 1])


@dataclass(frozen=True)
class Adapted:
    """What the small GPT has become, in each run.

    Attributes:
        rank: of the changes; None for a fine-tune without LoRA.
        learned: how many numbers were trained.
        training: the losses on the way, and the trained models.
        code_losses: on code that no run has seen, in nats per token.
        prose_losses: on prose that no run has seen: what has been forgotten shows here.
    """

    rank: int | None
    learned: int
    training: Training
    code_losses: Float[Tensor, " runs"]
    prose_losses: Float[Tensor, " runs"]


def adapt_to_code(
    rank: int | None,  # of each change; None trains the weights themselves
    *,
    steps: int = 60,  # each on BATCH windows of LENGTH tokens
    seeds: Iterable[int] = (0,),
    learning_rate: float | None = None,  # of Adam; None for what suits the kind
    only_matrices: bool = False,  # a full fine-tune has the embeddings too
) -> Adapted:
    """Train the small GPT on the course's code.

    Without LoRA and with ``only_matrices``, embeddings, norms and biases stay as they are, as with
    LoRA: this is what LoRA comes near to as the rank grows.

    A seed is that of A's first numbers and of the windows that are read; the model is the same.
    """
    rate = (FULL_RATE if rank is None else LORA_RATE) if learning_rate is None else learning_rate
    tokens = course_tokens()
    done = train(
        lambda: _start(rank, only_matrices),
        text_batch(tokens.code, LENGTH, BATCH),
        next_token_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=rate,
        label=f"rank {rank}" if rank else "matrices alone" if only_matrices else "full fine-tune",
    )
    code, prose = (
        torch.tensor([text_loss(model, text, length=LENGTH) for model in done.models])
        for text in (tokens.code_unseen, tokens.prose_unseen)
    )
    learned = sum(part.numel() for part in done.models[0].parameters() if part.requires_grad)
    return Adapted(rank, learned, done, code, prose)


def _start(rank: int | None, only_matrices: bool) -> nn.Module:
    model = load_small_gpt()
    if rank is not None:
        return add_lora(model, rank, names=MATRICES)
    if only_matrices:
        model.requires_grad_(False)
        for part in model.modules():
            if isinstance(part, nn.Linear):
                part.weight.requires_grad_(True)
    return model


def matrix_changes(before: nn.Module, after: nn.Module) -> dict[str, Float[Tensor, "out in"]]:
    """Return by how much training has changed each linear layer's weights: the layers' ΔW."""
    return {
        name: after.get_submodule(name).weight.detach() - part.weight.detach()  # type: ignore
        for name, part in before.named_modules()
        if isinstance(part, nn.Linear)
    }


@torch.no_grad()
def cut_changes(before: nn.Module, after: Model, rank: int) -> Model:
    """Return a copy of a trained model in which each matrix's change has been cut to rank r.

    Of ``W + ΔW`` it keeps W and the matrix of rank r that is nearest to ΔW. All that is no matrix
    of a block, embeddings, norms and biases, stays as trained.
    """
    cut = copy.deepcopy(after)
    for name, change in matrix_changes(before, after).items():
        weight = before.get_submodule(name).weight + nearest_of_rank(change, rank)  # type: ignore
        cut.get_submodule(name).weight.copy_(weight)  # type: ignore
    return cut


def nearest_of_rank(
    matrix: Float[Tensor, "rows columns"], rank: int
) -> Float[Tensor, "rows columns"]:
    """Return the matrix of rank r with the least squared distance to this one.

    The singular values beyond the r largest are set to 0.

    Source: Eckart, Young, "The approximation of one matrix by another of lower rank", 1936.
    """
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    return (left[:, :rank] * values[:rank]) @ right[:rank]
