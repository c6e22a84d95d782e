"""What a person asks to have measured, as the command line and Python hand it over."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from catalog.errors import NeurothekError

DEFAULT_JOBS = ("projections", "activity", "contexts", "ngrams", "positions")
DEFAULT_TOKENS = 200_000
DEFAULT_BATCH_TOKENS = 16_384
DEFAULT_EXAMPLES = 10_000
LONGEST_SEQUENCE = 2_048

Device = Literal["auto", "cpu", "cuda"]
Dtype = Literal["float32", "float16", "bfloat16"]
Keep = Literal["last", "all"]


def default_memory() -> int:
    """Half of the machine's memory, bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class ModelEmpty(NeurothekError):
    """A model without a source, or an equals sign without a name before it."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"a model was asked for as {text!r}, which names none; write a hub id, a folder, or NAME=MODEL"
        )


@dataclass(frozen=True)
class ModelSource:
    """One model as it was asked for.

    Attributes:
        source: hub id, folder, or name of a shipped model.
        name: the name it gets in the warehouse; None: taken from the source.
    """

    source: str
    name: str | None = None

    @classmethod
    def parse(cls, text: str) -> "ModelSource":
        """`NAME=SOURCE`, or a source alone.

        Raises:
            ModelEmpty: the name or the source is empty.
        """
        name, equals, source = text.partition("=")
        if not (source.strip() and name.strip() if equals else text.strip()):
            raise ModelEmpty(text)
        return cls(source, name) if equals else cls(text)


@dataclass(frozen=True)
class TextRequest:
    """Which text the models read.

    Attributes:
        corpora: `builtin`, `NAME=SOURCE`, or the name of a corpus of the warehouse.
        name: name of the corpus; None: made from its domains.
        tokens_per_domain: ids without BOS after which a domain stops, at a sequence boundary.
        sequence_length: ids a sequence holds at most; None: the model's context, at most 2048.
        packing: whether short documents are joined.
    """

    corpora: tuple[str, ...] = ("builtin",)
    name: str | None = None
    tokens_per_domain: int = DEFAULT_TOKENS
    sequence_length: int | None = None
    packing: bool = True


@dataclass(frozen=True)
class IngestRequest:
    """Everything that one `ingest` does, whatever started it.

    Attributes:
        jobs: names of the jobs.
        named: those of them that a person chose by name: where a model cannot be asked for one, it is refused, and any
            other is left out.
        text: the text to read, for the jobs that read any.
        family: the family of every model; None: what its files or its name say.
        variant: what sets every model apart, such as "step 1000", "seed 2", "no-position", or "plain" for nothing;
            None: what its files, its revision or its positions say.
        revision: revision of hub repositories.
        allow_pickle: whether pickled weights may be read.
        device: where to compute.
        dtype: number format to compute in; float32 unless asked.
        active_above: a coefficient counts as active above this; None: the architecture's own rule.
        memory_bytes: what the process may add to its memory; half of the machine's unless asked. What the library
            datasets takes to read a row of a dataset of the hub comes on top.
        batch_tokens: padded ids a batch holds at most.
        staging: folder for unpublished measurements; None: beside the warehouse.
        examples: examples that the job events cuts from the text, if it has so many sentences.
        methods: shortcuts that the job shortcuts tries; none: all that there are for the model.
        keep: matrices that it keeps: those to the last state, or all.
        domains: domains of the text that it takes sentences from; none: prose where there is any, else all.
        fit: sentences that it fits on; None: 9,000, or three of four where the text has fewer than 12,000.
        validate: sentences that it judges by; None: 3,000, or the fourth.
        baselines: whether the job exits fits its baselines too, classifiers of every layer.
        clusters: numbers of clusters to ask for; none: the two that `ingest.jobs.clusters.job.default_sizes` says.
        force: whether to replace what was measured with other parameters.
    """

    jobs: tuple[str, ...] = DEFAULT_JOBS
    named: tuple[str, ...] = ()
    text: TextRequest = field(default_factory=TextRequest)
    family: str | None = None
    variant: str | None = None
    revision: str | None = None
    allow_pickle: bool = False
    device: Device = "auto"
    dtype: Dtype = "float32"
    active_above: float | None = None
    memory_bytes: int = field(default_factory=default_memory)
    batch_tokens: int = DEFAULT_BATCH_TOKENS
    staging: Path | None = None
    examples: int = DEFAULT_EXAMPLES
    methods: tuple[str, ...] = ()
    keep: Keep = "last"
    domains: tuple[str, ...] = ()
    fit: int | None = None
    validate: int | None = None
    baselines: bool = True
    clusters: tuple[int, ...] = ()
    force: bool = False
