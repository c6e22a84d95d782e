"""What can be wrong with a text."""

from collections.abc import Sequence
from pathlib import Path

from catalog.errors import NeurothekError


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


class SentencesTooFew(NeurothekError):
    """A corpus with too few sentences to fit linear maps on some and to judge them by others."""

    def __init__(self, corpus: str, domains: Sequence[str], found: int, least: int) -> None:
        super().__init__(
            f"shortcuts are fitted on three of four sentences and judged by the fourth, which takes {least} at least,"
            f" but {', '.join(domains)} of the corpus {corpus} has {found}; choose another --domain or --corpus"
        )


class SplitInvalid(NeurothekError):
    """A number of sentences that says nothing."""

    def __init__(self, option: str, asked: int, least: int) -> None:
        super().__init__(
            f"{option} {asked:,} was asked for, but the job shortcuts takes {least} sentences at least there;"
            f" ask for {least} or more"
        )


class SplitTooLarge(NeurothekError):
    """A corpus with fewer sentences than are to be fitted on and judged by."""

    def __init__(self, corpus: str, domains: Sequence[str], found: int, split: str, least: int) -> None:
        super().__init__(
            f"{split} takes {least:,} sentences, but {', '.join(domains)} of the corpus {corpus} has {found:,};"
            " ask for fewer, or choose another --domain or --corpus"
        )


class DomainUnknown(NeurothekError):
    """A domain that a corpus does not have."""

    def __init__(self, corpus: str, domain: str, known: Sequence[str]) -> None:
        super().__init__(f"the corpus {corpus} has no domain {domain}; it has {', '.join(known)}")


class EarlierRowsBroken(NeurothekError):
    """Rows of another job that do not fit together."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"exits are worked out from what the job {job} measured, and some of those rows are gone or do not belong"
            f" there; measure it again with --job {job} --force"
        )


class ExamplesTooFew(NeurothekError):
    """Events of fewer examples than a rule can learn from and be tried on."""

    def __init__(self, corpus: str, found: int, least: int) -> None:
        super().__init__(
            f"exits are tried on one of ten examples, which takes {least} at least, but the events on the corpus"
            f" {corpus} have {found}; choose another --corpus, or measure events with more --examples and --force"
        )


class SequenceLengthInvalid(NeurothekError):
    """Sequences that cannot hold an id, or a token limit below one."""

    def __init__(self, asked: str) -> None:
        super().__init__(
            f"{asked} was asked for, but a corpus needs sequences of at least 2 ids and at least 1 token a domain:"
            " ask for more"
        )
