"""Where the files of the published GPT-2 are, and their hashes.

`make gpt2` fetches them. It needs only the standard library.

Source: Radford et al., "Language models are unsupervised multitask learners", 2019: the smallest
of the four models, in the hub's format.
"""

import hashlib
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "weights" / "gpt2"
MODEL, REVISION = "openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e"
SHA256 = {
    "config.json": "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4",
    "tokenizer.json": "8414cab924d8b9b33013f0d221c5862f365ee9be39c5c2bfae8a5a9e970478a6",
    "model.safetensors": "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
}


class GPT2FileError(RuntimeError):
    """A file has another hash than that of the published GPT-2."""


def find_gpt2() -> Path | None:
    """Return the folder of the published GPT-2; None if `make gpt2` has not fetched all of it.

    Raises:
        GPT2FileError: a RuntimeError, if a file has another SHA-256 than the published one.

    >>> folder = find_gpt2()
    >>> folder is None or (folder / "config.json").is_file()
    True
    """
    if not all((FOLDER / name).is_file() for name in SHA256):
        return None
    for name, expected in SHA256.items():
        found = sha256_of(FOLDER / name)
        if found != expected:
            raise GPT2FileError(
                f"{name} must have SHA-256 {expected[:16]}..., got {found[:16]}...: the file in "
                f"{FOLDER} is damaged; `make gpt2` fetches it again"
            )
    return FOLDER


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    >>> sha256_of(Path(__file__)) == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    True
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
