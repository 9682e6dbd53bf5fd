"""What the root conftest.py promises: annotations are enforced."""


def test_annotations_of_the_course_are_enforced():
    from course_utils import attention

    assert hasattr(attention.attend, "__wrapped__")
