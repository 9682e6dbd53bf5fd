"""Whether a model is a plain GPT-2, with no wrapper around it or around one of its layers."""

from torch import nn

from course_utils.models.gpt2 import GPT2
from course_utils.models.skeleton import shapes_alone

__all__ = ["check_plain"]


def check_plain(model: nn.Module) -> None:
    """Check that a model has the weights of a GPT-2, by name and by shape.

    ``torch.compile``, ``nn.DataParallel`` and the like wrap a model, or its blocks; LoRA wraps its
    layers; ``parametrize`` and ``prune`` rename their weights.

    Raises:
        TypeError, ValueError: if it has others; the message says what to use instead.

    >>> from course_utils.models.gpt2 import GPT2Config
    >>> model = GPT2(GPT2Config(vocab_size=31, max_positions=8, width=12, num_heads=3))
    >>> check_plain(nn.DataParallel(model))
    Traceback (most recent call last):
    TypeError: model must be a GPT2, got DataParallel: use model.module
    """
    __tracebackhide__ = True
    if not isinstance(model, GPT2):
        inside = next((name for name, part in model.named_modules() if isinstance(part, GPT2)), "")
        instead = f": use model.{inside}" if inside else ""
        raise TypeError(f"model must be a GPT2, got {type(model).__name__}{instead}")
    with shapes_alone():
        plain = GPT2(model.config).state_dict()
    found = model.state_dict()
    if others := sorted(found.keys() - plain.keys()) or sorted(plain.keys() - found.keys()):
        what = "no " if others[0] in plain else ""
        raise ValueError(
            f"model must have the weights of a plain GPT2, got {what}{others[0]}: put the layer "
            "itself in the place of what wraps it (for LoRA its base, after merge()), or keep "
            "model.state_dict()"
        )
    for name, weight in found.items():
        if weight.shape != plain[name].shape:
            raise ValueError(
                f"model must have the sizes of its config, {name} {tuple(plain[name].shape)}, "
                f"got {tuple(weight.shape)}"
            )
