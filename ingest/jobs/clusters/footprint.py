"""What the job `clusters` takes of memory and disk, estimated from above."""

from neurothek.ingest.forward.footprint import Footprint
from neurothek.ingest.jobs.clusters.agglomeration import least_bytes
from neurothek.ingest.lens.scorer import workspace_bytes
from neurothek.ingest.models.families.shapes import Shape


def footprint(shape: Shape) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    # Of all neurons at once, whatever the layer: what more there is goes into distances.
    n = shape.n_layers * shape.d_ffn
    two_layers = 4 * shape.d_ffn * shape.d_model * 4 + workspace_bytes(shape.d_ffn)
    # Ten neighbours a neuron, and its place in two clusterings.
    return Footprint(folding=max(least_bytes(n, shape.d_model), two_layers), rows=shape.d_ffn * 200)
