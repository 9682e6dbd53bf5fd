"""Writing with a tokenizer: the prompt and what follows, drawn by a seed."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from course_utils.models.gpt2_weights import PublishedGPT2
from tests.core.support_gpt2 import V, ours

WORDS = Tokenizer(models.WordLevel({f"w{i}": i for i in range(V)}, unk_token="w0"))
WORDS.pre_tokenizer = pre_tokenizers.Whitespace()
PUBLISHED = PublishedGPT2(ours(), WORDS)


def test_the_prompt_and_what_follows():
    torch.manual_seed(5)
    texts = [PUBLISHED.write("w3 w7", 6, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0].startswith("w3 w7 ") and len(texts[0].split()) == 8
