"""What a person asks to have measured, as the command line and Python hand it over."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from neurothek.catalog.problems import Invalid

DEFAULT_JOBS = ("projections", "activity", "contexts", "ngrams", "positions")
DEFAULT_TOKENS = 200_000
DEFAULT_BATCH_TOKENS = 16_384
DEFAULT_EXAMPLES = 10_000
DEFAULT_INTERVENTION_TOKENS = 8_192
DEFAULT_RANDOM_SETS = 20
DEFAULT_CONTINUATION = 20
LONGEST_SEQUENCE = 2_048
DEFAULT_NEIGHBOURS = 20
DEFAULT_POSITIONS = 15_000
DEFAULT_SCORED = 50

Device = Literal["auto", "cpu", "cuda"]
Dtype = Literal["float32", "bfloat16", "float16"]
EngineName = Literal["local", "ray"]
Keep = Literal["last", "all"]
How = Literal["set", "scale", "mean"]
Moment = Literal["before", "after"]
Positions = Literal["last", "all"]

Value = TypeVar("Value")


def default_memory() -> int:
    """Half of the machine's memory, bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _option(default: Value, *names: str, **settings: Any) -> Value:
    """A field that is an option of the command `ingest`, too: nothing else has to say so.

    Args:
        default: its default.
        names: how the option is written.
        settings: what `--help` shows of it, as click calls it; `least` is the smallest number that may be given, and
            `is_size` says that it is given as a size, such as 4GB.
    """
    return field(default=default, metadata={"names": names, "settings": settings})


@dataclass(frozen=True)
class ModelSource:
    """One model as it was asked for."""

    source: str  # hub id, folder, or name of a shipped model
    name: str | None = None  # the name it gets in the warehouse; None: taken from the source

    @classmethod
    def parse(cls, text: str) -> "ModelSource":
        """`NAME=SOURCE`, or a source alone."""
        name, equals, source = text.partition("=")
        if not (source.strip() and name.strip() if equals else text.strip()):
            raise Invalid(
                f"{text!r} does not name a model",
                "write a hub id, a folder, or NAME=MODEL",
                option="MODEL",
                value=text,
            )
        return cls(source, name) if equals else cls(text)


@dataclass(frozen=True)
class TextRequest:
    """Which text the models read.

    Attributes:
        corpora: `builtin`, `NAME=SOURCE`, or the name of a corpus of the warehouse; none: `builtin`.
        name: name of the corpus; None: made from its domains.
        tokens_per_domain: ids without BOS after which a domain stops, at a sequence boundary; None: 200,000.
        sequence_length: ids a sequence holds at most; None: the model's context, at most 2048.
        packing: whether short documents are joined.
        corpus_id: number of a corpus of the warehouse that is taken as it is, if the model's tokenizer still gives its
            text these ids; None: the other fields say which text it is.
    """

    corpora: tuple[str, ...] = ()
    name: str | None = None
    tokens_per_domain: int | None = None
    sequence_length: int | None = None
    packing: bool = True
    corpus_id: int | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """What is read."""
        return self.corpora or ("builtin",)

    @property
    def is_left_open(self) -> bool:
        """Whether nobody said anything of it: then a job that is named measures on the model's shown corpus."""
        return self == TextRequest()


@dataclass(frozen=True)
class Intervention:
    """Neurons of a model that are changed together."""

    name: str  # what it is called in the warehouse
    neurons: tuple[tuple[int, int], ...]  # layer and neuron of each, sorted, none twice
    asked: str  # how they were chosen, in words
    how: How = "set"  # whether they are set to a value, multiplied by one, or set to their means over the corpus
    value: float | None = 0.0  # that value; None for means
    moment: Moment = "after"  # whether it happens before the non-linearity or after it
    kind: str | None = None  # the kind of neurons that they are; None where they were chosen in another way
    watched: tuple[int, ...] = ()  # ids of tokens whose probability is asked for
    positions: str | None = None  # at which positions of every sequence, such as 0-7 or 5-; None: at all
    # those that are set to the negated value, as they do what was asked at their negative pole, while random ones are
    # set at the pole at which they are strongest; None: all are set to the value itself
    negative: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True)
class PromptSet:
    """One of the two sets of prompts of a contrast."""

    label: str  # what they are: a file, or a set that comes with the package
    prompts: tuple[str, ...]  # the prompts, each with a token; none where they are those of an earlier run


@dataclass(frozen=True)
class Contrast:
    """Two sets of prompts that a model's neurons may tell apart."""

    name: str  # what it is called in the warehouse
    a: PromptSet  # the prompts on which activations count as they are
    b: PromptSet  # those whose mean is taken off
    positions: Positions = "last"  # whether activations are those at the last own token, or means over all of them
    seed: int = 0  # of the shuffles of the labels


@dataclass(frozen=True)
class Steering:
    """Prompts that a changed model continues, and what scores the continuations."""

    prompts: tuple[str, ...]  # the prompts, each with a token; none where they are those of an earlier run
    length: int = DEFAULT_CONTINUATION  # tokens that are added to each at most
    temperature: float = 0.0  # what logits are divided by before a token is drawn; 0: the most probable token is taken
    seed: int = 0  # of the draws
    scorers: tuple[str, ...] = ()  # what scores, as it was asked for
    unwanted: str = ""  # the attribute that the word filter and self-debiasing are to keep down
    banned: tuple[str, ...] = ()  # the words of the word filter
    described: str = ""  # the unwanted attribute in words, for self-debiasing


@dataclass(frozen=True)
class IngestRequest:
    """Everything that one `ingest` does, whatever started it; fields that are `_option` are the command's options.

    Attributes:
        jobs: names of the jobs.
        named: those of them that a person chose by name: where a model cannot be asked for one, it is refused, and any
            other is left out.
        text: the text to read, for the jobs that read any.
        family: the family of every model; None: what its files or its name say.
        variant: what sets every model apart, such as "step 1000", "seed 2", "Q4_1", "no-position", "post-norm", or
            "plain" for nothing; None: what its files, its revision or its positions say.
        revision: revision of hub repositories.
        tokenizer_from_file: whether tokenizer.json is taken as it is, where transformers would put parts of its own in
            its place.
        allow_pickle: whether pickled weights may be read.
        examples: examples that the job events cuts from the text, if it has so many sentences.
        methods: shortcuts that the job shortcuts tries; none: all that there are for the model.
        keep: matrices that it keeps: those to the last state, or all.
        domains: domains of the text that it takes sentences from; none: prose where there is any, else all.
        fit: sentences that it fits on; None: 9,000, or three of four where the text has fewer than 12,000.
        validate: sentences that it judges by; None: 3,000, or the fourth.
        baselines: whether the job exits fits its baselines too, classifiers of every layer.
        positions: positions of the text that the job universality compares activations at, the first of every domain.
        scored: random neurons of each layer that the job output_scores turns up.
        where: a condition on the view `neurons` that others meet which it turns up; of one model.
        neighbours: nearest tokens that the job projections keeps of each token; 0: none.
        clusters: numbers of clusters to ask for; none: the two of `neurothek.ingest.jobs.clusters.job.default_sizes`.
        device: where to compute.
        dtype: number format to compute in; float32 unless asked.
        active_above: a coefficient counts as active above this; None: the architecture's own rule.
        memory_bytes: what the process may add to its memory; half of the machine's unless asked. What the library
            datasets takes to read a row of a dataset of the hub comes on top.
        batch_tokens: padded ids a batch holds at most.
        staging: folder for unpublished measurements; None: beside the warehouse.
        engine: what measures: this process, or the workers of a Ray cluster.
        address: of the cluster; None: one is started on this machine.
        workers: how many workers; None: as many as fit a cluster that is there, one a GPU on this machine, else one.
        gpus_per_worker: GPUs of each; None: one if there are any.
        force: whether to replace what was measured with other parameters, or less of by an earlier release.
        interventions: what the job interventions measures the effects of.
        intervention_tokens: ids of each domain that it reads, at a sequence boundary.
        random_sets: random sets of neurons that each intervention is compared with.
        steering: what the job continuations has changed models continue.
        single_neurons: layer and neuron of those that the job neuron_effects turns off one by one.
        scored_neurons: layer and neuron of those that `where` keeps.
        contrasts: what the job contrasts has neurons tell apart.
    """

    jobs: tuple[str, ...] = DEFAULT_JOBS
    named: tuple[str, ...] = ()
    text: TextRequest = field(default_factory=TextRequest)
    family: str | None = _option(
        None, "--family", metavar="NAME", help="Family of every MODEL.  [default: its name without its size]"
    )
    variant: str | None = _option(
        None,
        "--variant",
        metavar="V",
        help='Variant of every MODEL: "step 1000", "seed 2", Q4_1, no-position, post-norm, or plain for a plain size.'
        "  [default: from its revision and positions]",
    )
    revision: str | None = _option(
        None, "--revision", help="Revision of every hub repository; REPO@REVISION sets it for one."
    )
    tokenizer_from_file: bool = _option(
        False,
        "--tokenizer-from-file",
        help="Take tokenizer.json as it is, where transformers would put parts of its own in its place.",
    )
    allow_pickle: bool = _option(False, "--allow-pickle", help="Allow pickled weights; loads tensors only, never code.")
    examples: int = _option(DEFAULT_EXAMPLES, "--examples", least=1, help="Number of examples for the job events.")
    methods: tuple[str, ...] = _option(
        (), "--method", metavar="NAME", help="Shortcut for the job shortcuts to try (repeatable).  [default: all]"
    )
    keep: Keep = _option(
        "last", "--keep", help="Matrices the job shortcuts keeps: only those to the last state, or all."
    )
    domains: tuple[str, ...] = _option(
        (),
        "--domain",
        metavar="NAME",
        help="Domain the job shortcuts takes sentences from (repeatable).  [default: prose if present, else all]",
    )
    fit: int | None = _option(
        None,
        "--fit",
        metavar="N",
        help="Sentences the job shortcuts fits on.  [default: 9000, or three quarters of a smaller text]",
    )
    validate: int | None = _option(
        None,
        "--validate",
        metavar="N",
        help="Sentences the job shortcuts validates on.  [default: 3000, or the remaining quarter]",
    )
    baselines: bool = _option(
        True, "--baselines/--no-baselines", help="Also fit a classifier for every layer in the job exits."
    )
    positions: int = _option(
        DEFAULT_POSITIONS,
        "--positions",
        least=2,
        metavar="N",
        help="Positions of the corpus that the job universality compares activations at.",
    )
    scored: int = _option(
        DEFAULT_SCORED,
        "--scored",
        least=1,
        metavar="N",
        help="Random neurons of each layer that the job output_scores turns up.",
    )
    where: str | None = _option(
        None,
        "--where",
        metavar="SQL",
        help="Neurons that it turns up besides: a condition on the view neurons of one MODEL and its shown corpus.",
    )
    neighbours: int = _option(
        DEFAULT_NEIGHBOURS,
        "--neighbours",
        least=0,
        metavar="N",
        help="Nearest tokens that the job projections keeps of each token: its time grows with the square of the "
        "vocabulary.",
    )
    clusters: tuple[int, ...] = _option(
        (),
        "--clusters",
        least=1,
        metavar="N",
        help="Number of clusters for the job clusters (repeatable).  [default: two, by the number of neurons]",
    )
    device: Device = _option("auto", "--device")
    dtype: Dtype = _option("float32", "--dtype")
    active_above: float | None = _option(None, "--active-above", help="Count a coefficient above this value as active.")
    memory_bytes: int = field(
        default_factory=default_memory,
        metadata={
            "names": ("--memory",),
            "settings": {
                "is_size": True,
                "help": "Memory that measuring may use, e.g. 4GB.  [default: half of the machine's]",
            },
        },
    )
    batch_tokens: int = _option(DEFAULT_BATCH_TOKENS, "--batch-tokens", least=1, help="Tokens per batch.")
    staging: Path | None = _option(None, "--staging", help="Folder for rows that are not published yet.")
    engine: EngineName = _option("local", "--engine", help="Measure in this process, or with workers of a Ray cluster.")
    address: str | None = _option(
        None,
        "--address",
        metavar="HOST:PORT",
        help="Ray cluster to join, or auto for the one on this machine.  [default: start one here]",
    )
    workers: int | None = _option(
        None,
        "--workers",
        least=1,
        metavar="N",
        help="Workers of the cluster.  [default: as many as fit; here one a GPU]",
    )
    gpus_per_worker: float | None = _option(
        None, "--gpus-per-worker", least=0, metavar="N", help="GPUs per worker.  [default: 1 if there are any]"
    )
    force: bool = False
    interventions: tuple[Intervention, ...] = ()
    intervention_tokens: int = DEFAULT_INTERVENTION_TOKENS
    random_sets: int = DEFAULT_RANDOM_SETS
    steering: Steering | None = None
    single_neurons: tuple[tuple[int, int], ...] = ()
    scored_neurons: tuple[tuple[int, int], ...] = ()
    contrasts: tuple[Contrast, ...] = ()
