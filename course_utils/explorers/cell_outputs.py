"""Which explorers a cell of a notebook shows, so that running it again closes the earlier ones."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from IPython.core.getipython import get_ipython


@runtime_checkable
class _Closable(Protocol):
    def close(self) -> None:
        """Let go of the widget."""
        ...


# Cell id → the run that showed something there, and what it showed.
_outputs: dict[str, tuple[str, list[_Closable]]] = {}


def replace_outputs(explorer: _Closable) -> None:
    """Close what an earlier run of this cell showed, and remember what this run shows."""
    kernel = getattr(get_ipython(), "kernel", None)
    request = kernel.get_parent("shell") if kernel else {}
    cell = request.get("metadata", {}).get("cellId")
    if cell is None:
        return
    run = request["header"]["msg_id"]
    earlier, explorers = _outputs.get(cell, (run, []))
    if earlier != run:
        for output in explorers:
            if output is not explorer:
                output.close()
        explorers = []
    if explorer not in explorers:
        explorers = [*explorers, explorer]
    _outputs[cell] = (run, explorers)
