"""Opening JupyterLab: which lecture, which browser, and what a real server says and serves."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tools.setup import lab
from tools.setup.place import ROOT, CommandError, Place


@pytest.fixture
def place(tmp_path):
    """A copy of the course with two lectures."""
    (tmp_path / "notebooks").mkdir()
    for name in ("00_start_here", "01_scaling"):
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text("{}")
    return Place(tmp_path)


@pytest.mark.parametrize("wanted", ["1", "01", "01_scaling", "01_scaling.ipynb"])
def test_a_lecture_has_several_names(place, wanted):
    assert lab.find_lecture(wanted, place) == "01_scaling"


@pytest.mark.parametrize("wanted", ["7", "scaling", "", "../x"])
def test_an_unknown_lecture_lists_the_known(place, wanted):
    with pytest.raises(CommandError, match="there are: 00_start_here, 01_scaling"):
        lab.find_lecture(wanted, place)


def test_threads_that_wait_sleep_unless_the_reader_has_decided(place, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert lab.variables_for(place)["OMP_WAIT_POLICY"] == "PASSIVE"
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert lab.variables_for(place)["OMP_WAIT_POLICY"] == "ACTIVE"


@pytest.mark.parametrize(
    ("system", "variables", "possible"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"BROWSER": "firefox"}, True),
        ("darwin", {}, True),
        ("win32", {}, True),
    ],
)
def test_no_browser_is_forced_where_there_is_no_screen(
    place, monkeypatch, system, variables, possible
):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(lab.sys, "platform", system)
    assert ("--no-browser" in lab.lab_command(place, "lab")) is not possible


def test_the_server_keeps_its_token_and_stays_on_this_machine(place):
    command = lab.lab_command(place, "lab/tree/x.ipynb")
    assert "--ServerApp.ip=127.0.0.1" in command
    assert not [part for part in command if "token" in part.lower() or "password" in part.lower()]


def test_presenting_writes_settings_once(tmp_path):
    source = tmp_path / "present.json"
    source.write_text('{"@jupyterlab/apputils-extension:themes": {"theme": "one"}}')
    lab.write_settings(source, tmp_path / "settings")
    file = tmp_path / "settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
    assert json.loads(file.read_text()) == {"theme": "one"}
    file.write_text("changed by the presenter")
    lab.write_settings(source, tmp_path / "settings")
    assert file.read_text() == "changed by the presenter"


START = """
import sys, pathlib
sys.path.insert(0, {root!r})
from tools.setup import lab
from tools.setup.place import Place

class Here(Place):
    python = pathlib.Path(sys.executable)

sys.exit(lab.{what}(Here(pathlib.Path({place!r}))))
"""


class Served:
    """A running server: its link, and what it answers."""

    def __init__(self, process):
        self.process = process
        self.said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/\S+token=(\w+)", self.said)):
            line = process.stdout.readline()
            assert line, f"no link; it said: {self.said}"
            self.said += line
        self.link, self.port, self.token = found.group(), found[1], found[2]

    def get(self, path, token=None):
        """Return the status and the body of an answer."""
        headers = {"Authorization": f"token {token}"} if token else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    def default(self, plugin, setting):
        """Return what a plugin's setting is when the reader has chosen nothing, and what is."""
        path = f"/lab/api/settings/@jupyterlab/{plugin}"
        answer = json.loads(self.get(path, self.token)[1])
        return answer["schema"]["properties"][setting]["default"], answer["settings"]


@pytest.fixture
def serve(place, tmp_path):
    """Start JupyterLab as `make lab` and `make present` do, away from the reader's own settings."""
    for name in ("lab-settings", "presenting"):
        shutil.copytree(ROOT / name, tmp_path / name)
    place.venv.mkdir()
    variables = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "BROWSER")}
    for name in ("CONFIG", "DATA", "RUNTIME"):
        variables[f"JUPYTER_{name}_DIR"] = str(tmp_path / name)
    processes = []

    def start(what):
        code = START.format(root=str(ROOT), place=str(place.root), what=what)
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        return Served(process)

    yield start
    for process in processes:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.skipif(os.name == "nt", reason="on Windows ending the driver leaves JupyterLab alone")
def test_a_real_server_opens_the_lecture_and_has_our_settings(serve):
    server = serve("lab")
    assert "/lab/tree/notebooks/00_start_here.ipynb?token=" in server.link
    assert server.get("/api/contents")[0] == 403
    assert server.get("/api/contents", server.token)[0] == 200
    assert (
        server.default("apputils-extension:kernels-settings", "commsOverSubshells")[0] == "disabled"
    )
    assert server.default("apputils-extension:notification", "fetchNews")[0] == "false"
    assert server.default("apputils-extension:notification", "checkForUpdates")[0] is False

    second = serve("present")  # beside the first: another port
    assert second.port != server.port
    assert "/doc/tree/notebooks/00_start_here.ipynb?token=" in second.link
    assert second.default("docmanager-extension:plugin", "autosave")[1] == {"autosave": False}
    slides = "/lab/extensions/course-presenter/static/start.js"
    assert "export async function start" in second.get(slides, second.token)[1]
    assert server.get(slides, server.token)[0] == 404

    server.process.terminate()
    server.process.communicate(timeout=30)
    with pytest.raises(urllib.error.URLError):
        server.get("/api")


def test_our_settings_are_settings_that_jupyterlab_has():
    schemas = Path(sys.prefix) / "share" / "jupyter" / "lab" / "schemas"
    seen = 0
    for file in sorted((ROOT / "lab-settings").glob("*.json")):
        for plugin, values in json.loads(file.read_text()).items():
            schema = json.loads((schemas / f"{plugin.replace(':', '/')}.json").read_text())
            for name, value in values.items():
                allowed = schema["properties"][name]
                if "oneOf" in allowed:
                    assert value in [choice["const"] for choice in allowed["oneOf"]]
                if isinstance(value, dict):
                    assert value.keys() <= allowed["default"].keys()
                seen += 1
    assert seen == 5
