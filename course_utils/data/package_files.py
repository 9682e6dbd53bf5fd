"""The data files of the package, checked against their SHA-256 when they are read.

They are snapshots: training texts, trained weights, measurements. A damaged one would change what
the lectures show, without an error.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent
MODEL = "small_gpt/model.safetensors"
# As tools/scripts/course_text.py and tools/scripts/train_small_gpt.py print them.
SHA256 = {
    "prose.txt": "7b31d273c899c2407a8b43afcfb8595760a1d52cc13bc632f4ac24b0a135af69",
    "code.txt": "13fb415f4605a8afc9a18e47a639c44790dba6e6d849b0627ce50c2f0a8bc9ee",
    "small_gpt/config.json": "4b219950c9ede603dac89f64886c91b8dee8660d33db48f9af5d8ecfa4fbc5dc",
    "small_gpt/merges.json": "c3734e167a01021ec61607747ebe6d12a00d4fad2cf1ff63ad13e134fa4b5f6c",
    "small_gpt/model.safetensors": "f5f6f7d9da6303a0106338ac52511375a39bd6c93a8902f126932dc072a447db",  # noqa: E501
    # From tools/scripts/train_story_gpt.py.
    "story_gpt/config.json": "2fad9a09c7e09e089e953759415855810b59b3403ec765fff2381030b4cbf91b",
    "story_gpt/model.safetensors": "ff9ca70d4c7ad0cab0a40495100d5fbfc09a6d516aba1ed9dae0689e006e9435",  # noqa: E501
    # As tools/scripts/train_expert_runs.py prints it.
    "expert_runs.safetensors": "15488b82084cb171d6fc1eebbfa7d073887e4399fe1dfc48af82e21dd0f824f7",
    # As tools/scripts/train_story_experts.py prints it.
    "story_expert_runs.json": "9af95c11afda34b82707541ed217780a8d450e022829b8fe2b19a02d9b5e830f",
    # As tools/scripts/train_phone_books.py prints it.
    "phone_books.safetensors": "4a6a2e4338276220702473945d644360791960b1b2640cacd940596037817a4e",
    # As tools/scripts/train_induction_runs.py prints it.
    "induction_runs.safetensors": "ac22306c923de47915b531fd4d4ed89f32e7da1253425d3ae4f3da0d94277ad5",  # noqa: E501
    # As tools/scripts/train_learning_runs.py prints them.
    "learning_moments.safetensors": "7ea7a430394a81eeb2bd5e354873afac32283aca9ab46c3dc075b0bd3e75a14f",  # noqa: E501
    "learning_curves.json": "6ba499408bdd3ad5c013849b2e9e4f418096d4f9f7b4bf2231bdf67417121f2c",
    # As tools/scripts/train_broken_gpts.py prints it.
    "broken_gpts.json": "14fed223878746e11b810bf17a92cd4c2c6100f1342fb91189c8ffd181017d12",
    # As tools/scripts/measure_depths.py prints it.
    "depth_runs.json": "57701a47b89134996ca8070c6f09796b935862a02f1e1e6eea3461d724c7cf1e",
    # As tools/scripts/measure_lora.py prints it.
    "lora_runs.json": "138ebbea94b26d5ee80e72801bdc3e788478950a42e8032f523b6ec2e8b49a71",
}


class PackagedFileError(RuntimeError):
    """A file of the package is missing, or is not the one that belongs to this version."""


def read_packaged(name: str) -> bytes:
    """Return the bytes of a packaged file.

    Args:
        name: one of ``SHA256``, relative to the data folder.

    Raises:
        PackagedFileError: a RuntimeError, if the file is missing or has another SHA-256.

    >>> len(read_packaged("prose.txt")) > 100_000
    True
    """
    expected = SHA256[name]
    again = "install the course again, or `git checkout course_utils/data`"
    try:
        content = (DATA / name).read_bytes()
    except OSError as error:
        raise PackagedFileError(
            f"{name} must be readable in {DATA}, got {error}: {again}"
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise PackagedFileError(
            f"{name} must have SHA-256 {expected[:16]}..., got {found[:16]}...: {again}"
        )
    return content


def read_measured(name: str) -> dict[str, Any]:
    """Return what was measured on the packaged small GPT, from a JSON file of the package.

    Args:
        name: as for ``read_packaged``.

    Raises:
        PackagedFileError: a RuntimeError, if the file is damaged or of another small GPT.

    >>> read_measured("lora_runs.json")["steps"]
    60
    """
    found = json.loads(read_packaged(name))
    expected = SHA256[MODEL]
    if found["measured_on"] != expected:
        raise PackagedFileError(
            f"{name} must be measured on the small GPT {expected[:16]}..., "
            f"got {found['measured_on'][:16]}...: run the script that makes it again"
        )
    return found
