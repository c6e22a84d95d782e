"""Memory that is freed and goes back to the system at once, where a budget is tight or a server runs for long."""

import ctypes

# From malloc.h of the GNU C library.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_AT_ONCE_BYTES = 1 << 20


def give_back_at_once() -> None:
    """Let blocks of a megabyte and more go back to the system when they are freed, and all threads share what is left.

    The GNU C library keeps freed blocks of up to 32 MB for later ones, which do not always fit into them: a sweep was
    seen to hold twice what it used. It also keeps them by thread, in up to eight arenas a core. Called before the
    threads that it is for: an arena that is there stays. Giving blocks back costs time, so it is done only where memory
    is tight or kept for hours; libraries without that setting are left as they are.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _AT_ONCE_BYTES)
        mallopt(_TRIM_THRESHOLD, _AT_ONCE_BYTES)
        mallopt(_ARENA_MAX, 1)
