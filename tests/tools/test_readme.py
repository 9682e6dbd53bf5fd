"""Every command that a page quotes exists, and every relative link and picture resolves."""

import importlib.util
import json
import re
import shlex

import pytest

from course_utils.teaching.claims import read_replications
from tools.setup.cli import COMMANDS
from tools.setup.place import ROOT

PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")]
PAGES += sorted((ROOT / "docs").glob("**/*.md"))
CODE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"(?:\$ )?(?:[A-Z_]+=\S* )*((?:make|python3?|py|\.venv/bin/python) .+)")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
ON_GITHUB = ("../../tree/colab", "../../deployments/github-pages")  # pages of the repository there
FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|js|css|md|toml|json|ipynb)|(?:[\w.-]+/)+[\w.-]*)`")
# Of the reader, made by a command, or yet to be written by whoever follows the page.
ELSEWHERE = re.compile(
    r"my_(gpt|kernels)\.py|^my_course|^build|09_name|^sentence-transformers/|^\."
)
FOLDERS = (
    "benchmarks",
    "course_utils",
    "deploy",
    "docs",
    "lectures",
    "notebooks",
    "tests",
    "tools",
)
IMAGE_TAG = re.compile(r"<img\b[^>]*>")


def quoted_commands(page):
    """Return every `make …` and `python …` command, from blocks and from running text."""
    lines = "".join(CODE.findall(page)).splitlines() + INLINE.findall(CODE.sub("", page))
    parts = [part for line in lines for part in re.split(r"&&|;|\||\s# ", line)]
    return [found[1] for part in parts if (found := COMMAND.fullmatch(part.strip()))]


def exists(command):
    """Whether a quoted command is a target of make, a script of the course, or a module."""
    program, *words = shlex.split(command)
    commands = {*COMMANDS, "help"}
    if program == "make":
        return {word for word in words if "=" not in word} <= commands
    if words[0] == "-m":
        return importlib.util.find_spec(words[1]) is not None
    if words[0] == "course.py" and words[1:]:
        return words[1] in commands
    return (ROOT / words[0]).is_file()


def anchors(page):
    """Return the anchors of a page's headings, as repository pages make them."""
    headings = re.findall(r"^#+ +(.+?) *$", CODE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(target, file):
    """Whether a link's target is there; other sites are not asked."""
    # Above the repository is its host's page, with other branches.
    if re.match(r"[a-z]+:", target) or target in ON_GITHUB:
        return True
    path, _, anchor = target.partition("#")
    place = (file.parent / path).resolve() if path else file
    if anchor and place.suffix == ".md":
        return place.exists() and anchor in anchors(place.read_text("utf-8"))
    return place.exists()


# The changelog names what is gone, too.
@pytest.mark.parametrize(
    "file", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda file: file.name
)
def test_every_command_exists(file):
    commands = quoted_commands(file.read_text(encoding="utf-8"))
    assert [command for command in commands if not exists(command)] == []


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_every_link_and_picture_resolves(file):
    text = CODE.sub("", file.read_text(encoding="utf-8"))
    tags = IMAGE_TAG.findall(text)
    targets = [target for *_, target in LINK.findall(text)]
    targets += re.findall(r"src=\"([^\"]+)\"", "".join(tags))
    assert [target for target in targets if not leads_somewhere(target, file)] == []
    nameless = [target for sign, words, target in LINK.findall(text) if sign and not words.strip()]
    nameless += [tag for tag in tags if not re.search(r"alt=\"[^\"]+\"", tag)]
    assert nameless == [], "pictures without a description"


def test_readme_gives_the_two_commands_with_and_without_make():
    commands = quoted_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {"make lab", "make test", "py course.py lab", "py course.py test"} <= set(commands)


def figures(page):
    """Return, for each command of a page's tables, all numbers of the rows that end in it."""
    found = {}
    for _, *said, command in re.findall(r"^\|(.+)\|(.+)\| `(.+?)` \|$", page, re.MULTILINE):
        numbers = re.findall(r"\d[\d,]*(?:\.\d+)?", " ".join(said))
        found.setdefault(command, set()).update(numbers)
    return found


def test_readme_s_figures_are_those_of_the_results():
    readme = figures((ROOT / "README.md").read_text(encoding="utf-8"))
    results = figures((ROOT / "benchmarks" / "results" / "README.md").read_text(encoding="utf-8"))
    measured = {name for name in readme if "benchmarks." in name or name in results}
    assert len(measured) > 7
    for name in measured - {"python -m benchmarks.lectures"}:
        assert readme[name] <= results[name], name


def test_seconds_of_lectures_are_those_of_their_file():
    results = ROOT / "benchmarks" / "results"
    lectures = json.loads((results / "lectures.json").read_text(encoding="utf-8"))["lectures"]
    seconds = [round(lectures[number]["seconds"]) for number in sorted(lectures)]
    *others, last = seconds
    said = f"| {', '.join(map(str, others))} and {last} s | `python -m benchmarks.lectures` |"
    assert said in (results / "README.md").read_text(encoding="utf-8")
    parts = [f"{min(part)} to {max(part)} s" for part in (seconds[:6], seconds[6:])]
    row = f"| {', '.join(parts)} | `python -m benchmarks.lectures` |"
    assert row in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_claims_that_held_are_counted_from_their_file():
    claims = read_replications().values()
    elsewhere = [holds for claim in claims for each in claim.settings.values() for holds in each]
    for held, tried in (
        (sum(claim.held for claim in claims), sum(claim.tried for claim in claims)),
        (elsewhere.count(True), len(elsewhere) - elsewhere.count(None)),
    ):
        row = f"| held in {held:,} of {tried:,} runs | `make claims` |"
        assert row in (ROOT / "README.md").read_text(encoding="utf-8")


def missing(page, held):
    """The files and folders that a page names and that no path ends with."""
    names = {name.rstrip("/") for name in FILE.findall(page) if not ELSEWHERE.search(name)}
    return {name for name in names if not any(f"/{path}".endswith(f"/{name}") for path in held)}


@pytest.fixture(scope="module")
def held():
    paths = [*ROOT.glob("*"), *(ROOT / name for name in FOLDERS)]
    paths += [path for name in FOLDERS for path in (ROOT / name).rglob("*")]
    return {path.relative_to(ROOT).as_posix() for path in paths}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page, held):
    if page.name != "CHANGELOG.md":  # which tells of what is gone
        assert missing(page.read_text(encoding="utf-8"), held) == set()


def test_a_stale_name_is_found(held):
    page = "`kit/words.js`, `kit/words.py`, `tools/site/` and `tools/web/`"
    assert missing(page, held) == {"kit/words.py", "tools/web"}
