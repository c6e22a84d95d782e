"""What can be wrong with a text."""

from collections.abc import Sequence
from pathlib import Path

from neurothek.catalog.errors import NeurothekError
from neurothek.ingest.units import in_words

COLUMNS_SHOWN = 20


def _others(path: Path, columns: Sequence[str]) -> str:
    """Which columns could be asked for instead, and how."""
    if not columns:
        return "it has no text columns: give another file"
    more = f" and {len(columns) - COLUMNS_SHOWN} more" if len(columns) > COLUMNS_SHOWN else ""
    return f"its text columns are {', '.join(columns[:COLUMNS_SHOWN])}{more}: write {path}:COLUMN"


class SourceMissing(NeurothekError):
    """A text source that is not there."""

    def __init__(self, domain: str, location: str) -> None:
        super().__init__(f"cannot read the text {domain}={location}: nothing exists at {location}; check the path")


class SourceUnreadable(NeurothekError):
    """A text source that cannot be opened or parsed."""

    def __init__(self, path: Path, reason: Exception) -> None:
        said = reason.strerror if isinstance(reason, OSError) and reason.strerror else " ".join(str(reason).split())
        super().__init__(
            f"the text {path} cannot be read ({said[:200] or 'no reason given'}): check the file and its permissions"
        )


class SourceNotText(NeurothekError):
    """A file that is neither UTF-8 text nor a table of texts."""

    def __init__(
        self, path: Path, problem: str, advice: str = "give UTF-8 text, .jsonl, .json, .csv, .tsv or .parquet"
    ) -> None:
        super().__init__(f"{path} cannot be read as text: {problem}; {advice}")


class SourceEmpty(NeurothekError):
    """A text source without a document."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"the text {path} has no documents: give a file, a folder or a column that contains text")


class ColumnUnknown(NeurothekError):
    """A column that a table does not have, or more than once."""

    def __init__(self, path: Path, column: str, columns: Sequence[str]) -> None:
        super().__init__(f"{path} has no column {column!r}; {_others(path, columns)}")


class ColumnMissing(NeurothekError):
    """A column that an object of JSON does not have.

    `place` says which object that is, such as "line 3".
    """

    def __init__(self, path: Path, column: str, place: str, columns: Sequence[str]) -> None:
        what = place.partition(" ")[0]
        super().__init__(f"{place} of {path} has no column {column!r}; {_others(path, columns)}, or fix that {what}")


class ColumnNotText(NeurothekError):
    """A column that holds something other than text."""

    def __init__(self, path: Path, column: str, found: str, columns: Sequence[str]) -> None:
        super().__init__(f"the column {column!r} of {path} is not text but {found}; {_others(path, columns)}")


class TextTooLong(NeurothekError):
    """A line or row, held whole while it is read, that memory does not allow."""

    def __init__(self, path: Path | str, place: str, longest: int, memory: int) -> None:
        super().__init__(
            f"{place} of {path} has more than {in_words(longest)}, the most that --memory {in_words(memory)} allows"
            " for one line or row: allow more, or put the text in a separate file"
        )


class TextUncuttable(NeurothekError):
    """Text that has to be tokenized as one, and that memory does not allow."""

    def __init__(self, where: str, tokenizer: str, longest: int, memory: int) -> None:
        super().__init__(
            f"the text {where} has more than {in_words(longest)} that the tokenizer of {tokenizer} cannot split, the"
            f" most that --memory {in_words(memory)} allows: allow more, or insert spaces into the text"
        )


class SourceMisnamed(NeurothekError):
    """A corpus specification that is not understood."""

    def __init__(self, spec: str, problem: str) -> None:
        super().__init__(f"the corpus {spec!r} {problem}: write builtin or NAME=PATH, each name once")


class DomainEmpty(NeurothekError):
    """A domain whose text gives no token."""

    def __init__(self, domain: str) -> None:
        super().__init__(f"the text of the domain {domain!r} contains no tokens: give it more text or omit it")


class ExamplesInvalid(NeurothekError):
    """A number of examples that is none."""

    def __init__(self, examples: int) -> None:
        super().__init__(f"--examples {examples} is too few; the job events needs at least 1")


class SentencesMissing(NeurothekError):
    """A corpus from which no example can be cut."""

    def __init__(self, corpus: str) -> None:
        super().__init__(
            f"the job events needs sentences, but the corpus {corpus} has none with a token; choose another --corpus"
        )


class SentencesTooFew(NeurothekError):
    """A corpus with too few sentences to fit linear maps on some and to judge them by others."""

    def __init__(self, corpus: str, domains: Sequence[str], found: int, least: int) -> None:
        super().__init__(
            f"shortcuts are fitted on three quarters of the sentences and validated on the rest, which takes at"
            f" least {least}, but {', '.join(domains)} of the corpus {corpus} has {found}; choose another --domain or"
            " --corpus"
        )


class SplitInvalid(NeurothekError):
    """A number of sentences that says nothing."""

    def __init__(self, option: str, asked: int, least: int) -> None:
        does = "fits on" if option == "--fit" else "validates on"
        super().__init__(f"{option} {asked:,} is too few; the job shortcuts {does} at least {least} sentences")


class SplitTooLarge(NeurothekError):
    """A corpus with fewer sentences than are to be fitted on and judged by."""

    def __init__(self, corpus: str, domains: Sequence[str], found: int, split: str, least: int) -> None:
        super().__init__(
            f"{split} needs {least:,} sentences, but {', '.join(domains)} of the corpus {corpus} has {found:,};"
            " use fewer, or choose another --domain or --corpus"
        )


class DomainUnknown(NeurothekError):
    """A domain that a corpus does not have."""

    def __init__(self, corpus: str, domain: str, known: Sequence[str]) -> None:
        super().__init__(f"the corpus {corpus} has no domain {domain}; it has {', '.join(known)}")


class EarlierRowsBroken(NeurothekError):
    """Rows of another job that do not fit together."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"the job exits needs the results of the job {job}, but some of those rows are missing or do not belong"
            f" there; measure them again with --job {job} --force"
        )


class ExamplesTooFew(NeurothekError):
    """Events of fewer examples than a rule can learn from and be tried on."""

    def __init__(self, corpus: str, found: int, least: int) -> None:
        super().__init__(
            f"the job exits tests on one in ten examples and needs at least {least}, but the events on the corpus"
            f" {corpus} have {found}; choose another --corpus, or measure events with more --examples and --force"
        )


class SequenceLengthInvalid(NeurothekError):
    """Sequences that cannot hold an id, or a token limit below one."""

    def __init__(self, asked: str) -> None:
        super().__init__(
            f"{asked} is too small; a corpus needs sequences of at least 2 ids and at least 1 token per domain"
        )


_FORM = "NAME=hub:ORG/DATASET[@REVISION][:CONFIG][:SPLIT][:COLUMN]"


class DatasetMisnamed(NeurothekError):
    """A location that begins with hub: and goes on otherwise than it should."""

    def __init__(self, location: str) -> None:
        super().__init__(f"the dataset {location!r} is not understood: write {_FORM}")


class DatasetsMissing(NeurothekError):
    """A dataset of the hub, and no library to read it with."""

    def __init__(self, location: str) -> None:
        super().__init__(
            f"reading the text {location} needs the library datasets, which is not installed:"
            " install it with pip install 'neurothek[hub]'"
        )


class DatasetUnreachable(NeurothekError):
    """A dataset while the hub cannot be asked."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(
            f"the text {location} is on the hub, which cannot be reached ({reason}); go online, give files, or name a"
            " corpus in the warehouse"
        )


class DatasetNotOnHub(NeurothekError):
    """A dataset that the hub does not show to this person."""

    def __init__(self, location: str, problem: str) -> None:
        super().__init__(
            f"the hub does not provide the text {location}: {problem};"
            " check the spelling, or set HF_TOKEN if the dataset is private or gated"
        )


class DatasetColumnUnknown(NeurothekError):
    """A column that a dataset does not have, or that is not text."""

    def __init__(self, location: str, column: str, columns: Sequence[str]) -> None:
        found = ", ".join(columns) or "none"
        super().__init__(f"{location} has no text column {column!r}; its text columns are {found}: write {_FORM}")


class DatasetEmpty(NeurothekError):
    """A dataset without a document."""

    def __init__(self, location: str) -> None:
        super().__init__(f"the text {location} has no documents: give a split and a column that contains text")


class DatasetBroken(NeurothekError):
    """A dataset that the library cannot read, or not to the end."""

    def __init__(self, location: str, problem: str) -> None:
        super().__init__(
            f"the text {location} could not be read ({problem}); check configuration and split, or repeat the command"
        )
