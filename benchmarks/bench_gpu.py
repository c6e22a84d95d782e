"""The jobs of a sweep on a GPU: their calls, counted on any machine, and their time where there is a GPU."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from transformers import OPTModel

from benchmarks import shapes
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.forward.sweep import sweep
from neurothek.ingest.jobs.job import JobContext, SweepJob
from neurothek.ingest.jobs.registry import NAMES, job_class
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.request import IngestRequest
from tests.support.coefficients import output_of
from tests.support.pretended_gpu import GPU, pretended_gpu

ROUNDS, N_SEQUENCES, BATCH_TOKENS, N_LAYERS = 3, 64, 16_384, 3
NARROW, WIDE = shapes.D_FFN, 2 * shapes.D_FFN
SWEPT = tuple(name for name in NAMES if issubclass(job_class(name), SweepJob))


def main() -> None:
    """Count calls, and take times where there is a GPU."""
    publish_block("gpu calls", _calls_text())
    if torch.cuda.is_available():
        publish_block("gpu", _seconds_text())


def _calls_text() -> str:
    counted = {d_ffn: {name: _calls(name, d_ffn) for name in SWEPT} for d_ffn in (NARROW, WIDE)}
    rows: list[tuple[str, ...]] = [
        (name, *(str(part) for d_ffn in counted for part in counted[d_ffn][name])) for name in SWEPT
    ]
    header = ("job", *(part for d in (NARROW, WIDE) for part in (f"calls, {d:,} neurons", "waits")))
    return f"""## What observers ask of a GPU

A layer's observer is shown a batch of {BATCH_TOKENS // shapes.CONTEXT_LENGTH} sequences of {shapes.CONTEXT_LENGTH:,}
ids, after one like it. *Calls* are the operations that it asks for, each of which costs some microseconds before any
number is computed; *waits* are those whose result the processor waits for. All sequences are in the sample that the
histograms of contexts count. Both are counted on a device that only pretends to be a GPU: **no time was taken.**

{table(header, rows)}

PyTorch {torch.__version__}
"""


def _calls(name: str, d_ffn: int) -> tuple[int, int]:
    text = shapes.random_text(2 * BATCH_TOKENS // shapes.CONTEXT_LENGTH)
    observer = _job(name, text, _shaped(d_ffn)).observer(0)
    drawn = torch.Generator().manual_seed(0)
    with torch.inference_mode(), pretended_gpu() as calls:
        for batch in batches(text, range(text.n_sequences), batch_tokens=BATCH_TOKENS):
            coefficients = torch.relu(torch.randn(*batch.tokens.shape, d_ffn, generator=drawn) - 1.6).to(GPU)
            calls.made.clear()
            calls.waited.clear()
            observer.observe(batch, output_of(coefficients))
    return sum(calls.made.values()), sum(calls.waited.values())


def _shaped(d_ffn: int) -> Any:  # noqa: ANN401 - what stands for a model of which only the shape is asked
    with shapes.opt_125m(n_layers=1) as folder:
        shape = open_transformer(find(str(folder))).shape
    return SimpleNamespace(shape=replace(shape, d_ffn=d_ffn))


def _job(name: str, text: Corpus, transformer: Any) -> SweepJob:  # noqa: ANN401 - as above
    context = JobContext(transformer, shapes.tokenizer(), text, batch_tokens=BATCH_TOKENS)
    job = job_class(name).from_options(context, IngestRequest())
    assert isinstance(job, SweepJob)
    return job


def _seconds_text() -> str:
    text = shapes.zipfian_text(N_SEQUENCES)
    with shapes.opt_125m(n_layers=N_LAYERS, active_share=0.05) as folder:
        transformer = open_transformer(find(str(folder)), device="cuda")
        model = OPTModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        torch.nn.Module.to(model, "cuda").eval()  # the model's own `to` is untyped
        contenders: dict[str, Callable[[], object]] = {
            "the bare pass": partial(_bare, model, text),
            "a sweep, nobody watching": partial(_swept, transformer, text, ()),
            **{f"with {name}": partial(_swept, transformer, text, (name,)) for name in SWEPT},
            "with all four": partial(_swept, transformer, text, SWEPT),
        }
        best_seconds(contenders, rounds=1)
        best = best_seconds(contenders, rounds=ROUNDS)
    unit = best["the bare pass"]
    rows: list[tuple[str, ...]] = [(name, f"{found:.2f}", f"{found / unit:.2f}") for name, found in best.items()]
    return f"""## The sweep on a GPU

{N_LAYERS} layers of the OPT-125m shape, {N_SEQUENCES} sequences of {shapes.CONTEXT_LENGTH:,} ids in batches of
{BATCH_TOKENS:,}, random weights, 5% active, float32, best of {ROUNDS}. The unit is transformers' own model without its
vocabulary head. Folds and files are left out.

{table(("what", "seconds", "x the bare pass"), rows)}

{torch.cuda.get_device_name()}; {machine()}
"""


@torch.inference_mode()
def _bare(model: OPTModel, text: Corpus) -> None:
    for batch in batches(text, range(text.n_sequences), batch_tokens=BATCH_TOKENS):
        model(batch.tokens.to("cuda"), use_cache=False)
    torch.cuda.synchronize()


def _swept(transformer: Transformer, text: Corpus, names: tuple[str, ...]) -> None:
    jobs = [_job(name, text, transformer) for name in names]
    sweep(
        transformer,
        text,
        observers_for=lambda layer, chunk: [job.observer(layer) for job in jobs],
        is_done=lambda layer, chunk: False,
        sink=lambda layer, chunk, results: None,
        batch_tokens=BATCH_TOKENS,
    )
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
