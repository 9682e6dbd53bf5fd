"""Draw how the stories' GPT learned: docs/images/stories.png, from the log of its training.

    python -m tools.scripts.draw_story_log

The log is benchmarks/results/story_gpt.csv: what tools/scripts/train_story_gpt.py printed.
"""

import csv
import io
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from course_utils.explorers.style import (
    BLUE,
    MAGENTA,
    MUTED,
    ORANGE,
    PURPLE,
    TEAL,
    course_style,
    new_figure,
)
from course_utils.files import write_whole

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "benchmarks" / "results" / "story_gpt.csv"
PICTURE = ROOT / "docs" / "images" / "stories.png"
# Nats a word, from docs/stories.md: what no model can beat, and what counting words gives.
LEVELS = {"entropy": 0.683, "three words": 1.49, "pairs": 1.84}
KINDS = {"finder": TEAL, "place": ORANGE, "holder": BLUE, "colour": PURPLE}
MARKS = "os^D"
ROW = 7  # height of a name, in percent of the axis


def draw() -> Figure:
    """The loss with the levels that it passes, and the share of right answers by kind."""
    with open(LOG, encoding="utf-8", newline="") as stream:
        rows = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(stream)]
    steps = [row["step"] for row in rows]
    figure = new_figure(8.0, 3.2)
    with course_style():
        loss, right = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.07, right=0.92, bottom=0.16, top=0.88, wspace=0.42)
        loss.plot(steps, [row["nats"] for row in rows], color=MAGENTA, marker="o", markersize=4)
        for name, level in LEVELS.items():
            loss.axhline(level, color=MUTED, linewidth=1, linestyle=":")
            loss.text(1.02, level, name, transform=loss.get_yaxis_transform(), va="center")
        loss.set_title("loss on held-out stories, nats a word")
        loss.set_ylim(0.6, 2)
        at = 0.0
        for mark, kind in zip(MARKS, sorted(KINDS, key=lambda kind: rows[-1][kind]), strict=True):
            colour = KINDS[kind]
            right.plot(steps, [row[kind] for row in rows], color=colour, marker=mark, markersize=4)
            at = max(at + ROW, rows[-1][kind])  # curves that end together: one name above another
            right.text(1.02, at, kind, transform=right.get_yaxis_transform(), va="center",
                       color=colour)  # fmt: skip
        right.set_title("right answers, %")
        right.set_ylim(0, 100)
        for axes in (loss, right):
            _steps_axis(axes)
    return figure


def _steps_axis(axes: Axes) -> None:
    """Half of what happens is in the first tenth of the steps."""
    axes.set_xscale("log")
    ticks = 500, 1000, 3000, 10_000, 50_000
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("training steps")


if __name__ == "__main__":
    drawn = io.BytesIO()
    draw().savefig(drawn, dpi=200)
    # A hundred colours are more than it has: the file is a quarter of the size.
    kept = io.BytesIO()
    Image.open(drawn).convert("RGB").quantize(100).save(kept, "PNG", optimize=True)
    write_whole(PICTURE, kept.getvalue())
    print(f"docs/images/{PICTURE.name}: {PICTURE.stat().st_size / 1e3:.0f} kB")
