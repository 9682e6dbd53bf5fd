"""A kernel behind a Jupyter server, spoken to as JupyterLab speaks: over a websocket."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import websocket


@dataclass
class Answer:
    """What a kernel said about one request."""

    text: str = ""
    error: str = ""


class KernelDied(RuntimeError):
    """The server says that the kernel has ended and is being restarted."""


class Kernel:
    """A running kernel.

    Args:
        address: of its channels, from ``ws://`` on.
        cookie: what a browser would send along.
    """

    def __init__(self, address: str, *, cookie: str) -> None:
        self.session = uuid.uuid4().hex
        self.socket = websocket.create_connection(
            f"{address}?session_id={self.session}", cookie=cookie, timeout=300
        )

    def run(self, code: str) -> Answer:
        """Run a cell.

        Raises:
            KernelDied: if the kernel ended instead.
        """
        message = self._ask(code)
        answer = Answer()
        for received in self._messages():
            kind, content = received["header"]["msg_type"], received["content"]
            if kind == "status" and content["execution_state"] in ("restarting", "dead"):
                raise KernelDied(content["execution_state"])
            if received["parent_header"].get("msg_id") != message:
                continue
            if kind == "stream":
                answer.text += content["text"]
            elif kind == "execute_result":
                answer.text += content["data"].get("text/plain", "")
            elif kind == "error":
                answer.error = f"{content['ename']}: {content['evalue']}"
            elif kind == "status" and content["execution_state"] == "idle":
                break
        return answer

    def _ask(self, code: str) -> str:
        """Send a cell and return its message's id."""
        message = uuid.uuid4().hex
        header = {
            "msg_id": message,
            "msg_type": "execute_request",
            "session": self.session,
            "username": "student",
            "version": "5.3",
        }
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        parts = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        self.socket.send(json.dumps({**parts, "channel": "shell", "buffers": []}))
        return message

    def _messages(self) -> Iterator[dict[str, Any]]:
        """Yield what comes; a message with a picture is binary, and its first part is read."""
        while True:
            kind, data = self.socket.recv_data()
            if kind == websocket.ABNF.OPCODE_BINARY:
                count = int.from_bytes(data[:4], "big")
                starts = [int.from_bytes(data[4 * n + 4 : 4 * n + 8], "big") for n in range(count)]
                data = data[starts[0] : [*starts, len(data)][1]]
            yield json.loads(data)
