"""Models that the lectures take apart, and their weights."""

from course_utils.models.causal_lm import CausalLM, CausalLMConfig
from course_utils.models.encoder import Encoder, EncoderConfig, EncoderOutput
from course_utils.models.minilm import MiniLM, Reading, load_minilm

__all__ = [
    "CausalLM",
    "CausalLMConfig",
    "Encoder",
    "EncoderConfig",
    "EncoderOutput",
    "MiniLM",
    "Reading",
    "load_minilm",
]
