"""Lecture 00, Start here: What can looking at everything at once do that remembering cannot?"""
