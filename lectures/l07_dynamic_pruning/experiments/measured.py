"""What lecture 07 has no time to train: it comes with the package.

tools/scripts/measure_experts.py measures it with the lecture's own cells.
"""

import json
from functools import lru_cache
from typing import Any

from course_utils.data.package_files import read_packaged

MEASURED_FILE = "experts_measured.json"


def story_runs() -> list[dict[str, Any]]:
    """Return the runs of small GPTs on short stories.

    Each has its ``layer``, ``seed``, ``rate`` (a factor), ``steps``, its ``loss`` in nats a word on
    unseen stories, and what the ``busiest`` expert of each block gets.

    >>> {run["layer"] for run in story_runs()} >= {"dense", "8 experts"}
    True
    """
    return _measured()["stories"]


def book_runs() -> list[dict[str, Any]]:
    """Return the runs of telephone books of four sizes.

    Each has its ``names`` of each kind, the ``width``, the ``hidden`` units of the dense layer of
    equal work, its ``layer``, ``seed``, the share that is ``known`` and the layer's ``parameters``.

    >>> len({(run["names"], run["width"]) for run in book_runs()})
    4
    """
    return _measured()["books"]


@lru_cache
def _measured() -> dict[str, list[dict[str, Any]]]:
    return json.loads(read_packaged(MEASURED_FILE))
