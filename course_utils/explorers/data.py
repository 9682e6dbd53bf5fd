"""What goes to the browser: arrays as bytes, states as plain names and values."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_SENT_AS = {"f": "f8", "i": "i4", "u": "i4", "b": "u1"}
_SMALL = {"float32": "f4", "float16": "f2", "uint8": "u1", "uint16": "u2"}  # sent as they are
_ARRAY = "array"
_NUMBER = re.compile(r"\d[\d.,]*|#")


@dataclasses.dataclass(frozen=True)
class Weights:
    """Numbers from 0 to 1 that two bytes each are exact enough for: 1/65,535 apart."""

    values: np.ndarray


def fields(state: Any) -> dict[str, Any]:
    """A state, a dataclass or a mapping, as a dict of its own fields."""
    if isinstance(state, Mapping):
        return dict(state)
    return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}


def encode(value: Any) -> Any:
    """A value with each array as `{"array": type, "shape": …, "data": bytes}`, as JSON allows."""
    if isinstance(value, Weights):
        levels = np.rint(np.asarray(value.values) * 65_535).astype("<u2")
        return {_ARRAY: "weights", "shape": list(levels.shape), "data": levels.tobytes()}
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray):
        kind = _SMALL.get(value.dtype.name) or _SENT_AS[value.dtype.kind]
        sent = np.ascontiguousarray(value, dtype=f"<{kind}" if kind != "u1" else kind)
        return {_ARRAY: kind, "shape": list(value.shape), "data": sent.tobytes()}
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value) or isinstance(value, Mapping):
        return {str(name): encode(entry) for name, entry in fields(value).items()}
    if isinstance(value, list | tuple):
        return [encode(entry) for entry in value]
    return value


def as_json(value: Any) -> Any:
    """What `encode` made, with bytes as base64, for a page."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {name: as_json(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [as_json(entry) for entry in value]
    return value


def table(positions: Mapping[str, Sequence[Any]], states: Sequence[Any], captions: Any) -> dict:
    """Every state in the order of `every`, for a lookup in the browser.

    A field that is an array of the same shape everywhere becomes one array with a row per state.
    """
    columns: dict[str, Any] = {}
    rows = [fields(state) for state in states]
    for name in rows[0]:
        column = [row[name] for row in rows]
        stacks = (
            isinstance(column[0], np.ndarray) and len({np.shape(entry) for entry in column}) == 1
        )
        columns[name] = encode(np.stack(column) if stacks else column)
    return {
        "order": list(positions),
        "positions": {name: encode(list(values)) for name, values in positions.items()},
        "columns": columns,
        **_as_phrases(captions),
    }


def _as_phrases(captions: Iterable[str]) -> dict[str, list[str]]:
    """Captions as phrases with # for each number, and for each caption its phrase and numbers."""
    phrases: dict[str, int] = {}
    rows = [
        [
            str(phrases.setdefault(_NUMBER.sub("#", caption), len(phrases))),
            *_NUMBER.findall(caption),
        ]
        for caption in captions
    ]
    return {"phrases": list(phrases), "captions": [" ".join(parts) for parts in rows]}


def every(positions: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the values, the last name fastest."""
    combinations = list(itertools.product(*positions.values()))
    return [dict(zip(positions, values, strict=True)) for values in combinations]
