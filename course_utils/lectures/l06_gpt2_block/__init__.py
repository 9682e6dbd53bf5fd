"""Lecture 06, A GPT-2 block: What does each symbol of a GPT-2 block do?"""
