"""The job `shortcuts`: how linear a model is between its states, and what it says from each of them ([D])."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.kept_maps import file_name
from catalog.map_files import as_file
from catalog.tables import (
    SHORTCUT_MAPS,
    SHORTCUT_PREDICTIONS,
    SHORTCUT_READINGS,
    SHORTCUT_SENTENCES,
    SHORTCUT_TOPS,
    SHORTCUTS,
    SUB_MODULE_FITS,
    Table,
)
from ingest.corpora.corpus import Corpus
from ingest.corpora.sentence_sample import N_SENTENCES, SentenceSample, draw
from ingest.corpora.sentences import splitter
from ingest.corpora.split import N_FIT, N_VALIDATION, USUAL, SentenceSplit
from ingest.errors import MethodUnknown
from ingest.forward.states import SentenceStates
from ingest.jobs.shortcuts import frames
from ingest.jobs.shortcuts import sizes as shortcut_sizes
from ingest.jobs.shortcuts.fits import Shortcuts
from ingest.jobs.shortcuts.readings import Judge, listed
from ingest.jobs.shortcuts.sub_module_maps import METHOD_PARTS, SubModuleMaps
from ingest.lens.logit_lens import Lens
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Transformer
from ingest.numerics.array_files import written
from ingest.numerics.least_squares import LEAST_SINGULAR
from ingest.request import Keep
from ingest.units import in_words

ID, MAT = "id", "mat"
METHODS = (ID, MAT, *METHOD_PARTS)
"""Shortcuts that there are: the last ones where a block's parts can be told from each other."""

N_LISTED_SENTENCES = 50
SENTENCES_AT_ONCE = 125
"""Validation sentences of a shard, which are read through the head together."""

MAPS = "maps"
"""Folder, within the run's, of the matrices that are kept."""

_SAMPLE, _LAYER, _FROM, _READ, _CONCLUSION = "sample", "layer-", "from-", "read-", "conclusion"


@dataclass(frozen=True)
class ShortcutsJob:
    """Fits linear maps between all states of a model, and reads what they put in the place of the last state.

    Attributes:
        transformer: the model.
        tokenizer: its tokenizer.
        methods: which shortcuts are tried.
        keep: which matrices are kept: those to the last state, or all.
        domains: domains of the corpus whose sentences are taken; none: the usual one.
        n_sentences: sentences taken, if the corpus has so many and the split does not say.
        split: how many are to fit on and to validate on.
        seed: of their order and positions.
        folder: where states and matrices lie until the run is published.
    """

    transformer: Transformer
    tokenizer: Tokenizer
    methods: tuple[str, ...] = METHODS
    keep: Keep = "last"
    domains: tuple[str, ...] = ()
    n_sentences: int = N_SENTENCES
    split: SentenceSplit = USUAL
    seed: int = 0
    folder: Path | None = None
    name: str = "shortcuts"
    version: int = 1
    tables: tuple[Table, ...] = (
        SHORTCUT_SENTENCES,
        SHORTCUTS,
        SHORTCUT_MAPS,
        SUB_MODULE_FITS,
        SHORTCUT_READINGS,
        SHORTCUT_TOPS,
        SHORTCUT_PREDICTIONS,
    )
    _samples: MutableMapping[Corpus, SentenceSample] = field(
        default_factory=WeakKeyDictionary, repr=False, compare=False
    )
    _opened: MutableMapping[Corpus, "Opened"] = field(default_factory=WeakKeyDictionary, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        transformer: Transformer,
        tokenizer: Tokenizer,
        *,
        methods: Sequence[str] = (),
        keep: Keep = "last",
        domains: Sequence[str] = (),
        split: SentenceSplit = USUAL,
    ) -> "ShortcutsJob":
        """The job for a model, with all methods unless some are asked for.

        Raises:
            MethodUnknown: there is no such method, or not for such a model.
        """
        possible = METHODS if transformer.has_parts else (ID, MAT)
        unknown = [method for method in methods if method not in possible]
        if unknown:
            raise MethodUnknown(unknown[0], transformer.shape.architecture, possible)
        chosen = tuple(method for method in possible if method in (methods or possible))
        return cls(
            transformer, tokenizer, methods=chosen, keep=keep, domains=tuple(dict.fromkeys(domains)), split=split
        )

    def parameters(self) -> dict[str, Any]:
        """How sentences are drawn, and what is fitted and kept."""
        return {
            "methods": list(self.methods),
            "keep": self.keep,
            "domains": list(self.domains),
            "n_sentences": self.n_sentences,
            "seed": self.seed,
            "sentences": splitter(),
            "least_singular": LEAST_SINGULAR,
            **self.split.parameters(),
        }

    def within(self, folder: Path) -> "ShortcutsJob":
        """The job with a folder for its files."""
        return replace(self, folder=folder, _opened=WeakKeyDictionary())

    def shards(self, corpus: Corpus) -> dict[str, tuple[str, ...]]:
        """Names of the shards -> names of the tables that each fills.

        Raises:
            DomainUnknown, SentencesTooFew, SplitTooLarge: the corpus has not what is asked for.
        """
        sample, n_layers = self._sample(corpus), self.transformer.shape.n_layers
        starts = range(0, sample.n_validation, SENTENCES_AT_ONCE)
        return {
            _SAMPLE: (SHORTCUT_SENTENCES.name,),
            **{f"{_LAYER}{layer:04d}": (SUB_MODULE_FITS.name,) for layer in range(n_layers)},
            **{f"{_FROM}{state:04d}": (SHORTCUTS.name, SHORTCUT_MAPS.name) for state in range(n_layers)},
            **{f"{_READ}{start:06d}": (SHORTCUT_READINGS.name, SHORTCUT_TOPS.name) for start in starts},
            _CONCLUSION: (SHORTCUT_PREDICTIONS.name,),
        }

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
        if shard == _SAMPLE:
            return {SHORTCUT_SENTENCES.name: frames.sentences_frame(self._sample(corpus), self.tokenizer)}
        if shard == _CONCLUSION:
            return {SHORTCUT_PREDICTIONS.name: frames.predictions_frame(read_back(SHORTCUT_READINGS.name))}
        opened = self._open(transformer, corpus, batch_tokens=batch_tokens)
        with torch.inference_mode():
            if shard.startswith(_LAYER):
                return self._layer(opened, int(shard.removeprefix(_LAYER)))
            if shard.startswith(_FROM):
                return self._from(opened, int(shard.removeprefix(_FROM)))
            return self._read(opened, int(shard.removeprefix(_READ)), batch_tokens=batch_tokens)

    def _layer(self, opened: "Opened", layer: int) -> dict[str, pl.DataFrame]:
        """Run a layer over all sentences; where no part is to be replaced none is fitted."""
        if not set(self.methods) & METHOD_PARTS.keys():
            opened.states.run(layer)
            return {SUB_MODULE_FITS.name: SUB_MODULE_FITS.empty()}
        fits = [
            {"layer": layer, "sub_module": fit.part, **asdict(fit), **opened.sizes} for fit in opened.parts.fit(layer)
        ]
        return {SUB_MODULE_FITS.name: pl.DataFrame(fits, schema=dict(SUB_MODULE_FITS.columns))}

    def _from(self, opened: "Opened", source: int) -> dict[str, pl.DataFrame]:
        shortcuts, kept = opened.shortcuts, list[dict[str, Any]]()

        def sink(target: int, matrix: Tensor) -> None:
            kept.append(_kept(opened.folder / MAPS, matrix, source=source, target=target))

        sizes = {"source_state": source, **opened.sizes}
        rows = []
        if ID in self.methods:
            rows += [_row(ID, target, value) | sizes for target, value in shortcuts.unfitted(source).items()]
        if MAT in self.methods:
            wanted = shortcuts.targets(source) if self.keep == "all" else (shortcuts.last_state,)
            found = shortcuts.fit(source, wanted=wanted, sink=sink)
            sizes |= {"condition": found.condition, "rank": found.rank}
            rows += [_row(MAT, target, value) | sizes for target, value in found.r2.items()]
        return {
            SHORTCUTS.name: pl.DataFrame(rows, schema=dict(SHORTCUTS.columns)),
            SHORTCUT_MAPS.name: pl.DataFrame(kept, schema=dict(SHORTCUT_MAPS.columns)),
        }

    def _read(self, opened: "Opened", start: int, *, batch_tokens: int) -> dict[str, pl.DataFrame]:
        some = slice(start, min(start + SENTENCES_AT_ONCE, opened.sample.n_validation))
        sentences = opened.sample.validation[some]
        n_listed = max(0, min(N_LISTED_SENTENCES - some.start, len(sentences)))
        ids, last = opened.lens.vocabulary.ids, opened.shortcuts.last_state
        judge = Judge(opened.lens, opened.here(opened.shortcuts.of_validation(last)[some]))
        readings, tops = [], [SHORTCUT_TOPS.empty()]
        for method, state, states in self._substitutes(opened, some, batch_tokens=batch_tokens):
            reading = judge.own if state == last else judge.read(states)
            readings.append(frames.readings_frame(sentences, reading, ids, method=method, state=state))
            if n_listed and method in (ID, MAT):
                tops.append(
                    frames.tops_frame(
                        sentences[:n_listed], listed(opened.lens, states[:n_listed]), ids, method=method, state=state
                    )
                )
        return {SHORTCUT_READINGS.name: pl.concat(readings), SHORTCUT_TOPS.name: pl.concat(tops)}

    def _substitutes(self, opened: "Opened", some: slice, *, batch_tokens: int) -> Iterator[tuple[str, int, Tensor]]:
        """(method, state, what stands in for the last state) of some of the validation sentences."""
        shortcuts, last = opened.shortcuts, opened.shortcuts.last_state
        sentences = opened.sample.validation[some]
        for method in self.methods:
            if method == ID:
                found: Iterable[Tensor] = (shortcuts.of_validation(state)[some] for state in range(last))
            elif method == MAT:
                found = (shortcuts.substitutes(state)[some] for state in range(last))
            else:
                found = opened.parts.substitutes(method, sentences, batch_tokens=batch_tokens)
            for state, states in enumerate(found):
                yield method, state, opened.here(states)
            yield method, last, opened.here(shortcuts.of_validation(last)[some])

    def memory_bytes(self, transformer: Transformer, *, batch_tokens: int, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        n_fit, n_validation = self.split.sizes(self._most, self._most)
        return shortcut_sizes.memory_bytes(
            transformer,
            n_fit=n_fit,
            n_validation=n_validation,
            sentences_at_once=SENTENCES_AT_ONCE,
            batch_tokens=batch_tokens,
            is_resident=is_resident,
        )

    def disk_bytes(self, corpus: Corpus) -> int:
        """What its files take at once, estimated from above."""
        return shortcut_sizes.disk_bytes(self.transformer, self._sample(corpus)) + self.kept_bytes()

    def kept_bytes(self) -> int:
        """What the matrices take that stay."""
        return shortcut_sizes.kept_bytes(self._n_kept, self.transformer.shape.d_model)

    def maps(self) -> Path | None:
        """Folder of the matrices that stay."""
        return self.folder / MAPS if self.folder is not None and MAT in self.methods else None

    def announcement(self) -> str | None:
        """How large the matrices will be, where all are kept."""
        if self.keep == "last" or MAT not in self.methods:
            return None
        size = in_words(self.kept_bytes())
        return f"keeping all {self._n_kept:,} matrices takes {size} beside the warehouse"

    def remarks(self, corpus: Corpus, read_back: Callable[[str], pl.LazyFrame]) -> list[str]:
        """Where there were few sentences, and where these did not determine the maps."""
        sample, width = self._sample(corpus), self.transformer.shape.d_model
        found = []
        if len(sample.rows) < self._most:
            found.append(
                f"shortcuts were fitted on {sample.n_fit:,} sentences of {', '.join(sample.domains)} and judged by"
                f" {sample.n_validation:,}, all that {corpus.name} has there; {self._most:,} are usual"
            )
        fits = read_back(SHORTCUTS.name).filter(pl.col("rank") < width).select("source_state", "rank", "condition")
        short = fits.unique().sort("rank", "source_state").collect().to_dicts()
        if short:
            worst = short[0]
            condition = "none" if worst["condition"] is None else f"{worst['condition']:.3g}"
            found.append(
                f"{len(short)} of {self.transformer.shape.n_layers} states have fewer directions in these sentences"
                f" than the {width:,} of the model, so maps of least norm were taken; the fewest has state"
                f" {worst['source_state']}: {worst['rank']:,}, with condition {condition}"
            )
        return found

    def extent(self, corpus: Corpus) -> str:
        """How many sentences it would take, in words."""
        sample = self._sample(corpus)
        return (
            f"{sample.n_fit:,} sentences to fit on and {sample.n_validation:,} to validate on, of {sample.n_found:,} in"
            f" {', '.join(sample.domains)}"
        )

    @property
    def _most(self) -> int:
        """Sentences that it takes where the text has enough."""
        if self.split.is_usual:
            return self.n_sentences
        return (self.split.n_fit or N_FIT) + (self.split.n_validation or N_VALIDATION)

    @property
    def _n_kept(self) -> int:
        n_layers = self.transformer.shape.n_layers
        if MAT not in self.methods:
            return 0
        return n_layers * (n_layers + 1) // 2 if self.keep == "all" else n_layers

    def _sample(self, corpus: Corpus) -> SentenceSample:
        if corpus not in self._samples:
            self._samples[corpus] = draw(
                corpus,
                self.tokenizer,
                context_length=self.transformer.shape.context_length,
                seed=self.seed,
                domains=self.domains,
                n_sentences=self.n_sentences,
                split=self.split,
                is_masked=self.transformer.shape.is_masked,
            )
        return self._samples[corpus]

    def _open(self, transformer: Transformer, corpus: Corpus, *, batch_tokens: int) -> "Opened":
        if corpus not in self._opened:
            assert self.folder is not None
            sample = self._sample(corpus)
            states = SentenceStates(self.folder, transformer, sample.rows, batch_tokens=batch_tokens)
            shortcuts = Shortcuts(
                states, transformer.shape.n_layers, sample.n_fit, device=transformer.device, folder=self.folder
            )
            lens = Lens.of(transformer, self.tokenizer)
            parts = SubModuleMaps(states, transformer, sample.rows, sample.n_fit, self.folder)
            self._opened[corpus] = Opened(self.folder, sample, states, shortcuts, parts, lens)
        return self._opened[corpus]


@dataclass(frozen=True, eq=False)
class Opened:
    """What the shards of one run share."""

    folder: Path
    sample: SentenceSample
    states: SentenceStates
    shortcuts: Shortcuts
    parts: SubModuleMaps
    lens: Lens

    @property
    def sizes(self) -> dict[str, Any]:
        """How many sentences each fit has."""
        return {"n_fit": self.sample.n_fit, "n_validation": self.sample.n_validation}

    def here(self, states: Float[Tensor, "sentences d_model"]) -> Float[Tensor, "sentences d_model"]:
        """The states where the model runs."""
        return states.to(self.shortcuts.device)


def _row(method: str, target: int, value: float) -> dict[str, Any]:
    return {"method": method, "target_state": target, "r2": value}


def _kept(folder: Path, matrix: Tensor, *, source: int, target: int) -> dict[str, Any]:
    """Write a matrix to be kept, and say where it lies."""
    content = as_file(matrix.cpu().numpy(), source=source, target=target)
    name = file_name(source, target)
    with written(folder / name) as temporary:
        folder.mkdir(exist_ok=True)
        temporary.write_bytes(content)
    return {
        "source_state": source,
        "target_state": target,
        "sha256": hashlib.sha256(content).hexdigest(),
        "n_bytes": len(content),
    }
