"""`my_gpt.py`: what passed its check is kept, and runs alone."""

import os
import re
import sys
from types import SimpleNamespace

import pytest
import torch

from course_utils.teaching import parts
from course_utils.teaching.parts import PartsError, my_parts
from tests.teaching.support_reader import (
    MIX_CELL,
    SHARES_CELL,
    SIMPLE,
    TWICE_CELL,
    X,
)


class TestKept:
    def test_parts_in_the_order_of_their_building(self, reader, folder):
        assert reader.check("shares", SHARES_CELL) == "Kept as `shares` in my_gpt.py."
        assert reader.check("mix_rows", MIX_CELL) == "Kept as `mix` in my_gpt.py."
        assert reader.check("Twice", TWICE_CELL) == "Kept as `Twice` in my_gpt.py."
        first, second = SHARES_CELL.strip(), MIX_CELL.strip().replace("mix_rows", "mix")
        assert reader.text == (
            f"{parts.HEADER}\n\n# shares: Build shares\n{first}\n\n\n# mix: Build mix\n{second}\n"
            f"\n\n# Twice: Build Twice\n{TWICE_CELL.strip()}\n"
        )
        mine = my_parts(folder)
        assert torch.allclose(mine["mix"](X), X.softmax(-1) @ X.T)
        assert torch.equal(mine["Twice"](3)(X), 2 * X)
        assert sorted(os.listdir(folder)) == ["00_start_here.ipynb", "my_gpt.py"]

    def test_what_is_there_already_is_left_alone(self, reader):
        reader.check("shares", SHARES_CELL)
        before = reader.file.stat().st_mtime_ns, reader.text
        spaced = SHARES_CELL.replace("# no", "#  really no")
        assert reader.check("shares", spaced) == "`shares` is in my_gpt.py."
        assert (reader.file.stat().st_mtime_ns, reader.text) == before

    @pytest.mark.parametrize(
        "cell",
        [
            "@torch.no_grad()\ndef shares(x):\n    return x.softmax(-1)",
            "def shares(x):\n    return 0\n\ndef shares(x):\n    return x.softmax(-1)\n",
            "def shares(x):\n    return x.softmax(-1)\ngood = shares\n"
            "def shares(x):\n    return 0\nshares = good",
            "def shares(x): return x.softmax(-1)\nshares.__module__ = None",
            "if True:\n    width = 3\ndef shares(x): return x.softmax(-1)",
            "from functools import cache\ndef shares(x):\n    import math\n"
            "    return x.softmax(-1) * math.cos(0)",
            "def shares(x):\n    def inner(y):\n        return y.softmax(-1)\n    return inner(x)",
            'def shares(x: Tensor) -> "Tensor":\n    text = """\ndef shares(\n"""\n'
            "    return x.softmax(-1)",
        ],
    )
    def test_ways_to_write_a_part(self, reader, folder, cell):
        reader.names["Tensor"] = torch.Tensor
        assert reader.check("shares", cell) == "Kept as `shares` in my_gpt.py."
        assert torch.allclose(my_parts(folder)["shares"](X), X.softmax(-1))

    @pytest.mark.parametrize(
        "cell",
        [
            "shares = lambda x: x.softmax(-1)",
            "from functools import partial\nshares = partial(torch.softmax, dim=-1)",
            "def make():\n    def inner(x):\n        return x.softmax(-1)\n    return inner\n"
            "shares = make()",
            "if True:\n    def shares(x):\n        return x.softmax(-1)",
            "shares = nn.Softmax(dim=-1)",
            "shares = exercises.check_shares.__self__.reference",
            "def shares(x): return x.softmax(-1)\nshares.__module__ = 'course_utils.attention'",
        ],
    )
    def test_what_has_no_code_of_its_own_is_told_so(self, reader, cell):
        assert reader.check("shares", cell) == (
            "Not kept in my_gpt.py: write it yourself, as `def shares` or `class shares` at the "
            "left edge of a cell."
        )
        assert not reader.file.exists()

    def test_a_magic_that_leaves_no_text_is_named(self, reader):
        """`%%time` runs what stands below it as `exec` does."""
        said = reader.check("shares", f"exec(compile({SIMPLE!r}, '<timed exec>', 'exec'))")
        assert "`%%time`" in said and not reader.file.exists()

    def test_a_wrong_answer_is_not_kept(self, reader):
        reader.run("def shares(x): return x.softmax(-1) / 2")
        verdict = reader.run("exercises.check_shares(shares, replace=True)")
        assert verdict.message == "Half of what is right." and not reader.file.exists()


class TestBrought:
    """What a part uses from the notebook comes with it."""

    def test_functions_classes_and_imports(self, reader, folder):
        reader.run("import numpy as np\nfrom course_utils.masks import causal_mask")
        reader.run("from functools import partial as with_some")
        reader.run("def inner(x):\n    return with_some(torch.mul, x)(np.float32(1))\n")
        reader.run("class Outer(nn.Module):\n    def forward(self, x):\n        return inner(x)\n")
        cell = "def shares(x):\n    causal_mask(3), math.pi\n    return Outer()(x).softmax(-1)"
        reader.run("import math")
        assert reader.check("shares", cell) == (
            "Kept as `shares` in my_gpt.py, with `inner`, `Outer`."
        )
        assert torch.allclose(my_parts(folder)["shares"](X), X.softmax(-1))
        assert re.findall(r"^(?:def|class) (\w+)", reader.text, re.M) == [
            "inner", "Outer", "shares",
        ]  # fmt: skip
        top = reader.text.split("# shares")[0].splitlines()
        assert {"import numpy as np", "from course_utils.masks import causal_mask"} <= {*top}
        assert "from functools import partial as with_some" in top
        assert top.count("import math") == 1  # which the file has from the beginning

    def test_again_it_is_there_already(self, reader):
        reader.run("import numpy as np\ndef helper(x):\n    return np.float32(1) * x\n")
        cell = "def shares(x):\n    return helper(x).softmax(-1)"
        reader.check("shares", cell)
        before = reader.text
        assert reader.check("shares", cell) == "`shares` is in my_gpt.py."
        assert reader.text == before

    def test_another_helper_is_replaced_when_asked(self, reader, folder):
        reader.run("def helper(x):\n    return 1.0 * x\n")
        cell = "def shares(x):\n    return helper(x).softmax(-1)"
        reader.check("shares", cell)
        before = reader.text
        reader.run("def helper(x):\n    return x.clone()\n")
        said = reader.check("shares", cell)
        assert "has another `helper`" in said and "replace=True" in said and reader.text == before
        assert "Kept" in reader.check("shares", cell, replace=True)
        assert reader.text == before.replace("1.0 * x", "x.clone()")
        assert "1.0 * x" in reader.replaced.read_text("utf-8")

    def test_a_new_helper_of_a_part_that_is_there(self, reader, folder):
        reader.check("shares", SIMPLE)
        reader.run("def helper(x):\n    return 1.0 * x\n")
        cell = "def shares(x):\n    return helper(x).softmax(-1)"
        reader.check("shares", cell, replace=True)
        assert reader.text.index("def helper") < reader.text.index("def shares")
        assert torch.allclose(my_parts(folder)["shares"](X), X.softmax(-1))

    def test_functions_that_call_each_other(self, reader, folder):
        reader.run("def even(n):\n    return n == 0 or odd(n - 1)\n")
        reader.run("def odd(n):\n    return n > 0 and even(n - 1)\n")
        reader.check("shares", "def shares(x):\n    return x.softmax(-1) if even(4) else 0")
        assert torch.allclose(my_parts(folder)["shares"](X), X.softmax(-1))

    def test_a_class_comes_after_what_it_is_made_from(self, reader, folder):
        reader.run("class Base:\n    def run(self, x):\n        return x.softmax(-1)\n")
        reader.run("class Heir(Base):\n    def go(self, x):\n        return self.run(x)\n")
        reader.check("shares", "def shares(x):\n    return Heir().go(x)")
        assert torch.allclose(my_parts(folder)["shares"](X), X.softmax(-1))

    def test_a_part_of_another_exercise_and_then_that_exercise(self, reader):
        reader.run(SHARES_CELL)
        assert reader.check("mix_rows", MIX_CELL) == "Kept as `mix` in my_gpt.py, with `shares`."
        assert reader.check("shares") == "`shares` is in my_gpt.py."

    def test_what_comes_from_the_file_stays_there(self, reader, folder):
        """The notebook's `shares` is the file's own."""
        reader.check("shares", SHARES_CELL)
        reader.names["shares"] = my_parts(folder)["shares"]
        assert reader.check("mix_rows", MIX_CELL) == "Kept as `mix` in my_gpt.py."
        assert reader.text.count("def shares") == 1 and "import shares" not in reader.text

    def test_another_name_for_what_is_in_the_file(self, reader, folder):
        """The file cannot import from itself."""
        reader.check("shares", SHARES_CELL)
        reader.names["other"] = my_parts(folder)["shares"]
        said = reader.check("mix_rows", MIX_CELL.replace("shares", "other"))
        assert "the definition of `other`" in said and "import shares" not in reader.text


class TestAlone:
    @pytest.mark.parametrize(
        "value", ["width = 64", "width = lambda: 1", "width = nn.Linear(2, 2)", "'nothing'"]
    )
    def test_what_cannot_be_brought_is_named(self, reader, value):
        reader.run(value)
        said = reader.check(
            "shares", "def shares(x):\n    return x.softmax(-1) if len(x) else width"
        )
        assert said == (
            "Not kept in my_gpt.py: `shares` uses names from elsewhere in the notebook. Write this "
            "inside it, then run its cell and this one again: the definition of `width`."
        )
        assert not reader.file.exists()

    def test_of_a_helper_too(self, reader):
        reader.run("width = 64\ndef helper(x):\n    return x + 0 * width\n")
        said = reader.check("shares", "def shares(x):\n    return helper(x).softmax(-1)")
        assert "`helper` uses names from elsewhere" in said and not reader.file.exists()

    def test_a_part_that_is_other_in_the_file(self, reader, folder):
        """In the notebook it uses the course's `shares`, and the file has a broken one."""
        reader.file.write_text("def shares(x):\n    return x\n", encoding="utf-8")
        reader.names["shares"] = torch.special.softmax
        said = reader.check("mix_rows", "def mix_rows(x):\n    return shares(x, dim=-1) @ x.T\n")
        assert said.startswith("Not kept in my_gpt.py: run from that file, `mix` does not pass. ")
        assert reader.text == "def shares(x):\n    return x\n"


FUTURE = """from __future__ import annotations
from dataclasses import dataclass
from pathlib import Path
import pickle

@dataclass
class Sizes:
    width: int = 64

HERE = Path(__file__).name
"""


class TestAsAnImport:
    def test_the_file_may_do_what_a_module_may(self, reader, folder):
        reader.file.write_text(FUTURE, encoding="utf-8")
        cell = (
            "def shares(x):\n    from dataclasses import dataclass\n    @dataclass\n"
            "    class Row:\n        row: 'int' = 0\n    return x.softmax(-1)"
        )
        assert reader.check("shares", cell) == "Kept as `shares` in my_gpt.py."
        assert "my_gpt" not in sys.modules
        mine = my_parts(folder)
        assert mine["HERE"] == "my_gpt.py" and mine["Sizes"]() == mine["Sizes"](64)
        assert mine["pickle"].loads(mine["pickle"].dumps(mine["Sizes"](7))).width == 7
        assert torch.allclose(mine["shares"](X), X.softmax(-1))

    def test_a_part_may_be_a_dataclass(self, reader, folder):
        cell = (
            "from dataclasses import dataclass\n@dataclass\nclass Twice:\n    width: int = 3\n"
            "    def __call__(self, x):\n        return self.width * x * 2 / 3"
        )
        reader.file.write_text("from dataclasses import dataclass\n", encoding="utf-8")
        assert reader.check("Twice", cell) == "Kept as `Twice` in my_gpt.py."
        assert torch.equal(my_parts(folder)["Twice"](3)(X), 2 * X)

    def test_the_readers_own_import_stays(self, reader, monkeypatch):
        theirs = SimpleNamespace()
        monkeypatch.setitem(sys.modules, "my_gpt", theirs)
        reader.check("shares", SIMPLE)
        assert sys.modules["my_gpt"] is theirs

    def test_what_it_sets_ends_with_it(self, reader, folder):
        sets = "import torch\ntorch.set_grad_enabled(False)\ntorch.manual_seed(0)\n"
        sets += "torch.set_default_dtype(torch.float64)\ntorch.set_default_device('meta')\n"
        reader.file.write_text(sets, encoding="utf-8")
        before = torch.get_rng_state()
        assert reader.check("shares", SIMPLE) == "Kept as `shares` in my_gpt.py."
        my_parts(folder)
        assert torch.is_grad_enabled() and torch.get_default_dtype() == torch.float32
        assert torch.get_default_device().type == "cpu"
        assert torch.equal(torch.get_rng_state(), before)


class TestTime:
    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch):
        monkeypatch.setattr(parts, "SECONDS", 0.5)

    def test_a_file_that_never_ends(self, reader, folder):
        content = "def count():\n    while True:\n        pass\n\n\ncount()\n"
        reader.file.write_text(content, encoding="utf-8")
        said = reader.check("shares", SIMPLE)
        assert "the file was stopped after 0.5 s, in line " in said
        assert re.search("in line [23]: ", said)
        with pytest.raises(PartsError, match=r"stopped after 0\.5 s"):
            my_parts(folder)
        assert reader.text == content

    def test_a_part_that_never_ends_in_the_file(self, reader):
        reader.file.write_text("def shares(*x):\n    while True:\n        pass\n", encoding="utf-8")
        reader.names["shares"] = torch.special.softmax
        said = reader.check("mix_rows", MIX_CELL.replace("shares(x)", "shares(x, -1)"))
        assert "run from the file, `mix` was stopped after 0.5 s" in said
        assert "mix" not in reader.text


class TestWhere:
    def test_only_beside_a_readers_copies(self, reader, folder):
        copy = folder / "00_start_here.ipynb"
        lecture = copy.read_text("utf-8").replace("course_edition", "x")
        copy.write_text(lecture, "utf-8")  # as in notebooks/
        assert reader.check("shares", SIMPLE) == "Right."
        assert my_parts() == {} and not reader.file.exists()

    def test_the_folder_is_gone(self, reader, tmp_path, monkeypatch):
        gone = SimpleNamespace(cwd=(tmp_path / "nothing").read_bytes)
        monkeypatch.setattr(parts, "Path", gone)
        assert reader.check("shares", SIMPLE) == "Right."

    def test_a_link_to_nowhere_is_no_copy(self, reader, folder):
        if os.name != "nt":
            (folder / "00_a.ipynb").symlink_to(folder / "nowhere")
        assert reader.check("shares", SIMPLE) == "Kept as `shares` in my_gpt.py."
        assert my_parts()["shares"](X).shape == X.shape
