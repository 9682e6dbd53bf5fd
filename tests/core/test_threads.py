"""One thread for small work, and as many as before after it."""

import pytest
import torch

from course_utils.lectures import EXPLORERS
from course_utils.threads import one_thread


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_one_inside_as_before_after():
    with one_thread():
        assert torch.get_num_threads() == 1
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_an_error_inside_changes_nothing():
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert torch.get_num_threads() == 3


@pytest.fixture
def threads_of(monkeypatch):
    """Wrap a function so that each call notes how many threads it may use."""

    def wrap(owner, name):
        seen, work = [], getattr(owner, name)

        def counted(*arguments, **named):
            seen.append(torch.get_num_threads())
            return work(*arguments, **named)

        monkeypatch.setattr(owner, name, counted)
        return seen

    return wrap


def test_explorers_compute_on_one_thread(threads_of):
    explorer = EXPLORERS["explore_score_width"]()
    seen = threads_of(explorer, "compute")
    assert explorer.state.width == 4
    explorer.set(width=8)
    assert seen == [1, 1]
    assert torch.get_num_threads() == 3
