"""Data that the package carries or finds on the disk, checked by SHA-256."""
