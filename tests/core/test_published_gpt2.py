"""Writing with a tokenizer: the prompt and what follows, drawn by a seed."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from course_utils.models.published_gpt2 import PublishedGPT2
from tests.core.support_gpt2 import P, V, ours
from tests.core.support_refused import each_refused

WORDS = Tokenizer(models.WordLevel({f"w{i}": i for i in range(V)}, unk_token="w0"))
WORDS.pre_tokenizer = pre_tokenizers.Whitespace()
PUBLISHED = PublishedGPT2(ours(), WORDS)


def test_the_prompt_and_what_follows():
    torch.manual_seed(5)
    texts = [PUBLISHED.write("w3 w7", 6, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0].startswith("w3 w7 ") and len(texts[0].split()) == 8


test_refused = each_refused(
    (lambda: PUBLISHED.write(None, 2), "TypeError: prompt must be a string, got None (NoneType)"),
    (lambda: PUBLISHED.write(" ", 2), "ValueError: prompt must hold at least one token, got ' '"),
    (lambda: PUBLISHED.write("w3", 0), "ValueError: max_new_tokens must be at least 1, got 0"),
    (lambda: PUBLISHED.write("w3", P),
     "ValueError: max_new_tokens and the 1 of the prompt must make at most max_positions (13) "
     "tokens, got 13"),
    (lambda: PUBLISHED.write("w3", 2, seed=-1), "ValueError: seed must be at least 0, got -1"),
)  # fmt: skip
