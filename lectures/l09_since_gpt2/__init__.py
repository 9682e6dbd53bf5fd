"""Lecture 09: what has changed since GPT-2."""
