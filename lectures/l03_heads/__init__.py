"""Lecture 03, Heads: Why eight heads and not one?"""
