"""The commands behind the Makefile, on the standard library alone: they run before all else."""
