"""Build the static edition of the course: `python -m tools.site.build [--out build/site]`.

No kernel runs and nothing is fetched. The lectures are taken as they are committed, outputs and
all; the explorers are asked for their frames; Sphinx does the rest, and a warning ends the build.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from course_utils.lectures import COURSE, EXPLORERS
from tools.claims import TABLE as CLAIMS
from tools.site.api import write_reference
from tools.site.check import loaded_from_elsewhere, total_bytes
from tools.site.font import characters, write_font
from tools.site.notebooks import Pictures, links_to_run, page_source
from tools.site.players import make_players, player_html
from tools.site.predictions import predictions_of

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
FONT = Path("_static/fonts/stix-two-math.woff")
BUILT = "players"  # what every folder that was built in has
ELSEWHERE = re.compile(r"\[([^\]]*)\]\(\.\./[^)]*\)")
FOLD = '<summary><span class="toctree-toggle"'
NAMED_FOLD = '<summary aria-label="its pages"><span class="toctree-toggle"'
DOCUMENTS = ("teaching.md", "writing-an-explorer.md")


def main(arguments: list[str] | None = None) -> int:
    """Build, check what was built, and say how large it is."""
    parser = argparse.ArgumentParser(description="Build the static edition of the course.")
    default = ROOT / "build" / "site"
    parser.add_argument("--out", type=Path, default=default, help="where to build (build/site)")
    out = parser.parse_args(arguments).out.resolve()
    started = time.monotonic()
    if holds_other_things(out):
        print(
            f"--out must be a new folder or that of an earlier build; got {out}, which holds other "
            "things. What it calls source and html would be replaced.",
            file=sys.stderr,
        )
        return 1
    (out / BUILT).mkdir(parents=True, exist_ok=True)
    print("Asking the explorers for their frames ...", flush=True)
    players = make_players(list(EXPLORERS), out)
    print("Writing the pages ...", flush=True)
    write_sources(out, players)
    status = run_sphinx(out)
    if status:
        print("Sphinx warned or failed, see above; the site is not complete.", file=sys.stderr)
        return status
    html = out / "html"
    mend_theme(html)
    pages = [path.read_text(encoding="utf-8") for path in sorted(html.rglob("*.html"))]
    write_font(characters(pages), html / FONT)
    if elsewhere := loaded_from_elsewhere(html):
        print("These would be loaded from other machines:", *elsewhere, sep="\n  ", file=sys.stderr)
        return 1
    report(html, players, time.monotonic() - started)
    return 0


def holds_other_things(out: Path) -> bool:
    """Whether there is something at this path that no build has put there."""
    if out.is_dir():
        return any(out.iterdir()) and not (out / BUILT).is_dir()
    return out.exists()


def write_sources(out: Path, players: dict) -> None:
    """Put together the folder that Sphinx reads."""
    source = out / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(out / "extra" / "figures", ignore_errors=True)
    shutil.copytree(SITE / "pages", source)
    pictures = Pictures(out / "extra" / "figures")
    lectures = source / "lectures"
    lectures.mkdir()
    for lecture in COURSE:
        name = f"{lecture.stem}.ipynb"
        notebook = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))
        page = page_source(
            notebook,
            lambda name: player_html(name, players[name]),
            pictures,
            predictions_of(lecture.module("exercises")),
        )
        if repository := os.environ.get("GITHUB_REPOSITORY"):
            page["cells"].insert(1, links_to_run(name, repository))
        (lectures / name).write_text(json.dumps(page), encoding="utf-8")
    for name in DOCUMENTS:
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        (source / name).write_text(on_site(text), encoding="utf-8")
    shutil.copy(CLAIMS, source)
    write_reference(source / "reference")


def on_site(document: str) -> str:
    """A page of docs/ with its links as they are on the site.

    A lecture is a page here as well; another file of the repository is only named.

    >>> on_site("[one](../notebooks/01_scaling.ipynb), [two](../Makefile), [three](x.md#y)")
    '[one](lectures/01_scaling.ipynb), two, [three](x.md#y)'
    """
    document = document.replace("](../notebooks/", "](lectures/")
    return ELSEWHERE.sub(r"\1", document)


def run_sphinx(out: Path) -> int:
    """Build the pages with warnings as errors, and return Sphinx's exit status."""
    shutil.rmtree(out / "html", ignore_errors=True)
    words = ["-b", "html", "-q", "-W", "--keep-going", "-E", "-j", "auto"]
    folders = ["-c", str(SITE), "-d", str(out / "doctrees"), str(out / "source"), str(out / "html")]
    extra = {"COURSE_SITE_EXTRA": str(out / "extra")}
    command = [sys.executable, "-m", "sphinx", *words, *folders]
    # From the root, where Python finds `tools.site`, of which two modules are Sphinx extensions.
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **extra}).returncode


def mend_theme(html: Path) -> None:
    """Name the fold of the sidebar for those who hear it, and drop what no page loads.

    The theme's fold has an icon and no words, and its package has templates and source maps beside
    its scripts.
    """
    for path in html.rglob("*.html"):
        if "_static" in path.relative_to(html).parts:
            path.unlink()
            continue
        page = path.read_text(encoding="utf-8")
        path.write_text(page.replace(FOLD, NAMED_FOLD), encoding="utf-8")
    for path in [*html.rglob("*.map"), *html.rglob(".buildinfo")]:
        path.unlink()


def report(html: Path, players: dict, seconds: float) -> None:
    """Say what was built."""
    megabytes = total_bytes(html) / 1e6
    frames = sum(
        len({name for name, _ in each["page"]["frames"]})
        for each in players.values()
        if "page" in each
    )
    moving = total_bytes(html / "frames") / 1e6
    largest = max(players, key=lambda name: players[name]["bytes"])
    print(
        f"{len(list(html.rglob('*.html')))} pages, {megabytes:.1f} MB in all, of which "
        f"{moving:.1f} MB are {frames} frames of {len(players)} explorers "
        f"({largest}: {players[largest]['bytes'] / 1e6:.2f} MB). It took {seconds:.0f} s.\n"
        f"Open {html / 'index.html'}"
    )


if __name__ == "__main__":
    sys.exit(main())
