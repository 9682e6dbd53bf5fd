"""How the scripts write what the package carries."""

import hashlib
import json

from course_utils.data.package_files import DATA
from course_utils.files import write_whole


def write_packaged(name: str, content: bytes) -> None:
    """Write a file of course_utils/data, and print its line for package_files.py there."""
    write_whole(DATA / name, content)
    print_line(name)


def print_line(name: str) -> None:
    """Print the line that course_utils/data/package_files.py has to have for a file."""
    content = (DATA / name).read_bytes()
    print(f'"{name}": "{hashlib.sha256(content).hexdigest()}",  # {len(content)} bytes')


def as_json(value: object) -> bytes:
    """Return a value as JSON without blanks, which ends with a line break."""
    return (json.dumps(value, separators=(",", ":")) + "\n").encode()
