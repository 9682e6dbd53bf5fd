"""Writing: draw the next token, put it behind the others, and read on."""

import torch
from torch import Tensor

from course_utils.checks import check_flag, check_generator, check_instance, check_int
from course_utils.models.checks import check_next_tokens
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
    """Write ``max_new_tokens`` behind each row of token_ids.

    With the cache each step reads the newest token alone, and attends to the keys and values kept
    of those before. Without it each step reads everything again, for the same logits up to
    rounding, at a cost that grows with what is written.

    Args:
        model: reads and scores.
        token_ids: a prompt of one token or more in each row, all of one length.
        max_new_tokens: how many tokens to write. With those of the prompt they must fit into the
            model's positions.
        temperature: 0 takes the most probable token always, 1 draws as the model says.
        k: draw among the k most probable tokens; all if None. With k = V or more nothing is cut.
        p: draw among the fewest that together reach this share; all if None.
        generator: draws, on the model's device; torch's own if None.
        use_cache: whether to keep keys and values.

    Returns:
        The prompts and behind them what was written.

    Raises:
        TypeError: if an argument is of another type.
        ValueError: if the prompt is empty, an id is none of the vocabulary, there would be more
            tokens than positions, the temperature is negative, k below 1, p not above 0 and at
            most 1, or the generator on another device.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> written = generate(model, torch.tensor([[5, 7, 11]]), 4, temperature=0)
    >>> tuple(written.shape), written[0, :3].tolist()
    ((1, 7), [5, 7, 11])
    """
    _check(model, token_ids, max_new_tokens, generator)
    caches = model.new_caches() if check_flag("use_cache", use_cache) else None
    newest = token_ids
    for _ in range(max_new_tokens):
        read = newest if use_cache else token_ids
        logits = model(read, caches=caches, last_only=True)[:, -1]  # (B, V)
        chances = next_token_probabilities(logits, temperature=temperature, k=k, p=p)
        newest = torch.multinomial(chances, 1, generator=generator)  # (B, 1)
        token_ids = torch.cat((token_ids, newest), dim=1)
    return token_ids


def _check(
    model: GPT2, token_ids: Tensor, max_new_tokens: int, generator: torch.Generator | None
) -> None:
    __tracebackhide__ = True
    check_instance("model", model, GPT2, "a GPT2")
    check_next_tokens(token_ids, None, model.config)
    T, longest = token_ids.shape[1], model.config.max_positions
    if T + check_int("max_new_tokens", max_new_tokens) > longest:
        raise ValueError(
            f"max_new_tokens and the {T} of the prompt must make at most max_positions "
            f"({longest}) tokens, got {max_new_tokens}"
        )
    if generator is None:
        return
    check_generator("generator", generator)
    if generator.device.type != token_ids.device.type:
        raise ValueError(
            f"generator must be on the device of token_ids ({token_ids.device}), "
            f"got one on {generator.device}"
        )
