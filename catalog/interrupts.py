"""A person's Ctrl-C while DuckDB works, which DuckDB reports as an error of its own kind."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def keyboard_interrupts() -> Iterator[None]:
    """Turn DuckDB's "Query interrupted" back into the KeyboardInterrupt that it came from."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error
