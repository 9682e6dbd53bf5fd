"""What the tests of longer jobs share."""

import subprocess
import time
from pathlib import Path


def hear(process: subprocess.Popen[bytes], log: Path, word: str) -> subprocess.Popen[bytes]:
    """Return the process once its log has the word, however long it takes to start."""
    while word not in log.read_text():
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    return process
