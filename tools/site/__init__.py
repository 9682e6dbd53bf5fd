"""The static edition of the course."""
