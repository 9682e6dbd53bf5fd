"""The layers of a transformer, each as short as its formula."""

from course_utils.layers.attention import MultiHeadAttention
from course_utils.layers.blocks import DecoderBlock, EncoderBlock
from course_utils.layers.cache import KVCache
from course_utils.layers.feedforward import FeedForward, SwiGLU
from course_utils.layers.gqa import GroupedQueryAttention
from course_utils.layers.heads import AttentionTrace, merge_heads, split_heads
from course_utils.layers.lora import LoRALinear
from course_utils.layers.mod import MixtureOfDepths, RoutingDecision
from course_utils.layers.moe import MixtureOfExperts
from course_utils.layers.moe_routing import Routing, balance_loss
from course_utils.layers.norm import LayerNorm
from course_utils.layers.position_schemes import Alibi, Rotary
from course_utils.layers.soft_moe import SoftMixtureOfExperts

__all__ = [
    "Alibi",
    "AttentionTrace",
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "GroupedQueryAttention",
    "KVCache",
    "LayerNorm",
    "LoRALinear",
    "MixtureOfDepths",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "Rotary",
    "Routing",
    "RoutingDecision",
    "SoftMixtureOfExperts",
    "SwiGLU",
    "balance_loss",
    "merge_heads",
    "split_heads",
]
