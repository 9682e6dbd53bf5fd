"""Fetch the weights of the published GPT-2, once, into weights/gpt2: what `make gpt2` calls.

    python tools/scripts/fetch_gpt2.py

Every file is one fixed version, and is moved into place only when its SHA-256 is the known one.
What is there already stays; what was cut off goes on where it stopped. Lecture 06 finds the folder,
and runs without it too.
"""

import os
import shutil
import sys
from pathlib import Path

from huggingface_hub import hf_hub_download
from huggingface_hub.utils import logging

from course_utils.data.gpt2_files import FOLDER, MODEL, REVISION, SHA256, sha256_of


class NotFetchedError(Exception):
    """A file could not be had: the message is a sentence for the reader."""


def main() -> int:
    """Fetch what is missing; return 1 if something could not be had, and say why in a sentence."""
    missing = [name for name, sha256 in SHA256.items() if not is_there(FOLDER / name, sha256)]
    if not missing:
        print(f"GPT-2 is here already: {FOLDER}")
        return 0
    print(f"Fetching GPT-2 into {FOLDER}: 550 MB, once.", flush=True)
    unfinished = FOLDER / "unfinished"
    try:
        for name in missing:
            os.replace(fetched(name, unfinished), FOLDER / name)
    except NotFetchedError as error:
        print(error, file=sys.stderr)
        return 1
    shutil.rmtree(unfinished)
    print("GPT-2 is here. Run lecture 06 again to see it write.")
    return 0


def is_there(path: Path, sha256: str) -> bool:
    """Whether the file is there, and is the one that is meant."""
    return path.is_file() and sha256_of(path) == sha256


def fetched(name: str, folder: Path) -> Path:
    """Return the path of a file that was fetched into a folder and is the one that is meant.

    Raises:
        NotFetchedError: if the network or the disk failed, or another file came.
    """
    logging.set_verbosity_error()  # what fails is said once, below, and not at each new try
    try:
        path = Path(hf_hub_download(MODEL, name, revision=REVISION, local_dir=folder))
    except Exception as error:  # of whichever HTTP library the hub's client has
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise NotFetchedError(
            f"GPT-2's {name} could not be fetched, and the course works without it; "
            f"with a network, run `make gpt2` again. The reason: {reason}"
        ) from None
    found = sha256_of(path)
    if found != SHA256[name]:
        path.unlink()
        raise NotFetchedError(
            f"GPT-2's {name} must have SHA-256 {SHA256[name][:16]}..., got {found[:16]}...: "
            "another file came, and was thrown away."
        )
    return path


if __name__ == "__main__":
    sys.exit(main())
