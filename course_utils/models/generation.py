"""Generating text: draw the next token, append it, and repeat."""

import torch
from torch import Tensor

from course_utils.models.gpt2 import GPT2
from course_utils.sampling import next_token_probabilities
from course_utils.shapes import Int

__all__ = ["generate"]


@torch.no_grad()
def generate(
    model: GPT2,
    token_ids: Int[Tensor, "B T"],
    max_new_tokens: int,
    *,
    temperature: float | int = 1.0,
    k: int | None = None,
    p: float | int | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Int[Tensor, "B longer"]:
    """Generate ``max_new_tokens`` after each row of token_ids.

    With the cache, each step computes only the newest token, and attends to the cached keys and
    values of those before. Without it, each step computes all tokens again: the same logits up to
    rounding, at a cost that grows with the length.

    Args:
        model: gives the scores.
        token_ids: a prompt of at least one token in each row.
        max_new_tokens: number of tokens to generate. With the prompt's they must fit into the
            model's positions.
        temperature: 0 always takes the most probable token, 1 uses the model's probabilities.
        k: draw among the k most probable tokens; all if None.
        p: draw among the fewest tokens that together reach this share; all if None.
        generator: on the model's device; torch's own if None.
        use_cache: whether to cache keys and values.

    Returns:
        The prompts followed by the generated tokens.

    Raises:
        TypeError, ValueError: if an id is out of range, the text becomes too long, temperature, k
            or p is out of range, or the model's scores become NaN or infinite.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> generated = generate(model, torch.tensor([[5, 7, 11]]), 4, temperature=0)
    >>> tuple(generated.shape), generated[0, :3].tolist()
    ((1, 7), [5, 7, 11])
    """
    caches = model.new_caches() if use_cache else None
    newest = token_ids
    for _ in range(max_new_tokens):
        inputs = newest if use_cache else token_ids
        logits = model(inputs, caches=caches, last_only=True)[:, -1]  # (B, V)
        probabilities = next_token_probabilities(logits, temperature=temperature, k=k, p=p)
        newest = torch.multinomial(probabilities, 1, generator=generator)  # (B, 1)
        token_ids = torch.cat((token_ids, newest), dim=1)
    return token_ids
