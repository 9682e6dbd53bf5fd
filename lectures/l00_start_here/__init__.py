"""Lecture 00, Start here: Do you remember, or do you look back?"""
