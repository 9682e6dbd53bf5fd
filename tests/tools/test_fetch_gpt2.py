"""make gpt2: one fixed version, by hash; what fails leaves a sentence and nothing half done."""

import hashlib

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from course_utils.data import gpt2_files
from course_utils.data.gpt2_files import GPT2FileError, find_gpt2
from course_utils.models import GPT2, GPT2Config, generate, save_gpt2
from course_utils.models.published_gpt2 import load_published_gpt2
from tests.support_errors import raises_saying
from tools.scripts import fetch_gpt2

CONTENT = {name: f"the content of {name}".encode() for name in fetch_gpt2.SHA256}


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub that serves CONTENT, and remembers what it was asked for."""
    asked = []

    def download(model, name, *, revision, local_dir):
        asked.append(name)
        assert (model, revision) == (fetch_gpt2.MODEL, fetch_gpt2.REVISION)
        local_dir.mkdir(parents=True, exist_ok=True)
        (local_dir / name).write_bytes(CONTENT[name])
        return str(local_dir / name)

    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    for module in (fetch_gpt2, gpt2_files):
        monkeypatch.setattr(module, "SHA256", hashes)
        monkeypatch.setattr(module, "FOLDER", tmp_path / "weights" / "gpt2")
    monkeypatch.setattr(fetch_gpt2, "hf_hub_download", download)
    return asked


def files():
    folder = fetch_gpt2.FOLDER
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_everything_is_fetched_once(hub, capsys):
    assert fetch_gpt2.main() == 0
    assert files() == CONTENT and set(hub) == set(CONTENT)
    assert {path.name for path in fetch_gpt2.FOLDER.iterdir()} == set(CONTENT)
    hub.clear()
    assert fetch_gpt2.main() == 0
    assert hub == [] and "here already" in capsys.readouterr().out


def test_a_damaged_file_is_fetched_again_and_no_other(hub):
    fetch_gpt2.main()
    (fetch_gpt2.FOLDER / "config.json").write_bytes(b"{}")
    hub.clear()
    assert fetch_gpt2.main() == 0
    assert hub == ["config.json"] and files() == CONTENT


def test_another_file_is_thrown_away(hub, monkeypatch, capsys):
    monkeypatch.setitem(CONTENT, "config.json", b"something else")
    assert fetch_gpt2.main() == 1
    said = capsys.readouterr().err
    assert said.startswith("GPT-2's config.json must have SHA-256 ") and said.count("\n") == 1
    left = [path for path in fetch_gpt2.FOLDER.rglob("*") if path.is_file()]
    assert left == []


@pytest.mark.parametrize(
    "error", [OSError("no route to host\nand more"), RuntimeError("closed"), TimeoutError()]
)
def test_without_a_network_there_is_one_sentence(hub, monkeypatch, capsys, error):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr(fetch_gpt2, "hf_hub_download", fail)
    assert fetch_gpt2.main() == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "could not be fetched" in said
    assert said.rstrip().endswith((str(error) or "TimeoutError").split("\n")[0])


def test_offline_the_real_client_says_so(capsys, monkeypatch, tmp_path):
    """Tests run with the hub's client offline: it fails before it asks for anything."""
    monkeypatch.setattr(fetch_gpt2, "FOLDER", tmp_path / "gpt2")
    assert fetch_gpt2.main() == 1
    assert "could not be fetched" in capsys.readouterr().err


def test_what_was_fetched_is_found(hub):
    assert find_gpt2() is None and load_published_gpt2() is None
    fetch_gpt2.main()
    assert find_gpt2() == fetch_gpt2.FOLDER
    (fetch_gpt2.FOLDER / "tokenizer.json").unlink()
    assert find_gpt2() is None


def test_a_file_that_changed_is_refused(hub):
    fetch_gpt2.main()
    (fetch_gpt2.FOLDER / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(
        GPT2FileError, match=r"^model\.safetensors must have SHA-256 \w{16}\.\.\., got"
    ):
        load_published_gpt2()


@pytest.fixture
def published(monkeypatch, tmp_path):
    """A small model in the place of the published one, whose tokens are bytes."""
    torch.manual_seed(0)
    save_gpt2(GPT2(GPT2Config(256, 23, 15, 2, 3)), tmp_path)
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({sign: place for place, sign in enumerate(signs)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    hashes = {path.name: gpt2_files.sha256_of(path) for path in tmp_path.iterdir()}
    monkeypatch.setattr(gpt2_files, "SHA256", hashes)
    monkeypatch.setattr(gpt2_files, "FOLDER", tmp_path)
    return load_published_gpt2()


def test_the_published_model_writes(published):
    model, tokenizer = published
    written = published.write("To be", 11)
    assert not model.training and written.startswith("To be")
    ids = torch.tensor([tokenizer.encode("To be").ids])
    drawn = generate(model, ids, 11, k=40, generator=torch.Generator().manual_seed(0))
    assert written == tokenizer.decode(drawn[0].tolist())
    assert published.write("To be", 11, seed=1) != written


def test_an_empty_prompt_is_refused(published):
    with raises_saying(ValueError, "prompt must hold at least one token, got ''"):
        published.write("", 5)
