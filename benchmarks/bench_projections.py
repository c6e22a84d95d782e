"""Projections at the OPT-125m shape against the bare matrix product and against sorting full logits."""

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import torch

from benchmarks import shapes
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.catalog.publishing.staging import RunManifest, now, staged_run
from neurothek.catalog.tables.registry import BY_NAME
from neurothek.ingest.jobs.job import JobContext, MeasureShard
from neurothek.ingest.jobs.projections.job import ProjectionsJob
from neurothek.ingest.lens.scorer import Scorer, ScorerOptions
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.numerics.unit_vectors import unit_rows

ROUNDS = 7
LAYER = "layer-0003"
TOKENS = "tokens"
K = 50


def main() -> None:
    """Take the figures and publish them."""
    with shapes.opt_125m() as folder:
        transformer = open_transformer(find(str(folder)))
        rows = [*_layer_rows(transformer), _token_row(transformer)]
        command = [sys.executable, "-m", "benchmarks.bench_projections", str(folder)]
        memory = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    text = f"""## Projections

One layer of the OPT-125m shape: {shapes.TOKENS:,} tokens, d = {shapes.D_MODEL}, {shapes.D_FFN:,} neurons, random
weights, float32. The unit is the bare matrix product into memory that is already there: E.V^T for what is done a
layer, E.E^T for the nearest tokens. *Sorting full logits* is what earlier tools do: V.E^T and a full sort of each
neuron's scores. The whole job is everything up to finished shards: scores, moments, frames, checks, Parquet files.

{table(("what", "seconds", "x the product", "goal"), rows)}

Peak memory of the whole job over all {shapes.N_LAYERS} layers, Python, PyTorch and the mapped weights included:
{memory / 1e9:.2f} GB (goal: under 2.5 GB).

{machine()}
"""
    publish_block("projections", text)


def _layer_rows(transformer: Transformer) -> list[tuple[str, ...]]:
    E = transformer.unembedding()[: shapes.TOKENS]
    V = transformer.value_vectors(3)
    product = torch.empty(shapes.TOKENS, shapes.D_FFN)
    scorer = Scorer(E, keep=ScorerOptions(largest=K, smallest=K))
    scorer.score(V)
    job = ProjectionsJob(JobContext(transformer, shapes.tokenizer()))
    with TemporaryDirectory() as staging, job.open(Path(staging), _no_rows) as measure:
        contenders: dict[str, Callable[[], object]] = {
            "the bare product E.V^T": lambda: torch.mm(E, V.T, out=product),
            "top and bottom 50": lambda: scorer.score(V),
            "the whole job, a layer": lambda: _measure(job, measure, LAYER, Path(staging)),
        }
        best = best_seconds(contenders, rounds=ROUNDS)
    del product
    best |= best_seconds({"sorting full logits": lambda: torch.sort(V @ E.T, dim=1, descending=True)}, rounds=2)
    unit = best["the bare product E.V^T"]
    against_sort = best["sorting full logits"] / best["top and bottom 50"]
    goals = {
        "top and bottom 50": f"1.2; {against_sort:.1f} x faster than sorting (goal 3)",
        "the whole job, a layer": "1.3",
    }
    return [(name, f"{seconds:.2f}", f"{seconds / unit:.2f}", goals.get(name, "")) for name, seconds in best.items()]


def _token_row(transformer: Transformer) -> tuple[str, ...]:
    directions = unit_rows(transformer.unembedding()[: shapes.TOKENS])
    block = 3072
    product = torch.empty(shapes.TOKENS, block)
    unit = best_seconds({"product": lambda: torch.mm(directions, directions[:block].T, out=product)}, rounds=ROUNDS)
    whole = unit["product"] * shapes.TOKENS / block
    job = ProjectionsJob(JobContext(transformer, shapes.tokenizer()))
    with TemporaryDirectory() as staging, job.open(Path(staging), _no_rows) as measure:
        run = lambda: _measure(job, measure, TOKENS, Path(staging))  # noqa: E731
        seconds = best_seconds({"tokens": run}, rounds=2)["tokens"]
    return ("the 20 nearest of every token", f"{seconds:.1f}", f"{seconds / whole:.2f} (of E.E^T)", "")


def _no_rows(table: str) -> pl.LazyFrame:
    return pl.LazyFrame()


def _measure(job: ProjectionsJob, measure: MeasureShard, shard: str, staging: Path) -> None:
    """One shard from the weights to its Parquet files, as an ingest does it."""
    manifest = RunManifest("bench", job.name, job.version, "bench", None, job.parameters(), "float32", now())
    with staged_run(staging, manifest) as run:
        run.write(shard, {name: BY_NAME[name].check(frame) for name, frame in measure(shard).items()})


def _peak_bytes(folder: Path) -> int:
    """Peak memory of this process after the whole job."""
    job = ProjectionsJob(JobContext(open_transformer(find(str(folder))), shapes.tokenizer()))
    with TemporaryDirectory() as staging, job.open(Path(staging), _no_rows) as measure:
        for shard in job.shards():
            _measure(job, measure, shard, Path(staging))
    return _high_water_mark()


def _high_water_mark() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would answer with what the parent process held when it started this one.
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(_peak_bytes(Path(sys.argv[1])))
    else:
        main()
