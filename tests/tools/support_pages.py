"""What a Markdown page promises: the commands it quotes and the places it links to."""

import importlib.util
import re
import shlex
from pathlib import Path

CODE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"!?\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
IMAGE_TAG = re.compile(r"<img\b[^>]*>")
SOURCE = re.compile(r"src=\"([^\"]+)\"")
INTERPRETERS = ("python", "python3", "py", ".venv/bin/python")


def quoted_commands(page: str) -> list[str]:
    """Return every `make …` and `python …` command, from blocks and from running text.

    >>> quoted_commands("`make lab` or\\n```sh\\n$ cd x && python course.py lab  # opens\\n```")
    ['python course.py lab', 'make lab']
    """
    lines = [line for block in CODE.findall(page) for line in block.splitlines()]
    lines += INLINE.findall(CODE.sub("", page))
    commands = []
    for line in lines:
        for part in re.split(r"&&|;|\|", line.split("  #")[0].split(" # ")[0]):
            words = part.strip().removeprefix("$ ").split()
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words = words[1:]
            if words and (words[0] == "make" or words[0] in INTERPRETERS) and len(words) > 1:
                commands.append(" ".join(words))
    return commands


def broken_command(command: str, root: Path, targets: list[str]) -> str:
    """Return why a quoted command cannot work, or an empty string.

    Only forms that can be looked up pass: make targets, scripts of this repository, modules.
    """
    program, *words = shlex.split(command)
    if program == "make":
        goals = [word for word in words if "=" not in word]
        unknown = [goal for goal in goals if goal not in (*targets, "help")]
        return f"no target {', '.join(unknown)}: {command}" if unknown or not goals else ""
    if words[0] == "-m":
        found = len(words) > 1 and importlib.util.find_spec(words[1]) is not None
        return "" if found else f"no such module: {command}"
    if not (root / words[0]).is_file():
        return f"no such script: {command}"
    if words[0] == "course.py" and words[1:2] and words[1] not in (*targets, "help"):
        return f"no command {words[1]}: {command}"
    return ""


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, as repository pages make them.

    >>> sorted(anchors("# What it is\\n## How to present (live)"))
    ['how-to-present-live', 'what-it-is']
    """
    headings = re.findall(r"^#+ +(.+?) *$", CODE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: str, file: Path) -> list[str]:
    """Return the relative links and images that lead nowhere, and images without a description."""
    text = CODE.sub("", page)
    found = []
    targets = [match["target"] for match in LINK.finditer(text)]
    found += [f"image without a description: {m.group()}" for m in LINK.finditer(text)
              if m.group().startswith("!") and not m["text"].strip()]  # fmt: skip
    for tag in IMAGE_TAG.findall(text):
        targets += SOURCE.findall(tag)
        if not re.search(r"alt=\"[^\"]+\"", tag):
            found.append(f"image without a description: {tag}")
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue  # another site: nothing here may reach the network
        path, _, anchor = target.partition("#")
        place = (file.parent / path).resolve() if path else file
        if not place.exists():
            found.append(f"leads nowhere: {target}")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place.read_text("utf-8")):
            found.append(f"no such heading: {target}")
    return found
