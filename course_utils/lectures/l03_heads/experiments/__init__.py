"""What the lecture trains and measures."""

from course_utils.lectures.l03_heads.experiments.copying import (
    TwoPlaceCopier,
    copy_scores,
    train_copier,
)
from course_utils.lectures.l03_heads.experiments.dates import (
    SOURCE_TOKENS,
    TARGET_TOKENS,
    DateTranslator,
    date_loss,
    date_pairs,
    places_to_read,
    read_dates,
    to_tokens,
)
from course_utils.lectures.l03_heads.experiments.head_pruning import (
    measure_pruning,
)
from course_utils.lectures.l03_heads.experiments.head_roles import (
    GENDERED,
    GENDERED_AGAIN,
    REFERENTS,
    SUBJECTS,
    offset_weights,
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
    "TwoPlaceCopier",
    "copy_scores",
    "date_loss",
    "date_pairs",
    "measure_pruning",
    "offset_weights",
    "places_to_read",
    "read_dates",
    "relation_weights",
    "to_tokens",
    "train_copier",
]
