"""Which exercises and quiz questions of a worked copy pass."""
