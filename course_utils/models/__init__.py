"""Models that the lectures take apart, and their weights."""

from course_utils.models.encoder import Encoder, EncoderConfig, EncoderOutput
from course_utils.models.minilm import MiniLM, Reading, load_minilm

__all__ = ["Encoder", "EncoderConfig", "EncoderOutput", "MiniLM", "Reading", "load_minilm"]
