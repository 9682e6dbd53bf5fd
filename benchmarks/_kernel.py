"""A kernel behind a Jupyter server, spoken to as JupyterLab speaks: over a websocket."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import websocket


@dataclass
class Answer:
    """What a kernel said about one request."""

    text: str = ""
    error: str = ""
    seen: list[dict[str, Any]] = field(default_factory=list)


class KernelDied(RuntimeError):
    """The server says that the kernel has ended and is being restarted."""


class Kernel:
    """A running kernel.

    Args:
        address: of its channels, from ``ws://`` on.
        cookie: what a browser would send along.
        token: of a server that asks for one.
    """

    def __init__(self, address: str, *, cookie: str = "", token: str = "") -> None:
        self.session = uuid.uuid4().hex
        self._open = partial(
            websocket.create_connection,
            f"{address}?session_id={self.session}",
            cookie=cookie or None,
            header=[f"Authorization: token {token}"] if token else [],
            timeout=300,
        )
        self.socket = self._open()

    def connect_again(self) -> None:
        """Open the websocket anew: a server closes one that has been silent for half a minute."""
        self.socket.close()
        self.socket = self._open()

    def send(self, kind: str, content: dict[str, Any]) -> str:
        """Send a message and return its id."""
        message = uuid.uuid4().hex
        header = {
            "msg_id": message,
            "msg_type": kind,
            "session": self.session,
            "username": "student",
            "version": "5.3",
        }
        parts = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        self.socket.send(json.dumps({**parts, "channel": "shell", "buffers": []}))
        return message

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield what comes; a message with a picture is binary, and its first part is read."""
        while True:
            kind, data = self.socket.recv_data()
            if kind == websocket.ABNF.OPCODE_BINARY:
                count = int.from_bytes(data[:4], "big")
                starts = [int.from_bytes(data[4 * n + 4 : 4 * n + 8], "big") for n in range(count)]
                data = data[starts[0] : [*starts, len(data)][1]]
            yield json.loads(data)

    def finish(self, message: str) -> Answer:
        """Read until the kernel is idle again after a request.

        Raises:
            KernelDied: if it ended instead.
        """
        answer = Answer()
        for received in self.messages():
            kind, content = received["header"]["msg_type"], received["content"]
            if kind == "status" and content["execution_state"] in ("restarting", "dead"):
                raise KernelDied(content["execution_state"])
            if received["parent_header"].get("msg_id") != message:
                continue
            answer.seen.append(received)
            if kind == "stream":
                answer.text += content["text"]
            elif kind == "execute_result":
                answer.text += content["data"].get("text/plain", "")
            elif kind == "error":
                answer.error = f"{content['ename']}: {content['evalue']}"
            elif kind == "status" and content["execution_state"] == "idle":
                break
        return answer

    def start(self, code: str) -> str:
        """Start a cell and return its message's id, without waiting for it."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        return self.send("execute_request", content)

    def run(self, code: str) -> Answer:
        """Run a cell."""
        return self.finish(self.start(code))

    def slide(self, model: str, value: object) -> Answer:
        """Move a slider, as its widget does, and wait for the answer."""
        data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
        answer = self.finish(self.send("comm_msg", {"comm_id": model, "data": data}))
        kinds = [received["header"]["msg_type"] for received in answer.seen]
        if "comm_msg" not in kinds:
            raise RuntimeError(f"a slider must change another widget, got {kinds}")
        return answer
