"""What the lecture computes."""

from lectures.l09_since_gpt2.experiments.model_costs import (
    attention_weights,
    cache_bytes,
    flops_per_token,
    kept_numbers,
    parameters,
    products_with_kept,
    stack_of,
)
from lectures.l09_since_gpt2.experiments.published_models import MODELS

__all__ = [
    "MODELS",
    "attention_weights",
    "cache_bytes",
    "flops_per_token",
    "kept_numbers",
    "parameters",
    "products_with_kept",
    "stack_of",
]
