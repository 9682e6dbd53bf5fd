"""The layers of a transformer, each as short as its formula: torch alone, nothing else."""

from course_utils.layers.attention import MultiHeadAttention
from course_utils.layers.blocks import DecoderBlock, EncoderBlock
from course_utils.layers.cache import DecoderCache, KVCache
from course_utils.layers.feedforward import FeedForward
from course_utils.layers.heads import Heads, merge_heads, split_heads
from course_utils.layers.norm import LayerNorm
from course_utils.layers.position_schemes import Alibi, Rotary

__all__ = [
    "Alibi",
    "DecoderBlock",
    "DecoderCache",
    "EncoderBlock",
    "FeedForward",
    "Heads",
    "KVCache",
    "LayerNorm",
    "MultiHeadAttention",
    "Rotary",
    "merge_heads",
    "split_heads",
]
