"""Lecture 06, A GPT that writes: What is inside a GPT that writes?"""
