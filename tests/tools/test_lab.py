"""Opening JupyterLab: which lecture, and what a real server says and serves."""

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_utils.explorers.explorer import PAGE
from tools.setup import lab
from tools.setup.place import ROOT, CommandError, Place
from tools.setup.priority import NICE, step_back
from tools.setup.saving import VIEW as WIDGET

SETTINGS = Path(lab.__file__).parent / "lab-settings"
START = """
import sys
from pathlib import Path
from tools.setup import lab
from tools.setup.place import Place

class Here(Place):
    python = Path(sys.executable)

    def activated(self):
        return {**super().activated(), "PYTHONPATH": str(Path.cwd())}

sys.exit(getattr(lab, sys.argv[1])(Here(Path(sys.argv[2])), []))
"""


class Here(Place):
    """A copy of the course that this Python runs."""

    @property
    def python(self):
        return Path(sys.executable)

    def activated(self):
        return {**super().activated(), "PYTHONPATH": str(ROOT)}


def test_a_lecture_has_several_names():
    for wanted in ("1", "01", "01_scaling", "01_scaling.ipynb"):
        assert lab.find_lecture(wanted).stem == "01_scaling"
        assert lab.find_lecture(wanted).package == "lectures.l01_scaling"
    for wanted in ("77", "scaling", "", "../x"):
        with pytest.raises(CommandError, match=f"no lecture '{wanted}'; there are: 00_start_here"):
            lab.find_lecture(wanted)


def test_the_lecture_is_chosen_by_either_way(monkeypatch):
    monkeypatch.setenv("LECTURE", "02")
    assert lab.chosen_lecture([]).number == "02" and lab.chosen_lecture(["3"]).number == "03"
    monkeypatch.setenv("LECTURE", "")
    assert lab.chosen_lecture([]).number == "00"


def test_no_browser_is_opened_where_there_is_no_screen(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(lab.sys, "platform", "linux")
    assert "--no-browser" in lab.lab_command(Place(), "lab")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert "--no-browser" not in lab.lab_command(Place(), "lab")


class Server:
    """A running server: its link, and what it answers."""

    def __init__(self, process):
        self.process, self.said = process, ""
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

    def save(self, path, notebook, token):
        """Save a notebook as the page does, and return what the file then has."""
        data = {"type": "notebook", "format": "json", "content": notebook}
        self.post(f"/api/contents/{path}", data, token, method="PUT")
        return json.loads(self.get(f"/api/contents/{path}", token)[1])["content"]

    def post(self, path, data, token, method="POST", status=201):
        """Make something on the server, and return what it says of it."""
        address, content = f"http://127.0.0.1:{self.port}{path}", json.dumps(data).encode()
        headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(address, content, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.status == status
            return json.load(answer)

    def setting(self, plugin, name):
        """Return a setting's default here, and what this user has set."""
        path = f"/lab/api/settings/@jupyterlab/{plugin}"
        answer = json.loads(self.get(path, self.token)[1])
        return answer["schema"]["properties"][name]["default"], answer["settings"].get(name)


@pytest.fixture
def serve(tmp_path):
    """Start JupyterLab as `make lab` and `make present` do, away from the reader's own settings."""
    Place(tmp_path).venv.mkdir()
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    variables = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "BROWSER")}
    for name in ("CONFIG", "DATA", "RUNTIME"):
        variables[f"JUPYTER_{name}_DIR"] = str(tmp_path / name)
    processes = []

    def start(what, changed=None):
        process = subprocess.Popen(
            [sys.executable, "-c", START, what, str(tmp_path)],
            cwd=ROOT,
            env={k: v for k, v in {**variables, **(changed or {})}.items() if v is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        return Server(process)

    yield start
    for process in processes:
        process.terminate()
        process.communicate(timeout=30)


def lower_than_ours(kernel):
    """Wait until a kernel's process stands back behind others; return its number."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for each in psutil.process_iter(["cmdline", "nice"]):  # one that ends meanwhile is left out
            of_kernel = any(kernel in word for word in each.info["cmdline"] or [])
            if of_kernel and each.info["nice"] == NICE:
                return each.pid
        time.sleep(0.05)
    raise AssertionError("no kernel of lower priority")


@pytest.mark.skipif(os.name == "nt", reason="on Windows ending the driver leaves JupyterLab alone")
def test_a_real_server_is_private_and_has_our_settings(serve, tmp_path):
    server = serve("lab")
    assert "/lab/tree/my_course/00_start_here.ipynb?token=" in server.link
    copy = server.get("/api/contents/my_course/00_start_here.ipynb", server.token)[1]
    shown = [cell["id"] for cell in json.loads(copy)["content"]["cells"] if cell.get("outputs")]
    assert shown == ["heads-explorer"], "the picture that it opens on, and nothing else"
    assert server.get("/api/contents")[0] == 403
    assert server.get("/api/contents", server.token)[0] == 200
    with pytest.raises(OSError):  # every address but its own, such as those of the network
        socket.create_connection(("127.0.0.2", int(server.port)), timeout=2)
    log = tmp_path / ".venv" / "lab.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "is running at" in log.read_text() and server.token not in log.read_text()
    subshells = server.setting("apputils-extension:kernels-settings", "commsOverSubshells")
    assert subshells == ("disabled", None)
    assert server.setting("apputils-extension:notification", "fetchNews") == ("false", None)

    view = {"model_id": "1f", "version_major": 2, "version_minor": 0}
    explorer = {WIDGET: view, "text/plain": "A picture.", PAGE: "<p>The explorer</p>"}
    shown = [{WIDGET: view, "text/plain": "A quiz."}, {WIDGET: view}, {"text/plain": "4"}, explorer]
    outputs = [new_output("display_data", data) for data in shown]
    written = new_notebook(cells=[new_markdown_cell("# Why?"), new_code_cell(outputs=outputs)])
    written.metadata["widgets"] = {"state": {}}
    saved = server.save("saved.ipynb", written, server.token)
    kept = [output["data"] for output in saved["cells"][1]["outputs"]]
    assert "widgets" not in saved["metadata"]
    assert kept == [
        {"text/plain": "A quiz."},
        {WIDGET: view},
        {"text/plain": "4"},
        {"text/plain": "A picture.", "text/html": "<p>The explorer</p>"},
    ]

    if sys.platform == "linux":
        kernel = server.post("/api/kernels", {"name": "python3"}, server.token)["id"]
        [connection] = Path(tempfile.gettempdir()).glob(f"course-*/kernel-{kernel}.json")
        assert json.loads(connection.read_text())["transport"] == "ipc"
        assert connection.parent.stat().st_mode & 0o077 == 0
        first = lower_than_ours(kernel)
        server.post(f"/api/kernels/{kernel}/restart", {}, server.token, status=200)
        assert lower_than_ours(kernel) != first
        assert psutil.Process(server.process.pid).nice() == psutil.Process().nice()

    # Beside the first: another port. Its home is a file, in which nobody can write.
    (tmp_path / "home").touch()
    usual = dict.fromkeys(["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"])
    second = serve("present", {**usual, "HOME": str(tmp_path / "home")})
    assert second.port != server.port
    assert f"uses {tmp_path / '.venv' / 'home'} instead" in second.said
    assert second.get("/api/contents/notebooks/00_start_here.ipynb", second.token)[0] == 200
    assert "/doc/tree/notebooks/00_start_here.ipynb?token=" in second.link
    assert second.setting("docmanager-extension:plugin", "autosave")[1] is False
    slides = "/lab/extensions/course-presenter/static/start.js"
    assert "export async function start" in second.get(slides, second.token)[1]
    assert server.get(slides, server.token)[0] == 404

    server.process.terminate()
    server.process.communicate(timeout=30)
    with pytest.raises(urllib.error.URLError):
        server.get("/api")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the folders have other names")
@pytest.mark.parametrize(
    ("blocked", "replaced"),
    [
        # As after `sudo pip`: this folder alone is another's.
        (".local/share", {"JUPYTER_DATA_DIR"}),
        (".cache", {"MPLCONFIGDIR"}),
        (".ipython", {"IPYTHONDIR"}),
        (
            "",
            {
                *(f"JUPYTER_{which}_DIR" for which in ("DATA", "CONFIG")),
                "IPYTHONDIR",
                "MPLCONFIGDIR",
                "TRITON_CACHE_DIR",
            },
        ),
        (None, set()),
    ],
)
def test_what_the_home_refuses_is_kept_in_the_environment(
    blocked, replaced, tmp_path, monkeypatch, capsys
):
    home = tmp_path / "home"
    if blocked is not None:
        (home / blocked).parent.mkdir(parents=True, exist_ok=True)
        (home / blocked).touch()  # a file, in which root cannot write either
    for name in [*os.environ]:
        if name.startswith(("XDG_", "JUPYTER_", "IPYTHON", "MPLCONFIG", "TRITON_CACHE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    place = Here(tmp_path / "course")
    place.root.mkdir()
    variables = lab.variables_for(place, "/runtime")
    inside = {name for name, value in variables.items() if value.startswith(f"{place.venv}/home/")}
    assert inside == replaced
    assert all(Path(variables[name]).is_dir() for name in inside)
    assert capsys.readouterr().out.count("\n") == bool(inside)
    assert variables["JUPYTER_RUNTIME_DIR"] == "/runtime"


def test_what_the_presenter_has_changed_stays(tmp_path):
    lab.present_options(tmp_path)
    [file] = tmp_path.rglob("plugin.jupyterlab-settings")
    assert json.loads(file.read_text()) == {"autosave": False}
    file.write_text("changed")
    lab.present_options(tmp_path)
    assert file.read_text() == "changed"


def test_our_settings_are_settings_that_jupyterlab_has():
    jupyter = Path(sys.prefix) / "share" / "jupyter"
    extension = jupyter / "labextensions" / "@jupyter-widgets" / "jupyterlab-manager"
    folders = (jupyter / "lab" / "schemas", extension / "schemas")
    ours = [json.loads(file.read_text()) for file in SETTINGS.glob("*.json")]
    assert len(ours) == 2
    for plugin, values in [item for settings in ours for item in settings.items()]:
        files = [folder / f"{plugin.replace(':', '/')}.json" for folder in folders]
        schema = json.loads(next(file for file in files if file.exists()).read_text())
        for name, value in values.items():
            allowed = schema["properties"][name]
            choices = [choice["const"] for choice in allowed.get("oneOf", [])]
            assert value in (choices or allowed.get("enum") or [True, False])


@pytest.mark.skipif(os.name == "nt", reason="Windows has classes in the place of numbers")
def test_a_process_steps_back_and_one_that_has_ended_is_no_error():
    sleeper = [sys.executable, "-c", "input()"]
    with subprocess.Popen(sleeper, stdin=subprocess.PIPE, start_new_session=True) as process:
        assert psutil.Process(process.pid).nice() == psutil.Process().nice() != NICE
        step_back(process.pid)
        assert psutil.Process(process.pid).nice() == NICE
        session = Path(f"/proc/{process.pid}/autogroup")
        if session.exists():
            assert session.read_text().split()[-1] == str(NICE)
    step_back(process.pid)
