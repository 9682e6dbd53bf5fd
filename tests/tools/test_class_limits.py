"""The control groups of the class, on trees made of plain files; the real ones: tests/hub."""

import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "deploy" / "jupyterhub" / "cgroups.py"
SPEC = importlib.util.spec_from_file_location("cgroups", FILE)
cgroups = sys.modules["cgroups"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cgroups)
Limits, NoControlGroups, find_trees = cgroups.Limits, cgroups.NoControlGroups, cgroups.find_trees

LIMITS = Limits(memory=3 * 2**29, cpus=1.5, tasks=307)


def process(tmp_path, own, mounts):
    """A folder that describes a process, as /proc/self does."""
    folder = tmp_path / "process"
    folder.mkdir()
    (folder / "cgroup").write_text(own)
    lines = [
        f"3{n} 29 0:2{n} {root} {place} rw,relatime - {kind} {kind} rw,{options}"
        for n, (kind, root, place, options) in enumerate(mounts)
    ]
    (folder / "mountinfo").write_text("\n".join(lines))
    return folder


@pytest.fixture
def version_2(tmp_path):
    """A service of systemd with the right to divide its own group."""
    service = tmp_path / "fs" / "system.slice" / "hub.service"
    service.mkdir(parents=True)
    (service / "cgroup.controllers").write_text("cpuset cpu io memory pids")
    (service / "cgroup.procs").write_text("17\n19\n")
    (service / "cgroup.type").write_text("domain\n")
    mounts = [("cgroup2", "/", tmp_path / "fs", "nsdelegate")]
    return process(tmp_path, "0::/system.slice/hub.service\n", mounts), service


@pytest.fixture
def version_1(tmp_path):
    """A tree for each controller, beside an empty one of version 2."""
    mounts = [("cgroup2", "/", tmp_path / "unified", "nsdelegate")]
    for name in ("memory", "cpu,cpuacct", "pids"):
        (tmp_path / name).mkdir()
        mounts.append(("cgroup", "/", tmp_path / name, name))
    (tmp_path / "unified").mkdir()
    return process(tmp_path, "9:memory:/\n8:cpu,cpuacct:/\n7:pids:/\n0::/\n", mounts), tmp_path


def test_version_2_has_every_limit_in_one_folder(version_2):
    described, service = version_2
    trees = find_trees(described)
    assert trees.version == 2
    group = trees.prepare().student(1003)
    group.create(LIMITS)
    (folder,) = set(group.folders.values())
    assert folder == service / "attention-course" / "student-1003"
    written = {file.name: file.read_text() for file in folder.iterdir()}
    assert written == {
        "memory.max": str(3 * 2**29),
        "cpu.max": "150000 100000",
        "cpu.weight": "100",
        "pids.max": "307",
    }
    assert group.entries == [folder / "cgroup.procs"]


def test_version_2_moves_the_hub_out_of_the_way_before_it_divides_its_group(version_2):
    described, service = version_2
    find_trees(described).prepare()
    assert (service / "hub" / "cgroup.procs").read_text() == "19", "the last one written"
    for folder in (service, service / "attention-course"):
        assert (folder / "cgroup.subtree_control").read_text() == "+memory +cpu +pids"


def test_a_process_that_ends_meanwhile_stops_no_limit(version_2, monkeypatch):
    described, service = version_2
    write = Path.write_text

    def write_unless_gone(file, content, *more, **named):
        if (file.name, content) == ("cgroup.procs", "17"):
            raise ProcessLookupError(3, "No such process")
        return write(file, content, *more, **named)

    monkeypatch.setattr(Path, "write_text", write_unless_gone)
    find_trees(described).prepare()
    assert (service / "hub" / "cgroup.procs").read_text() == "19"


def test_version_1_has_a_folder_for_each_controller(version_1):
    described, place = version_1
    trees = find_trees(described)
    assert trees.version == 1
    group = trees.prepare().student(1003)
    group.create(LIMITS)
    memory = place / "memory" / "attention-course" / "student-1003"
    cpu = place / "cpu,cpuacct" / "attention-course" / "student-1003"
    assert (memory / "memory.limit_in_bytes").read_text() == str(3 * 2**29)
    assert (cpu / "cpu.cfs_quota_us").read_text() == "150000"
    assert len(group.entries) == 3


def test_a_container_sees_its_own_part_of_the_tree(tmp_path):
    (tmp_path / "fs" / "mine").mkdir(parents=True)
    (tmp_path / "fs" / "mine" / "cgroup.controllers").write_text("cpu memory pids")
    mounts = [("cgroup2", "/docker/abc", tmp_path / "fs", "")]
    described = process(tmp_path, "0::/docker/abc/mine\n", mounts)
    assert find_trees(described).folders["pids"] == tmp_path / "fs" / "mine" / "attention-course"


def test_swap_is_limited_where_there_is_such_a_file(version_1, monkeypatch):
    described, _ = version_1
    swap = "memory.memsw.limit_in_bytes"
    group = find_trees(described).prepare().student(1003)
    group.create(LIMITS)
    assert not (group.folders["memory"] / swap).exists()
    (group.folders["memory"] / swap).write_text("0")
    monkeypatch.setattr(type(group), "remove", lambda group: None)  # plain files do not vanish
    group.create(LIMITS)
    assert (group.folders["memory"] / swap).read_text() == str(LIMITS.memory)


def test_missing_controllers_are_named(tmp_path):
    (tmp_path / "fs").mkdir()
    (tmp_path / "fs" / "cgroup.controllers").write_text("pids")
    described = process(tmp_path, "0::/\n", [("cgroup2", "/", tmp_path / "fs", "")])
    with pytest.raises(NoControlGroups, match=r"memory, cpu, pids cannot be had .*Delegate=yes"):
        find_trees(described)


def test_a_tree_that_may_not_be_written_says_so(version_2):
    described, service = version_2
    (service / "cgroup.subtree_control").mkdir()  # nobody can write there, root included
    with pytest.raises(NoControlGroups, match=r"cannot make control groups: .*Is a directory"):
        find_trees(described).prepare()


@pytest.mark.parametrize("name", ["memory", "cpus", "tasks"])
def test_a_limit_of_nothing_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be more than 0, got 0"):
        Limits(**{"memory": 1, "cpus": 1.0, "tasks": 1, name: 0})


def test_the_kernels_count_of_ended_processes_is_read(version_1):
    group = find_trees(version_1[0]).prepare().student(1003)
    group.create(LIMITS)
    assert group.memory_kills() == 0
    control = group.folders["memory"] / "memory.oom_control"
    control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
    assert group.memory_kills() == 5
