"""What the tests of longer jobs share."""

import subprocess
import time
from pathlib import Path


def hear(process: subprocess.Popen[bytes], log: Path, word: str) -> subprocess.Popen[bytes]:
    """Return the process once its log has the word, however long it takes to start."""
    ended = False
    while word not in log.read_text():
        assert not ended, log.read_text()
        time.sleep(0.02)
        ended = process.poll() is not None  # what it said before is read once more
    return process
