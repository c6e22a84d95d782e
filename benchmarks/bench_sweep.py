"""A sweep with both observers at the OPT-125m shape against the bare forward pass of transformers' own model."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from transformers import OPTModel

from benchmarks import shapes
from benchmarks.passes import bare_pass
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.sweep import sweep
from neurothek.ingest.jobs.activity.job import ActivityJob
from neurothek.ingest.jobs.contexts.job import ContextsJob
from neurothek.ingest.jobs.job import JobContext, SweepJob
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import Transformer, open_transformer

ROUNDS = 5
N_LAYERS = 3
N_SEQUENCES = 8
BATCH_TOKENS = 16_384

CASES = (("ReLU, 5% active", "relu", 0.05), ("ReLU, 50% active", "relu", 0.5), ("GELU", "gelu", 0.5))


def main() -> None:
    """Take the figures and publish them."""
    rows = [_row(name, activation, share) for name, activation, share in CASES]
    text = f"""## The sweep

{N_LAYERS} layers of the OPT-125m shape, {N_SEQUENCES} sequences of {shapes.CONTEXT_LENGTH:,} ids in batches of
{BATCH_TOKENS:,}, random weights, float32. The unit is the bare forward pass: transformers' own model without its
vocabulary head, on the same batches and threads. The goal for both observers together is 1.2.

{table(("coefficients", "bare pass, seconds", "sweep, nobody watching", "with activity", "with both"), rows)}

{machine()}
"""
    publish_block("sweep", text)


def _row(name: str, activation: str, share: float) -> tuple[str, ...]:
    text = shapes.random_text(N_SEQUENCES)
    with shapes.opt_125m(n_layers=N_LAYERS, activation=activation, active_share=share) as folder:
        transformer = open_transformer(find(str(folder)))
        context = JobContext(transformer, shapes.tokenizer(), text, batch_tokens=BATCH_TOKENS)
        activity, contexts = ActivityJob(context, ActivationRule.of(transformer.shape)), ContextsJob(context)
        contenders: dict[str, Callable[[], None]] = {
            "bare": partial(bare_pass, _base_model(folder), text, batch_tokens=BATCH_TOKENS),
            "nobody": partial(_swept, transformer, text, []),
            "activity": partial(_swept, transformer, text, [activity]),
            "both": partial(_swept, transformer, text, [activity, contexts]),
        }
        best = best_seconds(contenders, rounds=ROUNDS)
    ratios = [f"{best[contender] / best['bare']:.2f}" for contender in ("nobody", "activity", "both")]
    return (name, f"{best['bare']:.1f}", *ratios)


def _base_model(folder: Path) -> OPTModel:
    model = OPTModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    assert isinstance(model, OPTModel)
    model.eval()
    return model


def _swept(transformer: Transformer, text: Corpus, jobs: list[SweepJob]) -> None:
    sweep(
        transformer,
        text,
        observers_for=lambda layer, chunk: [job.observer(layer) for job in jobs],
        is_done=lambda layer, chunk: False,
        sink=lambda layer, chunk, results: None,
        batch_tokens=BATCH_TOKENS,
    )


if __name__ == "__main__":
    main()
