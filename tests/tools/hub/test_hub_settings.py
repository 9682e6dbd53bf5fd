"""The shipped configuration: who may come in, and what it says where something is missing."""

import asyncio
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jupyterhub", reason="`make test-hub` brings it")

from tests.tools.hub.support_hub import CLASS, CONFIGURATION, DEPLOY, PASSWORD, processes_of

pytestmark = pytest.mark.hub
sys.path.insert(0, str(DEPLOY))

import students  # noqa: E402


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("COURSE_HUB_SETTINGS", "/nowhere/hub.py", "COURSE_HUB_SETTINGS must name a file"),
        ("COURSE_HUB_STATE", "/usr", "must be open to its owner alone (mode 700), got 755"),
    ],
)
def test_what_is_missing_is_named(tmp_path, name, value, message):
    environment = {
        "COURSE_HUB_STATE": str(tmp_path / "state"),
        "PATH": os.environ["PATH"],
        name: value,
    }
    load = "from traitlets.config import PyFileConfigLoader as L; L({!r}).load_config()"
    command = [sys.executable, "-c", load.format(str(CONFIGURATION))]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/")
    assert answer.returncode != 0
    assert message in answer.stderr and value in answer.stderr


def test_the_hubs_own_files_are_closed_to_others(hub):
    assert (hub.folder / "state").stat().st_mode & 0o777 == 0o700


def test_the_proxy_is_nobodys(hub):
    running = {
        number: Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
        for number in processes_of(pwd.getpwnam("nobody").pw_uid)
    }
    port = hub.url.rpartition(":")[2].encode()
    proxies = [words for words in running.values() if b"--port" in words and port in words]
    # Node itself: a script in its place would leave it behind when the hub ends.
    assert [Path(os.fsdecode(words[0])).name for words in proxies] == ["node"]


def test_only_a_persons_account_gets_a_server():
    with pytest.raises(students.NoAccount, match="nobody-we-know must have an account"):
        students.check_account("nobody-we-know")
    with pytest.raises(students.NoAccount, match=r"root must be a student's .*got 0") as raised:
        students.check_account("root")
    assert raised.value.jupyterhub_message == str(raised.value), "the hub's page shows it"


def test_properties_grow_with_the_memory():
    made = students.properties(2**30, "course-ada")
    assert made["LimitDATA"] == str(3 * 2**28)
    folders = dict(each.split(":", 1) for each in made["TemporaryFileSystem"].split())
    assert folders["/tmp"] == folders["/dev/shm"] == f"size={2**28},mode=1777"
    assert folders["/run"].endswith("mode=755"), "where D-Bus is"


@pytest.mark.skipif(not CLASS, reason="not tried here: no class is set up, with its PAM service")
def test_an_account_comes_in_with_its_own_password(hub):
    from jupyterhub.auth import PAMAuthenticator
    from traitlets.config import Config

    name = hub.students[1]
    subprocess.run(["chpasswd"], input=f"{name}:{PASSWORD}", text=True, check=True)
    service = {"service": "attention-course-hub", "allowed_groups": {"students"}}
    pam = PAMAuthenticator(config=Config({"PAMAuthenticator": service}))
    enter = lambda password: asyncio.run(  # noqa: E731
        pam.get_authenticated_user(None, {"username": name, "password": password})
    )
    assert enter(PASSWORD)["name"] == name
    assert [enter("another") for _ in range(20)] == [None] * 20
    assert enter(PASSWORD) is None, "closed for a while: who guesses gets no further"
    subprocess.run(["faillock", "--user", name, "--reset"], check=True, capture_output=True)
    assert enter(PASSWORD)["name"] == name
    pam.allowed_groups = {"a-group-that-is-not-there"}
    assert enter(PASSWORD) is None
