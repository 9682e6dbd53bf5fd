"""The one widget of all explorers: a linked module, and what it is told."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

__all__ = ["ExplorerWidget"]


class ExplorerWidget(anywidget.AnyWidget):
    """Carries an explorer's module, its declarations, values and data between kernel and page.

    Attributes:
        spec: title, controls and presets, sent once.
        values: name → value of every control; both sides write it.
        given: what the module computes with, and the served values that it belongs to.
        problem: a sentence when the last request failed, else empty.
    """

    _esm: Any = traitlets.Unicode().tag(sync=True)
    spec = traitlets.Dict().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    given = traitlets.Dict().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)

    def close(self) -> None:
        """Close it with its layout, which ipywidgets would keep for as long as the kernel lives."""
        if self.comm is not None:
            self.layout.close()
        super().close()
