"""What measures the shards of the job `shortcuts` that need the model: layers, states, validation sentences ([D] 3, 4).

What they share, states and maps that lie in the run's folder, is made when the first of them asks for it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.problems import LimitExceeded
from neurothek.catalog.store.matrices import file_name
from neurothek.catalog.store.matrix_files import as_file
from neurothek.catalog.tables.shortcuts import (
    SHORTCUT_MAPS,
    SHORTCUT_READINGS,
    SHORTCUT_TOPS,
    SHORTCUTS,
    SUB_MODULE_FITS,
)
from neurothek.ingest.corpora.prompts import Prompt, SentenceSample
from neurothek.ingest.forward.prompt_pass import PromptBatch, Seen, prompt_batches
from neurothek.ingest.jobs.job import Frames, JobContext
from neurothek.ingest.jobs.shortcuts import frames
from neurothek.ingest.jobs.shortcuts.fits import SentenceStates, Shortcuts
from neurothek.ingest.jobs.shortcuts.frames import Judge, first_tokens
from neurothek.ingest.jobs.shortcuts.methods import ID, MAT, OF_PARTS
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models.families.sub_modules import PARTS, Part, Stream
from neurothek.ingest.models.transformer import Block, Transformer
from neurothek.ingest.numerics.array_files import keep, mapped_array, staged
from neurothek.ingest.numerics.least_squares import Basis, r2, spread
from neurothek.ingest.request import Keep

METHOD_PARTS: Mapping[str, tuple[Part, ...]] = {
    "mat_attn": ("attention",),
    "mat_ffn": ("ffn",),
    "mat_ln1_ln2": ("norm_1", "norm_2"),
}
"""Which parts a method replaces, in every block above the state it starts from."""


@dataclass(frozen=True)
class PartFit:
    """How well a linear map of what a part reads predicts what it returns."""

    part: Part  # which
    r2: float  # on the sentences to validate on
    condition: float | None  # of what it reads; None where that is all 0
    rank: int  # how many directions that has


@dataclass(frozen=True, eq=False)
class SubModuleMaps:
    """The maps of one model, a file per layer and part; a layer whose files are missing is fitted when it is needed."""

    states: SentenceStates  # of the sentences; it runs the blocks
    transformer: Transformer  # the model
    n_fit: int  # how many sentences are to fit on
    folder: Path  # where the maps lie

    def fit(self, layer: int) -> list[PartFit]:
        """Run a layer over all sentences and fit each of its parts at the positions chosen, one a sentence."""
        passed = self.states.run(layer, _passed)
        return [self._fit(layer, part, passed[f"{part} entered"], passed[f"{part} left"]) for part in PARTS]

    def _fit(
        self,
        layer: int,
        part: Part,
        entered: Float[Tensor, "sentences d_model"],
        left: Float[Tensor, "sentences d_model"],
    ) -> PartFit:
        entered, left = entered.to(self.transformer.device), left.to(self.transformer.device)
        basis = Basis.of(entered[: self.n_fit])
        coefficients = basis.coefficients(left[: self.n_fit])
        targets = left[self.n_fit :]
        score = r2(targets, basis.of_others(entered[self.n_fit :]) @ coefficients, total=spread(targets))
        keep(self._path(layer, part), basis.matrix(left[: self.n_fit], coefficients).cpu().numpy())
        return PartFit(part, score, basis.condition, basis.rank)

    def substitutes(
        self, method: str, sentences: Sequence[Prompt], *, batch_tokens: int
    ) -> Float[Tensor, "starts sentences d_model"]:
        """[starts sentences d_model] the last state, where the blocks from each state on have maps in place of parts.

        Up to the state the model is itself; from there on the maps stand at all positions, and all else is real.
        """
        cut = prompt_batches(sentences, batch_tokens=batch_tokens)
        real = [self.transformer.embed(batch.tokens) for batch in cut]
        n_layers = self.transformer.shape.n_layers
        started: list[list[Tensor]] = []
        for layer in range(n_layers):
            matrices = {part: self._matrix(layer, part) for part in METHOD_PARTS[method]}
            # What starts here is still real.
            started.append(list(real))
            with self.transformer.block(layer) as block:
                for streams in started:
                    for number, stream in enumerate(streams):
                        streams[number] = _replaced(block, stream, matrices)
                if layer < n_layers - 1:
                    real = [block(stream).stream for stream in real]
        return torch.stack([self._at_positions(streams, cut) for streams in started])

    def _at_positions(
        self, streams: Sequence[Tensor], cut: Sequence[PromptBatch]
    ) -> Float[Tensor, "sentences d_model"]:
        n_sentences = sum(len(batch.places) for batch in cut)
        states = torch.empty(n_sentences, self.transformer.shape.d_model, device=self.transformer.device)
        for batch, stream in zip(cut, streams, strict=True):
            states[batch.places] = batch.at_positions(stream)
        return states

    def _matrix(self, layer: int, part: Part) -> Float[Tensor, "d_model d_model"]:
        path = self._path(layer, part)
        if not path.exists():
            self.fit(layer)
        return mapped_array(path).to(self.transformer.device)

    def _path(self, layer: int, part: Part) -> Path:
        return self.folder / f"map-{part}-{layer:04d}.npy"


def _passed(seen: Seen) -> dict[str, Tensor]:
    """What each part read and returned at the positions."""
    return {
        f"{part} {side}": seen.batch.at_positions(of).cpu()
        for part, passed in seen.parts.items()
        for side, of in (("entered", passed.entered), ("left", passed.left))
    }


def _replaced(block: Block, stream: Stream, matrices: Mapping[Part, Float[Tensor, "d_model d_model"]]) -> Stream:
    with block.parts.replaced(stream, matrices):
        return block(stream).stream


N_LISTED_SENTENCES = 50
SENTENCES_AT_ONCE = 125
"""Validation sentences of a shard, which are read through the head together."""

MAPS = "maps"
"""Folder, within the run's, of the matrices that are kept."""

LAYER, FROM, READ = "layer-", "from-", "read-"
"""What names of the shards begin with: of a layer, of a state that maps start from, of some sentences."""


@dataclass(frozen=True, eq=False)
class Fitting:
    """Measures such shards."""

    context: JobContext  # the model and the text
    sample: SentenceSample  # the sentences
    methods: tuple[str, ...]  # which shortcuts are tried
    keep: Keep  # which matrices are kept
    folder: Path  # where states and matrices lie until the run is published

    def measure(self, shard: str) -> Frames:
        """The rows of one shard, by table."""
        prefix, number = shard.rsplit("-", 1)
        measure = {LAYER: self._layer, FROM: self._from, READ: self._read}[f"{prefix}-"]
        return measure(int(number))

    @cached_property
    def _states(self) -> SentenceStates:
        context = self.context
        return SentenceStates(self.folder, context.transformer, self.sample.rows, batch_tokens=context.batch_tokens)

    @cached_property
    def _shortcuts(self) -> Shortcuts:
        transformer, n_fit = self.context.transformer, self.sample.n_fit
        n_layers = transformer.shape.n_layers
        return Shortcuts(self._states, n_layers, n_fit, device=transformer.device, folder=self.folder)

    @cached_property
    def _parts(self) -> SubModuleMaps:
        return SubModuleMaps(self._states, self.context.transformer, self.sample.n_fit, self.folder)

    @cached_property
    def _lens(self) -> Lens:
        return Lens.of(self.context.transformer, self.context.tokenizer)

    @property
    def _sizes(self) -> Mapping[str, Any]:
        """How many sentences each fit has."""
        return {"n_fit": self.sample.n_fit, "n_validation": self.sample.n_validation}

    def _layer(self, layer: int) -> Frames:
        """Run a layer over all sentences; where no part is to be replaced none is fitted."""
        if not set(self.methods) & set(OF_PARTS):
            self._states.run(layer)
            return {SUB_MODULE_FITS.name: SUB_MODULE_FITS.empty()}
        fits = [
            {"layer": layer, "sub_module": fit.part, **asdict(fit), **self._sizes} for fit in self._parts.fit(layer)
        ]
        return {SUB_MODULE_FITS.name: pl.DataFrame(fits, schema=SUB_MODULE_FITS.schema)}

    def _from(self, source: int) -> Frames:
        shortcuts, methods, maps = self._shortcuts, self.methods, list[dict[str, Any]]()

        def sink(target: int, matrix: Tensor) -> None:
            maps.append(_map_row(self.folder / MAPS, matrix, source=source, target=target))

        sizes = {"source_state": source, **self._sizes}
        rows = []
        if ID in methods:
            rows += [_row(ID, target, value) | sizes for target, value in shortcuts.unfitted(source).items()]
        if MAT in methods:
            targets = shortcuts.targets(source) if self.keep == "all" else (shortcuts.last_state,)
            fitted = shortcuts.fit(source, stored=targets, sink=sink)
            sizes |= {"condition": fitted.condition, "rank": fitted.rank}
            rows += [_row(MAT, target, value) | sizes for target, value in fitted.r2.items()]
        return {
            SHORTCUTS.name: pl.DataFrame(rows, schema=SHORTCUTS.schema),
            SHORTCUT_MAPS.name: pl.DataFrame(maps, schema=SHORTCUT_MAPS.schema),
        }

    def _read(self, start: int) -> Frames:
        sample = self.sample
        rows = slice(start, min(start + SENTENCES_AT_ONCE, sample.n_validation))
        sentences = sample.validation[rows]
        n_listed = max(0, min(N_LISTED_SENTENCES - rows.start, len(sentences)))
        ids, last = self._lens.vocabulary.ids, self._shortcuts.last_state
        judge = Judge(self._lens, self._here(self._shortcuts.of_validation(last)[rows]))
        readings, tops = [], [SHORTCUT_TOPS.empty()]
        for method, state, states in self._substitutes(rows):
            reading = judge.reading if state == last else judge.read(states)
            readings.append(frames.readings_frame(sentences, reading, ids, method=method, state=state))
            if n_listed and method in (ID, MAT):
                top = first_tokens(self._lens, states[:n_listed])
                tops.append(frames.tops_frame(sentences[:n_listed], top, ids, method=method, state=state))
        return {SHORTCUT_READINGS.name: pl.concat(readings), SHORTCUT_TOPS.name: pl.concat(tops)}

    def _substitutes(self, rows: slice) -> Iterator[tuple[str, int, Tensor]]:
        """(method, state, what stands in for the last state) of some of the validation sentences."""
        shortcuts, last = self._shortcuts, self._shortcuts.last_state
        sentences, batch_tokens = self.sample.validation[rows], self.context.batch_tokens
        for method in self.methods:
            if method == ID:
                substitutes: Iterable[Tensor] = (shortcuts.of_validation(state)[rows] for state in range(last))
            elif method == MAT:
                substitutes = (shortcuts.substitutes(state)[rows] for state in range(last))
            else:
                substitutes = self._parts.substitutes(method, sentences, batch_tokens=batch_tokens)
            for state, states in enumerate(substitutes):
                if not states.isfinite().all():
                    others = [one for one in self.methods if one != method]
                    raise _overflow(method, state, others, n_fit=self.sample.n_fit, width=states.shape[1])
                yield method, state, self._here(states)
            yield method, last, self._here(shortcuts.of_validation(last)[rows])

    def _here(self, states: Float[Tensor, "sentences d_model"]) -> Float[Tensor, "sentences d_model"]:
        """The states where the model runs."""
        return states.to(self._shortcuts.device)


def _overflow(method: str, state: int, others: Sequence[str], *, n_fit: int, width: int) -> LimitExceeded:
    """Maps that stand in many blocks, one after the other, may multiply what they read beyond any bound."""
    why = f"{n_fit:,} sentences to fit on do not determine maps of {width:,} directions"
    return LimitExceeded(
        f"the method {method} from state {state} gives no finite prediction"
        + (f": {why}" if n_fit < width else ", although its maps are determined"),
        "measure on more text"
        + (f", or without the method: `{' '.join(f'--method {one}' for one in others)}`" if others else ""),
        what="shortcuts",
    )


def _row(method: str, target: int, value: float) -> dict[str, Any]:
    return {"method": method, "target_state": target, "r2": value}


def _map_row(folder: Path, matrix: Tensor, *, source: int, target: int) -> dict[str, Any]:
    """Write a matrix to be kept, and say where it lies."""
    content = as_file(matrix.cpu().numpy(), source=source, target=target)
    name = file_name(source, target)
    with staged(folder / name) as temporary:
        folder.mkdir(exist_ok=True)
        temporary.write_bytes(content)
    return {
        "source_state": source,
        "target_state": target,
        "sha256": hashlib.sha256(content).hexdigest(),
        "n_bytes": len(content),
    }
