"""Lecture 04, Positions: How does attention know what comes first?"""
