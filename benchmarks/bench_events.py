"""Events of 2,000 examples at the GPT-2 small shape against the bare pass plus the products of the logit lens."""

import numpy as np
import torch
from transformers import GPT2Model

from benchmarks import shapes
from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.ingest.corpora.prompts import Prompt, Prompts
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.jobs.events.job import SHARD_EXAMPLES, EventsJob, ModelReadings
from neurothek.ingest.jobs.events.readings import EXAMPLES_AT_ONCE, slices
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import open_transformer

ROUNDS = 3
N_LAYERS = 2
N_EXAMPLES = 2_000
BATCH_TOKENS = 16_384
TOKENS = 50_257


def main() -> None:
    """Take the figures and publish them."""
    drawn = _examples()
    with shapes.gpt2_small(n_layers=N_LAYERS) as folder:
        transformer = open_transformer(find(str(folder)))
        tokenizer = shapes.tokenizer(TOKENS)
        context = JobContext(transformer, tokenizer, batch_tokens=BATCH_TOKENS)
        job, readings = EventsJob(context), ModelReadings(context)
        bare = GPT2Model.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        assert isinstance(bare, GPT2Model)
        bare.eval()
        streams = torch.randn(N_EXAMPLES * N_LAYERS * 2, shapes.D_MODEL)

        @torch.inference_mode()
        def events() -> None:
            for start in range(0, N_EXAMPLES, SHARD_EXAMPLES):
                job.measure_examples(readings, drawn.rows[start : start + SHARD_EXAMPLES])

        best = best_seconds(
            {
                "pass": lambda: _bare(bare, drawn),
                "lens": lambda: _products(readings.lens, streams),
                "events": events,
            },
            rounds=ROUNDS,
        )
    unit = best["pass"] + best["lens"]
    mean = float(np.mean([len(example.tokens) for example in drawn.rows]))
    row = (f"{best['pass']:.2f}", f"{best['lens']:.2f}", f"{best['events']:.2f}", f"{best['events'] / unit:.2f}")
    header = ("examples", "bare pass, seconds", "lens products, seconds", "events, seconds", "ratio")
    text = f"""## Events

{N_LAYERS} layers of the GPT-2 small shape, random weights, float32; {N_EXAMPLES:,} examples of {mean:.0f} ids on
average, all in the event sample, in the same batches. The unit is the bare forward pass (transformers' own model
without its head) plus the products of the logit lens: two streams a layer and example with all {TOKENS:,} rows of the
unembedding.
Events read these logits, choose dominant and random neurons and score them. The goal is 1.5.

{table(header, [(f"{N_EXAMPLES:,}", *row)])}

{machine()}
"""
    publish_block("events", text)


def _examples() -> Prompts:
    """Lengths spread as those of sentences cut at random: 12 ids on average, few beyond 40."""
    draw = np.random.default_rng(0)
    lengths = np.minimum(1 + draw.gamma(1.2, 9.0, size=N_EXAMPLES).astype(int), 200)
    rows = [
        Prompt(number, "random", draw.integers(0, TOKENS, size=length).astype(np.int32), length - 1, length - 1, 1)
        for number, length in enumerate(lengths.tolist())
    ]
    return Prompts(N_EXAMPLES, rows)


@torch.inference_mode()
def _bare(model: GPT2Model, drawn: Prompts) -> None:
    for start in range(0, N_EXAMPLES, SHARD_EXAMPLES):
        some = drawn.rows[start : start + SHARD_EXAMPLES]
        for batch in prompt_pass.prompt_batches(some, batch_tokens=BATCH_TOKENS):
            model(batch.tokens, use_cache=False)


@torch.inference_mode()
def _products(lens: Lens, streams: torch.Tensor) -> None:
    for some in slices(len(streams), EXAMPLES_AT_ONCE):
        lens.logits(streams[some])


if __name__ == "__main__":
    main()
