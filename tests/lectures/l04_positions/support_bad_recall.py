"""What the recall of notes must refuse, as a table: as in support_bad_core.py."""

import torch

from course_utils.layers import Alibi, Rotary
from course_utils.lectures.l04_positions import experiments as tasks_recall
from course_utils.lectures.l04_positions.experiments import NoteReader, recall_notes
from tests.core.support_bad_core import COUNT, SEED, WORDS, choice
from tests.core.support_bad_input import Bad, Case, Said

GENERATOR = torch.Generator().manual_seed(0)
KEYS, VALUES, LAST, EARLIER = recall_notes(3, 11, GENERATOR)
NOTES = {"keys": KEYS, "values": VALUES}
READER, ROPE = (
    NoteReader(positions, width=12, num_heads=3, max_positions=13)
    for positions in ("learned", "rope")
)
NO_READER = (None, "x", 3)


def ids(good, *wrong):
    """Whole numbers for each note."""
    return Bad((*WORDS, good.float(), good.int()), (good[0], good[None], good[:, :0], *wrong))


BAD_NOTES = {
    "keys": ids(KEYS, KEYS * 0 - 1, KEYS * 0 + 64),
    "values": ids(VALUES, VALUES * 0 - 1, VALUES * 0 + 8, VALUES[:, :7], VALUES[:2]),
}

CASES = [
    Case(
        "tasks_recall.recall_notes",
        recall_notes,
        {"batch": 3, "length": 11, "generator": GENERATOR},
        {
            "batch": COUNT,
            "length": COUNT,
            "generator": Bad((None, 0, "seed")),
            "num_keys": Bad(COUNT.types[1:], (*COUNT.values, 65)),
        },
    ),
    Case(
        "tasks_recall.NoteReader",
        NoteReader,
        {"positions": "learned"},
        {
            "positions": choice("roman"),
            "width": COUNT,
            "num_heads": Bad(COUNT.types, (*COUNT.values, Said(7, "(7) must divide width (64)"))),
            "max_positions": COUNT,
        },
    ),
    Case("tasks_recall.NoteReader.forward", READER, NOTES, BAD_NOTES),
    Case(
        "tasks_recall.stretch_rotary",
        tasks_recall.stretch_rotary,
        {"model": ROPE, "rotary": Rotary(interpolation=4)},
        {
            "model": Bad(NO_READER, (Said(READER, "None"),)),
            "rotary": Bad((None, "x", 4, Alibi())),
        },
    ),
    Case(
        "tasks_recall.note_loss",
        tasks_recall.note_loss,
        {"model": READER, **NOTES, "last": LAST, "earlier": EARLIER},
        {
            "model": Bad((None, 3)),
            **BAD_NOTES,
            "last": ids(LAST, LAST * 0 - 1, LAST * 0 + 8, LAST[:, :7], LAST[:2]),
            "earlier": ids(EARLIER, EARLIER * 0 - 1, EARLIER * 0 + 11, EARLIER[:, :7]),
        },
    ),
    Case(
        "tasks_recall.recall_accuracy",
        tasks_recall.recall_accuracy,
        {"model": READER, "lengths": (13,)},
        {
            "model": Bad(NO_READER),
            "lengths": Bad(
                (None, 13, "13", Said([13.0], "13.0")),
                ([], Said([0], "0"), Said([2], "2"), Said([13, 17], "17")),
            ),
            "num_keys": Bad(COUNT.types[1:], (*COUNT.values, 65)),
            "seed": SEED,
        },
    ),
]
