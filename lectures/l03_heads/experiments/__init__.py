"""What the lecture trains and measures."""

from lectures.l03_heads.experiments.dates import (
    SOURCE_TOKENS,
    TARGET_TOKENS,
    DateTranslator,
    date_loss,
    date_pairs,
    read_dates,
    to_tokens,
)
from lectures.l03_heads.experiments.head_pruning import measure_pruning
from lectures.l03_heads.experiments.head_roles import (
    GENDERED,
    GENDERED_AGAIN,
    REFERENTS,
    SUBJECTS,
    relation_weights,
)

__all__ = [
    "GENDERED",
    "GENDERED_AGAIN",
    "REFERENTS",
    "SOURCE_TOKENS",
    "SUBJECTS",
    "TARGET_TOKENS",
    "DateTranslator",
    "date_loss",
    "date_pairs",
    "measure_pruning",
    "read_dates",
    "relation_weights",
    "to_tokens",
]
