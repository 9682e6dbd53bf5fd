"""Slides: their plan and their times."""
