"""The one widget of all explorers: a linked module, what it is told, and the kit that all share."""

from __future__ import annotations

from typing import Any, ClassVar

import anywidget
import ipywidgets
import traitlets

from course_utils.explorers.link import KIT, shelf

SHELF = "kit"  # where a module finds the kit's modules

# A module in a string can import no neighbour, but it can import a text that it is given.
_WITH_KIT = """export default {{ async render(given) {{
const {{ model }} = given;
const shared = await model.widget_manager.get_model(model.get("shared").replace("IPY_MODEL_", ""));
const text = new Blob([shared.get("module")], {{ type: "text/javascript" }});
const address = URL.createObjectURL(text);
const {{ default: {shelf} }} = await import(address);
URL.revokeObjectURL(address);
{module}}} }};
"""


class SharedKit(ipywidgets.Widget):
    """The kit, sent once however many explorers a notebook shows."""

    module = traitlets.Unicode().tag(sync=True)
    _open: ClassVar[SharedKit | None] = None

    @classmethod
    def now(cls) -> SharedKit:
        """The one that is open: a reader may have closed all widgets."""
        if cls._open is None or cls._open.comm is None:
            cls._open = cls(module=f"export default {shelf(KIT)};")
        return cls._open


class ExplorerWidget(anywidget.AnyWidget):
    """Carries an explorer's module, its declarations, values and data between kernel and page.

    Attributes:
        shared: where the module finds the kit.
        spec: title, controls and presets, sent once.
        values: name → value of every control; both sides write it.
        given: what the module computes with, and the served values that it belongs to.
        problem: a sentence when the last request failed, else empty.
    """

    _esm: Any = traitlets.Unicode().tag(sync=True)
    shared = traitlets.Instance(SharedKit).tag(sync=True, **ipywidgets.widget_serialization)
    spec = traitlets.Dict().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    given = traitlets.Dict().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)

    def close(self) -> None:
        """Close it with its layout, which ipywidgets would keep for as long as the kernel lives."""
        if self.comm is not None:
            self.layout.close()
        super().close()


def with_kit(module: str) -> str:
    """A module that draws, linked without the kit, as one that first asks the widget for it.

    Args:
        module: statements that have the kit as `SHELF` and return what draws.
    """
    return _WITH_KIT.format(shelf=SHELF, module=module)
