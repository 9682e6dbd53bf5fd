"""What JupyterLab writes when a reader saves: no reference to a widget that ends with its kernel.

Opened with another kernel, a notebook with such a reference shows "model not found". In its place
an explorer is saved as HTML that needs no kernel; other widgets leave the picture or the words that
are in the same output.
"""

from __future__ import annotations

from typing import Any

VIEW = "application/vnd.jupyter.widget-view+json"
PAGE = "text/x-course-page"  # course_utils.explorers.explorer.PAGE, without importing the course


def drop_widget_views(model: dict[str, Any], **_: Any) -> None:
    """Take widget views out of a notebook that is being saved, where its outputs show more."""
    if model["type"] != "notebook":
        return
    model["content"]["metadata"].pop("widgets", None)  # the state of those widgets
    for cell in model["content"]["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if len(data) > 1:
                data.pop(VIEW, None)
                output["metadata"].pop(VIEW, None)
            if PAGE in data:
                data["text/html"] = data.pop(PAGE)


def _load_jupyter_server_extension(server: Any) -> None:
    """Jupyter Server calls this when it starts."""
    server.contents_manager.register_pre_save_hook(drop_widget_views)
