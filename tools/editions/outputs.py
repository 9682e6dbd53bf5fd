"""Run lectures from a clean kernel and save their outputs: what `make outputs` calls.

    python tools/editions/outputs.py                         every notebook, the template's too
    python tools/editions/outputs.py notebooks/01_scaling.ipynb

A notebook is written back only when something other than noise changed, so that a run on another
day leaves no difference. One with a fault (stderr, an untagged exception, a path of this machine)
is not written, and neither is one that somebody has saved while it ran; that is printed and the
exit status is 1.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

from course_utils.explorers.explorer import ASKED_FOR_PAGES, PICTURES
from tools.editions.notebook_outputs import (
    as_saved,
    cleaned,
    code_cells,
    differs,
    faults,
    parsed,
    with_small_pictures,
)
from tools.editions.pictures import write_pictures
from tools.editions.readme import write_links, write_tables
from tools.editions.snapshots import with_snapshots
from tools.ending import leave_in_order
from tools.files import SavedMeanwhileError, write_back

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "lectures" / "_template" / "notebook.ipynb"
ENVIRONMENT = {
    "TQDM_DISABLE": "1",
    "PYTHONHASHSEED": "0",
    # Many small operations: on a busy machine a second thread made lecture 00 six times slower.
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    # A lecture runs on the code beside it, whichever copy of the course is installed.
    "PYTHONPATH": str(ROOT),
    # An explorer then gives a page beside its words, of which a picture is taken.
    ASKED_FOR_PAGES: PICTURES,
}
SECONDS_PER_CELL = 300


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run every cell in order in a new kernel that starts in `folder`; change `notebook`.

    An exception does not stop the run: `faults` names it, and whatever follows from it.
    """
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    # The kernel nbval compares with: this environment's, whatever kernels the user has installed.
    manager = AsyncKernelManager(
        kernel_name=CURRENT_ENV_KERNEL_NAME, kernel_spec_manager=NbvalKernelspecManager()
    )
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=SECONDS_PER_CELL,
        allow_errors=True,
        # Repository pages refuse a notebook whose widget state they cannot read.
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
        on_notebook_start=as_before({n: signal.getsignal(n) for n in (SIGINT, SIGTERM)}),
    )
    return client.execute(cleanup_kc=True)


def as_before(handlers: dict[signal.Signals, Any]) -> Callable[..., None]:
    """Return what puts signals' handlers back: nbclient's own end in a traceback, and late."""

    def put_back(**_: Any) -> None:
        with contextlib.suppress(RuntimeError, ValueError):  # on Windows nbclient has set none
            for number, handler in handlers.items():
                asyncio.get_running_loop().remove_signal_handler(number)
                signal.signal(number, handler)

    return put_back


def refresh(path: Path) -> tuple[str, list[str]]:
    """Run the notebook at `path`, save it when that is called for; return what was done, faults."""
    before = path.read_bytes()
    old = parsed(before)
    new = with_snapshots(execute(parsed(before), path.parent), old)
    new = cleaned(with_small_pictures(new, old))
    found = faults(new)
    if found:
        return "not written", found
    if not differs(old, new):
        return "unchanged", []
    try:
        write_back(path, before, as_saved(new))
    except SavedMeanwhileError as error:
        return "not written", [str(error)]
    return "written", []


def main(arguments: list[str]) -> int:
    """Refresh the notebooks named, or all; return the exit status."""
    parser = argparse.ArgumentParser(description="Run lectures from a clean kernel, save outputs.")
    parser.add_argument("notebooks", nargs="*", type=Path)
    options = parser.parse_args(arguments)

    paths = options.notebooks or [TEMPLATE, *sorted((ROOT / "notebooks").glob("*.ipynb"))]
    # The first import of the font list on a machine builds a cache and says so on stderr.
    import matplotlib.font_manager  # noqa: F401

    with tempfile.TemporaryDirectory(prefix="course-ipython-") as ipython_folder:
        # Away from the user's own IPython start-up files, which could print or import.
        os.environ.update(ENVIRONMENT, IPYTHONDIR=ipython_folder)
        leave_in_order()
        status = max(map(report, paths))
    try:
        write_tables()
        write_links()
    except SavedMeanwhileError as error:
        print(error)
        status = 1
    write_pictures()
    return status


def report(path: Path) -> int:
    """Refresh one notebook and print what came of it; return 1 where there are faults."""
    start = time.perf_counter()
    done, found = refresh(path)
    print(f"{path.name}: {done}, {time.perf_counter() - start:.0f} s", flush=True)
    for fault in found:
        print(f"  {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)  # what was written is whole; the command behind says that it has stopped
