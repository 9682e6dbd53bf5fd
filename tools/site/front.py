"""The front page: a picture that answers, who the course is for, its lectures as cards."""

from __future__ import annotations

import html
import os

from lectures import COURSE, EXPLORERS, Lecture
from tools.site.live import Live

OPENING = "explore_story_gpt"
PAGE = """\
# Attention, a course that runs

<p class="course-lead">Guess it, take it in your hand, build it: {count} lectures on attention and
Transformers in which every picture answers, every claim was measured again on seeds that nobody
had seen, and every exercise says what went wrong.</p>

<p class="course-buttons"><a class="course-button" href="lectures/{first}.html">Start reading</a>
<a class="course-button" href="{run}">Run it on your laptop</a></p>

{opening}

Press *a word*, and it writes; ask it something. Then *without head 3.1*: one of 16 heads is off.
What colour is the hat now? It knows 180 words, it runs in this page, and by lecture 06 you have
built it.

<p class="course-for"><b>Who it is for.</b> You know some linear algebra and Python, and you want to
know why attention works, not only how to call it. No GPU, no network, no Transformers needed.</p>

## The lectures

<div class="course-cards">
{cards}
</div>

(run-it)=
## Run it

Here you read, and move every picture. In the notebooks you also change the code, and the exercises
answer. {copy}, with Python 3.11 or newer, run in its folder:

```
make lab
```

It sets everything up and opens JupyterLab. Without make: `python3 course.py lab`.

## How we know

What the lectures say about trained models was run again on twelve fresh seeds, and at learning
rates and sizes that its author did not choose. [How often each claim held](claims.md) is one page;
[where a run contradicts the lectures that this course grew out of](corrections.md) is another.

```{{toctree}}
:hidden:
:caption: Lectures
:glob:

lectures/*
```

```{{toctree}}
:hidden:
:caption: For teachers and authors

claims
corrections
teaching
writing-an-explorer
stories
reference/index
licences
```
"""


def front_page(live: Live) -> str:
    """The page as Markdown."""
    repository = os.environ.get("GITHUB_REPOSITORY")
    return PAGE.format(
        count=len(COURSE),
        first=COURSE[0].stem,
        run=f"https://github.com/{repository}#readme" if repository else "#run-it",
        copy=f"Get [a copy of the course](https://github.com/{repository})"
        if repository
        else "Get a copy of the course, from whoever gave you these pages",
        opening=live.figure(EXPLORERS[OPENING](), root=""),
        cards="\n".join(map(_card, COURSE)),
    )


def _card(lecture: Lecture) -> str:
    picture = (
        f'<img src="cards/{lecture.number}{{}}.webp" class="{{}}" width="400" height="250" '
        'alt="" loading="lazy">'
    )
    return (
        f'<a class="course-card" href="lectures/{lecture.stem}.html">'
        f"{picture.format('', 'only-light')}{picture.format('-dark', 'only-dark')}"
        f"<b>{lecture.number} · {html.escape(lecture.title)}</b>"
        f"<span>{html.escape(lecture.question)}</span></a>"
    )
