"""`make outputs`: what it saves, what it refuses to save, and that it saves no noise."""

import base64
import io

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from tools.editions import outputs, snapshots
from tools.editions.notebook_outputs import differs, same_picture, with_small_pictures

# pyzmq on Windows says that asyncio's loop there needs a helper thread, and starts one.
pytestmark = pytest.mark.filterwarnings("ignore:Proactor event loop:RuntimeWarning")


# A picture, a live widget with its description in words, text in two pieces, an exception.
LECTURE = [
    """
import sys
print("one")
sys.stdout.flush()
print("two")
""",
    """
import io
from IPython.display import Image
from matplotlib.figure import Figure
figure = Figure(figsize=(2, 1))
figure.subplots().plot([0, 1], [2, 3])
figure.savefig(png := io.BytesIO(), format="png")
Image(png.getvalue())
""",
    """
import ipywidgets
from IPython.display import display
slider = ipywidgets.IntSlider()
display(slider._repr_mimebundle_() | {"text/plain": "A slider."}, raw=True)
""",
    """
import os
print(os.getpid())
""",
]


def png(colour: int, compression: int, width: int = 7) -> str:
    picture = io.BytesIO()
    Image.new("L", (width, 5), colour).save(picture, "PNG", compress_level=compression)
    return base64.b64encode(picture.getvalue()).decode()


def one_output(**output) -> nbformat.NotebookNode:
    """Return a notebook with one code cell and one output."""
    cell = new_code_cell("x", execution_count=1, outputs=[new_output(**output)])
    return new_notebook(cells=[cell])


@pytest.fixture(scope="module")
def lecture(tmp_path_factory):
    """A notebook as an author leaves it: cells, nothing run."""
    path = tmp_path_factory.mktemp("lecture") / "99_lecture.ipynb"
    cells = [new_code_cell(source.strip()) for source in LECTURE]
    cells[3].metadata["tags"] = ["nbval-ignore-output"]
    notebook = new_notebook(cells=[new_markdown_cell("# Why?"), *cells])
    notebook.metadata["widgets"] = {"state": {}}
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def saved(lecture):
    before = nbformat.read(lecture, as_version=4)
    assert outputs.refresh(lecture) == ("written", [])
    return before, nbformat.read(lecture, as_version=4)


def test_saved_in_order_with_ids_counts_and_tags_kept(saved):
    before, after = saved
    assert [cell.id for cell in after.cells] == [cell.id for cell in before.cells]
    assert [cell.execution_count for cell in after.cells[1:]] == [1, 2, 3, 4]
    assert after.cells[4].metadata.tags == ["nbval-ignore-output"]


def test_a_live_widget_is_saved_as_its_words(saved):
    _, after = saved
    assert dict(after.cells[3].outputs[0].data) == {"text/plain": "A slider."}


def test_a_second_run_leaves_the_file_alone(lecture, saved):
    before = lecture.read_bytes(), lecture.stat().st_mtime_ns
    # Between the runs the process number printed by the fourth cell changed, the picture did not.
    assert outputs.refresh(lecture) == ("unchanged", [])
    assert (lecture.read_bytes(), lecture.stat().st_mtime_ns) == before


BAD_CELLS = {
    "stderr": ("import sys; print('ah', file=sys.stderr)", "writes to stderr: ah"),
    "warning": ("import warnings; warnings.warn('old')", "writes to stderr"),
    "logged": ("import logging; logging.getLogger().warning('slow')", "writes to stderr: slow"),
    "exception": ("1 / 0", "raises ZeroDivisionError: division by zero"),
    "path": ("print('/home/ada/course/weights')", "shows the path /home/ada"),
    "installed": ("import numpy; print(numpy.__file__)", "shows the path"),
}


def test_faults_are_named_and_nothing_is_written(tmp_path):
    path = tmp_path / "bad.ipynb"
    cells = [new_code_cell(source) for source, _ in BAD_CELLS.values()]
    nbformat.write(new_notebook(cells=cells), path)
    before = path.read_bytes()

    done, found = outputs.refresh(path)

    assert done == "not written"
    assert path.read_bytes() == before
    for number, (name, (_, fault)) in enumerate(BAD_CELLS.items(), start=1):
        assert any(f"code cell {number} {fault}" in line for line in found), (name, found)


@pytest.mark.parametrize(
    ("other", "noise"),
    [
        (png(100, 9), True),  # encoded in another way
        (png(103, 1), True),  # the last bits of a sum
        (png(140, 1), False),  # another picture
        (png(100, 1, width=8), False),  # another size
    ],
)
def test_only_what_cannot_be_seen_in_a_picture_is_noise(other, noise):
    old = one_output(output_type="display_data", data={"image/png": png(100, 1)})
    new = one_output(output_type="display_data", data={"image/png": other})
    new.cells[0].id = old.cells[0].id
    assert old.cells[0].outputs != new.cells[0].outputs
    assert differs(old, new) is not noise


@pytest.mark.parametrize(("before", "stays"), [(103, True), (140, False)])
def test_a_picture_that_looks_as_it_did_keeps_its_bytes(before, stays):
    old = one_output(output_type="display_data", data={"image/png": png(before, 1)})
    new = one_output(output_type="display_data", data={"image/png": png(100, 9)})
    new.cells[0].id = old.cells[0].id
    (output,) = with_small_pictures(new, old).cells[0].outputs
    assert (output.data["image/png"] == png(before, 1)) is stays
    assert same_picture(output.data["image/png"], png(100, 1))


def with_page() -> nbformat.NotebookNode:
    """A notebook with the page of an explorer, as it is before its picture is taken."""
    words = {"text/plain": "How far?\n5 apart"}
    return one_output(output_type="display_data", data={**words, snapshots.PAGE: "<p>A page</p>"})


def test_a_picture_carries_the_browsers_caption_and_its_size(monkeypatch):
    taken = [snapshots.Snapshot(png(90, 1, width=14), "The score is 0.73.")]
    monkeypatch.setattr(snapshots, "take_pictures", lambda pages: taken)
    (output,) = snapshots.with_snapshots(with_page(), with_page()).cells[0].outputs
    alt = "How far? The score is 0.73."
    assert output.metadata["image/png"] == {"alt": alt, "width": 7, "height": 2}
    assert output.metadata["needs_background"] == "light"


@pytest.mark.parametrize("broken", ["missing", "not starting"])
def test_without_chromium_earlier_pictures_stay(monkeypatch, tmp_path, capsys, broken):
    program = tmp_path / "chromium"
    if broken == "not starting":
        pytest.importorskip("playwright")
        program.write_text("no program")
        program.chmod(0o755)
    monkeypatch.setenv("CHROMIUM", str(program))
    words, looks = {"text/plain": "How far?\n5 apart"}, {"image/png": {"alt": "The score is 0.73."}}
    data = {**words, "image/png": png(100, 1)}
    old = one_output(output_type="display_data", data=data, metadata=looks)
    (output,) = snapshots.with_snapshots(with_page(), old).cells[0].outputs
    assert (output.data, output.metadata) == (data, looks)
    assert "Pictures of explorers: 1 kept, 0 missing." in capsys.readouterr().out
    other = snapshots.with_snapshots(with_page(), one_output(output_type="stream", text="x"))
    assert other.cells[0].outputs[0].data == words
    assert "Pictures of explorers: 0 kept, 1 missing." in capsys.readouterr().out


# As an editor saves: the file that the notebook runs from has another paragraph by now.
EDITED = """
import json
from pathlib import Path
path = Path("edited.ipynb")
notebook = json.loads(path.read_text())
notebook["cells"].append({"cell_type": "raw", "id": "new", "metadata": {}, "source": "mine"})
path.write_text(json.dumps(notebook))
"""


def test_what_is_saved_while_it_runs_stays(tmp_path, capsys):
    path = tmp_path / "edited.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(EDITED)]), path)
    assert outputs.report(path) == 1
    assert nbformat.read(path, as_version=4).cells[-1].source == "mine"
    assert "edited.ipynb was saved" in capsys.readouterr().out
