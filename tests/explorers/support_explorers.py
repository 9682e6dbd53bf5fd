"""What a state holds, for tests of explorers."""

from types import SimpleNamespace

import numpy as np


def arrays_in(value, name="state"):
    """Every array and number in a state, with the path to it."""
    if isinstance(value, dict | SimpleNamespace):
        for key, each in (value if isinstance(value, dict) else vars(value)).items():
            yield from arrays_in(each, f"{name}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        for i, each in enumerate(value):
            yield from arrays_in(each, f"{name}[{i}]")
    elif isinstance(value, (int, float, np.ndarray, np.generic)):
        yield name, np.asarray(value)
    else:
        assert value is None or isinstance(value, str), f"{name} is a {type(value).__name__}"


def texts_in(value):
    """Every text in a state; with `arrays_in`, all that a state may hold."""
    if isinstance(value, dict | SimpleNamespace):
        value = list((value if isinstance(value, dict) else vars(value)).values())
    if isinstance(value, (tuple, list)):
        return [text for each in value for text in texts_in(each)]
    return [value] if value is None or isinstance(value, str) else []


def same_state(one, other):
    """Whether two states hold the same arrays, numbers and texts, bit for bit."""
    first, second = dict(arrays_in(one)), dict(arrays_in(other))
    return (
        first.keys() == second.keys()
        and all(np.array_equal(first[name], second[name]) for name in first)
        and texts_in(one) == texts_in(other)
    )
