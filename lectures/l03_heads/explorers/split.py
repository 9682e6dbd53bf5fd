"""The split into heads beside the wrong one: where every number goes, and what outputs see."""

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Slider, Steps

TOKENS, WIDTH = 6, 12  # T and C
HEADS = (1, 2, 3, 4, 6)
TRANSPOSE, VIEW = "transpose, reshape", "view"


class Split(Explorer):
    """A number of x, pointed at → its place in the heads, by the right split and the wrong one."""

    title = "Which numbers does a head get?"
    inputs = {
        "heads": Steps("number of heads", HEADS, 2, in_picture=True),
        "number": Slider("number in memory", 0, TOKENS * WIDTH - 1, 31, in_picture=True),
        "merge": Choice("merge of the wrong split", (TRANSPOSE, VIEW), TRANSPOSE, in_picture=True),
    }
    presets = {
        "two heads": {"heads": 2, "number": 31, "merge": TRANSPOSE},
        "six heads: one token each": {"heads": 6, "number": 31, "merge": TRANSPOSE},
        "merged by view: closed blocks": {"heads": 3, "number": 53, "merge": VIEW},
        "one head": {"heads": 1, "number": 31, "merge": TRANSPOSE},
    }
    view = "split.js"
    reading = (
        "Colours are heads, digits are tokens. The right split gives each head a vertical slice: a "
        "piece of every token. The wrong view cuts the memory into long stretches, so a head gets "
        "few tokens, whole. The small maps show what the output in a row depends on when each row "
        "of a head attends to itself and the rows above it (a causal mask): blue is the past, a "
        "cross is the future. Choose a number to follow it, and drag the round handle to change "
        "the number of heads."
    )
