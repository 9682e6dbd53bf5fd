"""The small world of stories: told by one program, read by another, and its entropy."""

import math
import random
import statistics
from collections import Counter

import pytest

from course_utils.stories import LIMITS, Limits, entropy, next_word_chances, tell
from course_utils.stories.words import FILLERS
from course_utils.stories.world import World, next_sentences, questions
from tools.scripts.story_reading import Objection, Reading, is_sentence, objection_to, split_story

LONGER = Limits(people=4, things=4, places=4, containers=3, longest=20)
FEW_WORDS = Limits(words=5)
SHORT = Limits(people=2, things=1, places=2, containers=1, longest=5)


def objections(seed, limits, count):
    """What a reader objects to in these stories."""
    rng = random.Random(seed)
    stories = (" ".join(tell(rng, limits).words) for _ in range(count))
    return [found for found in map(objection_to, stories) if found]


@pytest.mark.parametrize(("limits", "count"), [(LIMITS, 101), (LONGER, 23), (FEW_WORDS, 23)])
def test_a_reader_finds_the_answers(limits, count):
    assert objections(1, limits, count) == []


@pytest.mark.slow
def test_a_reader_finds_the_answers_of_a_hundred_thousand():
    assert objections(2, LIMITS, 100_000) == []


@pytest.mark.parametrize("sentence", [
    "Tom found an red ball",
    "Tom found a old ball",
    "Tom was in the park",  # he has come already
    "Tom went to the park",  # he is there
    "Ann carried the hat to the hall",  # Tom has it
    "Tom gave the hat to Ben",  # Ben is elsewhere
    "She laughed",  # nobody in the last sentence is she
    "He gave it to her",  # Max does not have it
    "Tom put the hat in the box",  # which box?
    "Tom took the hat",  # he has it
    "Tom asked Ann for the hat , but she kept it",
    "Tom hat the found",
])  # fmt: skip
def test_a_reader_objects(sentence):
    reading = Reading([
        "Ann was in the park", "Tom was in the park", "Tom found an old red hat",
        "Ben was in the hall", "Max was in the hall", "Max slept",
    ])  # fmt: skip
    with pytest.raises(Objection):
        reading.hear(sentence)


def test_a_reader_follows_pronouns():
    reading = Reading([
        "Ann was in the park", "She found a big blue egg", "She slept",
        "Tom was in the park", "Ann gave it to him", "He put it in a box", "He went to the hall",
    ])  # fmt: skip
    assert reading.where == {"egg": "box"} and reading.place["box"] == "park"
    assert reading.answer("Who gave the egg to Tom ?") == "Ann gave it"
    assert reading.answer("Who has the egg ?") == "Nobody has it"
    with pytest.raises(Objection):
        reading.hear("Ann took it out of the box")  # the egg or the box?


def test_he_is_nobody_where_there_are_two():
    reading = Reading(["Ben was in the hall", "Ben found a red hat", "Max was in the hall"])
    reading.hear("He asked Ben for the hat , but Ben kept it")
    with pytest.raises(Objection):
        reading.hear("He slept")


@pytest.mark.parametrize("limits", [LIMITS, LONGER])
def test_what_may_come_next_adds_up_and_differs(limits):
    rng = random.Random(3)
    for _ in range(8):
        world = World(limits)
        for _ in range(limits.longest):
            choices = next_sentences(world)
            assert math.fsum(chance for chance, _ in choices) == pytest.approx(1, abs=1e-12)
            # The same words twice would make the text's entropy smaller than that of the choices.
            words = Counter(sentence.words for _, sentence in choices)
            assert words.most_common(1)[0][1] == 1
            if world.things:
                assert len({each.words for each in questions(world)}) == 4 * len(world.things)
            world = rng.choices(choices, [chance for chance, _ in choices])[0][1].after


@pytest.mark.parametrize(("limits", "count"), [
    (SHORT, 1500),
    (Limits(people=2, things=1, places=2, containers=1, longest=5, words=4), 1500),
    pytest.param(LIMITS, 14_500, marks=pytest.mark.slow),  # a million words, and a minute for exact
])  # fmt: skip
def test_the_entropy_is_what_stories_cost_on_average(limits, count):
    rng = random.Random(5)
    stories = [tell(rng, limits) for _ in range(count)]
    costs, lengths = [story.nats for story in stories], [len(story.words) for story in stories]
    for exact, seen in zip(entropy(limits), (costs, lengths), strict=True):
        error = statistics.stdev(seen) / count**0.5
        assert abs(statistics.mean(seen) - exact) < 4 * error


def test_the_cost_of_a_story_is_its_surprise():
    """Of one story with one person, one place and one sentence the chances are counted by hand."""
    limits = Limits(people=1, things=1, places=1, containers=0, shortest=2, longest=2)
    names, places = len(FILLERS["he"] + FILLERS["she"]), len(FILLERS["place"])
    things = 5 * len(FILLERS["colour"]) * len(FILLERS["noun"])
    # Someone is somewhere and, by name or pronoun, finds something; three of four questions.
    by_hand = math.log(names * places) + math.log(2 * things) + math.log(4 * 3 * 2)
    assert entropy(limits)[0] == pytest.approx(by_hand, rel=1e-12)
    assert tell(random.Random(7), limits).nats == pytest.approx(by_hand, rel=1e-12)


def test_an_objection_names_the_first_fault():
    story = "Ann was in the park . She found a red hat . Who has the hat ? Ann has it ."
    assert objection_to(story) == ""
    assert "Nobody" in objection_to(story.replace("Ann has", "Nobody has"))
    assert "blue" not in objection_to(story.replace("red", "blue"))
    assert objection_to(story.replace("She", "He")) and objection_to(story[:-1])
    *_, answer = story.split(" ? ")
    assert objection_to(story.removesuffix(answer) + ".")  # asked, and not answered


def test_a_sentence_is_one_whatever_it_says():
    told = [split_story(" ".join(tell(random.Random(seed)).words))[0] for seed in range(50)]
    assert all(is_sentence(sentence) for story in told for sentence in story)
    assert is_sentence("Tom gave it to Tom")  # false, and a sentence
    for story in told:  # a word missing, or a question
        assert not any(is_sentence(sentence.rpartition(" ")[0]) for sentence in story[:1])
    assert not is_sentence("Who has the hat ?") and not is_sentence("")


@pytest.mark.parametrize(("limits", "count"), [
    (LIMITS, 67), (LONGER, 13), (FEW_WORDS, 23), (SHORT, 67),
])  # fmt: skip
def test_chances_of_the_words_multiply_to_that_of_the_story(limits, count):
    """The teller draws whole sentences and knows nothing of single words."""
    rng = random.Random(3)
    for _ in range(count):
        story = tell(rng, limits)
        chances = next_word_chances(story.words, limits)
        nats = -sum(math.log(each[word]) for each, word in zip(chances, story.words, strict=False))
        assert nats == pytest.approx(story.nats, abs=1e-9)
        assert all(sum(each.values()) == pytest.approx(1) for each in chances)
        assert chances[len(story.words) :] == [{"\n": 1.0}]


def test_chances_are_the_frequencies_with_which_words_follow():
    rng, seen = random.Random(13), Counter()
    for _ in range(3000):
        seen[tell(rng, FEW_WORDS).words[6]] += 1
    chances = [
        next_word_chances(f"{name} was in the park .".split(), FEW_WORDS)[6]
        for name in ("Tom", "Ann")
    ]
    for word in {*chances[0], *chances[1]}:
        share = sum(each.get(word, 0.0) for each in chances) / 2
        if word not in FILLERS["he"] + FILLERS["she"]:
            assert abs(seen[word] / 3000 - share) < 4 * math.sqrt(share / 3000)


@pytest.mark.parametrize(("words", "wrong"), [
    ("Tom was in the hall . Ann was in the hall . Ann found an red", "'red'"),
    ("Tom was in the hall . Tom was", "'was'"),
    ("Tom was in the hall . Who", "'Who'"),  # nothing is there to ask for
])  # fmt: skip
def test_a_word_that_cannot_come_is_refused(words, wrong):
    with pytest.raises(ValueError, match=f"must not be {wrong}"):
        next_word_chances(words.split())
