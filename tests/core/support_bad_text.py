"""What byte pairs, packaged files and the task of a language model must refuse, as a table."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from course_utils import language_modeling as tasks_text
from course_utils import tokens
from course_utils.data import packaged
from course_utils.models import GPT2, GPT2Config, published_gpt2
from tests.core.support_bad_core import COUNT, SEED, WORDS
from tests.core.support_bad_input import Bad, Case, Said

PAIRS = tokens.BytePairs(((97, 98), (256, 99)))
HALF = Said("\ud800", "half of a surrogate pair")
TEXT = Bad((None, 3, ["a"], bytearray(b"a")), (HALF,))
TOKENS = [
    Case("tokens.BytePairs", tokens.BytePairs, {"merges": ((97, 98),)}, {
        "merges": Bad(
            (None, 3, "ab", [(97, 98)], Said((97, 98), "97"), Said(((97,),), "(97,)"),
             Said(([97, 98],), "[97, 98]"), Said((("a", "b"),), "'a'")),
            (Said(((97, 256),), "256"), Said(((-1, 97),), "-1"),
             Said(((97, 98), (97, 98)), "(97, 98) again")),
        ),
    }),
    Case("tokens.BytePairs.encode", PAIRS.encode, {"text": "abc"}, {"text": TEXT}),
    Case("tokens.BytePairs.decode", PAIRS.decode, {"ids": [97, 257]}, {
        "ids": Bad(
            (None, 3, "ab", Said([97, 98.0], "98.0"), Said([True], "True"), Said([None], "None"),
             Said(torch.tensor([[97, 98]]), "[97, 98]"), Said(torch.tensor([97.0]), "97.0")),
            (Said([97, 258], "258"), Said([-1], "-1"), Said(torch.tensor([258]), "258")),
        ),
    }),
    Case("tokens.train_bpe", tokens.train_bpe, {"text": "abab", "vocab_size": 257}, {
        "text": TEXT, "vocab_size": Bad(COUNT.types, (0, -1, 255)),
    }),
]  # fmt: skip

PACKAGED = [
    Case("packaged.read_packaged", packaged.read_packaged, {"name": "prose.txt"}, {
        "name": Bad((), (None, 3, "", "poem.txt", "../packaged.py")),
    }),
    Case("packaged.read_measured", packaged.read_measured, {"name": "lora_runs.json"}, {
        "name": Bad((), (None, 3, "", "poem.txt", "../packaged.py")),
    }),
]  # fmt: skip

IDS, BATCH = torch.arange(23) % 7, torch.arange(6).view(2, 3)
MODEL = torch.nn.Embedding(7, 7)  # scores (B, T, 7) for ids (B, T)
BAD_IDS = Bad(
    (*WORDS, IDS.int(), IDS.float()),
    (IDS[None], Said(IDS[:0], "0"), Said(IDS[:5], "5"), Said(IDS - 5, "-5")),
)
TASK = [
    Case("tasks_text.split_text", tasks_text.split_text, {"text": "abcdef", "share": 0.5}, {
        "text": Bad((None, 3, ["a"], b"abc"), (BATCH, Said("", "0"), Said("a", "1"))),
        "share": Bad(("x", None, True), (0, 1, -0.1, 1.5, float("nan"))),
    }),
    Case("tasks_text.text_batch", tasks_text.text_batch,
         {"ids": IDS, "length": 5, "batch_size": 2}, {
        "ids": BAD_IDS, "length": COUNT, "batch_size": COUNT,
    }),
    Case("tasks_text.next_token_loss", tasks_text.next_token_loss,
         {"model": MODEL, "inputs": BATCH, "targets": BATCH}, {
        "model": Bad((None, 3, "x")),
        "inputs": Bad(WORDS, (BATCH[0],)),
        "targets": Bad(
            (*WORDS, BATCH.int(), BATCH.float()), (BATCH[0], BATCH[:, :2], Said(BATCH + 5, "10")),
        ),
    }),
    Case("tasks_text.text_loss", tasks_text.text_loss,
         {"model": MODEL, "ids": IDS, "length": 5}, {
        "model": Bad((None, 3, "x", len)), "ids": BAD_IDS, "length": COUNT,
    }),
    Case("tasks_text.unigram_entropy", tasks_text.unigram_entropy,
         {"ids": IDS, "vocab_size": 7}, {
        "ids": Bad(BAD_IDS.types, (IDS[None], Said(IDS[:0], "0"), Said(IDS + 1, "7"))),
        "vocab_size": COUNT,
    }),
]  # fmt: skip

LETTERS = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
LETTERS.pre_tokenizer = pre_tokenizers.Whitespace()
PUBLISHED = published_gpt2.PublishedGPT2(GPT2(GPT2Config(43, 11, 15, 2, 3)), LETTERS)
WRITING = [
    Case("models.published_gpt2.PublishedGPT2.write", PUBLISHED.write,
         {"prompt": "a b", "max_new_tokens": 2}, {
        "prompt": Bad((None, 3, b"a"), ("", " ")),
        "max_new_tokens": Bad(COUNT.types, (*COUNT.values, 10)), "seed": SEED,
    }),
]  # fmt: skip

CASES = [*TOKENS, *PACKAGED, *TASK, *WRITING]
