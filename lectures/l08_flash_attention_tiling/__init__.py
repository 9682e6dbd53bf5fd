"""Lecture 08, FlashAttention: Why is memory, not arithmetic, the limit?"""
