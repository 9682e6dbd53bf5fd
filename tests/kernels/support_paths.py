"""Which path the tiled backend takes, with tiles so small that small sizes have several."""

import pytest

from course_utils.kernels import fast_cpu, tiled_schedule

PLAIN, FAST, ONEDNN = "tiled", "tiled, fast", "tiled, fast with oneDNN"


def take_path(monkeypatch, path: str) -> None:
    """Let the tiled backend compute in one of its three ways, or skip the test."""
    if path == ONEDNN and not fast_cpu._onednn_multiplies():
        pytest.skip("this torch has no such product")
    changes = [(fast_cpu, "ENABLED", path != PLAIN), (fast_cpu, "_FEWEST_SCORES", 1)]
    changes += [(fast_cpu, "_WORTH_THREADS", 0)]
    by_onednn = lambda dtype: path == ONEDNN and dtype.itemsize == 4  # noqa: E731
    changes += [(fast_cpu, "faster_by_onednn", by_onednn)]
    changes += [(tiled_schedule, "_ROWS", 64), (tiled_schedule, "_KEYS", 80)]
    changes += [(tiled_schedule, "_MOST_KEYS", 80), (tiled_schedule, "_FEWEST_ROWS", 8)]
    changes += [(fast_cpu, name, 64) for name in ("_ROWS", "_CAUSAL_ROWS", "_FEWEST_ROWS")]
    changes += [(fast_cpu._TorchProducts, "keys", 80), (fast_cpu._OneDNNProducts, "keys", 80)]
    for place, name, value in changes:
        monkeypatch.setattr(place, name, value)
