"""The page of corrections: what the source lectures say, what a run shows, the code that runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch

from course_utils.teaching import SourceNote
from lectures import COURSE, Lecture

TITLE = """\
# Corrections

The course grew out of five older lectures. Here is what they say and a run contradicts, or what
holds only under a condition. Each number comes from the code below it, which ran when this page was
built. A lecture itself keeps to what its reader has met.
"""
ENTRY = """\
### {row} · {title}

{sentences}

<details>
<summary>The code</summary>

```python
{code}
```

</details>
"""


def corrections_of(lecture: Lecture) -> list[Callable[[], SourceNote]]:
    """The corrections of a lecture, in their order."""
    found = vars(lecture.module("corrections") or object).items()
    return [each for name, each in found if name.startswith("row_")]


def corrections_page() -> str:
    """All corrections, lecture by lecture."""
    parts = [TITLE]
    for lecture in COURSE:
        parts.append(f"## [{lecture.number} · {lecture.question}](lectures/{lecture.stem}.ipynb)\n")
        parts += [entry(each) for each in corrections_of(lecture)]
    return "\n".join(parts)


def entry(correction: Callable[[], SourceNote]) -> str:
    """One correction, measured now."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        note = correction()
    return ENTRY.format(
        row=note.row,
        title=inspect.cleandoc(correction.__doc__ or "").removesuffix("."),
        sentences="\n".join(f"- **{name}.** {said}" for name, said in note.parts()),
        code=inspect.getsource(correction).rstrip(),
    )
