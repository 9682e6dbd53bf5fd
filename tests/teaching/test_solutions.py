"""How a published solution is found in a lecture; the lectures themselves are tested elsewhere."""

from nbformat import write
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.support_errors import raises_saying
from tests.teaching.support_exercises import defined, solution_source, stub_source

STUB = "def half(x):\n    return ..."
SOLUTION = (
    "<details><summary>Solution (gentle, 2 min)</summary>\n\n```python\n{}\n```\n\n</details>"
)
CODE = "def half(x):\n    return math.sqrt(x * x) / 2"


def lecture(path, *cells):
    write(new_notebook(cells=list(cells)), path)
    return path


def markdown(code):
    return new_markdown_cell(SOLUTION.format(code))


def stub(tags=("exercise",)):
    return new_code_cell(STUB, metadata={"tags": list(tags)})


def test_the_solution_is_the_block_that_defines_the_function(tmp_path):
    other = markdown("def third(x):\n    return x / 3")
    prose = new_markdown_cell(f"An aside.\n\n```python\n{CODE}\n```")
    path = lecture(tmp_path / "x.ipynb", stub(), prose, other, markdown(CODE))
    source = solution_source(path, "half")
    assert source.strip() == CODE
    assert defined(source, "half")(-3) == 1.5


def test_the_stub_is_the_tagged_cell(tmp_path):
    path = lecture(tmp_path / "x.ipynb", stub(tags=()), stub())
    assert defined(stub_source(path, "half"), "half")(3) is ...


def test_a_lecture_without_a_solution_or_with_two_is_refused(tmp_path):
    for count, cells in ((0, []), (2, [markdown(CODE), markdown(CODE)])):
        path = lecture(tmp_path / "x.ipynb", *cells)
        with raises_saying(
            LookupError, f"x.ipynb must hold one solution that defines half, found {count}"
        ):
            solution_source(path, "half")


def test_a_lecture_without_a_stub_is_refused(tmp_path):
    path = lecture(tmp_path / "x.ipynb", stub(tags=()))
    with raises_saying(LookupError, "x.ipynb must hold one stub that defines half, found 0"):
        stub_source(path, "half")
