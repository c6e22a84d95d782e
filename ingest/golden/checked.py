"""Measures published numbers again, model by model, as far as models and texts are at hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Literal

import polars as pl
import torch

from neurothek.catalog.advice import command_line
from neurothek.catalog.files import expanded
from neurothek.catalog.problems import Failed, Refused, Unavailable
from neurothek.catalog.progress import Progress, Silent
from neurothek.ingest.corpora.sources.hub_datasets import HubDataset
from neurothek.ingest.golden.entries import Published, TokenCount, ValueToken, WindowPerplexity
from neurothek.ingest.golden.remeasured import Remeasured, measure_again
from neurothek.ingest.models import checkpoints, hub
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer, open_transformer

_SKIPPED_WHERE_UNAVAILABLE = ("model", "text", "library", "tokenizer")

Verdict = Literal["agrees", "disagrees", "skipped"]

THEN_TOLERANCE = 0.05
"""How far the probability of a token after the first may be off, as a share of itself: its logit by as much."""


@dataclass(frozen=True)
class Checked:
    """A published number beside the measured one.

    Attributes:
        entry: what was published.
        found: what was measured; None where it was skipped.
        reason: why it was skipped.
    """

    entry: Published
    found: Remeasured | None
    reason: str = ""

    @property
    def outcome(self) -> Verdict:
        """Whether both numbers, and all tokens where there are any, are the same."""
        if self.found is None:
            return "skipped"
        published = self.entry.measurement
        is_token = not isinstance(published, ValueToken) or published.token == self.found.token
        is_near = abs(self.found.value - self.entry.published) <= self.entry.tolerance
        return "agrees" if is_token and is_near and not self.differing else "disagrees"

    @property
    def differing(self) -> str:
        """The first token after the first one that is another, or has another probability; empty where none is."""
        published = self.entry.measurement
        if self.found is None or not isinstance(published, ValueToken):
            return ""
        pairs = zip_longest(published.then, self.found.then, fillvalue=("", 0.0))
        for place, ((token, share), (token_found, share_found)) in enumerate(pairs, start=2):
            if token != token_found or abs(share_found - share) > THEN_TOLERANCE * share:
                return f"token {place} is {token_found!r} at {share_found:.3g}, published {token!r} at {share:.3g}"
        return ""


@dataclass(frozen=True)
class Reach:
    """Where models and texts may come from.

    Attributes:
        download: whether the hub may be asked; else only its local cache is read.
        allow_pickle: whether pickled weights may be read.
        device: where to compute.
    """

    download: bool = False
    allow_pickle: bool = False
    device: str = "cpu"


def check_published(
    entries: Sequence[Published], reach: Reach | None = None, *, progress: Progress | None = None
) -> list[Checked]:
    """Measure what was published, one model at a time; what is not at hand is skipped, with the reason."""
    watcher, reach = progress or Silent(), reach or Reach()
    return [
        checked
        for _, group in groupby(entries, key=lambda entry: entry.model)
        for checked in _of_model(list(group), reach, watcher)
    ]


def _of_model(entries: Sequence[Published], reach: Reach, progress: Progress) -> Iterator[Checked]:
    try:
        transformer, tokenizer = _opened(entries[0], reach, progress)
    except (Unavailable, Refused, Failed) as error:
        if not _is_skipped(error):
            raise
        yield from (Checked(entry, None, str(error)) for entry in entries)
        return
    for entry in entries:
        try:
            _require_text(entry, reach)
            yield Checked(entry, measure_again(entry.measurement, transformer, tokenizer, progress))
        except (Unavailable, Refused, Failed) as error:
            if not _is_skipped(error):
                raise
            yield Checked(entry, None, str(error))


def _is_skipped(error: Unavailable | Refused | Failed) -> bool:
    """Whether it skips a number; whatever else is wrong ends the run, since it may be why a number differs.

    Skipped is what the hub does not give out, pickled weights, and a folder without a tokenizer; not a folder that
    lacks its weights or config.json, nor a device that this machine does not have.
    """
    return not isinstance(error, Unavailable) or error.what in _SKIPPED_WHERE_UNAVAILABLE


def _opened(entry: Published, reach: Reach, progress: Progress) -> tuple[Transformer, Tokenizer]:
    checkpoint = checkpoints.find(_place(entry, reach), allow_pickle=reach.allow_pickle, progress=progress)
    return open_transformer(checkpoint, device=reach.device), tokenization.load(checkpoint.folder)


def _place(entry: Published, reach: Reach) -> str:
    """The folder of a model on this machine; its id where the hub may be asked for what the folder lacks."""
    if expanded(entry.model).is_dir():
        return entry.model
    for name in (entry.model, *entry.aliases):
        folder = hub.cached(name)
        if folder is not None:
            return name if reach.download else str(folder)
    if not reach.download:
        message = f"{entry.model} is not in the hub's cache on this machine"
        raise Unavailable(message, "add --download to fetch it", what="model", name=entry.model)
    return entry.model


def _require_text(entry: Published, reach: Reach) -> None:
    asked = entry.measurement
    if isinstance(asked, WindowPerplexity | TokenCount) and HubDataset.parse("text", asked.text) and not reach.download:
        message, hint = f"the text {asked.text} is read from the hub", "add --download to read it"
        raise Unavailable(message, hint, what="text", name=asked.text)


def checked_frame(checked: Sequence[Checked]) -> pl.DataFrame:
    """A row a published number: what it is, what was found, and where it stands."""
    return pl.DataFrame([_row(one) for one in checked], schema=_COLUMNS)


_COLUMNS = {
    "name": pl.String,
    "outcome": pl.String,
    "published": pl.Float64,
    "found": pl.Float64,
    "tolerance": pl.Float64,
    "token": pl.String,
    "token_found": pl.String,
    "reason": pl.String,
    "model": pl.String,
    "kind": pl.String,
    "command": pl.String,
    "source": pl.String,
    "note": pl.String,
}


def _row(checked: Checked) -> dict[str, str | float | None]:
    entry, found = checked.entry, checked.found
    return {
        "name": entry.name,
        "outcome": checked.outcome,
        "published": entry.published,
        "found": None if found is None else found.value,
        "tolerance": entry.tolerance,
        "token": entry.measurement.token if isinstance(entry.measurement, ValueToken) else None,
        "token_found": None if found is None else found.token,
        "reason": checked.reason or checked.differing or None,
        "model": entry.model,
        "kind": entry.measurement.kind,
        "command": command_line("golden", entry.name, "--download", *(["--allow-pickle"] * entry.is_pickled)),
        "source": entry.source,
        "note": entry.note or None,
    }


def chosen_device(asked: Literal["auto", "cpu", "cuda"]) -> str:
    """Where to compute: a GPU if there is one, unless a person says."""
    return ("cuda" if torch.cuda.is_available() else "cpu") if asked == "auto" else asked
