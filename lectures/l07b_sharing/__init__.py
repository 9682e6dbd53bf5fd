"""Lecture 07b, Shared, thinned, skipped: What can be shared, thinned, skipped?"""
