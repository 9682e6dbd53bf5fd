"""What a saved notebook may contain: cleaning, comparing and judging outputs. Starts no kernel."""

import base64
import copy
import hashlib
import io
import re
from collections.abc import Iterator

import nbformat
import numpy as np
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from PIL import Image

# Its model id is new on every run, and a fresh JupyterLab that trusts the notebook prefers it to
# the picture beside it and then says "model not found". nbval does not compare it.
LIVE_WIDGET = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# Cells whose saved output nbval does not compare, since it differs between machines.
NOT_COMPARED = "nbval-ignore-output"
COLOURS = 256

_PATHS = re.compile(
    r"(?<![\w.:/])/(?:home|Users|root|work|tmp|var|opt|usr|private|mnt|workspaces?)/[\w.~-]+"
    r"|\b[A-Za-z]:\\{1,2}\w+"
    r"|\bsite-packages[/\\]"
)
_WARNINGS = re.compile(r"\b\w*Warning: ")


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells that a kernel runs."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def executed_sources(notebook: NotebookNode) -> str:
    """Return a digest of what was run: outputs that nothing compares do not show it themselves."""
    code = "\0".join(cell.source for cell in code_cells(notebook))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def tags(cell: NotebookNode) -> set[str]:
    """Return the tags of a cell, none for a cell without."""
    return set(cell.metadata.get("tags", []))


def texts(output: NotebookNode) -> Iterator[str]:
    """Yield every text of an output: stream, representations that are text, error and traceback."""
    if output.output_type == "stream":
        yield output.text
    elif output.output_type == "error":
        yield from (output.ename, output.evalue, *output.traceback)
    else:
        for kind, content in output.data.items():
            if not kind.startswith("image/") or kind == "image/svg+xml":
                yield content if isinstance(content, str) else repr(content)


def absolute_paths(text: str) -> list[str]:
    """Return what looks like a place on somebody's machine.

    >>> absolute_paths("saved in /home/ada/course/x.npz")
    ['/home/ada']
    >>> absolute_paths("see https://example.org/home/page and a/tmp/b")
    []
    """
    return _PATHS.findall(text)


def cleaned(notebook: NotebookNode) -> NotebookNode:
    """Return a copy with nothing in it that changes from run to run or from machine to machine.

    Cell ids, execution counts, tags and slide types stay.
    """
    notebook = copy.deepcopy(notebook)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = dict(KERNEL)
    notebook.metadata["executed_sources"] = executed_sources(notebook)
    notebook.metadata.setdefault("language_info", {"name": "python"}).pop("version", None)
    streams = CoalesceStreamsPreprocessor()  # where a stream is cut depends on timing
    for cell in code_cells(notebook):
        for key in ("execution", "ExecuteTime", "collapsed", "scrolled"):
            cell.metadata.pop(key, None)
        streams.preprocess_cell(cell, {}, 0)
        for output in cell.outputs:
            output.pop("transient", None)
            if output.output_type in ("display_data", "execute_result"):
                output.data.pop(LIVE_WIDGET, None)
                output.metadata.pop(LIVE_WIDGET, None)
    return notebook


def with_small_pictures(new: NotebookNode, old: NotebookNode) -> NotebookNode:
    """Give each picture few colours, or the bytes that it had, where it looks as it did."""
    earlier = dict(_placed_pictures(old))
    for place, output in _placed_pictures(new):
        small = _small(output["image/png"])
        known = earlier.get(place, {}).get("image/png", small)
        output["image/png"] = known if same_picture(known, small) else small
    return new


def _placed_pictures(notebook: NotebookNode) -> Iterator[tuple[tuple[str, int], NotebookNode]]:
    """Yield the data of each output with a picture, and where it stands: cell and number."""
    for cell in code_cells(notebook):
        for number, output in enumerate(cell.outputs):
            if "image/png" in output.get("data", {}):
                yield (cell.id, number), output.data


def _small(png: str) -> str:
    """A picture with few colours, in base64."""
    encoded = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        palette = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        palette.save(encoded, "PNG", optimize=True)
    return base64.b64encode(encoded.getvalue()).decode("ascii")


def faults(notebook: NotebookNode) -> list[str]:
    """Return what keeps these outputs from being published, one sentence each."""
    found = []
    for number, cell in enumerate(code_cells(notebook), start=1):
        for output in cell.outputs:
            where = f"code cell {number}"
            if output.output_type == "stream" and output.name == "stderr":
                found.append(f"{where} writes to stderr: {output.text.strip()[:200]}")
            if output.output_type == "error":
                found.append(f"{where} raises {output.ename}: {output.evalue}")
                continue
            for text in texts(output):
                found += [f"{where} shows the path {path}" for path in absolute_paths(text)]
                if _WARNINGS.search(text):
                    found.append(f"{where} shows a warning: {text.strip()[:200]}")
    return found


def _levels(png: str) -> np.ndarray:
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        return np.asarray(image.convert("RGBA"), dtype=int)


def same_picture(old: str, new: str) -> bool:
    """Return whether two PNGs, in base64, look the same.

    Another number of threads sums in another order, which moves a curve by a hair and changes a
    pixel on its edge by up to 14 levels of 255 (measured on lecture 00). A curve that moves by a
    whole pixel changes its edges by 100 and more.
    """
    a, b = _levels(old), _levels(new)
    return a.shape == b.shape and int(np.abs(a - b).max()) <= 32


def _pictures(notebook: NotebookNode) -> list[str]:
    """Return the pictures that are compared, in order."""
    return [
        output.data["image/png"]
        for cell in code_cells(notebook)
        if NOT_COMPARED not in tags(cell)
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]


def _comparable(notebook: NotebookNode) -> NotebookNode:
    """Return a copy without outputs that nobody compares, and without pictures."""
    notebook = copy.deepcopy(notebook)
    for cell in code_cells(notebook):
        if NOT_COMPARED in tags(cell):
            cell.outputs = [len(cell.outputs)]
            continue
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = ""
    return notebook


def differs(old: NotebookNode, new: NotebookNode) -> bool:
    """Return whether anything but noise changed between two cleaned notebooks."""
    return _comparable(old) != _comparable(new) or not all(
        map(same_picture, _pictures(old), _pictures(new))
    )


def parsed(content: bytes) -> NotebookNode:
    """Return the notebook that a file holds, in today's format."""
    return nbformat.reads(content.decode(), as_version=4)


def as_saved(notebook: NotebookNode) -> bytes:
    """Return a notebook as JupyterLab writes it, with one line ending on every system."""
    text = nbformat.writes(notebook)
    return (text if text.endswith("\n") else text + "\n").encode()
