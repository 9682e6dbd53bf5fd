"""The two ways to run a class say the same."""

import ast
import importlib.util
import json
import re

import pytest
import yaml

from tools.setup.place import ROOT

DEPLOY = ROOT / "deploy"
VALUES = yaml.safe_load((DEPLOY / "kubernetes" / "values.yaml").read_text(encoding="utf-8"))
HUB = (DEPLOY / "jupyterhub" / "jupyterhub_config.py").read_text(encoding="utf-8")
STUDENT = (DEPLOY / "jupyterhub" / "student" / "jupyter_server_config.py").read_text()


def settings(text):
    """Return the settings of a configuration file that are written out as constants."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            try:
                value = eval(compile(ast.Expression(node.value), "", "eval"), {"__builtins__": {}})
            except NameError:
                continue
            found[ast.unparse(node.targets[0]).removeprefix("c.")] = value
    return found


def test_every_way_has_the_same_limits():
    """Where a student got past the unit, `user-.slice` must allow no more."""
    ours, singleuser = settings(HUB), VALUES["singleuser"]
    memory, cpu = ours["SystemdSpawner.mem_limit"], ours["SystemdSpawner.cpu_limit"]
    assert (singleuser["memory"]["limit"], singleuser["cpu"]["limit"]) == (memory, cpu)
    assert VALUES["hub"]["concurrentSpawnLimit"] == ours["JupyterHub.concurrent_spawn_limit"]
    minutes = re.search(r'"COURSE_IDLE_MINUTES", "(\d+)"', HUB)[1]
    assert VALUES["cull"]["timeout"] == 60 * int(minutes)
    unit = "etc/systemd/system/user-.slice.d/50-attention-course.conf"
    text = (DEPLOY / "jupyterhub" / unit).read_text(encoding="utf-8")
    outside = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    assert (outside["MemoryMax"], outside["CPUQuota"]) == (memory, f"{cpu:.0%}")
    properties = (DEPLOY / "jupyterhub" / "students.py").read_text(encoding="utf-8")
    for name in ("TasksMax", "MemorySwapMax"):
        assert f'"{name}": "{outside[name]}"' in properties


def test_both_have_the_same_server_settings():
    (file,) = VALUES["singleuser"]["extraFiles"].values()
    theirs = {
        f"{c}.{name}": value for c, more in file["data"].items() for name, value in more.items()
    }
    ours = settings(STUDENT)
    # In a container nobody else is logged in: its ports are its own.
    assert ours.pop("ConnectionFileMixin.transport") == "ipc"
    assert theirs == ours
    assert file["mountPath"].endswith(".json")


def test_the_volume_does_not_cover_what_the_image_has():
    """repo2docker puts the repository, and the package with it, into the home folder."""
    place = VALUES["singleuser"]["storage"]["homeMountPath"]
    assert place != "/home/jovyan"
    command = VALUES["singleuser"]["lifecycleHooks"]["postStart"]["exec"]["command"][-1]
    assert f"{place}/attention-course" in command
    assert VALUES["singleuser"]["defaultUrl"].startswith("/lab/tree/work/attention-course/")


def test_the_proxy_is_pinned_by_hashes():
    folder = DEPLOY / "jupyterhub"
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    assert locked["node_modules/configurable-http-proxy"]["version"] in wanted.values()
    packages = {name: entry for name, entry in locked.items() if name}
    assert [name for name, entry in packages.items() if "integrity" not in entry] == []
    assert [name for name, entry in packages.items() if "resolved" in entry] == []


def test_only_a_persons_account_gets_a_server():
    """With OAuth a stranger chooses their name."""
    pytest.importorskip("pwd", reason="Windows has no such accounts")
    spec = importlib.util.spec_from_file_location("students", DEPLOY / "jupyterhub" / "students.py")
    students = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(students)
    for name in ("nobody-we-know", "root"):
        with pytest.raises(students.NoAccount, match=name):
            students.check_account(name)
