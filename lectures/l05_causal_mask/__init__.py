"""Lecture 05, The causal mask: How can one pass train every position at once?"""
