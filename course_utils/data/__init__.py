"""Data that the package carries, checked by SHA-256."""
