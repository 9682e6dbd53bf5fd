"""Fixtures that several test files share. What every run shares is in the root's conftest."""

import pytest


@pytest.fixture(scope="session")
def minilm():
    """The real model; imported here, so that tests without it do not wait for torch."""
    from course_utils.models import load_minilm

    return load_minilm()


@pytest.fixture(scope="session")
def folder():
    """Where the real model's files are."""
    from course_utils.minilm_files import find_minilm

    return find_minilm()
