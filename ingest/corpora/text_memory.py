"""How much text may be held at once, of the memory that measuring may take."""

import sys
from dataclasses import dataclass

# Measured, bytes of memory a byte of UTF-8: at most 225 where one part holds one word (byte-level pieces of one byte
# each), 555 where it holds nothing but marks (BERT's normalizer keeps where each character came from).
BYTES_A_BYTE_OF_WORDS = 256
BYTES_A_BYTE = 600
# A text of Parquet lies there as bytes, as Arrow has it, and as text of four bytes a character.
BYTES_A_BYTE_HELD = 16
# Measured, at most 50: a line of jsonl that is nothing but nested lists. Fields of CSV take less.
BYTES_A_BYTE_PARSED = 64
# A page of Parquet is unpacked whole before its values are read, a few at a time.
PAGES_AT_ONCE = 4

# What keeps both cores busy.
MOST_AT_ONCE = 1 << 18
# Below, what the library needs for a call outweighs its texts.
LEAST_AT_ONCE = 1 << 12
# A text among many short ones takes as much as so many bytes of a long one.
BYTES_A_TEXT = 16


@dataclass(frozen=True)
class TextMemory:
    """What reading texts may add to memory."""

    memory_bytes: int = sys.maxsize  # in all

    @property
    def at_once(self) -> int:
        """Bytes of UTF-8 that are tokenized at once, several parts of texts."""
        return max(LEAST_AT_ONCE, min(MOST_AT_ONCE, self.memory_bytes // BYTES_A_BYTE))

    @property
    def every(self) -> int:
        """Characters after which a text is cut where it may be: eight parts for the cores to share."""
        return self.at_once // 8

    @property
    def longest_part(self) -> int:
        """Bytes of UTF-8 that a part has at most which can be cut nowhere."""
        return max(LEAST_AT_ONCE, self.memory_bytes // BYTES_A_BYTE_OF_WORDS)

    @property
    def longest_record(self) -> int:
        """Bytes that a text of Parquet or of a dataset, which is held whole, has at most."""
        return max(LEAST_AT_ONCE, self.memory_bytes // BYTES_A_BYTE_HELD)

    @property
    def longest_row(self) -> int:
        """Bytes that a line of jsonl, an object of JSON or a row of CSV, which is parsed whole, has at most."""
        return max(LEAST_AT_ONCE, self.memory_bytes // BYTES_A_BYTE_PARSED)

    @property
    def longest_page(self) -> int:
        """Bytes that a page of Parquet has at most once it is unpacked."""
        return max(LEAST_AT_ONCE, self.memory_bytes // PAGES_AT_ONCE)


UNBOUNDED = TextMemory()
