"""What the lecture measures."""

from lectures.l06_gpt2_block.experiments.symbols import symbol_table

__all__ = ["symbol_table"]
