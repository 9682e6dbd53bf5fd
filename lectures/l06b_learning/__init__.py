"""Lecture 06b, How a GPT learns: How does a GPT learn?"""
