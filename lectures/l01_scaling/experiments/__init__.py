"""What the lecture measures, and the black boxes of its last exercise."""

from lectures.l01_scaling.experiments.mystery_models import mystery_models

__all__ = ["mystery_models"]
