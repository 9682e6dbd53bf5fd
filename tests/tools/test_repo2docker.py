"""What repo2docker, which Binder runs, reads in this repository, by its own rules."""

import shutil
import warnings

from tools.setup.environment import MINILM
from tools.setup.place import ROOT

with warnings.catch_warnings():  # repo2docker imports a module by the name it had before
    warnings.simplefilter("ignore", DeprecationWarning)
    from repo2docker.buildpacks import CondaBuildPack


def test_binder_installs_the_environment_then_runs_post_build(tmp_path, monkeypatch):
    # Where there is a folder of Binder's own, repo2docker reads nothing else.
    assert not (ROOT / "binder").exists() and not (ROOT / ".binder").exists()
    for name in ("environment.yml", "postBuild", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    pack = CondaBuildPack("a base image")
    assert pack.detect()
    assert (pack.environment_yaml_path, pack.python_version) == ("environment.yml", "3.12")
    assert not pack.separate_kernel_env, "one Python serves the lectures and runs them"
    assert pack.get_post_build_scripts() == ["postBuild"]
    post_build = (tmp_path / "postBuild").read_text(encoding="utf-8")
    assert MINILM in post_build
