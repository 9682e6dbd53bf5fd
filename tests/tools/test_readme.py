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


@pytest.mark.parametrize(
    "file", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda file: file.name
)
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
