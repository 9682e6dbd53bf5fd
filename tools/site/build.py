"""Build the static edition of the course: `python -m tools.site.build [--out build/site]`.

No kernel runs and nothing is fetched. The lectures are taken as they are committed, outputs and
all; the explorers move in the reader's browser; Sphinx does the rest, and a warning ends the build.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

from lectures import COURSE, EXPLORERS
from tools.claims.record import TABLE as CLAIMS
from tools.ending import run_to_its_end
from tools.site.api import write_reference
from tools.site.check import loaded_from_elsewhere, total_bytes
from tools.site.corrections import corrections_page
from tools.site.font import characters, write_font
from tools.site.front import front_page
from tools.site.live import Live, write_loader
from tools.site.notebooks import Pictures, links_to_run, page_source, run_cell
from tools.site.predictions import questions_in
from tools.site.rooms import measure_rooms, with_rooms

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
FONT = Path("_static/fonts/stix-two-math.woff")
BUILT = "doctrees"  # what every folder that was built in has
ELSEWHERE = re.compile(r"\[([^\]]*)\]\(\.\./[^)]*\)")
# Marks of names and single signs, which need not look other than the text: a tenth of a page.
PLAIN = re.compile(r'<span class="(?:n|o|p|w|pre)">([^<]*)</span>')
# What follows a formula, which must not begin the next line: it goes into the formula's box.
AFTER = re.compile(r"</math></span>([.,;:?!)]+)")
# The theme's: icons that nothing shows, and a button that would lie over titles and presets.
UNUSED = re.compile(
    r'<symbol id="svg-(?:pencil|eye)".*?</symbol>|<a href="#" class="back-to-top.*?</a>', re.DOTALL
)
# The theme's columns at both sides, and what a screen reader calls them.
COLUMNS = {"sidebar-drawer": "Pages of the course", "toc-drawer": "On this page"}
# At the top of a page; the theme's script does it at the end, which styles all of the page again.
CHOSEN = "document.body.dataset.theme ="
HAS_SCRIPTS = 'document.documentElement.classList.remove("no-js");'
AS_WRITTEN = re.compile(r"(<(?:pre|script|textarea)\b.*?</(?:pre|script|textarea)>)", re.DOTALL)
INDENTED = re.compile(r"\s*\n\s*")
CARDS = ROOT / "docs" / "images" / "cards"
DOCUMENTS = ("teaching.md", "writing-an-explorer.md", "stories.md")


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
    print("Writing the pages ...", flush=True)
    live = write_sources(out)
    status = run_sphinx(out)
    if status:
        print("Sphinx warned or failed, see above; the site is not complete.", file=sys.stderr)
        return status
    html = out / "html"
    drop_unused(html)
    paths = sorted(html.rglob("*.html"))
    pages = [with_names(lighter(path.read_text(encoding="utf-8"))) for path in paths]
    write_font(characters(pages), html / FONT)
    heights = measure_rooms(html)
    if not heights:
        print("No Chromium: pages may move a little while explorers are loaded.", file=sys.stderr)
    for path, page in zip(paths, pages, strict=True):
        path.write_text(with_rooms(page, heights), encoding="utf-8")
    if elsewhere := loaded_from_elsewhere(html):
        print("These would be loaded from other machines:", *elsewhere, sep="\n  ", file=sys.stderr)
        return 1
    report(html, live, time.monotonic() - started)
    return 0


def holds_other_things(out: Path) -> bool:
    """Whether there is something at this path that no build has put there."""
    if out.is_dir():
        return any(out.iterdir()) and not (out / BUILT).is_dir()
    return out.exists()


def write_sources(out: Path) -> Live:
    """Put together the folder that Sphinx reads, and beside it what it only copies."""
    source, extra = out / "source", out / "extra"
    for folder in (source, extra):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SITE / "pages", source)
    pictures, live = Pictures(extra / "figures"), Live(extra / "live")
    write_loader(extra / "live" / "live.js")
    lectures = source / "lectures"
    lectures.mkdir()
    for lecture in COURSE:
        name = f"{lecture.stem}.ipynb"
        notebook = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))
        where = links_to_run(name, os.environ.get("GITHUB_REPOSITORY"))
        page = page_source(
            notebook,
            lambda name, snapshot, words: live.figure(EXPLORERS[name](), snapshot, words),
            pictures,
            questions_in(lecture.module("exercises")),
            where,
        )
        page["cells"].insert(1, run_cell(where))
        (lectures / name).write_text(json.dumps(page), encoding="utf-8")
    (source / "index.md").write_text(front_page(live), encoding="utf-8")
    shutil.copytree(CARDS, extra / "cards")
    (source / "images").mkdir()
    for picture in CARDS.parent.glob("*.png"):  # what the documents show
        shutil.copy(picture, source / "images")
    for name in DOCUMENTS:
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        (source / name).write_text(on_site(text), encoding="utf-8")
    shutil.copy(CLAIMS, source)
    (source / "corrections.md").write_text(corrections_page(), encoding="utf-8")
    write_reference(source / "reference")
    return live


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
    return run_to_its_end(command, cwd=ROOT, env={**os.environ, **extra})


def drop_unused(html: Path) -> None:
    """Take away what no page loads: templates, source maps, and what live/live.js is made of."""
    static = html / "_static"
    unused = [static / "live.js", static / "rooms.js", static / "debug.css"]
    for path in [*unused, *static.rglob("*.html"), *html.rglob("*.map"), *html.rglob(".buildinfo")]:
        path.unlink()


def lighter(page: str) -> str:
    r"""A page without the marks that no style speaks of, and without indentation.

    What the theme has and nobody needs goes too. A full stop or a bracket goes into the box of the
    formula before it.

    >>> lighter('<ul>\n  <li>a</li></ul> <pre>\n  <span class="n">x</span></pre>')
    '<ul>\n<li>a</li></ul> <pre>\n  x</pre>'
    >>> lighter('<span class="formula"><math>x</math></span>?')
    '<span class="formula"><math>x</math>?</span>'
    """
    page = PLAIN.sub(r"\1", PLAIN.sub(r"\1", page))  # one may be around another
    page = AFTER.sub(r"</math>\1</span>", page)
    page = page.replace(CHOSEN, f"{HAS_SCRIPTS} {CHOSEN}")
    parts = AS_WRITTEN.split(UNUSED.sub("", page))
    parts[::2] = [INDENTED.sub("\n", part) for part in parts[::2]]
    return "".join(parts)


def with_names(page: str) -> str:
    """A page whose two columns can be told apart by who does not see where they are.

    >>> with_names('<aside class="toc-drawer no-toc">')
    '<aside aria-label="On this page" class="toc-drawer no-toc">'
    """
    for column, name in COLUMNS.items():
        page = page.replace(
            f'<aside class="{column}', f'<aside aria-label="{name}" class="{column}'
        )
    return page


def report(html: Path, live: Live, seconds: float) -> None:
    """Say what was built."""
    largest = max(live.bytes, key=lambda title: live.bytes[title])
    print(
        f"{len(list(html.rglob('*.html')))} pages, {total_bytes(html) / 1e6:.1f} MB in all, of "
        f"which {total_bytes(html / 'live') / 1e6:.1f} MB are {len(live.bytes)} explorers "
        f"({largest} {live.bytes[largest] / 1e3:.0f} kB). It took {seconds:.0f} s.\n"
        f"Open {html / 'index.html'}"
    )


if __name__ == "__main__":
    sys.exit(main())
