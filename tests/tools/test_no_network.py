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


def test_a_test_is_refused():
    with pytest.raises(NetworkRefused):
        exec(PROBE)
    with pytest.raises(NetworkRefused):
        socket.getaddrinfo("course.example", 443)


def test_a_kernel_started_as_nbval_starts_one_is_refused_too():
    kernel = RunningKernel(CURRENT_ENV_KERNEL_NAME)
    try:
        message = kernel.execute_cell_input(PROBE, allow_stdin=False)
        replies = iter(lambda: kernel.get_message("shell", timeout=30), None)
        reply = next(each for each in replies if each["parent_header"].get("msg_id") == message)
    finally:
        kernel.stop()
    assert reply["content"]["ename"] == "NetworkRefused"
