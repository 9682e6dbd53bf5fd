"""A small GPT trained on the course's own prose: a model that fits into a lecture.

It is a small GPT-2. It writes sentences that sound like the course and mean little, as one expects
of so few parameters and so short a text.
"""

import json

from course_utils.data.package_files import DATA, read_packaged
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.models.gpt2_weights import load_gpt2
from course_utils.tokens import BytePairs

__all__ = ["SMALL_GPT", "load_small_gpt", "small_gpt_tokenizer"]

SMALL_GPT = GPT2Config(vocab_size=1024, max_positions=128, width=128, num_layers=3, num_heads=4)
FOLDER = "small_gpt"


def small_gpt_tokenizer() -> BytePairs:
    """Return the tokenizer of the small GPT.

    Raises:
        PackagedFileError: a RuntimeError, if the file is missing or damaged.

    >>> small_gpt_tokenizer().vocab_size == SMALL_GPT.vocab_size
    True
    """
    merges = json.loads(read_packaged(f"{FOLDER}/merges.json"))
    return BytePairs(tuple((left, right) for left, right in merges))


def load_small_gpt() -> GPT2:
    """Return the trained small GPT, in evaluation mode; a new model at each call.

    tools/scripts/train_small_gpt.py trains it like lecture 06, for longer. Its loss is 3.80 nats
    per token on the held-out tenth of the prose, and 2.78 on the rest; the unigram entropy is 5.77.
    The file has 16 bits per number, the model 32.

    Raises:
        PackagedFileError: a RuntimeError, if a file is missing or damaged.

    >>> model = load_small_gpt()
    >>> model.config == SMALL_GPT, model.config.parameters
    (True, 742528)
    """
    for name in ("config.json", "model.safetensors"):
        read_packaged(f"{FOLDER}/{name}")
    return load_gpt2(DATA / FOLDER).eval()
