"""Sizes as people read them."""


def in_words(n_bytes: int) -> str:
    """A number of bytes in GB, or in MB where that would round to nothing."""
    return f"{n_bytes / 1e9:,.2f} GB" if n_bytes >= 1e7 else f"{n_bytes / 1e6:,.2f} MB"


def in_number(n: int, what: str) -> str:
    """So many of something, in the plural unless it is one."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
