"""Neither a test nor a kernel that a test starts can reach beyond this machine."""

import socket

import pytest
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel

from tests.support_offline import NetworkRefused

# Reserved for documentation (RFC 5737): nobody answers there.
ELSEWHERE = "203.0.113.1"

# Connecting a datagram socket sends nothing, so this is safe where nothing refuses it.
PROBE = f"""
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    probe.connect(("{ELSEWHERE}", 9))
"""


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_connecting_elsewhere_is_refused(kind):
    with socket.socket(socket.AF_INET, kind) as opened, pytest.raises(NetworkRefused):
        opened.connect((ELSEWHERE, 443))


@pytest.mark.parametrize("host", ["course.example", b"course.example", ELSEWHERE])
def test_looking_up_a_name_elsewhere_is_refused(host):
    with pytest.raises(NetworkRefused, match="tests use no network"):
        socket.getaddrinfo(host, 443)


def test_loopback_still_works():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("localhost", port), timeout=5) as opened:
            assert opened.getpeername()[1] == port


def run_in_a_kernel(code: str) -> tuple[str, str]:
    """Return status and error name of `code` in a kernel started the way nbval starts one."""
    kernel = RunningKernel(CURRENT_ENV_KERNEL_NAME)
    try:
        message = kernel.execute_cell_input(code, allow_stdin=False)
        while True:
            reply = kernel.get_message("shell", timeout=30)
            if reply["parent_header"].get("msg_id") == message:
                return reply["content"]["status"], reply["content"].get("ename", "")
    finally:
        kernel.stop()


def test_a_kernel_refuses_too():
    assert run_in_a_kernel(PROBE) == ("error", "NetworkRefused")
