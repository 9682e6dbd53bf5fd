"""The shipped configuration: who may come in, and what it says where something is missing."""

import asyncio
import logging
import os
import pwd
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("jupyterhub", reason="`make test-hub` brings it")

import course_spawner
import hub_files
from cgroups import NoControlGroups
from course_spawner import NoAccount

from tests.tools.hub.support_hub import CONFIGURATION, DEPLOY, PASSWORD

pytestmark = pytest.mark.hub


def environment(folder, **more):
    """Return an environment in which the configuration finds all it needs."""
    (folder / "course.git").mkdir(exist_ok=True)
    return {
        "COURSE_HUB_STATE": str(folder / "state"),
        "COURSE_REPOSITORY": f"file://{folder / 'course.git'}",
        "PATH": os.environ["PATH"],
        **more,
    }


def load(folder, **more):
    """Return what reading the configuration gives, or says, in a process of its own."""
    code = (
        "import json, sys; from traitlets.config.loader import PyFileConfigLoader as L;"
        "c = L(sys.argv[1]).load_config(); print(json.dumps({k: v for k, v in c.items()},"
        "default=lambda v: sorted(v) if isinstance(v, set) else str(v)))"
    )
    command = [sys.executable, "-c", code, str(CONFIGURATION)]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(folder, **more), cwd="/"
    )


def test_accounts_of_the_machine_come_in_by_default(tmp_path):
    import json

    read = json.loads(load(tmp_path).stdout)
    assert read["JupyterHub"]["authenticator_class"] == "pam"
    assert read["PAMAuthenticator"]["allowed_groups"] == ["instructors", "students"]
    assert read["PAMAuthenticator"]["admin_groups"] == ["instructors"]
    assert read["JupyterHub"]["bind_url"].startswith("http://127.0.0.1:")
    (role,) = read["JupyterHub"]["load_roles"]
    assert role["scopes"] == [
        "list:users",
        "read:users:activity",
        "read:servers",
        "delete:servers",
    ]
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_an_account_comes_in_with_its_own_password_alone(hub):
    from jupyterhub.auth import PAMAuthenticator
    from traitlets.config import Config

    name = hub.students[0]
    subprocess.run(["chpasswd"], input=f"{name}:{PASSWORD}", text=True, check=True)
    group = pwd.getpwnam(name).pw_name  # useradd makes a group of that name for each account
    config = Config({"PAMAuthenticator": {"allowed_groups": {group}}})
    pam = PAMAuthenticator(config=config)
    # The hub's accounts have no session on this machine, and need none.
    enter = lambda password: asyncio.run(  # noqa: E731
        pam.get_authenticated_user(None, {"username": name, "password": password})
    )
    assert enter(PASSWORD)["name"] == name
    assert enter("another") is None
    pam.allowed_groups = {"a-group-that-is-not-there"}
    assert enter(PASSWORD) is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("COURSE_REPOSITORY", "file:///nowhere/course.git", "must be a repository that students"),
        ("COURSE_HUB_SETTINGS", "/nowhere/hub.py", "COURSE_HUB_SETTINGS must name a file"),
    ],
)
def test_what_is_not_there_is_named(tmp_path, name, value, message):
    answer = load(tmp_path, **{name: value})
    assert answer.returncode != 0
    assert message in answer.stderr and value.removeprefix("file://") in answer.stderr


def test_a_state_folder_that_others_may_read_is_refused(tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o750)
    answer = load(tmp_path)
    assert "must be open to its owner alone (mode 700), got 750" in answer.stderr


def test_a_missing_proxy_is_named_with_what_installs_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"configurable-http-proxy must be .*npm ci --prefix"):
        hub_files.proxy_command(tmp_path)
    beside = tmp_path / "node_modules" / ".bin" / "configurable-http-proxy"
    beside.parent.mkdir(parents=True)
    beside.touch()
    *node, script = hub_files.proxy_command(tmp_path)
    assert script == str(beside)
    # The program itself: a script in its place would leave it behind when the hub ends.
    assert [Path(part).read_bytes()[:4] for part in node] == [b"\x7fELF"]


def test_only_a_students_account_is_started():
    with pytest.raises(NoAccount, match="nobody-we-know must have an account on this server"):
        course_spawner.find_account("nobody-we-know")
    with pytest.raises(NoAccount, match=r"root must be a student's .*got 0") as raised:
        course_spawner.find_account("root")
    assert raised.value.jupyterhub_message == str(raised.value), "the hub's page shows it"


def test_a_home_must_be_there_and_ones_own(tmp_path):
    account = SimpleNamespace(pw_name="ada", pw_dir=str(tmp_path / "ada"), pw_uid=os.getuid() + 1)
    with pytest.raises(NoAccount, match="ada must have a home folder"):
        course_spawner.close_home(account)
    (tmp_path / "ada").mkdir()
    with pytest.raises(NoAccount, match=r"must belong to ada, got owner \d+"):
        course_spawner.close_home(account)


def test_a_hub_without_control_groups_says_what_still_holds(monkeypatch, caplog):
    def none():
        raise NoControlGroups("they cannot be had")

    monkeypatch.setattr(course_spawner, "trees", none)
    spawner = course_spawner.CourseSpawner()
    spawner.user = SimpleNamespace(name="ada")
    spawner.log = logging.getLogger("hub")
    assert spawner._find_group() is None
    assert "ada is limited for each process only, not for all together: they cannot" in caplog.text


def test_a_hub_that_may_not_mount_says_what_is_shared(monkeypatch, capsys):
    def refused(places):
        assert [place.folder for place in places[1:]] == ["/tmp", "/dev/shm"]
        assert {place.size for place in places[1:]} == {2**28}
        raise PermissionError(1, "Operation not permitted (unshare)")

    nothing = lambda *_: None  # noqa: E731
    account = SimpleNamespace(pw_uid=1003, pw_gid=1003)
    for name, instead in {
        "find_account": lambda name: account,
        "limit_each_process": nothing,
        "move_apart": refused,
        "renounce_rights": nothing,
    }.items():
        monkeypatch.setattr(course_spawner, name, instead)
    parent = course_spawner.LocalProcessSpawner
    monkeypatch.setattr(parent, "make_preexec_fn", lambda self, name: nothing)
    course_spawner.CourseSpawner(mem_limit="1G").make_preexec_fn("ada")()
    said = "ada shares /tmp, /dev/shm with others: [Errno 1] Operation not permitted (unshare)\n"
    assert capsys.readouterr().err == said


def test_a_spawner_without_a_memory_limit_is_refused():
    with pytest.raises(ValueError, match="mem_limit must be set"):
        course_spawner.CourseSpawner().limits()


def test_what_the_readme_says_of_errors_is_what_is_said():
    readme = (DEPLOY / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## When something is wrong")[2].splitlines()
    named = [line.split("`")[1] for line in table if line.startswith("| `")]
    files = [*DEPLOY.glob("*.py"), DEPLOY / "start-server"]
    said = " ".join(file.read_text(encoding="utf-8") for file in files)
    said += " configurable-http-proxy must be installed"  # PROXY, in the code
    assert len(named) == 7
    assert [phrase for phrase in named if phrase not in said] == []
