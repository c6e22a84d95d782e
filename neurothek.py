"""The front door: the command line's root, and `open`, which joins measurements, warehouse and answers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catalog.check_commands import check, verify
from catalog.commands import label, pin, remove, rename
from catalog.errors import NeurothekError
from catalog.exchange_commands import export, import_, merge
from catalog.root_commands import Root, escape_what_cannot_be_shown, open_what_is_closed
from dashboards.commands import dashboard
from ingest.commands import demo, ingest
from ingest.train_commands import train
from queries.annotate_commands import annotate
from queries.commands import compare, corpora, models, neuron, runs, schema, search, views
from queries.sql_commands import sql
from queries.trace_commands import trace

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import polars as pl

    from catalog.export_manifest import Manifest
    from catalog.maintenance import Label
    from catalog.merging import Merged
    from catalog.progress import Progress
    from catalog.verification import Agreement
    from catalog.warehouse import Warehouse
    from dashboards.paper_files import AnyFigure
    from ingest.pipeline.verify import Skipped
    from queries.alike import AlikeResult
    from queries.annotations import Saved
    from queries.compare import Comparison
    from queries.limits import Answer, Limits
    from queries.neuron import NeuronPage
    from queries.provenance import Provenance
    from queries.question import Question
    from queries.scored import ScoredResult
    from queries.search import SearchResult
    from queries.trace import Lens, TracePage
    from queries.triggered import TriggeredResult

__all__ = ["Neurothek", "NeurothekError", "main", "open"]
__version__ = "0.1.0"

DEFAULT_WAREHOUSE = "neurothek.duckdb"


@dataclass(frozen=True)
class Neurothek:
    """A warehouse that can be asked; it holds a path, and no connection between calls.

    Attributes:
        path: the DuckDB file.
    """

    path: Path

    @property
    def warehouse(self) -> Warehouse:
        """The door to the file, with this release's views."""
        from catalog.warehouse import Warehouse
        from queries import views as installer

        return Warehouse(self.path, views=installer)

    @contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lease a locked read-only connection for one answer.

        Raises:
            WarehouseMissing, WarehouseInvalid, WarehouseBusy: the file cannot be read.
        """
        with self.warehouse.current_reader() as connection:
            yield connection

    def sql(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limits: Limits | None = None,
        corpus: str | None = None,
    ) -> pl.DataFrame:
        """Rows of one query over the views and tables; values are bound to `$name` in the query.

        It runs in this process, without limits; with `limits` as `ask` does, which is meant for queries of others. A
        warning says where the limit on rows cuts it. With `corpus` every view tells of the corpus of that name, as
        though it were pinned.

        Raises:
            NeurothekError: the query is more than a question, or names what does not exist.
        """
        from queries.on_corpus import on_corpus, refuse_facts
        from queries.sandbox import run_query

        if limits is not None:
            answer = self.ask(query, parameters, limits=limits, corpus=corpus)
            if answer.is_truncated:
                warnings.warn(f"these are {answer.shown}, as its limits say", stacklevel=2)
            return answer.frame
        with self.reader() as connection, on_corpus(connection, (), corpus) as shown:
            if corpus is not None and shown is not connection:
                refuse_facts(shown, query, corpus)
            return run_query(shown, query, parameters)

    def ask(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limits: Limits | None = None,
        corpus: str | None = None,
    ) -> Answer:
        """Rows of one query that somebody typed: judged first, then run in a process of its own within limits.

        Raises:
            NeurothekError: the query is refused, names what does not exist, or was stopped at a limit.
        """
        from queries.asking import ask_people

        return ask_people(self.warehouse, query, parameters, limits=limits, corpus=corpus)

    def explain(self, query: str) -> Provenance:
        """The views and tables that a query reads, what its columns are made of, and the runs behind them.

        Raises:
            NeurothekError: the query is refused, or names what does not exist.
        """
        from queries.asking import judge
        from queries.provenance import provenance

        judge(self.warehouse, query)
        with self.reader() as connection:
            return provenance(connection, query)

    def search(
        self, *words: str, like: str | None = None, **conditions: Any
    ) -> SearchResult | TriggeredResult | AlikeResult:
        """Neurons that promote or suppress words; conditions are the fields of `queries.question.Question`.

        Without words, `triggered_by` finds neurons by what they fire on, and `like` by the address of one of them.

        Raises:
            NeurothekError: a word is no token, or a condition makes no sense.
        """
        from queries.question import Question

        return self.answer(Question(words=words, **conditions), like=like)

    def answer(self, question: Question, *, like: str | None = None) -> SearchResult | TriggeredResult | AlikeResult:
        """Answer a search that has been put together.

        Raises:
            NeurothekError: it cannot be answered.
        """
        from queries.alike import alike
        from queries.search import search
        from queries.triggered import triggered

        with self.reader() as connection:
            if like is not None:
                return alike(connection, like, question)
            if question.triggered_by and not question.words:
                return triggered(connection, question)
            return search(connection, question)

    def score(
        self, question: Question, *, weights: str | Path | None = None, progress: Progress | None = None
    ) -> ScoredResult:
        """Every neuron's exact score of a word, computed from the weights of the models asked about.

        Raises:
            NeurothekError: it cannot be answered, or weights are not at hand.
        """
        from ingest.planning.first_look import require_weights
        from queries.scored import scored, wanted

        with self.reader() as connection:
            asked = wanted(connection, question)
        for one in asked:
            require_weights(one.model, weights=weights)
        from ingest.models.measured import open_measured
        from ingest.trace.token_scores import token_scores

        found = []
        for one in asked:
            opened = open_measured(one.model, weights=weights)
            frame = token_scores(*opened, list(one.tokens), layers=one.layers, progress=progress)
            found.append((one, frame))
        with self.reader() as connection:
            return scored(connection, question, found)

    def neuron(self, address: str, *, corpus: str | None = None, show_all: bool = False) -> NeuronPage:
        """Everything about one neuron, such as "opt-125m/L3N1702".

        With `show_all` its page lists neurons of other models that are no more like it than random vectors are, too.

        Raises:
            NeurothekError: there is no such neuron.
        """
        from queries.neuron import neuron_page

        with self.reader() as connection:
            return neuron_page(connection, address, corpus=corpus, show_all=show_all)

    def draw_neuron(self, page: NeuronPage, path: str | Path) -> Path:
        """Write a neuron's figure as PNG or SVG, as the file's name says.

        Raises:
            NeurothekError: its positions were not measured, or there can be no such picture.
        """
        from dashboards.neuron_figure import neuron_figure
        from dashboards.pictures import kind_of, save
        from queries.unmeasured import corpus_words

        kind_of(Path(path))
        with self.reader() as connection:
            on = corpus_words(connection, [page.facts["model"]], page.corpus)
        return save(neuron_figure(page, on=on), Path(path))

    def compare(self, *models: str, corpus: str | None = None) -> Comparison:
        """Models side by side, all of the warehouse unless named.

        Raises:
            NeurothekError: there is nothing to compare.
        """
        from queries.compare import compare as put_side_by_side

        with self.reader() as connection:
            return put_side_by_side(connection, models, corpus=corpus)

    def draw_comparison(self, comparison: Comparison, folder: str | Path) -> list[AnyFigure]:
        """Write the figures of Voita et al. and of Din et al. 2023 that the models allow, each as PNG and SVG.

        Returns:
            All figures in order; those that cannot be drawn say why.

        Raises:
            NeurothekError: nothing can be drawn, or nothing can be written there.
        """
        from dashboards.paper_files import material_of, write_figures

        with self.reader() as connection:
            material = material_of(connection, comparison)
        return write_figures(material, Path(folder))

    def trace(
        self,
        model: str,
        prompt: str,
        *,
        position: int | None = None,
        top: int = 5,
        token: str | None = None,
        lens: Lens = "id",
        corpus: str | None = None,
        weights: str | Path | None = None,
        allow_pickle: bool = False,
    ) -> TracePage:
        """How a model builds its prediction at one position of a prompt; see `ingest.trace.trace.trace`.

        With the lens `mat` its states are read through the matrices to the last one too, as `shortcut` gives them.
        The matrices and what is said of neurons are of the corpus of that name, else of the model's shown one.

        Raises:
            NeurothekError: there is no such model or token, its weights or matrices are not at hand, or the prompt
                does not fit.
        """
        from catalog.map_files import matrix_of
        from ingest.planning.first_look import require_weights
        from queries.corpora import choose_corpora
        from queries.on_corpus import on_corpus
        from queries.trace import kept_for, measured_model, token_of, trace_page

        with self.reader() as connection:
            known = measured_model(connection, model)
            token_id, text = (None, None) if token is None else token_of(connection, known, token)
            kept = kept_for(connection, model, lens, corpus=corpus)
            # One that is not there is refused before the model runs.
            choose_corpora(connection, [model], corpus)
        matrices = [matrix_of(one, self.warehouse.maps) for one in kept]
        require_weights(known, weights=weights, allow_pickle=allow_pickle)
        from ingest.models.measured import open_measured
        from ingest.trace.trace import trace

        opened = open_measured(known, weights=weights, allow_pickle=allow_pickle)
        traced = trace(*opened, prompt, position=position, top=top, token_id=token_id, matrices=matrices)
        with self.reader() as connection, on_corpus(connection, [model], corpus) as shown:
            return trace_page(shown, known, traced, token=text)

    def shortcut(self, model: str, *, state: int, target: int | None = None, corpus: str | None = None) -> np.ndarray:
        """The least-squares matrix A from a state of a model to its last one, or to `target`: h becomes A h.

        States count from 0, the embeddings; state s leaves block s - 1, and the last one precedes the final norm.

        Returns:
            float32 [d_model d_model]; of states in rows, `states @ A.T`.

        Raises:
            NeurothekError: there is no such model or state, its shortcuts were not measured, or the file is not there.
        """
        from catalog.map_files import matrix_of
        from queries.kept_shortcut import kept_shortcut

        with self.reader() as connection:
            kept = kept_shortcut(connection, model, state=state, target=target, corpus=corpus)
        return matrix_of(kept, self.warehouse.maps)

    def verify(
        self, model: str, *, sample: int = 1, weights: str | None = None, progress: bool = False
    ) -> list[Agreement | Skipped]:
        """Measure some layers of a model again from its weights, and say how the warehouse's rows agree.

        Args:
            model: name of the model.
            sample: how many layers of each job.
            weights: hub id or folder of its weights, if they are no longer where they were.
            progress: show bars on stderr.

        Raises:
            NeurothekError: there is no such model, or its weights are not there or are others.
        """
        from catalog.commands import progress_bars
        from catalog.verification import agreement, combined
        from ingest.planning.first_look import measured_as, require_weights

        require_weights(measured_as(self.warehouse, model), weights=weights)
        from ingest.pipeline.verify import Skipped, remeasure

        agreements, skipped = [], []
        with progress_bars(shown=progress) as bars:
            for part in remeasure(self.warehouse, model, weights=weights, n_shards=sample, progress=bars):
                if isinstance(part, Skipped):
                    skipped.append(part)
                    continue
                with self.reader() as connection:
                    agreements.append(agreement(connection, part))
        return [*combined(agreements), *skipped]

    def annotate(self, annotations: Iterable[Mapping[str, Any]], *, annotator: str | None = None) -> Saved:
        """Publish what people see in vectors, all or nothing; each has fields as a line of `neurothek annotate` does.

        Raises:
            NeurothekError: one of them cannot be saved, or the warehouse cannot be written; nothing is.
        """
        from queries.annotations import annotate as publish

        return publish(self.warehouse, annotations, annotator=annotator)

    def export(self, folder: str | Path, *, dialects: Sequence[str] = (), progress: Progress | None = None) -> Manifest:
        """Write the store as Parquet to a new folder, and the views as SQL for Spark and other dialects of sqlglot's.

        Raises:
            NeurothekError: the folder holds something, or there is no such dialect or warehouse.
        """
        from catalog.exports import export as write
        from queries.dialects import exported_views, require_dialect

        texts = exported_views([require_dialect(name) for name in dialects])
        return write(self.warehouse, Path(folder), texts=texts, progress=progress)

    def import_(self, folder: str | Path, *, progress: Progress | None = None) -> Manifest:
        """Read an exported folder into this warehouse, which is new or empty; one that holds its rows stays as it is.

        Raises:
            NeurothekError: the folder is no export or is damaged, or the warehouse has other rows or takes no writing.
        """
        from catalog.imports import import_folder

        return import_folder(self.warehouse, Path(folder), progress=progress)

    def label(self, model: str, *, family: str | None = None, variant: str | None = None) -> Label:
        """Say which family a model is of, which variant of its size, or both; what is None stays as it is.

        A variant is `"step 1000"`, `"seed 2"`, `"no-position"`, or `"plain"` for a plain size.

        Returns:
            What the model is now.

        Raises:
            NeurothekError: there is no such model, or it cannot be labelled so.
        """
        from catalog.maintenance import label as write

        return write(self.warehouse, model, family=family, variant=variant)

    def merge(self, other: str | Path, *, progress: Progress | None = None) -> Merged:
        """Add the models, texts, runs and annotations of the warehouse at a path; what both hold is taken once.

        Raises:
            NeurothekError: the two contradict each other, or one of the files cannot be used; nothing is written.
        """
        from catalog.merging import merge as join

        return join(self.warehouse, Path(other), progress=progress)

    def ingest(self, *models: str, progress: bool = False, **request: Any) -> list[Any]:
        """Measure models and publish what was measured; conditions are the fields of `ingest.request.IngestRequest`.

        Returns:
            One `ingest.pipeline.ingest_all.Outcome` a model.
        """
        from catalog.commands import progress_bars
        from ingest.pipeline.ingest_all import ingest_all
        from ingest.request import IngestRequest

        with progress_bars(shown=progress) as bars:
            return list(ingest_all(self.warehouse, IngestRequest(**request), models, progress=bars))


def open(path: str | Path | None = None) -> Neurothek:  # noqa: A001 - neurothek.open reads as what it does
    """The warehouse at `path`, else at NEUROTHEK_WAREHOUSE, else ./neurothek.duckdb; nothing is opened yet."""
    return Neurothek(Path(path or os.environ.get("NEUROTHEK_WAREHOUSE") or DEFAULT_WAREHOUSE).expanduser())


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="neurothek")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Measure the feed-forward neurons of language models, and query them.

    Begin with `neurothek demo`; then `neurothek search school`.
    """
    open_what_is_closed()
    escape_what_cannot_be_shown()
    ctx.obj = open()


_COMMANDS: Sequence[click.Command] = (
    *(demo, ingest, train, verify),
    *(search, neuron, compare, trace, sql, dashboard, annotate),
    *(views, schema, models, corpora, runs),
    *(pin, label, rename, remove, export, import_, merge, check),
)

for _command in _COMMANDS:
    main.add_command(_command)

if __name__ == "__main__":
    main(prog_name="neurothek")
