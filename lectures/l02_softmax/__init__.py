"""Lecture 02, Softmax: What does a saturated softmax cost?"""
