"""The three plans of the instructor's guide: what they name exists, and their minutes add up."""

import re
from collections import Counter

from tests.tools.support_guide import EMPHASISED, lectures, numbers, part, tables

PLANS = "## Three plans"


def plan(page: str, words: str) -> tuple[int, str]:
    """Return the slot in minutes that a plan's heading states, and what stands under it."""
    (heading,) = re.findall(rf"^### .*{words}.*$", part(page, PLANS), re.MULTILINE)
    stated = re.search(r"(\d+) minutes", heading)
    assert stated, heading
    return int(stated[1]), part(page, heading)


def minutes_of(words: str) -> int:
    """Return the minutes of `00; 01` or `06: sections 1 to 4; 08` by the presenter's notes.

    Raises:
        LookupError: for a lecture or a section that does not exist.
    """
    total = 0
    for item in filter(None, (each.strip() for each in words.split(";"))):
        number, _, chosen = item.partition(": ")
        if number not in lectures():
            raise LookupError(f"no lecture {number}")
        sections = lectures()[number].sections
        for each in numbers(chosen):
            if each not in sections:
                raise LookupError(f"lecture {number} has no section {each}")
        whole = lectures()[number].planned
        total += sum(sections[each] for each in numbers(chosen)) if chosen else whole
    return total


def exercises_of(words: str) -> list[tuple[str, str, int]]:
    """Return the exercises in `00: *A*, *B*; 01: *C*`: lecture, title, minutes.

    Raises:
        LookupError: for an exercise that the lecture does not have.
    """
    found = []
    for number, titles in re.findall(r"(\d\d): ((?:\*[^*]+\*(?:, )?)+)", words):
        real = {
            title.partition(" · ")[2]: minutes for title, _, minutes in lectures()[number].exercises
        }
        for title in EMPHASISED.findall(titles):
            if title not in real:
                raise LookupError(f"lecture {number} has no exercise {title!r}")
            found.append((number, title, real[title]))
    return found


def wrong_talk(page: str) -> list[str]:
    """Each stop has the minutes of its sections; all and the questions fill the slot."""
    slot, text = plan(page, "talk")
    (rows,) = tables(text)
    *stops, questions, together = rows
    found = _faults((f"{row['lecture']}: sections {row['sections']}", row["min"]) for row in stops)
    total = sum(int(row["min"]) for row in [*stops, questions])
    if not total == int(together["min"]) == slot:
        found.append(f"the talk takes {total} minutes, of {together['min']}, of {slot}")
    return found


def wrong_sessions(page: str, words: str) -> list[str]:
    """Each session has the minutes of its lectures and exercises, and fills its slot."""
    slot, text = plan(page, words)
    sessions, *exercises = tables(text)
    found = _faults(
        (row["lectures"], row["talk"]) for row in sessions if re.match(r"\d\d", row["lectures"])
    )
    # The exercises stand in the same table, or in one of their own with the same first column.
    first = next(iter(sessions[0]))
    given = {row[first]: row for row in (exercises[0] if exercises else sessions)}
    for row in sessions:
        for name, stated in (("exercises in the room", "work"), ("homework", "at home")):
            if stated in row:
                found += _wrong_work(given.get(row[first], {}).get(name, ""), row[stated])
        total = sum(int(row[name]) for name in ("talk", "work", "rest"))
        if not total == int(row["in all"]) == slot:
            found.append(f"a session takes {total} minutes of {slot}: {row}")
    return found


def _faults(pairs) -> list[str]:
    found = []
    for words, stated in pairs:
        try:
            real = minutes_of(words)
        except LookupError as error:
            found.append(str(error))
            continue
        if real != int(stated):
            found.append(f"{words} takes {real} minutes, not {stated}")
    return found


def _wrong_work(words: str, stated: str) -> list[str]:
    try:
        real = sum(minutes for *_, minutes in exercises_of(words))
    except LookupError as error:
        return [str(error)]
    return [] if real == int(stated) else [f"{words} takes {real} minutes, not {stated}"]


def not_once(page: str, words: str) -> list[str]:
    """Every exercise of every lecture comes once in a plan, in the room or at home."""
    _, text = plan(page, words)
    given = Counter(
        each
        for rows in tables(text)
        for row in rows
        for name in ("exercises in the room", "homework")
        for each in exercises_of(row.get(name, ""))
    )
    real = {
        (number, title.partition(" · ")[2], minutes)
        for number, lecture in lectures().items()
        for title, _, minutes in lecture.exercises
    }
    return [f"{each} comes {given[each]} times" for each in sorted(real) if given[each] != 1]
