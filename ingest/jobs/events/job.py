"""The job `events`: how predictions are built, token by token and neuron by neuron, at the ends of examples ([G] 5)."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.tables import EVENT_SAMPLES, EVENTS, EXAMPLES, STREAMS, SUB_UPDATES, Table
from ingest.corpora.corpus import Corpus
from ingest.corpora.errors import SentencesMissing
from ingest.corpora.examples import N_EVENT_EXAMPLES, N_EXAMPLES, Examples, examples
from ingest.corpora.sentences import splitter
from ingest.forward.footprint import numbers_at_work
from ingest.jobs.events import frames
from ingest.jobs.events.layers import watch
from ingest.jobs.events.readings import events, read
from ingest.jobs.events.scores import score
from ingest.jobs.events.sub_updates import LEADING_SHARE, N_DOMINANT, N_RANDOM
from ingest.lens.logit_lens import Lens
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Transformer

SHARD_EXAMPLES = 1_000
"""Examples of a shard; a batch never reaches across."""

EXTREME_QUANTILE = 0.999
_CONCLUSION = "conclusion"


@dataclass(frozen=True)
class EventsJob:
    """Reads the streams of examples layer by layer, and keeps the neurons that matter most there.

    Attributes:
        transformer: the model.
        tokenizer: its tokenizer.
        n_examples: examples drawn, if the corpus has so many sentences.
        n_event_examples: how many of them are the event sample.
        seed: of everything that is drawn.
        shard_examples: examples measured at a time.
    """

    transformer: Transformer
    tokenizer: Tokenizer
    n_examples: int = N_EXAMPLES
    n_event_examples: int = N_EVENT_EXAMPLES
    seed: int = 0
    shard_examples: int = SHARD_EXAMPLES
    name: str = "events"
    version: int = 1
    tables: tuple[Table, ...] = (EXAMPLES, STREAMS, SUB_UPDATES, EVENTS, EVENT_SAMPLES)
    _opened: MutableMapping[Corpus, "Opened"] = field(default_factory=WeakKeyDictionary, repr=False, compare=False)

    def parameters(self) -> dict[str, Any]:
        """How examples are drawn, and what is kept of them."""
        return {
            "n_examples": self.n_examples,
            "n_event_examples": self.n_event_examples,
            "seed": self.seed,
            "sentences": splitter(),
            "dominant": N_DOMINANT,
            "random": N_RANDOM,
            "leading_share": LEADING_SHARE,
            "extreme_quantile": EXTREME_QUANTILE,
        }

    def shards(self, corpus: Corpus) -> dict[str, tuple[str, ...]]:
        """Names of the shards -> names of the tables that each fills.

        Raises:
            SentencesMissing: the corpus has no sentence.
        """
        tables = tuple(table.name for table in self.tables[:-1])
        n_rows = len(self._open(corpus).examples.rows)
        found = {f"examples-{start:06d}": tables for start in range(0, n_rows, self.shard_examples)}
        return {**found, _CONCLUSION: (EVENT_SAMPLES.name,)}

    def measure(
        self,
        shard: str,
        transformer: Transformer,
        corpus: Corpus,
        *,
        batch_tokens: int,
        read_back: Callable[[str], pl.LazyFrame],
    ) -> dict[str, pl.DataFrame]:
        """The rows of one shard, by table; the last one sums up what the others staged."""
        opened = self._open(corpus)
        if shard == _CONCLUSION:
            return {EVENT_SAMPLES.name: self._conclusion(opened.examples, read_back(SUB_UPDATES.name))}
        start = int(shard.removeprefix("examples-"))
        with torch.inference_mode():
            return self.measure_examples(opened, start, transformer, batch_tokens=batch_tokens)

    def memory_bytes(self, transformer: Transformer, *, batch_tokens: int, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        shape = transformer.shape
        weights = sum(transformer.block_bytes(layer) for layer in range(shape.n_layers if is_resident else 1))
        unembedding = shape.vocab_size * shape.d_model * 4
        # Two streams a layer and example, and three times the logits of a hundred examples.
        kept = self.shard_examples * shape.n_layers * 2 * shape.d_model * 4
        logits = 3 * 128 * shape.vocab_size * 4
        # Streams of a whole shard wait between two layers; a block works on one batch.
        waiting = self.shard_examples * min(shape.context_length, 64) * shape.d_model * transformer.dtype.itemsize
        working = max(batch_tokens, shape.context_length) * numbers_at_work(shape) * 4
        return weights + unembedding + kept + logits + waiting + working

    def measure_examples(
        self, opened: "Opened", start: int, transformer: Transformer, *, batch_tokens: int
    ) -> dict[str, pl.DataFrame]:
        """The rows of the shard that begins with example `start`, by table."""
        some = opened.examples.rows[start : start + self.shard_examples]
        layers = watch(
            transformer,
            some,
            opened.value_norms,
            n_event_examples=self.n_event_examples,
            seed=self.seed,
            batch_tokens=batch_tokens,
        )
        targets = opened.rows_of([example.target for example in some])
        readings = read(opened.lens, layers, targets)
        scores = score(opened.lens, layers, readings, transformer)
        happened = events(readings.tops.cpu().numpy(), readings.candidate_ranks.cpu().numpy())
        ids = opened.lens.vocabulary.ids
        return {
            EXAMPLES.name: frames.examples_frame(some, readings, happened, ids, n_sampled=self.n_event_examples),
            STREAMS.name: frames.streams_frame(some, readings, layers, ids),
            SUB_UPDATES.name: frames.sub_updates_frame(some, layers, scores),
            EVENTS.name: frames.events_frame(some, readings, happened, ids, n_sampled=self.n_event_examples),
        }

    def _conclusion(self, drawn: Examples, sub_updates: pl.LazyFrame) -> pl.DataFrame:
        largest = (
            sub_updates.filter(pl.col("kind") == "dominant")
            .select(pl.col("score_candidate").cast(pl.Float64).abs().quantile(EXTREME_QUANTILE, "linear"))
            .collect()
            .item()
        )
        row = {
            "seed": self.seed,
            "n_sentences": drawn.n_sentences,
            "n_examples": len(drawn.rows),
            "n_event_examples": min(len(drawn.rows), self.n_event_examples),
            "extreme_score": largest,
        }
        return pl.DataFrame([row], schema=dict(EVENT_SAMPLES.columns))

    def _open(self, corpus: Corpus) -> "Opened":
        if corpus not in self._opened:
            drawn = examples(
                corpus,
                self.tokenizer,
                context_length=self.transformer.shape.context_length,
                seed=self.seed,
                n_examples=self.n_examples,
            )
            if not drawn.rows:
                raise SentencesMissing(corpus.name)
            self._opened[corpus] = Opened.of(drawn, self.transformer, self.tokenizer)
        return self._opened[corpus]


@dataclass(frozen=True, eq=False)
class Opened:
    """What the shards of one model share on one corpus."""

    examples: Examples
    lens: Lens
    value_norms: Sequence[Float[Tensor, " d_ffn"]]

    @classmethod
    def of(cls, drawn: Examples, transformer: Transformer, tokenizer: Tokenizer) -> "Opened":
        """Read what they share from the weights."""
        n_layers = transformer.shape.n_layers
        norms = [torch.linalg.vector_norm(transformer.value_vectors(layer), dim=1) for layer in range(n_layers)]
        return cls(drawn, Lens.of(transformer, tokenizer), norms)

    def rows_of(self, tokens: Sequence[int | None]) -> Tensor:
        """[examples] the tokens as rows of the vocabulary; 0 where there is none."""
        ids = self.lens.vocabulary.ids
        rows = np.searchsorted(ids, [ids[0] if token is None else token for token in tokens])
        return torch.from_numpy(rows).to(self.lens.vocabulary.rows.device)
