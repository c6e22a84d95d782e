"""How time, bytes and memory grow: each axis at four sizes, and the exponents that fit."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import torch

import neurothek
from benchmarks import shapes
from benchmarks.bench_publishing import made_up
from benchmarks.passes import Profile, measured
from benchmarks.timing import machine, publish_block, table
from neurothek.catalog.publishing.publish import publish
from neurothek.catalog.publishing.staging import write_parquet
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import BY_NAME
from neurothek.ingest.jobs.job import JobContext, SweepJob
from neurothek.ingest.jobs.projections.job import ProjectionsJob, neighbours_frame
from neurothek.ingest.jobs.registry import job_class
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.request import IngestRequest

SWEPT = ("activity", "contexts", "ngrams", "positions")
N_SEQUENCES, D_FFN, BATCH_TOKENS = 24, 768, 8_192
STEPS = (1, 2, 4, 8)
TOKENS_AT_ONCE = 6_144
MODELS = (2, 4, 8, 16)
ROUNDS = 3
GOAL = 1.05

Growth = Mapping[str, float]
"""Processor seconds, bytes that are kept, and the largest resident size beyond what importing takes."""


def main() -> None:
    """Take the figures and publish them."""
    rows = [row for axis, (sizes, expected, _) in AXES.items() for row in _rows(axis, sizes, expected)]
    header = ("what grows", "sizes", "seconds", "exponent", "MB kept", "exponent", "memory, MB", "exponent")
    text = f"""## Growth

Each axis at four sizes, each in a process of its own, the least of {ROUNDS}: 1 layer of the OPT-125m shape with random
weights, float32, {N_SEQUENCES} sequences of {shapes.CONTEXT_LENGTH:,} ids unless they grow. *Seconds* are the
processor's, of all threads; *memory* is the largest resident size beyond that of the imports. Exponents are the slopes
of lines through the logarithms of all four: 1 is as fast as what grows, and what is the same for all sizes makes them
smaller. The goal is at most {GOAL} but for nearest tokens, each of which is compared with every other.

{table(header, rows)}

{machine()}
"""
    publish_block("growth", text)


def _rows(axis: str, sizes: Sequence[int], expected: float) -> list[tuple[str, ...]]:
    found = [_least([_in_a_process(axis, size) for _ in range(ROUNDS)]) for size in sizes]
    cells = []
    for number, scale in (("seconds", 1.0), ("bytes", 1e-6), ("memory", 1e-6)):
        values = [one[number] * scale for one in found]
        digits = 2 if number == "seconds" else 1
        cells += [" ".join(f"{value:.{digits}f}" for value in values), f"{_exponent(sizes, values):.2f}"]
    name = axis if expected == 1 else f"{axis} (squared)"
    return [(name, " ".join(f"{size:,}" for size in sizes), *cells)]


def _least(rounds: Sequence[Growth]) -> Growth:
    return {name: min(one[name] for one in rounds) for name in rounds[0]}


def _exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)


def _in_a_process(axis: str, size: int) -> Growth:
    command = [sys.executable, "-m", "benchmarks.bench_growth", axis, str(size)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    growth: Growth = json.loads(found.stdout.splitlines()[-1])
    return growth


def _of_neurons(size: int, folder: Path) -> None:
    """Everything that the default jobs do with a layer of so many neurons."""
    _sweep(N_SEQUENCES, size, folder)
    _projections(size, shapes.TOKENS, folder)


def _of_tokens(size: int, folder: Path) -> None:
    """Everything that the jobs that read text do with so many ids."""
    _sweep(size // shapes.CONTEXT_LENGTH, D_FFN, folder)


def _of_vocabulary(size: int, folder: Path) -> None:
    """Projections of a layer on so many tokens."""
    _projections(shapes.D_FFN, size, folder)


def _of_nearest(size: int, folder: Path) -> None:
    """The tokens nearest to each of so many."""
    rows = torch.randn(size, shapes.D_MODEL, generator=torch.Generator().manual_seed(0))
    frame = neighbours_frame(Vocabulary(np.arange(size, dtype=np.int32), rows), k=20)
    write_parquet(frame, folder / "neighbours.parquet")


def _of_models(size: int, folder: Path) -> None:
    """So many models of a layer each published into one warehouse, and a word searched in all of them."""
    warehouse = Warehouse(folder / "w.duckdb")
    for number in range(size):
        with made_up(warehouse, f"model{number}", n_layers=1) as publication:
            publish(warehouse, publication)
    neurothek.open(warehouse.path).search("token77")


def _sweep(n_sequences: int, d_ffn: int, folder: Path) -> None:
    with shapes.opt_125m(n_layers=1, d_ffn=d_ffn, active_share=0.05) as model:
        transformer = open_transformer(find(str(model)))
        text = shapes.zipfian_text(n_sequences)
        context = JobContext(transformer, shapes.tokenizer(), text, batch_tokens=BATCH_TOKENS)
        jobs = {name: job_class(name).from_options(context, IngestRequest()) for name in SWEPT}
        swept = {name: job for name, job in jobs.items() if isinstance(job, SweepJob)}
        measured(context, swept, 1, Profile(), kept=folder)


def _projections(d_ffn: int, vocabulary: int, folder: Path) -> None:
    with shapes.opt_125m(n_layers=1, d_ffn=d_ffn) as model:
        job = ProjectionsJob(JobContext(open_transformer(find(str(model))), shapes.tokenizer(vocabulary)))
        with TemporaryDirectory() as staging, job.open(Path(staging), lambda _: pl.LazyFrame()) as measure:
            for name, frame in measure("layer-0000").items():
                write_parquet(BY_NAME[name].check(frame), folder / f"{name}.parquet")


Grown = Callable[[int, Path], None]

AXES: Mapping[str, tuple[Sequence[int], float, Grown]] = {
    "neurons": ([D_FFN * step for step in STEPS], 1, _of_neurons),
    "tokens of text": ([N_SEQUENCES // 2 * shapes.CONTEXT_LENGTH * step for step in STEPS], 1, _of_tokens),
    "vocabulary": ([TOKENS_AT_ONCE * step for step in STEPS], 1, _of_vocabulary),
    "nearest tokens": ([TOKENS_AT_ONCE * step for step in STEPS], 2, _of_nearest),
    "models": (MODELS, 1, _of_models),
}
"""What grows: its sizes, the exponent that mathematics gives, and what is done with each size."""


def _growth(axis: str, size: int) -> Growth:
    imported, started = _resident(), time.process_time()
    with TemporaryDirectory() as folder:
        AXES[axis][2](size, Path(folder))
        seconds = time.process_time() - started
        warehouse = Path(folder) / "w.duckdb"
        kept = [warehouse] if warehouse.exists() else list(Path(folder).glob("*.parquet"))
        size_in_bytes = sum(path.stat().st_size for path in kept)
    return {"seconds": seconds, "bytes": size_in_bytes, "memory": _resident() - imported}


def _resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_growth(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
