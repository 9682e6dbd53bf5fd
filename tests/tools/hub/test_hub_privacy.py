"""What a student has, nobody else on the machine can read: by path, by address or by socket."""

import json
from pathlib import Path

import pytest
import websocket

from tests.tools.hub.support_hub import DEPLOY, MEMORY, ROOT, processes_of
from tests.tools.hub.support_student import NOTEBOOKS

pytestmark = pytest.mark.hub
SECRET = "what only ada may know"


@pytest.fixture(scope="module")
def diary(hub, ada):
    """A file that Ada writes, and reads."""
    text = {"type": "file", "format": "text", "content": SECRET}
    assert ada.api("PUT", f"contents/{NOTEBOOKS}/diary.txt", json=text).status_code == 201
    read = ada.api("GET", f"contents/{NOTEBOOKS}/diary.txt")
    assert read.json()["content"] == SECRET
    return hub.home(ada.name) / NOTEBOOKS / "diary.txt"


@pytest.fixture(scope="module")
def bens_kernel(ben):
    return ben.start_kernel()


def test_by_path(hub, ada, bens_kernel, diary):
    assert diary.read_text() == SECRET, "root reads it, so the path is right"
    uid = diary.stat().st_uid
    (process, *_) = processes_of(uid)
    forbidden = [
        f"open({str(diary)!r})",
        f"os.listdir({str(hub.home(ada.name))!r})",
        f"open('/proc/{process}/environ').read()",
        f"open({str(hub.folder / 'state' / 'cookie_secret')!r})",
        f"os.kill({process}, 9)",
    ]
    answers = {line: bens_kernel.run(f"import os; {line}").error for line in forbidden}
    hidden = ("PermissionError", "FileNotFoundError")  # in a unit, /proc has one's own alone
    assert {line: error for line, error in answers.items() if not error.startswith(hidden)} == {}
    assert bens_kernel.run("import os; os.listdir('.')").error == "", "his own he reads"


def test_in_memory(units, ada, bens_kernel):
    """What lies in shared memory and temporary folders is one's own, and of a fixed size."""
    kernel = ada.start_kernel()
    shared = "ctypes.CDLL(None).shmget({key}, 4096, {flag})"
    for folder in ("/dev/shm", "/tmp"):
        write = f"open({folder + '/ada.txt'!r}, 'w').write({SECRET!r})"
        assert kernel.run(write).error == ""
        assert "ada.txt" not in bens_kernel.run(f"import os; os.listdir({folder!r})").text
        assert not Path(folder, "ada.txt").exists(), "nor does it outlive her server"
        fill = f"open({folder + '/more'!r}, 'wb').write(bytes({MEMORY} * 3 // 8))"
        assert "No space left on device" in kernel.run(fill).error
    writes = "import os; open(os.environ['RUNTIME_DIRECTORY'] + '/x', 'w')", "open('/run/x', 'w')"
    errors = [bens_kernel.run(write).error for write in writes]
    assert ["Read-only" in errors[0], "Permission" in errors[1]] == [True, True], "not ben's memory"
    make = shared.format(key=7, flag="0o1666")
    assert int(kernel.run(f"import ctypes; print({make})").text) >= 0
    find = shared.format(key=7, flag="0o666")
    assert int(bens_kernel.run(f"import ctypes; print({find})").text) == -1
    kernel.stop()


def test_by_ps(units, ada, bens_kernel):
    owners = "{os.stat(f'/proc/{each}').st_uid for each in os.listdir('/proc') if each.isdigit()}"
    assert bens_kernel.run(f"import os; {owners} == {{os.getuid()}}").text == "True"


def test_no_program_runs_outside_the_unit(units, ben, bens_kernel):
    """No set-user-id program gets more rights, and logind, who could start one, is out of reach."""
    rights = "print([line for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])"
    assert "NoNewPrivs:\\t1" in bens_kernel.run(rights).text
    assert bens_kernel.run("import os; print(os.environ['SHELL'])").text.strip() == "/bin/bash"
    assert "dbus" not in bens_kernel.run("import os; os.listdir('/run')").text
    ask = ["loginctl", "enable-linger", ben.name]
    asked = f"import subprocess; subprocess.run({ask}, capture_output=True).returncode"
    assert bens_kernel.run(asked).text not in ("", "0")
    assert not Path("/var/lib/systemd/linger", ben.name).exists()


def test_by_the_hubs_addresses(ada, ben, diary):
    for path in (f"contents/{NOTEBOOKS}/diary.txt", "contents", "kernels", "sessions", "terminals"):
        answer = ben.api("GET", path, owner=ada.name)
        assert SECRET not in answer.text and answer.status_code == 403, path
        assert ada.api("GET", path).status_code == 200, path
    for page in (f"files/{NOTEBOOKS}/diary.txt", f"lab/tree/{NOTEBOOKS}/diary.txt"):
        answer = ben.client.get(f"/user/{ada.name}/{page}")
        assert SECRET not in answer.text and answer.status_code == 403, page
    write = {"type": "file", "format": "text", "content": "from ben"}
    path = f"contents/{NOTEBOOKS}/diary.txt"
    assert ben.api("PUT", path, owner=ada.name, json=write).status_code == 403
    assert diary.read_text() == SECRET
    assert ben.client.delete(f"/hub/api/users/{ada.name}/server").status_code == 403


def test_by_the_kernels_socket(ada, ben):
    kernel = ada.start_kernel()
    with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
        ben.connect(kernel.id, owner=ada.name)
    connection = kernel.run("from ipykernel.connect import get_connection_info as i; print(i())")
    assert json.loads(connection.text)["transport"] == "ipc", "no port that others can listen on"
    kernel.stop()


def test_the_course_itself_can_only_be_read(hub, bens_kernel):
    module = bens_kernel.run("import course_utils.masks as m; print(m.__file__)").text.strip()
    assert module == str(ROOT / "course_utils" / "masks.py"), "the shared environment, not a copy"
    changed = [
        module,
        str(DEPLOY / "start-server"),
        str(hub.folder / "course" / "tools" / "editions" / "my_course.py"),
    ]
    for path in changed:
        assert bens_kernel.run(f"open({path!r}).read(1)").error == "", path
        assert bens_kernel.run(f"open({path!r}, 'a')").error.startswith("PermissionError"), path
