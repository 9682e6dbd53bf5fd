"""The course's prose and code, as training texts for small language models.

Both are snapshots that tools/scripts/course_text.py made from the lectures and the package, so that
they still fit a trained model when a lecture is rewritten.
"""

from course_utils.data.package_files import read_packaged


def course_prose() -> str:
    """Return the sentences of the lectures, docstrings, exercises and quizzes.

    A paragraph is a line. A document (a part of a lecture, or a module) ends with an empty line.
    The documents are shuffled, so every part of the text is like the rest. No line occurs twice.

    Raises:
        PackagedFileError: a RuntimeError, if the file is missing or damaged.

    >>> text = course_prose()
    >>> len(text.split()) > 25_000, text.count("attention") > 100
    (True, True)
    """
    return read_packaged("prose.txt").decode("utf-8")


def course_code() -> str:
    """Return Python: modules of the package, with their comments and without their docstrings.

    Raises:
        PackagedFileError: a RuntimeError, if the file is missing or damaged.

    >>> course_code().count("def ") > 200
    True
    """
    return read_packaged("code.txt").decode("utf-8")
