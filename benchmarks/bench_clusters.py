"""Clusters of value vectors: time and memory of both methods, and how good the scalable one is."""

import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
import torch
from sklearn.metrics import adjusted_rand_score

from benchmarks.bench_projections import _high_water_mark
from benchmarks.timing import machine, publish_block, table
from neurothek.ingest.jobs.clusters import agglomeration
from neurothek.ingest.jobs.clusters.job import Linking, all_directions
from neurothek.ingest.minis import folder as mini_folder
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.models.units import FfnNeurons
from neurothek.ingest.numerics.unit_vectors import directions_of

CASES = {
    "GPT-2 small": (12, 3072, 768, 6_200_000_000, "120 s, 6.5 GB"),
    "SmolLM2-135M": (30, 1536, 576, 3_300_000_000, "90 s, 4 GB"),
    "GPT-2 medium": (24, 4096, 1024, 3_300_000_000, "150 s, 4 GB"),
}
"""Layers, neurons of each, width, bytes of `--memory`, and the goal."""

SIZE = 10_000
N_QUALITY = 4_000
# The share of 98,304 vectors that the second case links at once.
LINKED = 1_500


def main(cases: Sequence[str] = tuple(CASES)) -> None:
    """Take the figures and publish them."""
    rows: list[tuple[str, ...]] = []
    for name in cases:
        command = [sys.executable, "-m", "benchmarks.bench_clusters", name]
        method, seconds, memory = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        n_layers, d_ffn, d_model, _, goal = CASES[name]
        shape = f"{n_layers * d_ffn:,} x {d_model:,}"
        rows.append((name, shape, method, f"{float(seconds):.0f}", f"{int(memory) / 1e9:.2f}", goal))
    text = f"""## Clusters

Complete linkage by cosine distance, cut into {SIZE:,} clusters. Vectors are made: 70% in bundles of eight about a
common direction, 30% noise. Seconds from the vectors to the labels; memory is the process's peak, Python, PyTorch and
the vectors included.

{table(("shape of", "vectors", "method", "seconds", "GB", "goal"), rows)}

How near the scalable method comes to the exact one at {N_QUALITY:,} vectors, when {LINKED:,} are linked at once (the
share of GPT-2 medium's above). *Adjusted Rand index* with the exact clusters is 1 for the same clusters and 0 for
chance. Complete linkage is not stable: the control is the exact method on the same vectors, each moved by a hundredth
of its length. *Cosine* is the mean over all pairs within a cluster: what a cluster is for.

{table(("vectors", "clusters", "index: scalable", "index: control", "cosine: exact", "cosine: scalable"), _quality())}

{machine()}
"""
    publish_block("clusters", text)


def _quality() -> list[tuple[str, ...]]:
    mini = mini_folder("mini-opt-5m")
    assert mini is not None
    learned = all_directions(FfnNeurons(open_transformer(find(str(mini)))))[:N_QUALITY]
    rows = []
    for name, vectors in {"made, as above": made(N_QUALITY, 256), "neurons of mini-opt-5m": learned}.items():
        noise = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(1)) / vectors.shape[1] ** 0.5
        moved = agglomeration.exact(directions_of(vectors + 0.01 * noise))
        exact, scalable = agglomeration.exact(vectors), agglomeration.scalable(vectors, most=LINKED)
        for size in (N_QUALITY // 10, N_QUALITY // 100):
            found, other = exact(size), scalable(size)
            indices = (adjusted_rand_score(found, other), adjusted_rand_score(found, moved(size)))
            cosines = (_mean_cosine(vectors, found), _mean_cosine(vectors, other))
            rows.append((name, f"{size}", *(f"{value:.3f}" for value in (*indices, *cosines))))
    return rows


def _mean_cosine(vectors: torch.Tensor, labels: np.ndarray) -> float:
    together = torch.from_numpy(labels[:, None] == labels[None, :]).fill_diagonal_(False)
    return float((vectors @ vectors.T)[together].mean())


def made(n: int, d_model: int) -> torch.Tensor:
    """[n d_model] directions: 70% in bundles of about eight, in random order."""
    random = torch.Generator().manual_seed(0)
    vectors = torch.randn(n, d_model, generator=random)
    bundled = n * 7 // 10
    centres = torch.randn(bundled // 8, d_model, generator=random)
    vectors[:bundled] *= 0.6
    vectors[:bundled] += centres[torch.randint(len(centres), (bundled,), generator=random)]
    return directions_of(vectors[torch.randperm(n, generator=random)])


def _measure(name: str) -> tuple[str, float, int]:
    n_layers, d_ffn, d_model, memory_bytes, _ = CASES[name]
    vectors = made(n_layers * d_ffn, d_model)
    job = Linking.of(n_layers * d_ffn, d_model, memory_bytes=memory_bytes)
    started = time.perf_counter()
    labels = job.cut(vectors)(SIZE)
    seconds = time.perf_counter() - started
    assert len(np.unique(labels)) == SIZE
    return job.method, seconds, _high_water_mark()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(*_measure(sys.argv[1]))
    else:
        main()
