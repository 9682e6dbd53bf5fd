"""What the lecture says of the story GPT with one head off."""

import re

import pytest
import torch

from course_utils.explorers.gpt.story import WHO, StoryGPT
from course_utils.models.story_gpt import STORY_GPT, load_story_gpt, story_tokens
from course_utils.stories.words import ALL_WORDS
from lectures import find_lecture
from tests.lectures.support_notebooks import notebook_of, read

CELLS = {cell.id: cell.source for cell in read(notebook_of(find_lecture("06"))).cells}
SCENE = re.search(r'^scene = "\\n(.+)"$', CELLS["questions"], re.MULTILINE)[1]
HEADS = [(block, head) for block in range(4) for head in range(4)]
D = STORY_GPT.width // STORY_GPT.num_heads


@pytest.fixture(scope="module")
def means():
    return StoryGPT().given()["means"]


@torch.no_grad()
def first_choice(text, means, off=None):
    """The likeliest next word and its probability, with one head's output replaced by its mean."""
    model = load_story_gpt()
    if off:
        block, head = off

        def replace(_, inputs):
            mixed = inputs[0].clone()
            mixed[..., head * D : (head + 1) * D] = means[block, head]
            return (mixed,)

        model.blocks[block].attention.output.register_forward_pre_hook(replace)
    scores = model(torch.tensor([story_tokens().encode(f"\n{text}")]))[0, -1]
    chance, word = scores.softmax(-1).max(-1)
    return ALL_WORDS[word], chance.item()


def test_who_has_the_hat_in_the_picture(means):
    assert first_choice(WHO, means)[0] == "Ben"
    word, chance = first_choice(WHO, means, (3, 3))
    assert word == "Ann" and f"{chance:.2f}" in CELLS["live-after"]
    found = {off: first_choice(WHO, means, off)[0] for off in HEADS}
    assert {off for off, word in found.items() if word != "Ben"} == {(0, 0), (0, 1), (2, 0), (3, 3)}
    assert [off for off, word in found.items() if word == "Ann"] == [(3, 3)]


def test_no_single_head_decides_in_the_other_scene(means):
    text = f"{SCENE} Who has the hat?"
    assert {first_choice(text, means, off)[0] for off in (None, *HEADS)} == {"Ben"}
