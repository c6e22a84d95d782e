"""What can go wrong between a person and a measurement; each class builds its one sentence."""

from collections.abc import Sequence
from pathlib import Path

from catalog.errors import NeurothekError

NAMES_SHOWN = 3

# Finding a model


class ModelMissing(NeurothekError):
    """A path that names no folder."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"there is no model at {source!r}: no such folder exists; "
            "give a folder with config.json and weights, or a hub id such as facebook/opt-125m"
        )


class ModelIsFile(NeurothekError):
    """A path that names a file where a folder is needed."""

    def __init__(self, source: str) -> None:
        super().__init__(f"{source!r} is a file, and a model is a folder with config.json and weights; give its folder")


class ModelUnreachable(NeurothekError):
    """A model that is not on this machine while the hub cannot be asked."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(
            f"the model {source!r} is no folder, no shipped model and not complete in the local hub cache, "
            f"and the hub cannot be asked ({reason}); go online, or give a folder"
        )


class ModelNotOnHub(NeurothekError):
    """A hub id that the hub does not show to this person."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(
            f"the hub does not give out the model {source!r}: {problem}; "
            "check the spelling, or set HF_TOKEN if the model is private or gated"
        )


class ModelDownloadFailed(NeurothekError):
    """A download that broke off."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(
            f"downloading {source!r} broke off: {problem}; run the same command again, finished files are kept"
        )


class RevisionOfFolder(NeurothekError):
    """A revision asked of something that has none."""

    def __init__(self, source: str, revision: str) -> None:
        super().__init__(
            f"revision {revision!r} was asked of {source!r}, which is a folder on this machine and has no revisions; "
            "leave the revision out, or give a hub id"
        )


class ModelNameInvalid(NeurothekError):
    """A name that the warehouse does not take."""

    def __init__(self, name: str, source: str, suggestion: str) -> None:
        super().__init__(
            f"{name!r} cannot be a model's name: letters, digits and . _ @ + - are allowed; "
            f"give one yourself, as in {suggestion}={source}"
        )


# What lies in a model's folder


class ConfigMissing(NeurothekError):
    """A folder without config.json."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} has no config.json, so it is no model; give the folder that save_pretrained wrote")


class ConfigInvalid(NeurothekError):
    """A config.json that describes no model."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(f"config.json in {folder} describes no model: {problem}; restore the original file")


class ArchitectureUnsupported(NeurothekError):
    """A model of a family that is not known here."""

    def __init__(self, where: str, found: str, supported: Sequence[str]) -> None:
        super().__init__(
            f"{where} holds the architecture {found}, which is not supported; supported are {', '.join(supported)}"
        )


class WeightsMissing(NeurothekError):
    """A folder without weight files, or with a part of them."""

    def __init__(self, folder: Path, missing: str) -> None:
        super().__init__(f"{folder} lacks {missing}; copy or download the model's weights completely")


class WeightsPickled(NeurothekError):
    """Weights that exist only as pickles."""

    def __init__(self, where: str, file: str) -> None:
        super().__init__(
            f"{where} holds its weights only as pickled files ({file}), which are not read unless asked; "
            "give a revision with safetensors, or allow pickles with --allow-pickle if you trust its author"
        )


class WeightsUnreadable(NeurothekError):
    """A weight file that cannot be read."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(f"the weights in {file} cannot be read: {problem}; copy or download the file again")


class WeightsMismatch(NeurothekError):
    """Weights that are not those config.json describes."""

    def __init__(self, folder: Path, problem: str, examples: Sequence[str]) -> None:
        shown = ", ".join(examples[:NAMES_SHOWN]) + (", ..." if len(examples) > NAMES_SHOWN else "")
        super().__init__(
            f"the weights in {folder} contradict its config.json: {len(examples)} {problem} ({shown}); "
            "give the folder of one unmodified model"
        )


class WeightsNotFinite(NeurothekError):
    """Weights with NaN or infinity."""

    def __init__(self, file: Path, tensor: str) -> None:
        super().__init__(
            f"the tensor {tensor} in {file} holds NaN or infinity, so nothing measured from it would mean anything; "
            "restore the original weights"
        )


class MeasurementOverflow(NeurothekError):
    """Weights that are finite, and numbers measured from them that are not."""

    def __init__(self, model: str, job: str, column: str, dtype: str) -> None:
        way = "measure in float32" if dtype != "float32" else "restore the original weights"
        super().__init__(
            f"{job} of {model} cannot be measured: the weights are so large that {column} overflows in {dtype}, and"
            f" what was staged of it was deleted; {way}"
        )


# Running a model


class SequenceTooLong(NeurothekError):
    """A sequence longer than the model's position table."""

    def __init__(self, length: int, context_length: int) -> None:
        super().__init__(
            f"sequences of {length} tokens were asked of a model that reads {context_length}; "
            f"use a sequence length of at most {context_length}"
        )


# Tokenizers


class TokenizerMissing(NeurothekError):
    """A folder without any tokenizer file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"no tokenizer lies in {folder}: put its tokenizer.json (or vocab.json and merges.txt) beside the weights"
        )


class TokenizerUnreadable(NeurothekError):
    """Tokenizer files that do not make a tokenizer."""

    def __init__(self, folder: Path, reason: Exception) -> None:
        said = " ".join(str(reason).split()) or type(reason).__name__
        super().__init__(f"the tokenizer of {folder} cannot be read ({said[:200]}): save it again as tokenizer.json")


class TokenizerEmpty(NeurothekError):
    """A tokenizer without a single ordinary token."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the tokenizer of {name} holds no token but special ones: check that its vocabulary was saved"
        )


# Text


class SourceMissing(NeurothekError):
    """A text source that is not there."""

    def __init__(self, domain: str, location: str) -> None:
        super().__init__(f"the text {domain}={location} was asked for, but nothing lies at {location}: check the path")


class SourceUnreadable(NeurothekError):
    """A text source that cannot be opened or parsed."""

    def __init__(self, path: Path, reason: Exception) -> None:
        said = " ".join(str(reason).split()) or type(reason).__name__
        super().__init__(f"the text {path} cannot be read ({said[:200]}): check the file and its permissions")


class SourceNotText(NeurothekError):
    """A file that is not UTF-8 text."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} was asked for as text, but {problem}: give UTF-8 text, .jsonl or .parquet")


class SourceEmpty(NeurothekError):
    """A text source without a document."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"the text {path} holds no document: give a file, a folder or a column with text in it")


class ColumnUnknown(NeurothekError):
    """A column that a jsonl or parquet file does not have, or that is no text."""

    def __init__(self, path: Path, column: str, columns: Sequence[str]) -> None:
        found = ", ".join(columns) or "none"
        super().__init__(
            f"the column {column!r} of {path} was asked for, but its columns of text are {found}: write {path}:COLUMN"
        )


class SourceMisnamed(NeurothekError):
    """A corpus specification that is not understood."""

    def __init__(self, spec: str, problem: str) -> None:
        super().__init__(f"the corpus {spec!r} {problem}: write builtin or NAME=PATH, each name once")


class DomainEmpty(NeurothekError):
    """A domain whose text gives no token."""

    def __init__(self, domain: str) -> None:
        super().__init__(f"the domain {domain!r} holds text but not a single token: give it more text or leave it out")


class ExamplesInvalid(NeurothekError):
    """A number of examples that is none."""

    def __init__(self, examples: int) -> None:
        super().__init__(f"{examples} examples were asked for, and events need at least one; ask for 1 or more")


class SentencesMissing(NeurothekError):
    """A corpus from which no example can be cut."""

    def __init__(self, corpus: str) -> None:
        super().__init__(
            f"events are measured on sentences, and the corpus {corpus} has none with a token; choose another --corpus"
        )


class SequenceLengthInvalid(NeurothekError):
    """Sequences that cannot hold an id, or a token limit below one."""

    def __init__(self, asked: str) -> None:
        super().__init__(
            f"{asked} was asked for, but a corpus needs sequences of at least 2 ids and at least 1 token a domain:"
            " ask for more"
        )


# Training


class SizeUnknown(NeurothekError):
    """A model size that is not in the table."""

    def __init__(self, size: str, sizes: Sequence[str]) -> None:
        super().__init__(
            f"a model of size {size!r} was asked for, but the sizes are {', '.join(sizes)}: choose one of them"
        )


class OutputExists(NeurothekError):
    """A training output that would overwrite something."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(
            f"the model was to be written to {folder}, which {problem}: name another folder or remove this one"
        )


class VocabularyTooLarge(NeurothekError):
    """A vocabulary that the training text cannot fill."""

    def __init__(self, asked: int, found: int) -> None:
        super().__init__(
            f"a vocabulary of {asked} tokens was asked for, but the text supports only {found}:"
            " give more text or ask for fewer"
        )


class VocabularyTooSmall(NeurothekError):
    """A vocabulary without room for the bytes."""

    def __init__(self, asked: int, needed: int) -> None:
        super().__init__(
            f"a vocabulary of {asked} tokens was asked for, but bytes and special tokens need {needed}: ask for more"
        )


class TooLittleText(NeurothekError):
    """A corpus that does not fill one batch of training."""

    def __init__(self, found: int, needed: int) -> None:
        super().__init__(f"training needs at least {needed} sequences, but the text gives {found}: give more text")


class DeviceMissing(NeurothekError):
    """A device that this machine, or this PyTorch, does not have."""

    def __init__(self, device: str) -> None:
        super().__init__(
            f"the device {device!r} was asked for, but it is not there:"
            " use --device cpu, or install a PyTorch that knows it"
        )


class StepsInvalid(NeurothekError):
    """Steps or checkpoints that no run can have."""

    def __init__(self, asked: str) -> None:
        super().__init__(
            f"{asked} was asked for, but training needs at least 1 step, and checkpoints before the last step:"
            " change it"
        )


class TokenizerUnfit(NeurothekError):
    """A tokenizer to be reused that these models cannot be trained with."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(
            f"the tokenizer of {folder} was to be reused, but {problem}: leave --tokenizer out to have one trained"
        )


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

    def __init__(self, name: str, differences: Sequence[str]) -> None:
        super().__init__(
            f"the model {name} is in the warehouse with another config.json ({'; '.join(differences)});"
            " restore that one, or give this model another name with NAME="
        )


class TokenizerTooLarge(NeurothekError):
    """A tokenizer with ids that the unembedding has no row for."""

    def __init__(self, name: str, asked: int, found: int) -> None:
        super().__init__(
            f"the tokenizer of {name} has ids up to {asked - 1}, but the model's unembedding has {found} rows:"
            " put the model's own tokenizer beside its weights"
        )


class CorpusUnknown(NeurothekError):
    """A corpus asked for by name that the warehouse does not have, or together with others."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        found = f"has {', '.join(known)}" if known else "has none yet"
        super().__init__(
            f"the corpus {name} was asked for by name, but the warehouse {found}:"
            " give one such name alone, or builtin, or NAME=PATH"
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
            f"the corpus {name} has to be read again for this model, but the text of its domain {domain}"
            f" at {location} has changed since: restore it, or give the new text as NAME=PATH"
        )


class ThresholdInvalid(NeurothekError):
    """A threshold that no coefficient can be compared with."""

    def __init__(self, value: float) -> None:
        super().__init__(f"--active-above {value} was asked for, but a coefficient is compared with a finite number")


class DiskTooSmall(NeurothekError):
    """A disk that cannot hold what is to be staged."""

    def __init__(self, folder: Path, needed: int, free: int) -> None:
        super().__init__(
            f"measuring needs about {needed / 1e9:.1f} GB under {folder}, but {free / 1e9:.1f} GB are free there:"
            " free some space or name another disk with --staging"
        )


class MemoryTooSmall(NeurothekError):
    """A memory budget that not even one layer at a time fits into."""

    def __init__(self, needed: int, asked: int) -> None:
        super().__init__(
            f"measuring needs at least {needed / 1e9:.2f} GB of memory, but --memory allows {asked / 1e9:.2f} GB:"
            " allow more or make --batch-tokens smaller"
        )


class ClustersTooMany(NeurothekError):
    """A number of clusters that so many neurons cannot make."""

    def __init__(self, asked: int, n_neurons: int) -> None:
        super().__init__(
            f"{asked:,} clusters were asked for, but the model has {n_neurons:,} neurons:"
            f" ask for a number from 1 to {n_neurons:,}"
        )


class ClusterMemoryTooSmall(NeurothekError):
    """A memory budget into which not even few distances fit beside the vectors."""

    def __init__(self, needed: int, asked: int) -> None:
        super().__init__(
            f"clustering needs at least {needed / 1e9:.2f} GB of memory, but --memory allows {asked / 1e9:.2f} GB:"
            " allow more"
        )


# Questions that need the model


class PromptEmpty(NeurothekError):
    """A prompt without tokens."""

    def __init__(self, prompt: str) -> None:
        super().__init__(f"the prompt {prompt!r} has no tokens; give a text of at least one")


class PromptTooLong(NeurothekError):
    """A prompt that does not fit the model's context."""

    def __init__(self, length: int, context_length: int) -> None:
        super().__init__(
            f"the prompt has {length:,} tokens, and the model reads {context_length:,} at most; shorten the prompt"
        )


class PositionMissing(NeurothekError):
    """A position outside the prompt."""

    def __init__(self, position: int, length: int) -> None:
        super().__init__(
            f"there is no position {position} in a prompt of {length:,} tokens; positions are 0 to {length - 1:,},"
            " or -1 for the last"
        )


class WeightsNotAtHand(NeurothekError):
    """A measured model whose weights are not where they came from."""

    def __init__(self, model: str, place: str, problem: str) -> None:
        super().__init__(
            f"this answer needs the weights of {model}, which were looked for at {place!r}: {problem};"
            " say where they lie with --weights PATH"
        )


class OtherWeights(NeurothekError):
    """Weights at hand that are not those of the warehouse."""

    def __init__(self, model: str, place: str) -> None:
        super().__init__(
            f"the weights at {place!r} are not those that were measured as {model};"
            " name the right folder with --weights PATH, or measure these under another name"
        )
