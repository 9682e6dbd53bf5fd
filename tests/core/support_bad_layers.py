"""What the layers must refuse, as a table: as in support_bad_core.py."""

import torch

from course_utils import masks
from course_utils.layers import (
    Alibi,
    DecoderCache,
    KVCache,
    Rotary,
    attention,
    blocks,
    checks,
    feedforward,
    heads,
    norm,
)
from course_utils.measure import costs
from tests.core.support_bad_core import COUNT, FLAG, POSITIVE, REAL, WORDS, choice, tensor
from tests.core.support_bad_input import Bad, Case, Said

B, T, S, C, H, D, HIDDEN = 2, 7, 11, 15, 3, 5, 23
X, MEMORY, SPLIT = torch.randn(B, T, C), torch.randn(B, S, C), torch.randn(B, H, T, D)
WEIGHT = torch.zeros(C, C)


def filled(batch=B, dtype=torch.float32, heads=H, width=D, **options):
    kept = KVCache(**options)
    kept.append(*torch.zeros(2, batch, heads, 4, width, dtype=dtype))
    return kept


def filled_from_another_memory():
    kept = KVCache()
    attention.MultiHeadAttention(C, H)(X, memory=MEMORY.clone(), cache=kept)
    return kept


NUM_HEADS = Bad(COUNT.types, (*COUNT.values, Said(7, "num_heads (7) must divide")))
VECTORS = tensor(torch.tensor(1.0), X[..., :13], like=X.shape)
VECTORS = Bad((*VECTORS.types, X.double()), VECTORS.values)
TOKENS = tensor(X[0], X[None], X[:, :0], X[..., :13], like=X.shape)
TOKENS = Bad((*TOKENS.types, X.double()), TOKENS.values)
MEMORIES = tensor(
    MEMORY[0], MEMORY[None], MEMORY[:, :0], MEMORY[..., :13], MEMORY[:1], like=MEMORY.shape
)
MEMORIES = Bad((*MEMORIES.types, MEMORY.double()), MEMORIES.values)
WRONG_TYPES = ("causal", [True])


def mask(*shape):
    """Masks of another kind, and those that do not fit the scores (..., T, S) of this shape."""
    queries, keys = shape
    return Bad(
        (*WRONG_TYPES, torch.zeros(shape), torch.ones(shape).long()),
        (torch.ones(keys + 1, queries + 1) > 0, torch.ones(5, 1, 1, keys) > 0),
    )


OWN = Bad(
    ("x", {}, [KVCache()], Said(DecoderCache(), "DecoderCache"),
     Said(filled(dtype=torch.float64), "torch.float64")),
    (Said(filled(batch=3), "(3, 3, 5)"), Said(filled(heads=5), "(2, 5, 5)"),
     Said(filled(width=3), "(2, 3, 3)"), Said(filled(max_positions=5), "11"),
     Said(filled_from_another_memory(), "11")),
)  # fmt: skip
BOTH = Bad(
    ("x", {}, Said(KVCache(), "KVCache"),
     Said(DecoderCache(filled(dtype=torch.float64)), "torch.float64")),
    (Said(DecoderCache(filled(batch=3)), "(3, 3, 5)"),
     Said(DecoderCache(filled(), filled_from_another_memory()), "11"),
     Said(DecoderCache(filled(), filled()), "4")),
)  # fmt: skip

SIZES = {"width": C, "num_heads": H}
BAD_SIZES = {"width": COUNT, "num_heads": NUM_HEADS}
POSITION = Bad(("rope", 3, [Rotary()], Rotary), (Said(Rotary(), "Rotary"),))
BLOCK = {**SIZES, "hidden": HIDDEN}
BAD_BLOCK = {
    **BAD_SIZES, "hidden": COUNT, "activation": choice("swish"), "norm_first": FLAG,
    "eps": POSITIVE, "position": POSITION,
}  # fmt: skip
PARTS = [
    Case("layers.heads.split_heads", heads.split_heads, {"x": X, "num_heads": H}, {
        "x": tensor(X[0], X[None], X[:, :0], X[..., :0], like=X.shape), "num_heads": NUM_HEADS,
    }),
    Case("layers.heads.merge_heads", heads.merge_heads, {"x": SPLIT}, {
        "x": tensor(X, SPLIT[None], SPLIT[:, :0], SPLIT[:, :, :0], like=SPLIT.shape),
    }),
    Case("layers.norm.LayerNorm", norm.LayerNorm, {"width": C}, {"width": COUNT, "eps": POSITIVE}),
    Case("layers.norm.LayerNorm.forward", norm.LayerNorm(C), {"x": X}, {"x": VECTORS}),
    Case("layers.feedforward.FeedForward", feedforward.FeedForward, {"width": C, "hidden": 23}, {
        "width": COUNT, "hidden": COUNT, "activation": choice("swish"),
    }),
    Case("layers.feedforward.FeedForward.forward", feedforward.FeedForward(C, 23), {"x": X}, {
        "x": VECTORS,
    }),
    Case("layers.position_schemes.Rotary", Rotary, {}, {
        "base": POSITIVE, "pairing": choice("halves"),
        "interpolation": Bad(REAL.types, (*REAL.values, 0.5)),
        "ntk": Bad(REAL.types, (*REAL.values, 0.5)),
    }),
    Case("layers.position_schemes.Rotary.turn", Rotary().turn,
         {"x": SPLIT[..., :4], "start": 3}, {
        "x": tensor(X, SPLIT, SPLIT[None], like=SPLIT.shape),
        "start": Bad(COUNT.types, (-1,)),
    }),
    Case("layers.position_schemes.Alibi.bias", Alibi().bias, {"q": SPLIT, "S": S}, {
        "q": Bad(WORDS, (X, SPLIT[None])), "S": COUNT,
    }),
]  # fmt: skip

NEW = torch.zeros(B, H, 1, D)
ROW = tensor(NEW[0], NEW[None], NEW[:, :, :0], NEW[:1], NEW[:, :2], NEW[..., :3], like=NEW.shape)
ROW = Bad((*ROW.types, NEW.double()), ROW.values)
MANY, SHARED = torch.zeros(B, H, 8, D), KVCache()
CACHES = [
    Case("layers.cache.KVCache", KVCache, {}, {
        "max_positions": Bad(COUNT.types[1:], COUNT.values),
    }),
    Case("layers.cache.KVCache.append",
         lambda k, v: filled(max_positions=11).append(k, v), {"k": NEW, "v": NEW}, {
        "k": ROW, "v": Bad(ROW.types, (*ROW.values, MANY)),
    }),
    Case("layers.cache.KVCache.check_room",
         lambda new: filled(max_positions=11).check_room("new", new), {"new": 7}, {
        "new": Bad(COUNT.types, (-1, Said(8, "12"))),
    }),
    Case("layers.cache.DecoderCache", DecoderCache, {"self_attention": SHARED}, {
        "self_attention": Bad((None, "x", {})),
        "cross_attention": Bad((None, "x", {}), (Said(SHARED, "the same"),)),
    }),
]  # fmt: skip

LAYER = attention.MultiHeadAttention(C, H)
READ = {"x": X, "memory": MEMORY}
ENCODER, DECODER = blocks.EncoderBlock(C, H, HIDDEN), blocks.DecoderBlock(C, H, HIDDEN)
LAYERS = [
    Case("layers.attention.MultiHeadAttention", attention.MultiHeadAttention, SIZES, {
        **BAD_SIZES, "bias": FLAG, "position": POSITION,
    }),
    Case("layers.attention.MultiHeadAttention.forward", LAYER, {"x": X}, {
        "x": TOKENS, "memory": Bad(MEMORIES.types[1:], MEMORIES.values),
        "may_attend": mask(T, T), "cache": OWN,
    }),
    Case("layers.blocks.EncoderBlock", blocks.EncoderBlock, BLOCK, BAD_BLOCK),
    Case("layers.blocks.EncoderBlock.forward", ENCODER, {"x": X}, {
        "x": TOKENS, "may_attend": mask(T, T), "cache": OWN,
    }),
    Case("layers.blocks.DecoderBlock", blocks.DecoderBlock, BLOCK, BAD_BLOCK),
    Case("layers.blocks.DecoderBlock.forward", DECODER, READ, {
        "x": TOKENS, "memory": MEMORIES, "may_attend": mask(T, T),
        "memory_may_attend": mask(T, S), "cache": BOTH,
    }),
]  # fmt: skip

WITH_WEIGHT = {"name": "x", "x": X, "weight": WEIGHT, "width": C}
CHECKS = [
    Case("layers.checks.check_vectors", checks.check_vectors, WITH_WEIGHT, {"x": VECTORS}),
    Case("layers.checks.check_tokens", checks.check_tokens, WITH_WEIGHT, {"x": TOKENS}),
    Case("layers.checks.check_memory", checks.check_memory,
         {"memory": MEMORY, "x": X, "weight": WEIGHT, "width": C}, {"memory": MEMORIES}),
    Case("layers.checks.check_cache", checks.check_cache,
         {"name": "cache", "cache": KVCache(), "x": X, "num_heads": H, "memory": None},
         {"cache": OWN}),
]  # fmt: skip

DOCUMENTS = Bad(
    (None, "23", 3, b"\x02", Said([2.0], "2.0"), Said([[2]], "[2]"), Said([True], "True"),
     Said(torch.tensor([2.5]), "2.5"), Said(torch.tensor([[2, 3]]), "[2, 3]"), torch.tensor(3)),
    (Said([], "none"), Said([2, 0], "0"), Said([-1], "-1")),
)  # fmt: skip
CACHE_SIZES = {"num_layers": 2, "num_kv_heads": 3, "head_width": 5, "length": 7}
CORE = [
    Case("masks.same_document_mask", masks.same_document_mask, {"lengths": [2, 3]}, {
        "lengths": DOCUMENTS, "device": Bad((3, ["cpu"]), ("nonsense",)),
    }),
    Case("costs.attention_parameters", costs.attention_parameters, {"width": 5}, {
        "width": COUNT, "bias": FLAG,
    }),
    Case("costs.kv_cache_bytes", costs.kv_cache_bytes, CACHE_SIZES, {
        **dict.fromkeys([*CACHE_SIZES, "batch", "bytes_per_number"], COUNT),
    }),
]  # fmt: skip

CASES = [*PARTS, *CACHES, *LAYERS, *CHECKS, *CORE]
