"""What repo2docker, which Binder runs, reads in this repository, by its own rules."""

import shutil
import warnings
from pathlib import Path

import pytest

from tools.setup.place import ROOT

with warnings.catch_warnings():  # repo2docker imports a module by the name it had before
    warnings.simplefilter("ignore", DeprecationWarning)
    from repo2docker.buildpacks import CondaBuildPack

FILES = ("environment.yml", "postBuild", "pyproject.toml", "constraints.txt")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """The files that decide, in a folder of their own, which repo2docker stands in."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read():
    """Return what repo2docker builds with, in the folder where it stands."""
    pack = CondaBuildPack("a base image")
    return pack if pack.detect() else None


def test_it_finds_the_environment_and_its_python(course):
    pack = read()
    assert pack.environment_yaml_path == "environment.yml"
    assert pack.python_version == "3.12"
    assert not pack.uses_r


def test_it_installs_the_environment_into_the_one_that_serves(course):
    pack = read()
    scripts = "\n".join(script for _, script in pack.get_env_scripts())
    assert "env update" in scripts and "environment.yml" in scripts
    assert not pack.separate_kernel_env, "one Python serves the lectures and runs them"


def test_the_package_itself_is_there_before_pip_installs_it(course):
    """A pip section that names this folder makes repo2docker copy the repository first."""
    assert not read()._should_preassemble_env
    assert (course / "pyproject.toml").exists()


def test_it_runs_post_build(course):
    assert read().get_post_build_scripts() == ["postBuild"]
    assert Path("postBuild").stat().st_mode & 0o100


def test_no_folder_of_binders_own_takes_over():
    """Where there is one, repo2docker reads nothing else."""
    assert not [name for name in ("binder", ".binder") if (ROOT / name).exists()]
