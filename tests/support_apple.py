"""A pretend Apple GPU: its tensors say that they are on ``mps``, and float64 is refused there."""

from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

MPS, STAND_IN = torch.device("mps"), torch.device("meta")


class OnApple(torch.Tensor):
    """A tensor that says it is on the GPU, and keeps its numbers on the CPU."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), dtype=held.dtype, device=STAND_IN,
            requires_grad=held.requires_grad,
        )  # fmt: skip

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError("a tensor of the GPU was used without pretend_apple()")


class _Asked(TorchFunctionMode):
    """Torch without Apple's GPU refuses its name at once, so it is told another device's."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(
            torch.device, lambda it: STAND_IN if it == MPS else it, (args, kwargs or {})
        )
        if func == torch.Tensor.device.__get__ and isinstance(args[0], OnApple):
            return MPS
        return func(*args, **kwargs)


class _Computed(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        return False  # or torch imports its compiler

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given, device = [], (kwargs or {}).get("device")
        args, kwargs = tree_map_only(
            OnApple, lambda x: given.append(x) or x.held, (tuple(args), kwargs or {})
        )
        lands_there = device == STAND_IN if device is not None else bool(given)
        if lands_there and device is not None:
            kwargs["device"] = torch.device("cpu")
        out = func(*args, **kwargs)
        # The device that casts is the one that the tensor comes from.
        casts = bool(given) and kwargs.get("dtype") == torch.float64
        if casts or (lands_there and _any_float64(out)):
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        if not lands_there:
            return out
        known = {id(x.held): x for x in given}  # what is changed in place stays itself
        return tree_map_only(
            torch.Tensor, lambda x: known[id(x)] if id(x) in known else OnApple(x), out
        )


def _any_float64(out):
    found = []
    tree_map_only(torch.Tensor, lambda x: found.append(x.dtype == torch.float64), out)
    return any(found)


@contextmanager
def pretend_apple():
    """Let ``mps`` be a device inside the block."""
    with _Computed(), _Asked():
        yield
