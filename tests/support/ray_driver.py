"""A process that measures with a cluster, to be killed; its arguments are those of `main`."""

import sys
from pathlib import Path

import torch

from neurothek.ingest.corpora import corpus
from neurothek.ingest.request import DEFAULT_JOBS
from tests.support import ingests, ray_clusters, ray_workers


def main(warehouse: str, model: str, address: str, *corpora: str) -> None:
    """Measure the model; at the address "here" with this process alone."""
    torch.set_num_threads(1)
    corpus.CHUNK_TOKENS = ray_workers.CHUNK_TOKENS
    opened, asked = ingests.open_warehouse(Path(warehouse)), ingests.request(corpora, jobs=DEFAULT_JOBS)
    if address == "here":
        ingests.measure(opened, Path(model), asked)
        return
    by_workers = ray_clusters.by_workers(asked, address=address, workers=2)
    ray_clusters.measure(opened, Path(model), by_workers)


if __name__ == "__main__":
    main(*sys.argv[1:])
