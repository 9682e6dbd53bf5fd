"""A folder with a model's files. Only JSON and safetensors are read; nothing is unpickled.

It needs only the standard library, so that installed models can be found without torch.
"""

import json
from pathlib import Path

_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def model_folder(path: str | Path, needed: tuple[str, ...], not_found: type[Exception]) -> Path:
    """Return the path of a folder that has the files needed, or raise ``not_found``."""
    __tracebackhide__ = True
    folder = Path(path)
    rule = f"path must be a folder with {', '.join(needed)}"
    if not folder.is_dir():
        came = "the file" if folder.is_file() else "no folder"
        raise not_found(f"{rule}, got {came} {str(path)!r}")
    if missing := missing_files(folder, needed):
        pickles = sorted(file.name for kind in _PICKLED for file in folder.glob(kind))
        note = f" ({pickles[0]} is not read: a pickle can run any program)" if pickles else ""
        raise not_found(f"{rule}, got {str(path)!r} without {', '.join(missing)}{note}")
    return folder


def missing_files(folder: Path, needed: tuple[str, ...]) -> list[str]:
    """Return which of the files are not in the folder."""
    return [name for name in needed if not (folder / name).is_file()]


def read_json(path: Path, refused: type[Exception]) -> dict:
    """Return the fields of a JSON object, or raise ``refused``."""
    __tracebackhide__ = True
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise refused(f"{path.name} must be JSON, got: {error}") from None
    if not isinstance(content, dict):
        raise refused(f"{path.name} must be a JSON object, got {content!r:.40}")
    return content
