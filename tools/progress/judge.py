"""Call a check on what a name stands for. Runs in the kernel that ran the copy's cells."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["judge"]

_MISSING = object()


def judge(module: str, check: str, names: Mapping[str, Any], name: str) -> str:
    """What a check says about ``names[name]``, as JSON: ``state`` and ``message``.

    The check is the course's own, imported anew: what the copy calls by its name is not asked.

    Args:
        module: of ``course_utils.teaching``, where the check is.
        check: its name.
        names: the names that the copy's cells have defined.
        name: the one to judge.

    >>> judge("exercises_01", "check_unit_norm_scale", {}, "unit_norm_scale")
    '{"state": "missing", "message": ""}'
    >>> names = {"scale": lambda d_k: d_k**0.5}
    >>> json.loads(judge("exercises_01", "check_unit_norm_scale", names, "scale"))["state"]
    'passed'
    """
    answer = names.get(name, _MISSING)
    if answer is _MISSING:
        return json.dumps({"state": "missing", "message": ""})
    verdict = getattr(importlib.import_module(f"course_utils.teaching.{module}"), check)(answer)
    return json.dumps({"state": verdict.word.lower(), "message": verdict.message})
