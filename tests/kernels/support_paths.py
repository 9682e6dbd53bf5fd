"""Which path the tiled backend takes, whatever the processor and the inputs."""

import pytest
import torch

from course_utils.kernels import onednn, tiled_products, tiled_schedule


def multiply_by_onednn(monkeypatch) -> None:
    """Let the tiled backend take oneDNN's product wherever it can, or skip the test."""
    if onednn._tried_product() is None:
        pytest.skip("this torch has no such product")

    def product(device, dtype):
        can = device.type == "cpu" and dtype == torch.float32
        return onednn._tried_product() if can else None

    monkeypatch.setattr(tiled_products, "faster_product", product)
    monkeypatch.setattr(tiled_products, "_FEWEST", 1)
    monkeypatch.setattr(tiled_schedule, "_FEWEST_SCORES", 1)


def spare_the_maximum(monkeypatch):
    """Let the tiled backend ask for a bound on the weights even where few scores are computed."""
    monkeypatch.setattr(tiled_products, "_WORTH_ASKING", 0)


def carry_the_maximum(monkeypatch):
    """Let the tiled backend carry the maximum of the scores where it could do without."""
    monkeypatch.setattr(tiled_products.TileProducts, "weights_are_bounded", lambda *inputs: False)
