"""What the job `projections` takes of memory and disk, estimated from above."""

from neurothek.ingest.forward.footprint import Footprint
from neurothek.ingest.lens.scorer import workspace_bytes
from neurothek.ingest.models.families.shapes import Shape


def footprint(shape: Shape) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    table = shape.vocab_size * shape.d_model * 4
    values = shape.d_ffn * (shape.d_model * 4 * 3 + 8_000)
    neighbours = shape.vocab_size * 21 * 12 * 4
    return Footprint(
        folding=3 * table + workspace_bytes(shape.vocab_size) + max(values, neighbours),
        # 50 ids and scores at either end, in rows and again as postings; 66 counts.
        rows=shape.d_ffn * 2_600,
        shared_rows=shape.vocab_size * 20 * 10,
    )
