"""A reader's copy that is open in JupyterLab while its lecture changes on disk."""

import json
import os

import pytest

from tests.browser.support_page import wait_for
from tools.editions.my_course import update_copies

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COPY = "03_heads.ipynb"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def write_edition(lectures, title):
    """A lecture of two cells, as it is in an edition of the course."""
    code = {"cell_type": "code", "execution_count": None, "outputs": [], "source": "x = 3"}
    cells = [{"cell_type": "markdown", "source": f"# {title}"}, code]
    cells = [{"id": f"c{n}", "metadata": {}, **cell} for n, cell in enumerate(cells)]
    content = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    lectures.mkdir(exist_ok=True)
    (lectures / COPY).write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("answer", ["Overwrite", "Revert"])
def test_work_in_an_open_copy_outlives_an_update(open_notebook, lab, tmp_path, answer):
    lectures, mine = tmp_path / "notebooks", lab.folder / f"my_course_{answer}"
    write_edition(lectures, "First edition")
    update_copies(lectures, mine)
    opened = open_notebook(f"{mine.name}/{COPY}")
    tab = opened.page
    editor = tab.locator(".jp-CodeCell .cm-content")
    editor.click()
    tab.keyboard.press("End")
    tab.keyboard.type(" + 4")

    write_edition(lectures, "Second edition")
    # A file system's clock may be too coarse to show that the copy is another.
    update_copies(lectures, mine)
    later = (mine / COPY).stat().st_mtime + 2
    os.utime(mine / COPY, (later, later))

    tab.locator("[data-command='docmanager:save']").first.click()
    dialog = tab.locator(".jp-Dialog")
    dialog.wait_for()
    assert "x = 3 + 4" in editor.inner_text(), "the work is on the page, whatever is chosen"
    dialog.locator(f"button:has-text('{answer}')").click()
    saved, other = ("x = 3 + 4", "Second") if answer == "Overwrite" else ("Second", "x = 3 + 4")
    page = tab.locator(".jp-Notebook")
    wait_for(lambda: saved in page.inner_text() and other not in page.inner_text(), str)
    wait_for(lambda: saved in (mine / COPY).read_text(encoding="utf-8"), str)
    opened.close()
