"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l03_heads.exercises.multi_head import MULTI_HEAD
from lectures.l03_heads.exercises.previous_token import PREVIOUS_TOKEN
from lectures.l03_heads.exercises.wrong_split import WRONG_SPLIT, some_tokens, split_suspects

__all__ = ["some_tokens", "split_suspects"]

globals().update(
    asks(
        Path(__file__).parents[1],
        MultiHead=MULTI_HEAD,
        find_wrong_split=WRONG_SPLIT,
        previous_token_head=PREVIOUS_TOKEN,
    )
)
