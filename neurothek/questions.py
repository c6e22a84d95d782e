"""What a warehouse is asked from Python: each answer joins it, where needed, with the weights of a model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurothek.opened import Opened

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from catalog.progress import Progress
    from dashboards.papers.figure import Figure
    from queries.compare.comparison import Comparison
    from queries.neuron.page import NeuronPage
    from queries.search.by_likeness import AlikeResult
    from queries.search.by_score import ScoredResult
    from queries.search.by_trigger import TriggeredResult
    from queries.search.by_word import SearchResult
    from queries.search.question import Question
    from queries.sql.limits import Answer, Limits
    from queries.sql.provenance import Provenance
    from queries.trace.trace import Lens, TracePage


class Questions(Opened):
    """Every question that the commands ask."""

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
        from queries.ask.one_query import run_query
        from queries.views.on_corpus import on_corpus, refuse_facts

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
        from queries.sql.run import ask_people

        return ask_people(self.warehouse, query, parameters, limits=limits, corpus=corpus)

    def explain(self, query: str) -> Provenance:
        """The views and tables that a query reads, what its columns are made of, and the runs behind them.

        Raises:
            NeurothekError: the query is refused, or names what does not exist.
        """
        from queries.sql.provenance import provenance
        from queries.sql.run import judge

        judge(self.warehouse, query)
        with self.reader() as connection:
            return provenance(connection, query)

    def search(
        self, *words: str, like: str | None = None, **conditions: Any
    ) -> SearchResult | TriggeredResult | AlikeResult:
        """Neurons that promote or suppress words; conditions are the fields of `queries.search.question.Question`.

        Without words, `triggered_by` finds neurons by what they fire on, and `like` by the address of one of them.

        Raises:
            NeurothekError: a word is no token, or a condition makes no sense.
        """
        from queries.search.question import Question

        return self.answer(Question(words=words, **conditions), like=like)

    def answer(self, question: Question, *, like: str | None = None) -> SearchResult | TriggeredResult | AlikeResult:
        """Answer a search that has been put together.

        Raises:
            NeurothekError: it cannot be answered.
        """
        from queries.search.by_likeness import alike
        from queries.search.by_trigger import triggered
        from queries.search.by_word import search

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
        from queries.search.by_score import scored, wanted

        with self.reader() as connection:
            asked = wanted(connection, question)
        for one in asked:
            require_weights(one.model, weights=weights)
        from ingest.models.measured import open_measured
        from ingest.trace.token_scores import token_scores

        scores = []
        for one in asked:
            opened = open_measured(one.model, weights=weights)
            frame = token_scores(*opened, list(one.tokens), layers=one.layers, progress=progress)
            scores.append((one, frame))
        with self.reader() as connection:
            return scored(connection, question, scores)

    def neuron(self, address: str, *, corpus: str | None = None, show_all: bool = False) -> NeuronPage:
        """Everything about one neuron, such as "opt-125m/L3N1702".

        With `show_all` its page lists neurons of other models that are no more like it than random vectors are, too.

        Raises:
            NeurothekError: there is no such neuron.
        """
        from queries.neuron.page import neuron_page

        with self.reader() as connection:
            return neuron_page(connection, address, corpus=corpus, show_all=show_all)

    def draw_neuron(self, page: NeuronPage, path: str | Path) -> Path:
        """Write a neuron's figure as PNG or SVG, as the file's name says.

        Raises:
            NeurothekError: its positions were not measured, or there can be no such picture.
        """
        from dashboards.charts.pictures import kind_of, save
        from dashboards.papers.neuron import neuron_figure
        from queries.names.unmeasured import corpus_words

        kind_of(Path(path))
        with self.reader() as connection:
            on = corpus_words(connection, [page.facts["model"]], page.corpus)
        return save(neuron_figure(page, on=on), Path(path))

    def compare(self, *models: str, corpus: str | None = None) -> Comparison:
        """Models side by side, all of the warehouse unless named.

        Raises:
            NeurothekError: there is nothing to compare.
        """
        from queries.compare.comparison import compare as put_side_by_side

        with self.reader() as connection:
            return put_side_by_side(connection, models, corpus=corpus)

    def draw_comparison(self, comparison: Comparison, folder: str | Path) -> list[Figure]:
        """Write the figures of Voita et al. and of Din et al. 2023 that the models allow, each as PNG and SVG.

        Returns:
            All figures in order; those that cannot be drawn say why.

        Raises:
            NeurothekError: nothing can be drawn, or nothing can be written there.
        """
        from dashboards.papers.files import material_of, write_figures

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
        from catalog.store.matrix_files import matrix_of
        from ingest.planning.first_look import require_weights
        from queries.names.corpora import choose_corpora
        from queries.names.models import choose_model
        from queries.trace.trace import kept_for, token_of, trace_page
        from queries.views.on_corpus import on_corpus

        with self.reader() as connection:
            known = choose_model(connection, model)
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
        from catalog.store.matrix_files import matrix_of
        from queries.trace.shortcut import kept_shortcut

        with self.reader() as connection:
            kept = kept_shortcut(connection, model, state=state, target=target, corpus=corpus)
        return matrix_of(kept, self.warehouse.maps)
