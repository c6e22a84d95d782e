"""Texts whose structure a test knows."""

import random
from pathlib import Path

from neurothek.ingest.corpora.sources.source import Source


def write_text(path: Path, n_words: int) -> Source:
    """Words that follow each other by a rule, so that the id before helps and a model can learn."""
    source = random.Random(0)
    words = [a + b for a in "bdfglmnprst" for b in ("a", "e", "in", "or", "us")]
    said, place = [], 0
    for _ in range(n_words):
        place = (place * 7 + source.randint(1, 3)) % len(words)
        said.append(words[place])
    path.write_text(" ".join(said))
    return Source("words", str(path))
