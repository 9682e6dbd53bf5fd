"""Bytes in words, and the memories they have to fit in."""

MEMORIES = {"laptop 16 GB": 16e9, "H100 80 GB": 80e9}


def describe_bytes(size: int) -> str:
    """Bytes in three digits, in the 1000s of a data sheet."""
    for unit, words in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:,.3g} {words}"
    return f"{size} bytes"
