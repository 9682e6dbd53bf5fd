"""What a lecture uses to show, check and ask: source, agreement, notes, exercises, quizzes.

>>> from course_utils.teaching import check_close
>>> check_close([0.5, 0.5], [0.5, 0.5], name="weights")
agrees: weights, shape (2,), within 1e-05
"""

from course_utils.teaching.closeness import check_close
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.notes import SourceNote, source_note
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.quiz import Option, Question, Quiz
from course_utils.teaching.source import Source, show_source
from course_utils.teaching.verdict import Verdict

__all__ = [
    "Exercise",
    "Mistake",
    "Option",
    "Question",
    "Quiz",
    "Source",
    "SourceNote",
    "Tolerance",
    "Verdict",
    "check_close",
    "show_source",
    "source_note",
]
