"""All jobs that read text in one sweep, folds and staging files included, against the bare forward pass."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from transformers import OPTModel

from benchmarks import shapes
from benchmarks.passes import Profile, bare_pass, measured
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.job import JobContext, SweepJob
from neurothek.ingest.jobs.registry import NAMES, job_class
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.request import IngestRequest

ROUNDS = 3
N_LAYERS = 1
N_SEQUENCES = 98
BATCH_TOKENS = 16_384


def main() -> None:
    """Take the figures and publish them."""
    half, whole = shapes.zipfian_text(N_SEQUENCES // 2), shapes.zipfian_text(N_SEQUENCES)
    sparse = _seconds(whole, 0.05, with_bare=True)
    dense = _seconds(whole, 0.5, with_bare=True)
    fewer = _seconds(half, 0.05)["jobs"]
    wider = _seconds(half, 0.05, d_ffn=2 * shapes.D_FFN)["jobs"]
    rows: list[tuple[str, ...]] = [
        (name, f"{found['bare']:.1f}", f"{found['jobs']:.1f}", f"{found['jobs'] / found['bare']:.2f}")
        for name, found in (("5% active", sparse), ("50% active", dense))
    ]
    growth: list[tuple[str, ...]] = [
        (f"{half.n_tokens:,} tokens, {shapes.D_FFN:,} neurons", f"{fewer:.1f}", "1.00"),
        (
            f"{whole.n_tokens:,} tokens, {shapes.D_FFN:,} neurons",
            f"{sparse['jobs']:.1f}",
            f"{sparse['jobs'] / fewer:.2f}",
        ),
        (f"{half.n_tokens:,} tokens, {2 * shapes.D_FFN:,} neurons", f"{wider:.1f}", f"{wider / fewer:.2f}"),
    ]
    text = f"""## All jobs that read text

{N_LAYERS} layer of the OPT-125m shape, {N_SEQUENCES} sequences of {shapes.CONTEXT_LENGTH:,} ids drawn with Zipf's
frequencies, in batches of {BATCH_TOKENS:,}, random weights, float32, best of {ROUNDS}. The unit is the bare forward
pass: transformers' own model without its vocabulary head. The sweep feeds activity, contexts, n-grams (n = 1, 2, 3) and
positions; writing and reading their staging files and all folds are included, and what all layers share (the numbering
of the n-grams), which is counted for these alone: with more layers each has less of it. The goal is 1.35.

{table(("coefficients", "bare pass, seconds", "sweep with all four, seconds", "ratio"), rows)}

Twice the tokens and twice the neurons, at 5% active; no faster than linearly means at most 2.

{table(("text and layer", "seconds", "x the first"), growth)}

{machine()}
"""
    publish_block("text jobs", text)


def _seconds(text: Corpus, share: float, *, d_ffn: int = shapes.D_FFN, with_bare: bool = False) -> dict[str, float]:
    with shapes.opt_125m(n_layers=N_LAYERS, d_ffn=d_ffn, active_share=share) as folder:
        transformer = open_transformer(find(str(folder)))
        contenders: dict[str, Callable[[], None]] = {"jobs": partial(_measured, transformer, text)}
        if with_bare:
            contenders = {
                "bare": partial(bare_pass, _base_model(folder), text, batch_tokens=BATCH_TOKENS),
                **contenders,
            }
        return best_seconds(contenders, rounds=ROUNDS)


def _base_model(folder: Path) -> OPTModel:
    model = OPTModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    assert isinstance(model, OPTModel)
    model.eval()
    return model


def _measured(transformer: Transformer, text: Corpus) -> None:
    context = JobContext(transformer, shapes.tokenizer(), text, batch_tokens=BATCH_TOKENS)
    found = {name: job_class(name).from_options(context, IngestRequest()) for name in NAMES}
    jobs = {name: job for name, job in found.items() if isinstance(job, SweepJob)}
    measured(context, jobs, transformer.shape.n_layers, Profile())


if __name__ == "__main__":
    main()
