"""Python processes that have imported torch and nothing of ours, as a user's at the first cell.

To import torch takes two seconds of computing. Where Python can fork, one process imports it once,
and each request is answered by a copy of that process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, CompletedProcess

ROOT = Path(__file__).resolve().parents[2]

SERVER = """
import json, os, sys, tempfile, traceback
import torch

for line in sys.stdin:
    code, environment = json.loads(line)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if not child:
            status = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                os.environ.clear()
                os.environ.update(environment)
                exec(compile(code, "<fresh>", "exec"), {"__name__": "__main__"})
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = [file.seek(0) or file.read() for file in (out, errors)]
        print(json.dumps([status, *texts]), flush=True)
"""


class FreshPython:
    """Runs code in processes of their own; a context, at whose end the process that is copied ends.

    Call it with code, and environment variables to set beside those that are inherited, of which
    TRITON_INTERPRET is left out.
    """

    def __init__(self) -> None:
        inherited = {name: text for name, text in os.environ.items() if name != "TRITON_INTERPRET"}
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self.environment = {**inherited, "PYTHONPATH": path}
        self.server: subprocess.Popen[str] | None = None

    def __call__(self, code: str, **environment: str) -> CompletedProcess:
        environment = {**self.environment, **environment}
        if sys.platform != "linux":  # elsewhere a copy of a process is not safe, or there is none
            command = [sys.executable, "-c", f"import torch\n{code}"]
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, cwd=ROOT
            )
        if self.server is None:
            self.server = subprocess.Popen(
                [sys.executable, "-c", SERVER],
                env=self.environment, cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True,
            )  # fmt: skip
        self.server.stdin.write(json.dumps([code, environment]) + "\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline()
        assert answer, f"the process that is copied must answer, it ended: {self.server.wait()}"
        status, out, errors = json.loads(answer)
        return CompletedProcess(code, status, out, errors)

    def __enter__(self) -> "FreshPython":
        return self

    def __exit__(self, *raised: object) -> None:
        if self.server is not None:
            self.server.communicate()  # closes its input, and it ends
