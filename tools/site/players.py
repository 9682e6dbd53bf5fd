"""Explorers as players: every frame of each on disk, and the HTML that shows it on a page."""

from __future__ import annotations

import hashlib
import html
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NO_SCRIPT = "With JavaScript this picture has sliders here; in the notebook it has all of them."


def make_players(names: Sequence[str], out: Path) -> dict[str, dict[str, Any]]:
    """Export the frames of explorers into folders of their own, several at once.

    Frames of an earlier build are kept while every file they came from is unchanged.

    Returns:
        What a page needs to play each, by the explorer's name.
    """
    count = min(os.cpu_count() or 1, 4)
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        players = {name: _kept_player(out, name) for name in names}
        jobs = {
            name: pool.submit(_make_player, out, name)
            for name, player in players.items()
            if player is None
        }
        return {name: player or jobs[name].result() for name, player in players.items()}


def _kept_player(out: Path, name: str) -> dict[str, Any] | None:
    """The player of an earlier build, or None where there is none or its sources have changed."""
    kept = _description(out, name)
    if not kept.is_file():
        return None
    player = json.loads(kept.read_text(encoding="utf-8"))
    return player if player["stamp"] == stamp(player["sources"]) else None


def _description(out: Path, name: str) -> Path:
    return out / "players" / f"{name}.json"


def stamp(sources: Sequence[str]) -> str:
    """A digest of files of the repository; one that is gone counts as empty.

    >>> stamp(["README.md"]) == stamp(["README.md"]) != stamp(["no such file"])
    True
    """
    digest = hashlib.sha256()
    for name in sources:
        path = ROOT / name
        digest.update(f"{name}\n".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _sources() -> list[str]:
    """The files of the package that this process has imported, all of its data, and the pins.

    Another matplotlib draws other pictures.
    """
    package = ROOT / "course_utils"
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    paths = {Path(each) for each in loaded if each}
    paths |= {path for path in (package / "data").rglob("*") if path.is_file()}
    own = sorted(path.relative_to(ROOT).as_posix() for path in paths if package in path.parents)
    return [*own, "constraints.txt"]


def _make_player(out: Path, name: str) -> dict[str, Any]:
    """Write an explorer's frames; run in a process of its own, so it imports what it needs."""
    from course_utils.explorers.drawn import DrawnExplorer
    from course_utils.lectures import EXPLORERS
    from tools.site.film import write_frames
    from tools.site.frames import export_frames

    explorer = EXPLORERS[name]()
    if not isinstance(explorer, DrawnExplorer):
        return _live_player(explorer)
    film = export_frames(explorer)
    kept = _description(out, name)
    kept.unlink(missing_ok=True)  # should this end half-way, no frames are taken for whole
    folder = out / "extra" / "frames" / name
    for old in folder.glob("*.webp"):
        old.unlink()
    sources = _sources()
    player = {
        "stamp": stamp(sources),
        "sources": sources,
        "title": film.title,
        "size": film.size,
        "bytes": film.total_bytes,
        "page": write_frames(film, folder),
        "start": film.frames.index(film.start),
    }
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(player), encoding="utf-8")
    return player


def _live_player(explorer: Any) -> dict[str, Any]:
    """What a page needs to show an explorer that moves in the browser. Quick, so not kept."""
    from course_utils.explorers.page import fragment

    page = fragment(explorer)
    return {"title": explorer.title, "bytes": len(page.encode()), "live": page}


def player_html(name: str, player: dict[str, Any]) -> str:
    """The player of `make_players` as HTML: without JavaScript its first picture and caption."""
    if "live" in player:
        return f'<figure class="course-live">{player["live"]}</figure>'
    picture, words = player["page"]["frames"][player["start"]]
    width, height = player["size"]
    folder = f"../frames/{name}/"
    # No "</script>" may stand inside a script, whatever a caption says.
    data = json.dumps({"folder": folder, **player["page"]}, ensure_ascii=False)
    data = data.replace("<", "\\u003c")
    words, title = html.escape(words), html.escape(player["title"])
    others = ", ".join(f"<em>{html.escape(each)}</em>" for each in player["page"]["others"])
    more = f'<p class="player-note">In the notebook also: {others}.</p>\n' if others else ""
    return (
        f'<figure class="course-player">\n'
        f'<p class="player-title">{title}</p>\n'
        f'<img class="player-picture" src="{folder}{picture}" width="{width}" height="{height}" '
        f'alt="{words}" loading="lazy">\n'
        f'<figcaption class="player-words">{words}</figcaption>\n'
        f"{more}"
        f'<noscript><p class="player-note">{NO_SCRIPT}</p></noscript>\n'
        f'<script type="application/json">{data}</script>\n'
        f"</figure>"
    )
