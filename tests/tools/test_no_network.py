"""Neither a test nor a kernel that a test starts can reach beyond this machine."""

import os
import socket

import pytest
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, RunningKernel

from tests import support_offline
from tests.support_offline import NetworkRefused

# Reserved for documentation (RFC 5737, RFC 3849): nobody answers there.
ELSEWHERE = "203.0.113.1"
ELSEWHERE_6 = "2001:db8::1"

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


def test_connect_ex_is_refused_too():
    with socket.socket() as opened, pytest.raises(NetworkRefused):
        opened.connect_ex((ELSEWHERE, 443))


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python is built without IPv6")
def test_connecting_elsewhere_over_ipv6_is_refused():
    with socket.socket(socket.AF_INET6) as opened, pytest.raises(NetworkRefused):
        opened.connect((ELSEWHERE_6, 443))


def test_sending_a_datagram_elsewhere_is_refused():
    with socket.socket(type=socket.SOCK_DGRAM) as opened, pytest.raises(NetworkRefused):
        opened.sendto(b"?", (ELSEWHERE, 53))


@pytest.mark.parametrize("host", ["course.example", b"course.example", ELSEWHERE])
def test_looking_up_a_name_elsewhere_is_refused(host):
    with pytest.raises(NetworkRefused, match="tests use no network"):
        socket.getaddrinfo(host, 443)


def test_loopback_still_works():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("localhost", port), timeout=5) as opened:
            assert opened.getpeername()[1] == port


def test_sockets_between_processes_still_work():
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"ping")
        assert right.recv(4) == b"ping"


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("127.8.9.10", True), ("::1", True), ("localhost", True), (None, True),
     (ELSEWHERE, False), (ELSEWHERE_6, False), ("localhost.course.example", False)],
)  # fmt: skip
def test_stays_here(host, here):
    assert support_offline.stays_here(host) is here


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


def test_a_kernel_without_our_startup_file_would_not_refuse(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "IPYTHONDIR", str(tmp_path))
    status, name = run_in_a_kernel(PROBE)
    # Without a route the operating system itself may object; our refusal is what must be absent.
    assert (status, name) in {("ok", ""), ("error", "OSError")}


def test_the_startup_file_leaves_the_namespace_alone():
    code = "assert not {'sys', 'socket', 'support_offline', '_refuse_network'} & set(globals())"
    assert run_in_a_kernel(code) == ("ok", "")
