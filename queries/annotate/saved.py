"""What a publication of annotations or judgements wrote."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Saved:
    """What a publication wrote.

    Attributes:
        n_annotations: rows written.
        n_vectors: vectors that they judge, counted once for each annotator; 0 where lists were judged.
        n_replaced: earlier rows about the same vectors or lists by the same annotators, which gave way.
        n_lists: lists of next tokens whose plausibility they judge, counted likewise.
    """

    n_annotations: int
    n_vectors: int
    n_replaced: int
    n_lists: int = 0

    def __str__(self) -> str:
        """What was saved, in words."""
        about = f"{self.n_lists:,} lists" if self.n_lists else f"{self.n_vectors:,} vectors"
        replaced = f", in place of {self.n_replaced:,} earlier ones" if self.n_replaced else ""
        return f"saved {self.n_annotations:,} annotations of {about}{replaced}"


def of_vectors(rows: pl.DataFrame, n_replaced: int) -> Saved:
    """What a publication of these rows of ANNOTATIONS wrote."""
    vectors = rows.select("model_id", "layer", "condition", "neuron", "control_id", "annotator")
    return Saved(rows.height, vectors.n_unique(), n_replaced)
