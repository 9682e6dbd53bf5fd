"""Models that the lectures take apart, and their weights."""

from course_utils.models.causal_lm import CausalLM, CausalLMConfig
from course_utils.models.encoder import Encoder, EncoderConfig, EncoderOutput
from course_utils.models.generation import generate
from course_utils.models.gpt2 import GPT2, GPT2Block, GPT2Config
from course_utils.models.gpt2_weights import load_gpt2, save_gpt2
from course_utils.models.minilm import MiniLM, Reading, load_minilm

__all__ = [
    "GPT2",
    "CausalLM",
    "CausalLMConfig",
    "Encoder",
    "EncoderConfig",
    "EncoderOutput",
    "GPT2Block",
    "GPT2Config",
    "MiniLM",
    "Reading",
    "generate",
    "load_gpt2",
    "load_minilm",
    "save_gpt2",
]
