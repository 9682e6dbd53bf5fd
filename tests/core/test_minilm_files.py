"""MiniLM's files: where they are found, what is refused, and whose tensor goes where."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch

from course_utils.data import minilm_files
from course_utils.data.minilm_files import (
    HUB_FOLDER,
    MINILM_SHA256,
    NEEDED_FILES,
    MiniLMNotFoundError,
    MiniLMRefusedError,
    find_minilm,
)
from course_utils.models import load_minilm
from course_utils.models.minilm import _our_name


@pytest.fixture
def copied(folder, tmp_path):
    """A folder with the small files; each test adds the weights it wants to try."""
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(folder / name, tmp_path / name)
    return tmp_path


# Finding and verifying the files


def test_found_without_running_the_package():
    program = (
        "import sys\n"
        "from course_utils.data.minilm_files import PACKAGE, find_minilm\n"
        "print(find_minilm().name, PACKAGE in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "model False False\n"


def make_snapshot(hub: Path, name: str) -> Path:
    snapshot = hub / HUB_FOLDER / "snapshots" / name
    snapshot.mkdir(parents=True)
    for needed in NEEDED_FILES:
        (snapshot / needed).write_bytes(b"")
    return snapshot


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setattr(minilm_files, "PACKAGE", "no_such_package")
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variable", "hub"),
    [("HF_HUB_CACHE", "."), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")],
)
def test_hub_cache_variables(no_package, monkeypatch, tmp_path, variable, hub):
    monkeypatch.setenv(variable, str(tmp_path))
    make_snapshot(tmp_path / hub, "aaa")
    newest = make_snapshot(tmp_path / hub, "bbb")
    refs = tmp_path / hub / HUB_FOLDER / "refs"
    refs.mkdir()
    (refs / "main").write_text("bbb\n")
    assert find_minilm() == newest.resolve()


def test_incomplete_snapshots(no_package, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    (make_snapshot(tmp_path, "aaa") / "config.json").unlink()
    with pytest.raises(MiniLMNotFoundError, match="make setup"):
        load_minilm()


def test_missing_files_are_named(copied):
    with pytest.raises(MiniLMNotFoundError, match=r"without model\.safetensors$"):
        load_minilm(copied)
    (copied / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(MiniLMNotFoundError, match=r"\(pytorch_model\.bin is not read: a pickle"):
        load_minilm(copied)


def test_one_flipped_bit_is_refused(folder, copied):
    damaged = bytearray((folder / "model.safetensors").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (copied / "model.safetensors").write_bytes(damaged)
    with pytest.raises(MiniLMRefusedError, match="damaged or belongs to another model"):
        load_minilm(copied)


class Trap:
    """Unpickling it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_foreign_files_stay_unread(copied):
    weights, sprung = copied / "model.safetensors", copied / "sprung"
    foreign = [
        safetensors.torch.save({"x": torch.zeros(3)}),
        pickle.dumps(Trap(sprung)),
        b"version https://git-lfs.github.com/spec/v1\n",
        b"",
    ]
    for content in foreign:
        weights.write_bytes(content)
        with pytest.raises(
            MiniLMRefusedError, match=f"SHA-256 {MINILM_SHA256[weights.name][:16]}.*make setup"
        ):
            load_minilm(copied)
    assert not sprung.exists()
    pickle.loads(foreign[1])
    assert sprung.exists()  # the trap does work


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux says what is shared")
def test_weights_are_mapped():
    """So that the kernels of a class have them once; and torch's compiler, 75 MB, is not loaded."""
    code = (
        "import sys\n"
        "from course_utils.models import load_minilm\n"
        "model = load_minilm()\n"
        "assert all(p.isfinite().all() for p in model.encoder.parameters())  # touches every page\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "print(open('/proc/self/smaps').read())"
    )
    command = [sys.executable, "-c", code]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    start = next(n for n, line in enumerate(lines) if line.endswith("model.safetensors"))
    mapped = dict(line.split(":", 1) for line in lines[start + 1 : start + 15])
    size, dirty = (int(mapped[name].split()[0]) for name in ("Rss", "Private_Dirty"))
    assert size > 80_000 and dirty < 1_000  # kB


def test_foreign_tokenizer_or_config(folder, copied):
    shutil.copy(folder / "model.safetensors", copied)
    tokenizer = (copied / "tokenizer.json").read_text(encoding="utf-8")
    swapped = tokenizer.replace('"animal"', '"\\u0000"').replace('"street"', '"animal"')
    (copied / "tokenizer.json").write_text(swapped, encoding="utf-8")
    with pytest.raises(MiniLMRefusedError, match=r"tokenizer\.json must have SHA-256 "):
        load_minilm(copied)
    for broken in ("not JSON", "[]", "[" * 10**5):
        (copied / "config.json").write_text(broken)
        with pytest.raises(MiniLMRefusedError, match=r"config\.json must be"):
            load_minilm(copied)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden_act", "gelu_new"),
        ("num_hidden_layers", 10**9),
        ("hidden_size", "384"),
        ("layer_norm_eps", None),
    ],
)
def test_a_config_of_another_model(folder, copied, field, value):
    shutil.copy(folder / "model.safetensors", copied)
    fields = json.loads((folder / "config.json").read_text()) | {field: value}
    (copied / "config.json").write_text(json.dumps(fields))
    with pytest.raises(MiniLMRefusedError, match=field):
        load_minilm(copied)


def test_every_tensor_is_used_once(folder, minilm):
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    named = {_our_name(name): tensor for name, tensor in tensors.items()}
    for name, weight in minilm.encoder.state_dict().items():
        assert torch.equal(named.pop(name), weight)
    assert len(named) == 3  # the pooler's two and position_ids
