"""Scripts that make the data the package carries."""
