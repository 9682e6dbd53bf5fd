"""What shared heads, low-rank changes and their files must refuse: as in support_bad_core.py."""

import atexit
import tempfile
from pathlib import Path

import torch
from torch import nn

from course_utils.layers import KVCache, MultiHeadAttention, Rotary, gqa, lora
from course_utils.lectures.l07_dynamic_pruning.experiments import adapting as tasks_adapting
from course_utils.lectures.l07_dynamic_pruning.experiments import low_rank
from course_utils.lectures.l07_dynamic_pruning.experiments import sharing as tasks_sharing
from course_utils.models import adapters, gpt2, grouped
from tests.core.support_bad_core import COUNT, FLAG, INF, NAN, POSITIVE, WORDS
from tests.core.support_bad_input import Bad, Case, Said
from tests.core.support_bad_layers import TOKENS, VECTORS, C, H, X, filled, mask

# X is (2, 7, 15), read by 3 query heads of width 5. They share 1 head of keys and values.
LAYER, MULTI = gqa.GroupedQueryAttention(C, H, 1), MultiHeadAttention(C, H)
ROTARY = MultiHeadAttention(18, H, position=Rotary())
NUM_HEADS = Bad(COUNT.types, (*COUNT.values, Said(7, "num_heads (7) must divide")))
NUM_KV_HEADS = Bad(COUNT.types, (*COUNT.values, Said(2, "num_kv_heads (2) must divide")))
OWN = Bad(
    ("x", {}, [KVCache()], Said(filled(heads=1, dtype=torch.float64), "torch.float64")),
    (Said(filled(batch=3, heads=1), "(3, 1, 5)"), Said(filled(heads=3), "(2, 3, 5)"),
     Said(filled(heads=1, width=3), "(2, 1, 3)"), Said(filled(heads=1, max_positions=5), "11")),
)  # fmt: skip
OF_THREE = Bad(OWN.types[:3], (Said(filled(heads=1), "(2, 1, 5)"),))
NO_LAYER = Bad((None, "x", Said(nn.Linear(2, 2), "Linear")), (Said(ROTARY, "Rotary"),))
SHARED = [
    Case("layers.gqa.GroupedQueryAttention", gqa.GroupedQueryAttention,
         {"width": C, "num_heads": H, "num_kv_heads": 1}, {
        "width": COUNT, "num_heads": NUM_HEADS, "num_kv_heads": NUM_KV_HEADS, "bias": FLAG,
    }),
    Case("layers.gqa.GroupedQueryAttention.forward", LAYER, {"x": X}, {
        "x": TOKENS, "may_attend": mask(7, 7), "cache": OWN,
    }),
    Case("layers.gqa.GroupedQueryAttention.flash", LAYER.flash, {"x": X}, {
        "x": TOKENS, "causal": FLAG, "cache": OWN,
    }),
    Case("layers.gqa.flash_self_attention", gqa.flash_self_attention, {"layer": MULTI, "x": X}, {
        "layer": NO_LAYER, "x": TOKENS, "causal": FLAG, "cache": OF_THREE,
    }),
]  # fmt: skip

MODEL = gpt2.GPT2(gpt2.GPT2Config(31, 11, 15, 2, 3))
SHARING = grouped.with_grouped_attention(MODEL, 1)
SHARED_IN_MODELS = [
    Case("models.grouped.with_grouped_attention", grouped.with_grouped_attention,
         {"model": MODEL, "num_kv_heads": 1}, {
        "model": Bad((None, "x", Said(nn.Linear(2, 2), "Linear")), (Said(SHARING, "1"),)),
        "num_kv_heads": NUM_KV_HEADS,
    }),
]  # fmt: skip

WIDE = nn.Linear(C, 11)
RANK = Bad(COUNT.types, (*COUNT.values, 12))
ALPHA = Bad(POSITIVE.types[1:], POSITIVE.values)
LAYERS = nn.Sequential(nn.Linear(C, 11))


def adapted(rank: int = 2) -> nn.Module:
    """A model whose one layer is adapted."""
    return lora.add_lora(LAYERS, rank, names=["0"])


def merged() -> nn.Module:
    """The same, with the change in its weights."""
    model = adapted()
    for _, layer in lora.lora_layers(model):
        layer.merge()
    return model


GOOD = adapted()
STATE = lora.adapter_state(GOOD)
NO_MODEL = Bad((None, "x", {}))
NOT_ADAPTED = Bad(NO_MODEL.types, (Said(LAYERS, "Sequential"),))
UNMERGED = Bad(NO_MODEL.types, (*NOT_ADAPTED.values, Said(merged(), "merged")))
LOW_RANK = [
    Case("layers.lora.LoRALinear", lora.LoRALinear, {"base": WIDE, "rank": 2}, {
        "base": Bad((None, "x", Said(nn.ReLU(), "ReLU"))), "rank": RANK, "alpha": ALPHA,
    }),
    Case("layers.lora.LoRALinear.forward", lora.LoRALinear(WIDE, 2), {"x": X}, {"x": VECTORS}),
    Case("layers.lora.add_lora", lora.add_lora, {"model": LAYERS, "rank": 2, "names": ["0"]}, {
        "model": Bad(NO_MODEL.types, (Said(GOOD, "LoRALinear"),)), "rank": RANK, "alpha": ALPHA,
        "names": Bad((None, 3, "0", Said([0], "0 (int)")), ([], Said(["0", "query"], "'query'"))),
    }),
    Case("layers.lora.lora_layers", lora.lora_layers, {"model": GOOD}, {"model": NO_MODEL}),
    Case("layers.lora.adapter_state", lora.adapter_state, {"model": GOOD}, {"model": NOT_ADAPTED}),
    Case("layers.lora.load_adapter_state", lora.load_adapter_state,
         {"model": GOOD, "state": STATE}, {
        "model": UNMERGED,
        "state": Bad(
            (None, "x", Said({**STATE, "0.up": [1.0]}, "list"),
             Said({**STATE, "0.up": STATE["0.up"].long()}, "torch.int64")),
            (Said({}, "0.down is missing"), Said({**STATE, "1.up": STATE["0.up"]}, "1.up"),
             Said(lora.adapter_state(adapted(3)), "(3, 15)")),
        ),
    }),
]  # fmt: skip

KEPT = tempfile.TemporaryDirectory(prefix="adapter-")
atexit.register(KEPT.cleanup)
FILE = Path(KEPT.name, "adapter.safetensors")
adapters.save_adapter(GOOD, FILE)
PATH = (None, 3, ["x"])
FILES = [
    Case("models.adapters.save_adapter", adapters.save_adapter, {"model": GOOD, "path": FILE}, {
        "model": NOT_ADAPTED, "path": Bad(PATH, (KEPT.name,)),
    }),
    Case("models.adapters.load_adapter", adapters.load_adapter, {"model": GOOD, "path": FILE}, {
        "model": UNMERGED, "path": Bad(PATH),
    }),
]  # fmt: skip

MATRIX = torch.randn(3, 5)
BAD_MATRIX = Bad(
    (*WORDS, MATRIX.long()),
    (MATRIX[0], MATRIX[:0], MATRIX * NAN, MATRIX * INF),
)
SMALL_RANK = Bad(COUNT.types, (*COUNT.values, 4))
SPECTRA = [
    Case("low_rank.effective_rank", low_rank.effective_rank, {"matrix": MATRIX}, {
        "matrix": BAD_MATRIX,
    }),
    *(
        Case(f"low_rank.{name}", getattr(low_rank, name), {"matrix": MATRIX, "rank": 2}, {
            "matrix": BAD_MATRIX, "rank": SMALL_RANK,
        })
        for name in ("energy_share", "nearest_of_rank")
    ),
]  # fmt: skip

OTHER, NO_LINEAR = nn.Sequential(nn.Linear(C, 13)), nn.Sequential(nn.ReLU())
WIDER = nn.Sequential(nn.Linear(C, 11), nn.Linear(11, 2))
BEFORE = Bad(NO_MODEL.types, (Said(NO_LINEAR, "Sequential without"),))
AFTER = Bad(BEFORE.types, (*BEFORE.values, Said(OTHER, "(13, 15)"), Said(WIDER, "(2, 11)")))
STEP = {"steps": 1, "seeds": [0]}
BAD_STEP = {
    "steps": COUNT, "learning_rate": Bad(POSITIVE.types[1:], POSITIVE.values),
    "seeds": Bad((None, 3, "12"), ([], (1, 1))),
}  # fmt: skip
KV_HEADS = Bad(
    (None, 2, "4", Said(["2"], "'2' (str)"), Said([2.0], "2.0 (float)")),
    ([], Said([0], "0"), Said([3], "(3) must divide num_heads (4)")),
)
LEARNING = [
    Case("tasks_adapting.matrix_changes", tasks_adapting.matrix_changes,
         {"before": LAYERS, "after": LAYERS}, {"before": BEFORE, "after": AFTER}),
    Case("tasks_adapting.cut_changes", tasks_adapting.cut_changes,
         {"before": LAYERS, "after": LAYERS, "rank": 2}, {
        "before": BEFORE, "after": AFTER, "rank": RANK,
    }),
    Case("tasks_adapting.adapt_to_code", tasks_adapting.adapt_to_code, {"rank": 1, **STEP}, {
        "rank": Bad(COUNT.types[1:], (*COUNT.values, 129)), "only_named": FLAG, **BAD_STEP,
        "names": Bad((None, 3, "query"), ([], Said(["nothing"], "'nothing'"))),
    }),
    Case("tasks_sharing.share_heads", tasks_sharing.share_heads,
         {"numbers_of_kv_heads": [4], **STEP}, {
        "numbers_of_kv_heads": KV_HEADS, **BAD_STEP,
        "learning_rate": POSITIVE,
    }),
]  # fmt: skip

CASES = [*SHARED, *SHARED_IN_MODELS, *LOW_RANK, *FILES, *SPECTRA, *LEARNING]
