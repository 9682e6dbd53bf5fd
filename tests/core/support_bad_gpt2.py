"""What GPT-2, its files and its writing must refuse, as a table: as in support_bad_core.py."""

import atexit
import tempfile
from pathlib import Path

import torch

from course_utils.layers import KVCache
from course_utils.models import checks, generation, gpt2, gpt2_weights
from tests.core.support_bad_core import COUNT, FLAG, POSITIVE, WORDS, choice
from tests.core.support_bad_input import Bad, Case, Said
from tests.core.support_bad_sampling import SHARE, TEMPERATURE

CONFIG = gpt2.GPT2Config(31, 11, 15, 2, 3)
MODEL = gpt2.GPT2(CONFIG)
IDS, X = torch.tensor([[5, 7, 2]]), torch.randn(1, 3, 15)
SIZES = ("vocab_size", "max_positions", "width", "num_layers")
OTHERS = Bad((None, "x", {"width": 15}))
BAD_IDS = Bad(
    (*WORDS, IDS.int(), IDS.float()),
    (IDS[0], IDS[None], Said(IDS[:, :0], "0"), Said(IDS.repeat(1, 4), "12"),
     Said(IDS + 27, "34"), Said(IDS - 5, "-3")),
)  # fmt: skip
BAD_X = Bad((*WORDS, X.long(), X.double()), (X[0], X[:, :0], X[..., :14]))


def filled(rows: torch.Tensor) -> KVCache:
    """A cache that holds these rows, as its keys and as its values."""
    cache = KVCache()
    cache.append(rows, rows)
    return cache


ONE = torch.zeros(1, 3, 1, 5)
TWICE, UNEVEN = KVCache(), [KVCache(), filled(ONE)]
OTHER_ROWS, DOUBLE = filled(torch.zeros(2, 3, 1, 5)), filled(ONE.double())
CACHE = Bad(
    (3, "x", Said(DOUBLE, "torch.float64")),
    (Said(filled(torch.zeros(1, 3, 2, 4)), "(1, 3, 4)"), Said(OTHER_ROWS, "(2, 3, 5)")),
)
# A full cache is refused by the tokens' name: they are too many.
CACHES = Bad(
    (3, "x", Said([None, None], "None"), Said([DOUBLE, filled(ONE.double())], "torch.float64")),
    ([], Said([KVCache()], "1"), Said(UNEVEN, "[0, 1]"), Said([TWICE, TWICE], "caches[0] again"),
     Said([OTHER_ROWS, filled(torch.zeros(2, 3, 1, 5))], "(2, 3, 5)")),
)  # fmt: skip
MODELS = [
    Case("models.gpt2.GPT2Config", gpt2.GPT2Config, vars(CONFIG), {
        **{name: COUNT for name in SIZES},
        "feedforward_width": Bad(COUNT.types[1:], COUNT.values),
        "num_heads": Bad(COUNT.types, (*COUNT.values, Said(7, "num_heads (7) must divide width"))),
        "eps": POSITIVE, "attention": choice(),
    }),
    Case("models.gpt2.GPT2Block", gpt2.GPT2Block, {"config": CONFIG}, {"config": OTHERS}),
    Case("models.gpt2.GPT2Block.forward", MODEL.blocks[0], {"x": X}, {
        "x": BAD_X, "cache": CACHE,
    }),
    Case("models.gpt2.GPT2", gpt2.GPT2, {"config": CONFIG}, {"config": OTHERS}),
    Case("models.gpt2.GPT2.forward", MODEL, {"token_ids": IDS}, {
        "token_ids": BAD_IDS, "caches": CACHES, "last_only": FLAG,
    }),
    Case("models.gpt2.GPT2.logits", MODEL.logits, {"h": X}, {
        "h": Bad(BAD_X.types, (X[..., :14],)),
    }),
    Case("models.gpt2.GPT2.trace", MODEL.trace, {"token_ids": IDS}, {"token_ids": BAD_IDS}),
    Case("models.checks.check_next_tokens", checks.check_next_tokens,
         {"token_ids": IDS, "caches": None, "config": CONFIG}, {
        "token_ids": BAD_IDS, "caches": Bad(CACHES.types[:3], CACHES.values[:4]),
    }),
    Case("models.checks.check_caches_take", checks.check_caches_take,
         {"caches": [KVCache()], "x": X, "num_heads": 3}, {
        "caches": Bad((Said([DOUBLE], "torch.float64"),), (Said([OTHER_ROWS], "(2, 3, 5)"),)),
    }),
]  # fmt: skip

WRITE = {"model": MODEL, "token_ids": IDS, "max_new_tokens": 2}
KEPT = tempfile.TemporaryDirectory(prefix="gpt2-")
atexit.register(KEPT.cleanup)
FOLDER = Path(KEPT.name)
gpt2_weights.save_gpt2(MODEL, FOLDER)
WRITING = [
    Case("models.generation.generate", generation.generate, WRITE, {
        "model": OTHERS, "token_ids": BAD_IDS,
        "max_new_tokens": Bad(COUNT.types, (*COUNT.values, 9)),
        "temperature": TEMPERATURE,
        # None keeps every token, so it is no wrong input here.
        "k": Bad(COUNT.types[1:], COUNT.values), "p": Bad(SHARE.types[1:], SHARE.values),
        "generator": Bad((3, "x")), "use_cache": FLAG,
    }),
    Case("models.gpt2_weights.load_gpt2", gpt2_weights.load_gpt2, {"path": FOLDER}, {
        "path": Bad((None, 3, ["x"])), "attention": choice(),
    }),
    Case("models.gpt2_weights.save_gpt2", gpt2_weights.save_gpt2,
         {"model": MODEL, "path": FOLDER}, {
        "model": OTHERS, "path": Bad((None, 3, ["x"]), (str(FOLDER / "config.json"),)),
    }),
]  # fmt: skip

CASES = [*MODELS, *WRITING]
