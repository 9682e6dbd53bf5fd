"""make gpt2: one fixed version, by hash; what fails leaves a sentence and nothing half done."""

import hashlib
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.error import URLError

import pytest

from course_utils.data import gpt2_files
from course_utils.data.gpt2_files import GPT2FileError, find_gpt2
from course_utils.models.gpt2_weights import load_published_gpt2
from tools.scripts import fetch_gpt2

CONTENT = {name: f"the content of {name}".encode() for name in fetch_gpt2.SHA256}


class Hub(BaseHTTPRequestHandler):
    """A hub that serves CONTENT; `cut` is after how many bytes it breaks off, if at all."""

    asked: ClassVar[list[tuple[str, str]]] = []
    content: ClassVar[dict[str, bytes]] = {}
    cut = None

    def do_GET(self):
        name = self.path.rpartition("/")[2]
        assert self.path == f"/{fetch_gpt2.MODEL}/resolve/{fetch_gpt2.REVISION}/{name}"
        start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.asked.append((name, start))
        rest = self.content[name][start:]
        if not rest:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.cut])

    def log_message(self, *words):
        pass


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A real server on this machine, and an empty folder for what it serves."""
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    for module in (fetch_gpt2, gpt2_files):
        monkeypatch.setattr(module, "SHA256", hashes)
        monkeypatch.setattr(module, "FOLDER", tmp_path / "weights" / "gpt2")
    handler = type("OneHub", (Hub,), {"asked": [], "content": dict(CONTENT)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield handler
        server.shutdown()
        thread.join()


def files():
    """Return what lies in the folder, the lock left out."""
    paths = [path for path in fetch_gpt2.FOLDER.iterdir() if path.name != ".lock"]
    return {path.name: path.read_bytes() for path in paths}


def test_everything_is_fetched_once(hub, capsys):
    assert find_gpt2() is None and load_published_gpt2() is None
    assert fetch_gpt2.main() == 0
    assert find_gpt2() == fetch_gpt2.FOLDER
    assert files() == CONTENT and sorted(hub.asked) == sorted((name, 0) for name in CONTENT)
    hub.asked.clear()
    assert fetch_gpt2.main() == 0
    assert hub.asked == [] and capsys.readouterr().out.count("GPT-2 is here.") == 2


def test_a_damaged_file_is_fetched_again_and_no_other(hub):
    fetch_gpt2.main()
    (fetch_gpt2.FOLDER / "config.json").write_bytes(b"{}")
    hub.asked.clear()
    assert fetch_gpt2.main() == 0
    assert hub.asked == [("config.json", 0)] and files() == CONTENT


def test_what_was_cut_off_goes_on_where_it_stopped(hub, capsys):
    first = next(iter(CONTENT))
    hub.cut = 7
    assert fetch_gpt2.main() == 1
    assert f"the connection broke off in {first}. `make gpt2` goes on" in capsys.readouterr().err
    assert files() == {f"{first}.part": CONTENT[first][:7]}
    hub.cut = None
    hub.asked.clear()
    assert fetch_gpt2.main() == 0
    assert hub.asked[0] == (first, 7) and files() == CONTENT


def test_two_at_once_fetch_each_file_once(hub, capsys):
    statuses = []
    threads = [
        threading.Thread(target=lambda: statuses.append(fetch_gpt2.main())) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [0, 0] and files() == CONTENT and len(hub.asked) == len(CONTENT)


def test_another_file_is_thrown_away(hub, capsys):
    hub.content["config.json"] = b"something else"
    assert fetch_gpt2.main() == 1
    assert "config.json must have SHA-256 " in capsys.readouterr().err
    assert files() == {}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("no route to host\nand more"), "without it: no route to host. `make gpt2`"),
        (TimeoutError(), "without it: TimeoutError."),
        (URLError(OSError("refused")), "without it: refused."),
        (URLError(ssl.SSLCertVerificationError(1, "verify failed")), "certificate was refused"),
    ],
)
def test_a_failure_is_one_sentence_with_its_cause(hub, monkeypatch, capsys, error, said):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr(fetch_gpt2.urllib.request, "urlopen", fail)
    assert fetch_gpt2.main() == 1
    words = capsys.readouterr().err
    assert words.count("\n") == 1 and said in words


def test_a_file_that_changed_is_refused(hub):
    fetch_gpt2.main()
    (fetch_gpt2.FOLDER / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(
        GPT2FileError, match=r"^model\.safetensors must have SHA-256 \w{16}\.\.\., got"
    ):
        load_published_gpt2()
