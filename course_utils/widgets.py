"""What a notebook is sent to show a widget, in each ipywidgets from 7.7 on."""

from __future__ import annotations

from typing import Any

__all__ = ["widget_view"]


def widget_view(widget: Any) -> dict[str, Any]:
    """Return the MIME bundle that shows a widget.

    ipywidgets 8 makes it. ipywidgets 7, which Colab has, displays by another way that cannot be
    joined with a picture or a text for where no kernel runs.

    Source: ipywidgets, "Low Level Widget Explanation": the media type and its two fields.
    """
    if hasattr(widget, "_repr_mimebundle_"):
        return dict(widget._repr_mimebundle_() or {})
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": view}
