# Every target is a command of course.py, which does all set-up by itself.
# `make test ARGS="-k masks"` passes arguments on; `make lab PYTHON=python3.12` chooses a Python.
PYTHON ?= python3
ARGS ?=
export LECTURE SEEDS

COMMANDS := lab test test-all parts present pdf timing edit setup doctor test-browser test-hub test-colab site \
	bench bench-gpu claims lint outputs gpt2 constraints clean

.DEFAULT_GOAL := help
.PHONY: help $(COMMANDS)

help:
	@$(PYTHON) course.py help

$(COMMANDS):
	@$(PYTHON) course.py $@ $(ARGS)
