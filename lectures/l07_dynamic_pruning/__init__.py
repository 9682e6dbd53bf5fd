"""Lecture 07, Dynamic pruning: What need not be computed?"""
