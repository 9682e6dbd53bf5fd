"""The packaged text: what it holds and what it does not; and how a text is cleaned."""

import ast
import re
from collections import Counter

import pytest

from course_utils.data import package_files
from course_utils.data.course_text import course_code, course_prose
from course_utils.data.package_files import DATA, SHA256, PackagedFileError, read_packaged
from course_utils.language_modeling import split_text
from tools.scripts import course_text as script


def lines():
    return [line for line in course_prose().split("\n") if line]


def test_the_prose_is_sentences():
    text = course_prose()
    assert len(text) > 200_000 and text.count("\n\n") > 300
    assert not re.search(r"[\\$<>|{}`]|\*\*|https?:|^ |^#", text, flags=re.MULTILINE)
    letters = sum(letter.isascii() and letter.isalpha() for letter in text)
    assert letters > 0.77 * len(text)
    beyond_ascii = sum(not letter.isascii() for letter in text)
    assert beyond_ascii < 1e-3 * len(text)
    ends = sum(line.endswith((".", "!", "?", ":", ")", '"')) for line in lines())
    assert ends == len(lines())


def test_no_line_stands_twice():
    """Else a model could know what is held out."""
    assert len(set(lines())) == len(lines())


def test_words_of_the_course():
    words = re.findall(r"[a-z]+", course_prose().lower())
    share = {
        word: words.count(word) / len(words) for word in ("the", "attention", "mask", "softmax")
    }
    assert 0.04 < share["the"] < 0.12
    assert min(share.values()) > 5e-4


def test_any_share_is_like_the_rest():
    """Parts of lectures and modules are mixed: the last tenth has the same frequent words."""
    learn, held_out = split_text(course_prose(), 0.9)
    counts = [Counter(re.findall(r"[a-z]+", part.lower())) for part in (learn, held_out)]
    shares = [
        [count[word] / count.total() for word, _ in counts[0].most_common(8)] for count in counts
    ]
    assert all(0.5 < b / a < 2 for a, b in zip(*shares, strict=True))
    # Unmixed, the lectures would come first, and lines that begin with Return last.
    begins = [part.count("\nReturn ") / part.count("\n") for part in (learn, held_out)]
    assert 0.5 < begins[1] / begins[0] < 2


def test_code_without_docstrings_parses():
    code = course_code()
    tree = ast.parse(code)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert len(functions) > 200
    assert not any(ast.get_docstring(node) and len(node.body) > 1 for node in functions)
    assert "__all__" not in code and "# " in code


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(package_files, "DATA", tmp_path)
    (tmp_path / "prose.txt").write_bytes((DATA / "prose.txt").read_bytes() + b".")
    with pytest.raises(PackagedFileError, match=r"^prose\.txt must have SHA-256 .* got \w{16}"):
        course_prose()
    with pytest.raises(PackagedFileError, match=r"^code\.txt must be readable in "):
        course_code()


def test_only_packaged_files_are_read():
    with pytest.raises(KeyError):
        read_packaged("../packaged.py")


def test_every_file_is_listed():
    files = [
        path for path in DATA.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    found = {path.relative_to(DATA).as_posix() for path in files}
    assert found == set(SHA256)
    assert all(read_packaged(name) for name in SHA256)


MARKDOWN = """\
## A title of a part

A query may read each key with $s \\le t$, and **none** of those that follow. More about it
follows in [lecture 03](03_heads.ipynb). The scores of a `head` are divided by $\\sqrt{d_k}$ first.

$$\\text{weights} = \\operatorname{softmax}(\\text{scores})$$

| axis | meaning |
| --- | --- |
| `B` | batch of sentences |

- An item of a list is a sentence, too.
- `code(only, here)`

<details>
<summary>Hint</summary>

Look at the last axis of the scores.

```python
scores.softmax(dim=-1)
```

</details>

The sum $\\sum_{s=1}^{S} \\frac{x}{y^{2}}$ cannot be said in a line.
"""


def test_markdown_becomes_sentences():
    assert script.prose_of_markdown(MARKDOWN).split("\n") == [
        "A query may read each key with s ≤ t, and none of those that follow. "
        "More about it follows in lecture 03. The scores of a head are divided by √d_k first.",
        "An item of a list is a sentence, too.",
        "Look at the last axis of the scores.",
    ]


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (r"\sqrt{d}", "√d"),
        (r"\frac{1}{N}", "1/N"),
        (r"\frac{a + b}{N}", "(a + b)/(N)"),
        (r"s \le t", "s ≤ t"),
        (r"\text{softmax}(x)", "softmax(x)"),
        (r"\left(x\right)", r"\left(x\right)"),
    ],
)
def test_formulas_in_plain_signs(formula, said):
    assert script.plain(formula) == said


def test_code_without_docstrings():
    source = '"""Module."""\n\n__all__ = ["f"]\n\n\ndef f():\n    """Doc."""\n    return 1  # why\n'
    assert script.without_docstrings(source) == "def f():\n    return 1  # why"
    only = 'class Refused(ValueError):\n    """Nothing else."""\n'
    assert script.without_docstrings(only) == only.strip()


def test_each_line_once():
    texts = ["One line.\nTwo.", "Two.\nThree.\nThree.", "One line."]
    assert list(script.each_line_once(texts)) == ["One line.\nTwo.", "Three."]
