"""Fetch the weights of the published GPT-2, once, into weights/gpt2: what `make gpt2` calls.

    python -m tools.scripts.fetch_gpt2

Every file is one fixed version, and is moved into place only when its SHA-256 is the known one.
What is there already stays; what was cut off goes on where it stopped. Lecture 06 finds the folder,
and runs without it too. HF_ENDPOINT names another hub.
"""

import contextlib
import os
import shutil
import ssl
import sys
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path

from tqdm import tqdm

from course_utils.data.gpt2_files import FOLDER, MODEL, REVISION, SHA256, sha256_of
from tools.files import exclusive

SILENCE = 30  # seconds without a byte, after which the connection is given up


def main() -> int:
    """Fetch what is missing; return 1 if something could not be had, and say why in a sentence."""
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        with exclusive(FOLDER / ".lock", "GPT-2 is being fetched already; waiting for that."):
            missing = [name for name in SHA256 if not is_right(FOLDER / name, name)]
            if missing:
                print(f"Fetching GPT-2 into {FOLDER}: 550 MB, once.", flush=True)
            for name in missing:
                fetch(name)
    except (OSError, ValueError, HTTPException) as error:  # as for HF_ENDPOINT=nonsense
        print(
            f"GPT-2 could not be fetched, and the course works without it: {reason(error)}. "
            "`make gpt2` goes on where this stopped.",
            file=sys.stderr,
        )
        return 1
    print("GPT-2 is here. Run lecture 06 again to see it write.")
    return 0


def is_right(path: Path, name: str) -> bool:
    """Whether the file is there, and is the one that is meant."""
    return path.is_file() and sha256_of(path) == SHA256[name]


def fetch(name: str) -> None:
    """Fetch the rest of a file, and put it in its place if it is the one that is meant."""
    part = FOLDER / f"{name}.part"
    download(name, part)
    if not is_right(part, name):
        found = sha256_of(part)
        part.unlink()
        raise OSError(
            f"{name} must have SHA-256 {SHA256[name][:16]}..., got {found[:16]}...; "
            "another file came, and was thrown away"
        )
    os.replace(part, FOLDER / name)


def download(name: str, part: Path) -> None:
    """Write a file from the hub into `part`, from where an earlier try stopped."""
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(
        f"{hub}/{MODEL}/resolve/{REVISION}/{name}",
        headers={"User-Agent": "attention-course", "Range": f"bytes={have}-"},
    )
    with contextlib.ExitStack() as stack:
        try:
            answer = stack.enter_context(urllib.request.urlopen(request, timeout=SILENCE))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # nothing is missing: the earlier try was stopped at the very end
            raise
        goes_on = answer.status == HTTPStatus.PARTIAL_CONTENT
        have = have if goes_on else 0
        size = have + int(answer.headers.get("Content-Length", 0))
        file = stack.enter_context(part.open("ab" if goes_on else "wb"))
        bar = tqdm.wrapattr(answer, "read", total=size, initial=have, desc=name)
        shutil.copyfileobj(stack.enter_context(bar), file)
    if part.stat().st_size < size:
        raise ConnectionError(f"the connection broke off in {name}")


def reason(error: Exception) -> str:
    """Return why a file could not be had, as one line."""
    cause = getattr(error, "reason", None) or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            "the server's certificate was refused, as happens behind a company's proxy; "
            "SSL_CERT_FILE names the file of certificates to trust"
        )
    return (str(cause) or type(cause).__name__).splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
