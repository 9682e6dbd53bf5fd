"""The models of the lectures, and their weights."""

from course_utils.models.causal_lm import CausalLM, CausalLMConfig
from course_utils.models.encoder import Encoder, EncoderConfig, EncoderOutput
from course_utils.models.generation import generate
from course_utils.models.gpt2 import GPT2, GPT2Block, GPT2Config
from course_utils.models.gpt2_weights import (
    PublishedGPT2,
    load_gpt2,
    load_published_gpt2,
    save_gpt2,
)
from course_utils.models.grouped import with_grouped_attention
from course_utils.models.minilm import MiniLM, Reading, load_minilm
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer

__all__ = [
    "GPT2",
    "SMALL_GPT",
    "CausalLM",
    "CausalLMConfig",
    "Encoder",
    "EncoderConfig",
    "EncoderOutput",
    "GPT2Block",
    "GPT2Config",
    "MiniLM",
    "PublishedGPT2",
    "Reading",
    "generate",
    "load_gpt2",
    "load_minilm",
    "load_published_gpt2",
    "load_small_gpt",
    "save_gpt2",
    "small_gpt_tokenizer",
    "with_grouped_attention",
]
