"""Copies of the lectures for Colab and Kaggle, with a page of links to open them.

    python -m tools.editions.colab --repository OWNER/NAME --ref COMMIT --out build/colab

They are the reader's copies behind one more cell. It installs the course from a commit, without its
dependencies: Colab has them all, in versions that its kernel is running with. CI puts the folder on
the branch `colab`, which the links name.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from course_utils.data.minilm_files import REQUIREMENT
from course_utils.files import write_whole
from lectures import COURSE
from tools.editions.reader import reader_copy

ROOT = Path(__file__).resolve().parents[2]
BRANCH = "colab"
INSTALL = """\
# For Colab and Kaggle: brings the course and its language model, and leaves the rest as it is.
%pip install -q --no-deps "attention-course @ git+https://github.com/{repository}@{ref}" {model}
"""
OTHER_LECTURE = re.compile(r"\]\((\d\d[a-z]?_\w+\.ipynb)")
README = """\
# The lectures, in Colab

Written by a program from [the course](https://github.com/{repository}): edit the lectures there.
Nothing is installed on your machine. Run the first cell, then go on; a restart is not needed. To
keep your work: *File → Save a copy in Drive*.

| | lecture | question |
| :---: | --- | --- |
{rows}
"""


def colab_copy(notebook: dict[str, Any], repository: str, ref: str) -> dict[str, Any]:
    """Return a lecture as Colab should open it."""
    notebook = reader_copy(notebook)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            linked = OTHER_LECTURE.sub(rf"]({address('', repository)}\1", "".join(cell["source"]))
            cell["source"] = linked.splitlines(keepends=True)
    source = INSTALL.format(repository=repository, ref=ref, model=REQUIREMENT)
    install = {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
        "outputs": [],
        "source": source.strip().splitlines(keepends=True),
    }
    notebook["cells"].insert(1, install)  # after the title
    return notebook


def address(file: str, repository: str) -> str:
    """Return where Colab opens a file of the branch.

    >>> address("00_start_here.ipynb", "owner/name")
    'https://colab.research.google.com/github/owner/name/blob/colab/00_start_here.ipynb'
    """
    return f"https://colab.research.google.com/github/{repository}/blob/{BRANCH}/{file}"


def write_copies(folder: Path, repository: str, ref: str) -> None:
    """Write every lecture's copy, and the page with their links, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for lecture in COURSE:
        name = f"{lecture.stem}.ipynb"
        notebook = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))
        text = json.dumps(colab_copy(notebook, repository, ref), indent=1, ensure_ascii=False)
        write_whole(folder / name, (text + "\n").encode())
        link = f"[{lecture.title}]({address(name, repository)})"
        rows.append(f"| {lecture.number} | {link} | {lecture.question} |")
    page = README.format(repository=repository, rows="\n".join(rows))
    write_whole(folder / "README.md", page.encode())


def main(arguments: list[str]) -> int:
    """Write the copies."""
    parser = argparse.ArgumentParser(description="Write the lectures' copies for Colab.")
    parser.add_argument("--repository", required=True, help="where the course lies: OWNER/NAME")
    parser.add_argument("--ref", required=True, help="the commit that the copies install")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "colab")
    options = parser.parse_args(arguments)
    write_copies(options.out, options.repository, options.ref)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
