"""What the job `activity` takes of memory and disk, estimated from above."""

from neurothek.ingest.forward.footprint import Extent, Footprint
from neurothek.ingest.models.families.shapes import Shape


def footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    # Tallies of 13 numbers: of each domain, of 32 sequences at once, of the frames made of them.
    tallies = shape.d_ffn * 13 * 8 * (32 + 6 * extent.n_domains)
    rows = shape.d_ffn * extent.n_domains * 130
    return Footprint(observing=tallies, folding=6 * rows, parts=extent.n_chunks * rows, rows=rows)
