"""What can be wrong with what is asked to be measured, and with questions that need the model."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError, NotHere
from neurothek.catalog.suggestions import nearest
from neurothek.ingest.units import in_words

# What is to be measured


class ModelNamedTwice(NeurothekError):
    """Two models of one command that would get one name."""

    def __init__(self, name: str, sources: Sequence[str]) -> None:
        super().__init__(
            f"{' and '.join(sources)} would both be called {name} in the warehouse:"
            f" give one of them another name, as in {name}-2={sources[-1]}"
        )


class ParametersDiffer(NeurothekError):
    """The warehouse holds the same job of the same model and corpus, measured otherwise."""

    def __init__(self, job: str, model: str, differences: Sequence[str]) -> None:
        super().__init__(
            f"{job} of {model} is in the warehouse with other settings ({'; '.join(differences)});"
            " repeat those settings, or add --force to replace it"
        )


class ModelChanged(NeurothekError):
    """The warehouse holds the same weights under another configuration."""

    def __init__(self, name: str, differences: Mapping[str, tuple[object, object]]) -> None:
        named = "; ".join(f"{field}: {there} there, {asked} asked for" for field, (there, asked) in differences.items())
        super().__init__(
            f"the model {name} is in the warehouse with another config.json ({named});"
            " restore that one, or measure this model under another name with NAME="
        )


class CorpusUnknown(NeurothekError):
    """A corpus asked for by name that the warehouse does not have, or together with others."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        found = f"has {', '.join(known)}" if known else "has none yet"
        super().__init__(
            f"the corpus {name} cannot be used by name here; the warehouse {found}:"
            " give one of these names alone, or builtin, NAME=PATH, or NAME=hub:ORG/NAME"
        )


class CorpusNameInvalid(NeurothekError):
    """A name that no corpus of a person's own can have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"a corpus cannot be named {name!r}: letters, digits and . _ @ + - are allowed,"
            " and builtin means the built-in text"
        )


class CorpusChanged(NeurothekError):
    """A corpus of the warehouse whose text is to be read again and is no longer what it was."""

    def __init__(self, name: str, domain: str, location: str) -> None:
        super().__init__(
            f"the corpus {name} must be read again for this model, but the text of its domain {domain}"
            f" at {location} has changed: restore it, or give the new text as NAME=PATH"
        )


class MethodUnknown(NeurothekError):
    """A shortcut that there is not, or not for such a model."""

    def __init__(self, method: str, architecture: str | None, known: Sequence[str]) -> None:
        near = nearest(method, known, limit=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        models = f" for {architecture} models" if architecture is not None else ""
        super().__init__(f"there is no shortcut {method}{models}; {hint}")


class AskedByQuery(NeurothekError):
    """A job on neurons that a query finds is asked for without a query."""

    def __init__(self, jobs: Sequence[str]) -> None:
        command = command_line("intervene", "MODEL", "--where", "frequency > 0.1")
        super().__init__(
            f"{' and '.join(jobs)} needs neurons that a query finds; choose them with, for example, `{command}`"
        )


class ThresholdInvalid(NeurothekError):
    """A threshold that no coefficient can be compared with."""

    def __init__(self, value: float) -> None:
        super().__init__(f"--active-above {value} is not a finite float32 number; give one")


class DiskTooSmall(NeurothekError):
    """A disk that cannot hold what is to be staged."""

    def __init__(self, folder: Path, needed: int, free: int) -> None:
        super().__init__(
            f"measuring needs about {in_words(needed)} under {folder}, but only {in_words(free)} are free:"
            " free some space or choose another disk with --staging"
        )


class MemoryTooSmall(NeurothekError):
    """A memory budget that not even one layer at a time fits into."""

    def __init__(self, needed: int, asked: int) -> None:
        super().__init__(f"measuring {_more_memory(needed, asked)} or make --batch-tokens smaller")


class JobMemoryTooSmall(NeurothekError):
    """A memory budget that a job which reads only weights does not fit into."""

    def __init__(self, job: str, needed: int, asked: int) -> None:
        self.needed = needed
        super().__init__(f"measuring {job} {_more_memory(needed, asked)}")


class ClustersTooMany(NeurothekError):
    """A number of clusters that so many neurons cannot make."""

    def __init__(self, asked: int, n_neurons: int) -> None:
        super().__init__(
            f"cannot make {asked:,} clusters from the model's {n_neurons:,} neurons;"
            f" choose a number from 1 to {n_neurons:,}"
        )


class ClusterMemoryTooSmall(NeurothekError):
    """A memory budget into which not even few distances fit beside the vectors."""

    def __init__(self, needed: int, asked: int) -> None:
        super().__init__(f"clustering {_more_memory(needed, asked)}")


def _more_memory(needed: int, asked: int) -> str:
    # What is needed is rounded up and what is allowed down: allowing as much as this says is enough.
    return (
        f"needs at least {math.ceil(needed / 1e7) / 100:.2f} GB of memory,"
        f" but --memory allows {asked // 10**7 / 100:.2f} GB: allow more"
    )


# What masked models are not asked for


class CausalNeeded(NeurothekError):
    """Jobs that need a model which says the next token, asked of one that fills in masked ones."""

    def __init__(self, model: str, jobs: Sequence[str], possible: Sequence[str]) -> None:
        several = f"jobs {', '.join(jobs)} need" if len(jobs) > 1 else f"job {jobs[0]} needs"
        ways = " ".join(f"--job {job}" for job in possible)
        super().__init__(f"{model} is a masked model, and the {several} one that predicts the next token; use {ways}")


class NothingToTrace(NeurothekError):
    """A prompt for a model that does not continue it."""

    def __init__(self) -> None:
        super().__init__(
            "this is a masked model: it fills in tokens and does not predict the next one, so there is nothing to"
            " trace; use a causal model"
        )


# Questions that need the model

WEIGHTS_OPTION = "--weights PATH"
"""How a command is told where weights lie, unless it says otherwise."""


class PromptEmpty(NeurothekError):
    """A prompt without tokens."""

    def __init__(self, prompt: str) -> None:
        super().__init__(f"the prompt {prompt!r} has no tokens; give a text with at least one")


class PromptTooLong(NeurothekError):
    """A prompt that does not fit the model's context."""

    def __init__(self, length: int, context_length: int) -> None:
        super().__init__(
            f"the prompt has {length:,} tokens, but the model reads at most {context_length:,}; shorten the prompt"
        )


class PositionMissing(NeurothekError):
    """A position outside the prompt."""

    def __init__(self, position: int, length: int) -> None:
        super().__init__(
            f"there is no position {position} in a prompt of {length:,} tokens; positions are 0 to {length - 1:,},"
            " or -1 for the last"
        )


class WeightsNotAtHand(NotHere):
    """A measured model whose weights are not where they came from."""

    def __init__(self, model: str, place: str, problem: str, *, option: str = WEIGHTS_OPTION) -> None:
        self.problem = problem
        super().__init__(
            f"this answer needs the weights of {model}, which were not usable at {place!r}: {problem};"
            f" give their location with {option}"
        )


class OtherWeights(NeurothekError):
    """Weights at hand that are not those of the warehouse."""

    def __init__(self, model: str, place: str, *, option: str = WEIGHTS_OPTION) -> None:
        super().__init__(
            f"the weights at {place!r} are not the ones that were measured as {model};"
            f" give the right folder with {option}, or measure these weights under another name"
        )


class RayMissing(NeurothekError):
    """The extra is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "--engine ray needs the package ray, which is not installed; run `pip install 'neurothek[ray]'`, or leave"
            " out --engine to measure in this process"
        )


class OptionsOfRay(NeurothekError):
    """Options that the local engine would not heed."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"{', '.join(names)} can only be given with --engine ray; add that, or leave {names[0]} out")


class DeviceAndGpus(NeurothekError):
    """A device for workers that the number of their GPUs speaks against."""

    def __init__(self, device: str, gpus: float) -> None:
        super().__init__(f"--device {device} and --gpus-per-worker {gpus:g} cannot both hold; leave out one of the two")
