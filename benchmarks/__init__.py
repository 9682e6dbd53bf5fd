"""What backs the figures of speed that the course states."""
