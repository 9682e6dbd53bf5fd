"""What a lecture shows: agreement, source, source notes, cards."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_utils.teaching import check_close, show_source, source_note
from tests.support_errors import raises_saying


class TestCheckClose:
    @pytest.mark.parametrize(
        ("actual", "expected", "line"),
        [
            (torch.ones(2, 3), np.ones((2, 3)), "agrees: w, shape (2, 3), within 1e-05\n"),
            (3, torch.tensor(3.0), "agrees: w, one number, within 1e-05\n"),
            (torch.zeros(0, 5), torch.zeros(0, 5), "agrees: w, shape (0, 5), within 1e-05\n"),
            (torch.ones(2, dtype=torch.bfloat16), [1, 1], "agrees: w, shape (2,), within 1e-05\n"),
            ([float("inf"), -float("inf")], [float("inf"), -float("inf")], None),
            (torch.ones(2, requires_grad=True), [1, 1], None),
            ([1 + 2j], torch.tensor([1 + 2j]), None),
            ([True, False], [1, 0], None),
        ],
    )
    def test_agreement_prints_one_line(self, actual, expected, line, capsys):
        check_close(actual, expected, name="w")
        printed = capsys.readouterr().out
        assert printed.startswith("agrees: w, ")
        assert printed.count("\n") == 1
        assert line is None or printed == line

    def test_the_line_holds_no_measured_difference(self, capsys):
        check_close([1.0], [1.0 + 3e-6])
        check_close([1.0], [1.0 - 7e-6])
        first, second = capsys.readouterr().out.splitlines()
        assert first == second == "agrees: result, shape (1,), within 1e-05"

    @pytest.mark.parametrize(
        ("actual", "expected", "message"),
        [
            (torch.ones(2, 3), torch.ones(3, 2), "w has shape (2, 3), expected (3, 2)"),
            ([1.0, 1.0], 1.0, "w has shape (2,), expected ()"),
            ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.5]],
             "w differs at index (1, 1): 4.0, expected 4.5 "
             "(difference 0.5, allowed 1e-05; 1 of 4 entries differ)"),
            ([float("nan"), 1.0], [float("nan"), 1.0],
             "w differs at index (0,): nan, expected nan "
             "(difference inf, allowed 1e-05; 1 of 2 entries differ)"),
            (float("inf"), -float("inf"),
             "w differs: inf, expected -inf (difference inf, allowed 1e-05)"),
            (2.0, 2.5, "w differs: 2.0, expected 2.5 (difference 0.5, allowed 1e-05)"),
        ],
    )  # fmt: skip
    def test_disagreement_says_where(self, actual, expected, message):
        with raises_saying(AssertionError, message):
            check_close(actual, expected, name="w")

    @given(st.floats(1e-9, 1e3), st.floats(0.1, 10))
    def test_the_bound_is_atol_and_nothing_else(self, atol, factor):
        # A multiple of atol, away from 1 so that rounding in 1 + difference does not decide.
        if abs(factor - 1) < 1e-3:
            return
        if factor <= 1:
            assert check_close(0.0, atol * factor, atol=atol) is None
        else:
            with pytest.raises(AssertionError, match="result differs"):
                check_close(0.0, atol * factor, atol=atol)


def documented(x):
    """One line.

    More lines.
    """

    y = x + 1  # kept
    return y


def only_docstring():
    """Nothing else."""


class Shape:
    """A class."""

    def area(self):
        """A method."""
        return 'text that """ looks like one'


class TestShowSource:
    def test_docstrings_go_and_the_rest_stays(self):
        assert show_source(documented).text == (
            "# tests/teaching/test_show_source.py, documented\n"
            "def documented(x):\n"
            "    y = x + 1  # kept\n"
            "    return y"
        )

    def test_a_body_of_a_docstring_alone_stays_a_function(self):
        text = show_source(only_docstring).text
        body = "def only_docstring():\n    ..."
        assert text == f"# tests/teaching/test_show_source.py, only_docstring\n{body}"
        compile(text, "shown", "exec")

    def test_a_class_loses_its_methods_docstrings_too(self):
        text = show_source(Shape).text
        assert "A class" not in text and "A method" not in text
        assert "looks like one" in text
        compile(text, "shown", "exec")

    def test_it_is_the_current_source_with_its_place_in_the_package(self):
        from course_utils import attention

        text = show_source(attention.attend, attention.masked_softmax).text
        assert text.startswith("# course_utils/attention.py, attend\ndef attend(")
        assert "\n\n\n# course_utils/attention.py, masked_softmax\n" in text
        assert '"""' not in text
        compile(text, "shown", "exec")

    def test_it_is_highlighted_where_markdown_is_and_plain_elsewhere(self):
        source = show_source(documented)
        assert source._repr_mimebundle_() == {
            "text/markdown": f"```python\n{source.text}\n```",
            "text/plain": source.text,
        }

    def test_a_name_shows_the_same_as_the_function(self):
        from course_utils import attention

        by_name = show_source("course_utils.attention.attend", docstring=True).text
        assert by_name == show_source(attention.attend, docstring=True).text

    def test_a_name_is_read_without_importing_its_module(self, tmp_path, monkeypatch):
        text = "import absent_package\n\n\n@absent_package.jit\ndef kernel(x):\n    return x\n"
        (tmp_path / "needs_more.py").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        shown = show_source("needs_more.kernel").text
        assert shown == (
            "# needs_more.py, kernel\n@absent_package.jit\ndef kernel(x):\n    return x"
        )

    @pytest.mark.parametrize(
        "name", ["attend", "", "nowhere.attend", "course_utils.attention.nothing", "sys.exit"]
    )
    def test_a_name_that_nothing_has_is_refused(self, name):
        with pytest.raises(ValueError, match="must be that of a function or class in a module"):
            show_source(name)

    @pytest.mark.parametrize("value", [len, 3, torch.exp])
    def test_what_has_no_python_source_is_refused(self, value):
        with pytest.raises(TypeError, match="no Python source to show for"):
            show_source(value)


NOTE = {"claim": "O(log N) layers", "measured": "32 layers", "holds": "only with dilation"}


class TestSourceNote:
    def test_it_says_claim_measurement_and_what_holds_in_this_order(self):
        bundle = source_note(2, **NOTE)._repr_mimebundle_()
        for text in bundle.values():
            places = [text.index(word) for word in ("Source note 2", *NOTE.values())]
            assert places == sorted(places)
        assert set(bundle) == {"text/html", "text/plain"}

    def test_text_cannot_become_markup(self):
        html = source_note(1, **{**NOTE, "claim": "a < b <script>"})._repr_mimebundle_()[
            "text/html"
        ]
        assert "<script>" not in html and "a &lt; b &lt;script&gt;" in html
