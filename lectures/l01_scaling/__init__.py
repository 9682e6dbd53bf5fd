"""Lecture 01, Scaling: Why divide by √d_k?"""
