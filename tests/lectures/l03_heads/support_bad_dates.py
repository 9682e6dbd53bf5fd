"""What the translation of dates must refuse, as a table: as in support_bad_core.py."""

import torch

from course_utils.lectures.l03_heads.experiments import dates as tasks_dates
from course_utils.lectures.l03_heads.experiments.dates import (
    SOURCE_TOKENS,
    DateTranslator,
    date_pairs,
)
from tests.core.support_bad_core import COUNT, WORDS
from tests.core.support_bad_input import Bad, Case, Said

GENERATOR = torch.Generator().manual_seed(0)
MODEL = DateTranslator(width=6)
SOURCE, TARGET = date_pairs(5, GENERATOR)
MEMORY = MODEL.encode(SOURCE).detach()
PAIRS = {"source": SOURCE, "target": TARGET}


def ids(good, *wrong):
    """Ids of tokens: whole numbers, on the right axes, each in the table."""
    values = (good[0], good[None], good[:0], Said(good + 30, "39"), Said(good - 30, "-30"))
    return Bad((*WORDS, good.float(), good.int()), (*values, *wrong))


SOURCES = ids(torch.arange(5 * 7).view(5, 7) % 10, Said(SOURCE.repeat(1, 2), "14"))
TARGETS = ids(
    torch.arange(5 * 10).view(5, 10) % 10,
    Said(TARGET.repeat(1, 2), "20"),
    Said(TARGET[:3], "3"),
    Said(TARGET * 0 + 11, "11"),  # "<start>" is never a target
)
TEXT = Bad(
    (None, 7, ["7 May 2024"], b"7 May 2024"),
    (
        "",
        "  ",
        "May",
        "7 May",
        "7 May 2024 AD",
        "2024-05-07",
        Said("7 Mai 2024", "'Mai'"),
        Said("7 may 2024", "'may'"),
        Said("0 May 2024", "'0'"),
        Said("07 May 2024", "'07'"),
        Said("32 May 2024", "'32'"),
        Said("x May 2024", "'x'"),
        Said("7 May 24", "'24'"),
        Said("7 May 999", "'999'"),
        Said("7 May 3000", "'3000'"),
        Said("7 May ٢٠٢٤", "'٢٠٢٤'"),
    ),
)

CASES = [
    Case(
        "tasks_dates.read_dates",
        lambda text: tasks_dates.read_dates("12 March 1999", text),
        {"text": "7 May 2024"},
        {"text": TEXT},
    ),
    Case(
        "tasks_dates.to_tokens",
        tasks_dates.to_tokens,
        {"ids": SOURCE[0], "table": SOURCE_TOKENS},
        {
            "ids": Bad(
                (*WORDS, SOURCE[0].float()),
                (
                    SOURCE,
                    SOURCE[0, :0],
                    Said(SOURCE[0] * 0 + 23, "23"),
                    Said(SOURCE[0] * 0 - 2, "-2"),
                ),
            ),
            "table": Bad((None, 3, "abc", Said([1], "1")), ([],)),
        },
    ),
    Case(
        "tasks_dates.places_to_read",
        tasks_dates.places_to_read,
        {"source": SOURCE},
        {"source": Bad(SOURCES.types, (*SOURCES.values, Said(SOURCE[:, :5], "5")))},
    ),
    Case(
        "tasks_dates.date_pairs",
        date_pairs,
        {"count": 3, "generator": GENERATOR},
        {"count": COUNT, "generator": Bad((None, 0, "seed"))},
    ),
    Case(
        "tasks_dates.DateTranslator",
        DateTranslator,
        {"width": 6, "num_heads": 3},
        {
            "width": Bad(COUNT.types, (*COUNT.values, 9)),
            "num_heads": Bad(COUNT.types, (*COUNT.values, 5)),
        },
    ),
    Case(
        "tasks_dates.DateTranslator.forward", MODEL, PAIRS, {"source": SOURCES, "target": TARGETS}
    ),
    Case(
        "tasks_dates.DateTranslator.encode", MODEL.encode, {"source": SOURCE}, {"source": SOURCES}
    ),
    Case(
        "tasks_dates.DateTranslator.translate",
        MODEL.translate,
        {"source": SOURCE, "memory": MEMORY},
        {
            "source": SOURCES,
            "memory": Bad(
                ("x", [1.0], MEMORY.long(), MEMORY.double()),
                (MEMORY[0], MEMORY[:3], MEMORY[:, :5], MEMORY[..., :4]),
            ),
        },
    ),
    Case(
        "tasks_dates.date_loss",
        tasks_dates.date_loss,
        {"model": MODEL, **PAIRS},
        {"model": Bad((None, 3)), "source": SOURCES, "target": TARGETS},
    ),
]
