"""Axis letters, the annotations' fallback, and an import that is light."""

import subprocess
import sys

from course_utils.shapes import axis_table


def test_axis_table_in_order():
    assert [line.split("`")[1] for line in axis_table("DT").splitlines()[2:]] == ["D", "T"]


def test_modules_run_without_jaxtyping():
    program = (
        "import sys; sys.modules['jaxtyping'] = None\n"
        "import torch\n"
        "from course_utils.shapes import Float\n"
        "from course_utils.attention import attend\n"
        "assert Float[torch.Tensor, 'T D'] is torch.Tensor\n"
        "q = torch.ones(2, 3)\n"
        "print(attend(q, q, q)[1].tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[[0.5, 0.5], [0.5, 0.5]]\n", "")


def test_import_is_light():
    program = (
        "import sys, course_utils\n"
        "print(course_utils.__version__, {'torch', 'numpy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "0.1.0 set()\n"
