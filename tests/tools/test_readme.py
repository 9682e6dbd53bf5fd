"""Every command that a page quotes exists, and every relative link and picture resolves."""

import pytest

from tests.tools.support_pages import broken_command, broken_links, quoted_commands
from tools.setup.cli import COMMANDS
from tools.setup.place import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
]
TARGETS = list(COMMANDS)


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_every_command_exists(file):
    commands = quoted_commands(file.read_text(encoding="utf-8"))
    broken = [broken_command(command, ROOT, TARGETS) for command in commands]
    assert [reason for reason in broken if reason] == []


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_every_link_and_picture_resolves(file):
    assert broken_links(file.read_text(encoding="utf-8"), file) == []


def test_readme_gives_the_two_commands_with_and_without_make():
    commands = quoted_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {"make lab", "make test", "py course.py lab", "py course.py test"} <= set(commands)


@pytest.mark.parametrize(
    "command",
    [
        "make coffee",
        "make lab coffee",
        "make LECTURE=00",
        "python course.py coffee",
        "python3 no_such_script.py",
        "python -m no_such_module",
        "py course.pi lab",
    ],
)
def test_a_command_that_does_not_exist_is_caught(command):
    assert quoted_commands(f"Run `{command}`.") == [command]
    assert broken_command(command, ROOT, TARGETS) != ""


@pytest.mark.parametrize(
    "command",
    ["make present LECTURE=01", "py course.py lab", "python -m tools.doctor", "make help"],
)
def test_a_command_that_exists_passes(command):
    assert broken_command(command, ROOT, TARGETS) == ""


def test_commands_are_found_in_blocks_behind_variables_and_after_others():
    page = (
        "```sh\nTORCH_INDEX_URL=x make lab   # why\ncd a && make test\n```\nor `python3 course.py`"
    )
    assert quoted_commands(page) == ["make lab", "make test", "python3 course.py"]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("[x](no/such/file.md)", "leads nowhere"),
        ("[x](#no-such-heading)", "no such heading"),
        ("[x](CONTRIBUTING.md#no-such-heading)", "no such heading"),
        ("![a picture](no.png)", "leads nowhere"),
        ("![](LICENSE)", "without a description"),
        ('<img src="no.png" alt="a picture">', "leads nowhere"),
        ('<img src="LICENSE">', "without a description"),
    ],
)
def test_a_link_that_leads_nowhere_is_caught(tmp_path, page, reason):
    for name in ("LICENSE", "CONTRIBUTING.md", "page.md"):
        (tmp_path / name).write_text("# A heading\n")
    (problem,) = broken_links(page, tmp_path / "page.md")
    assert reason in problem


def test_links_that_lead_somewhere_pass(tmp_path):
    file = tmp_path / "page.md"
    file.write_text(
        "# A heading, with *signs*\n[up](#a-heading-with-signs) [web](https://x.org/)\n"
    )
    assert broken_links(file.read_text(), file) == []
