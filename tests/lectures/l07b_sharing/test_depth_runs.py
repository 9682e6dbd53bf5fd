"""The packaged ways of tokens through the small GPT's blocks: whole, and of the packaged model."""

from itertools import pairwise

import pytest

from course_utils.data.course_text import course_prose
from course_utils.language_modeling import split_text
from course_utils.layers.mod import kept_tokens
from course_utils.models.small_gpt import small_gpt_tokenizer
from lectures.l07b_sharing.experiments.adapting import SHARE
from lectures.l07b_sharing.experiments.depth_runs import CAPACITIES, depth_runs


@pytest.fixture(scope="module")
def found():
    return depth_runs()


def test_every_capacity_with_every_seed(found):
    assert list(found.routed) == list(found.predicted) == list(CAPACITIES)
    assert list(found.predicted_share) == list(CAPACITIES)
    assert list(found.random) == list(CAPACITIES[:-1])
    tables = (found.routed, found.random, found.predicted, found.predicted_share)
    assert {tuple(runs.shape) for table in tables for runs in table.values()} == {(3,)}
    # With every token let through there is nothing to foretell, and nothing to lose by it.
    assert found.predicted[1.0].tolist() == found.routed[1.0].tolist()
    assert found.predicted_share[1.0].tolist() == [1.0] * 3


def test_what_fewer_tokens_cost(found):
    for fewer, more in pairwise(CAPACITIES):
        assert found.routed[fewer].min() > found.routed[more].max()
    for capacity in found.random:
        assert found.random[capacity].min() > found.routed[capacity].max()
    # A predictor, which may be used for writing, comes near the router from a half on, not below.
    for capacity in CAPACITIES[2:]:
        assert (found.predicted[capacity] - found.routed[capacity]).abs().max() < 0.15
    for capacity in CAPACITIES[:2]:
        assert (found.predicted[capacity] - found.routed[capacity]).min() > 0.5
        assert (found.predicted_share[capacity] < 0.8 * capacity).all()


def test_the_texts_are_unseen(found):
    tokenizer, (_, unseen) = small_gpt_tokenizer(), split_text(course_prose(), SHARE)
    assert len({text.tokens for text in found.texts}) == 5
    for text in found.texts:
        assert "".join(text.tokens) in unseen
        assert [tokenizer.decode(tokenizer.encode(token)) for token in text.tokens] == [
            *text.tokens
        ]
        for capacity in CAPACITIES:
            counts = text.routed[capacity].sum(dim=1).tolist()
            assert counts == [kept_tokens(len(text.tokens), capacity)] * 3
            assert text.predicted[capacity].shape == (3, len(text.tokens))
