"""Queries of a warehouse, joined with a model's weights where needed."""

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from neurothek.catalog.arguments import bad_argument, require, validated
from neurothek.catalog.problems import NeurothekError, Unavailable
from neurothek.catalog.progress import Progress
from neurothek.queries.papers.paper_names import PaperName

if TYPE_CHECKING:
    import polars as pl

    from neurothek.api.warehouse import Neurothek
    from neurothek.queries.compare.comparison import Comparison
    from neurothek.queries.names.models import KnownModel
    from neurothek.queries.neuron.page import NeuronPage
    from neurothek.queries.papers.verdicts import JudgedClaims
    from neurothek.queries.search.by_likeness import AlikeResult
    from neurothek.queries.search.by_reading import ReadingResult
    from neurothek.queries.search.by_score import AtHand, ScoredResult
    from neurothek.queries.search.by_trigger import TriggeredResult
    from neurothek.queries.search.by_word import SearchResult
    from neurothek.queries.search.question import Conditions, Question
    from neurothek.queries.sql.processes import Answer, Limits
    from neurothek.queries.sql.provenance import Provenance


MOST_BYTES = 2**29
"""Of weights that one answer reads unless it is asked to: half a second of a disk's cache."""


@validated
def sql(
    base: "Neurothek",
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limits: "Limits | None" = None,
    corpus: str | None = None,
) -> "pl.DataFrame":
    """Rows of one query over the views and tables, as a polars frame.

    It runs in this process, without limits; with `limits` it runs as by `ask`, which is meant for untrusted
    queries, and warns if the limit on rows cuts the answer.

    Args:
        query: one statement of DuckDB's SQL that only reads.
        parameters: values for each `$name` in the query.
        limits: bounds, as `neurothek.queries.sql.processes.Limits`.
        corpus: name of the corpus that every view shows, as if it were pinned; None: each model's shown one.

    Raises:
        NeurothekError: the query does more than read, or names what does not exist.

    Example:
        >>> warehouse.sql("select model, n_layers from models order by model")["model"].to_list()
        ['mini-opt-0.7m', 'mini-opt-2m']
        >>> query = "select count(*) as n from neurons where model = $model and is_dead"
        >>> warehouse.sql(query, {"model": "mini-opt-2m"}).columns
        ['n']
    """
    from neurothek.queries.ask.one_query import run_query
    from neurothek.queries.views.on_corpus import on_corpus, refuse_facts

    if limits is not None:
        answer = ask(base, query, parameters, limits=limits, corpus=corpus)
        if answer.is_truncated:
            warnings.warn(f"showing {answer.extent}; raise the limits for more", stacklevel=3)
        return answer.frame
    with base.reader() as connection, on_corpus(connection, (), corpus) as prepared:
        if corpus is not None and prepared is not connection:
            refuse_facts(prepared, query, corpus)
        return run_query(prepared, query, parameters)


@validated
def ask(
    base: "Neurothek",
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limits: "Limits | None" = None,
    corpus: str | None = None,
) -> "Answer":
    """Rows of one untrusted query: checked first, then run in a separate process within limits.

    Args:
        query: one statement of DuckDB's SQL that only reads, without files, settings and macros.
        parameters: values for each `$name` in the query.
        limits: bounds, as `neurothek.queries.sql.processes.Limits`; None: the defaults.
        corpus: name of the corpus that every view shows; None: each model's shown one.

    Returns:
        An answer with `frame`, the rows, and `is_truncated`.

    Raises:
        NeurothekError: the query is refused, names what does not exist, or was stopped at a limit.

    Example:
        >>> warehouse.ask("select model from models order by model").frame.height
        2
        >>> warehouse.ask("select * from read_csv('/etc/passwd')")
        Traceback (most recent call last):
        ...
        neurothek.catalog.problems.Refused: ...
    """
    from neurothek.queries.sql.processes import Limits
    from neurothek.queries.sql.run import ask_people

    require(Limits | None, limits=limits)
    return ask_people(base.warehouse, query, parameters, limits=limits, corpus=corpus)


@validated
def explain(base: "Neurothek", query: str) -> "Provenance":
    """The views and tables that a query reads, the origins of its columns, and the runs behind them.

    Args:
        query: one statement of DuckDB's SQL that only reads.

    Raises:
        NeurothekError: the query is refused, or names what does not exist.

    Example:
        >>> provenance = warehouse.explain("select model, avg(frequency) from neurons group by model")
        >>> provenance.relations["relation"][0]
        'neurons'
    """
    from neurothek.queries.sql.provenance import provenance
    from neurothek.queries.sql.run import judge

    judge(base.warehouse, query)
    with base.reader() as connection:
        return provenance(connection, query)


@validated
def search(
    base: "Neurothek", *words: str, like: str | None = None, **conditions: Unpack["Conditions"]
) -> "SearchResult | TriggeredResult | ReadingResult | AlikeResult":
    """Neurons that promote or suppress words, as found by the command `search`.

    For a single word, all neurons are scored if the weights are small and on this machine; the notes say so.

    With `reads` the neurons are those whose keys like the words' embeddings most (job keys).

    Without words, `triggered_by` finds neurons by what they fire on, and `like` by their similarity to a neuron.

    Args:
        words: words, groups of alternative words ("he,him,his"), or tokens if `exact`.
        like: address of a neuron with whose token lists the others are compared.
        conditions: conditions on the neurons.

    Returns:
        An answer with `neurons`, a polars frame, one row each; it displays like the command's output.

    Raises:
        NeurothekError: a word is not a token, or a condition is invalid.

    Example:
        >>> answer = warehouse.search("return", model="mini-opt-0.7m", limit=3)
        >>> answer.neurons.height
        3
        >>> answer.neurons["z_sum"].is_sorted(descending=True)
        True
        >>> warehouse.search(like=answer.neurons["address"][0], limit=1).neurons.height
        1
    """
    from neurothek.queries.search.question import put_together

    return answer(base, put_together(words, **conditions), like=like)


@validated
def answer(
    base: "Neurothek", question: "Question", *, like: str | None = None
) -> "SearchResult | TriggeredResult | ReadingResult | AlikeResult":
    """Answer a prepared search, such as one for several warehouses.

    Args:
        question: a `neurothek.queries.search.question.Question`.
        like: address of a neuron with whose token lists the others are compared.

    Raises:
        NeurothekError: it cannot be answered.

    Example:
        >>> from neurothek.queries.search.question import Question
        >>> question = Question(words=("because",), side="suppressed", limit=2)
        >>> warehouse.answer(question).neurons.height
        2
    """
    from neurothek.queries.search.question import Question

    require(Question, question=question)
    # Each kind of search loads its own module: the others would be a tenth of what a word waits for.
    with base.reader() as connection:
        if like is not None:
            from neurothek.queries.search.by_likeness import alike

            return alike(connection, like, question)
        if question.reads:
            from neurothek.queries.search.by_reading import reading

            return reading(connection, question)
        if question.triggered_by and not question.is_about_tokens:
            from neurothek.queries.search.by_trigger import triggered

            return triggered(connection, question)
        from neurothek.queries.search.by_word import search

        return search(connection, question, weights_at_hand)


@validated
def score(
    base: "Neurothek",
    question: "str | Question",
    *,
    weights: str | Path | None = None,
    progress: Progress | None = None,
    **conditions: Unpack["Conditions"],
) -> "ScoredResult":
    """Every neuron's exact score of a word, computed from the weights of the selected models.

    Args:
        question: a word, or a prepared search.
        weights: folder of the weights of one model, if they have moved.
        progress: receives progress reports.
        conditions: further conditions on the neurons, as in `search`.

    Raises:
        NeurothekError: it cannot be answered, or weights are not available.

    Example:
        >>> scored = warehouse.score("school", model="mini-opt-0.7m", limit=2)
        >>> scored.neurons.height
        2
    """
    from neurothek.ingest.models.mapped_weights import map_measured
    from neurothek.queries.search.by_score import scored, scorings
    from neurothek.queries.search.question import Question, put_together

    if isinstance(question, str):
        question = put_together((question,), **conditions)
    elif conditions:
        raise bad_argument("question", question, "give a word, or a question that holds the conditions itself")
    require(Question, question=question)
    with base.reader() as connection:
        requests = scorings(connection, question)
    mapped = {
        one.model.model_id: map_measured(one.model, weights=weights, is_thorough=True, progress=progress)
        for one in requests
    }
    with base.reader() as connection:
        return scored(connection, question, requests, mapped)


@validated
def neuron(
    base: "Neurothek", address: str, *, corpus: str | None = None, limit: int = 10, show_all: bool = False
) -> "NeuronPage":
    """Everything about one neuron.

    Args:
        address: model, layer and neuron, such as "opt-125m/L3N1702".
        corpus: name of the corpus to use; None: the shown one.
        limit: tokens to list on each side.
        show_all: also list neurons of other models that are no more similar to it than random vectors are.

    Returns:
        An answer with `facts`, its row of the view `neurons` as a dict, and frames such as `tokens` and `contexts`.

    Raises:
        NotFound: there is no such neuron.

    Example:
        >>> page = warehouse.neuron("mini-opt-2m/L2N17")
        >>> page.facts["layer"], page.facts["neuron"]
        (2, 17)
        >>> page.tokens["side"].unique(maintain_order=True).to_list()
        ['promoted', 'suppressed']
    """
    from neurothek.queries.neuron.page import neuron_page

    with base.reader() as connection:
        return neuron_page(connection, address, corpus=corpus, limit=limit, show_all=show_all)


@validated
def compare(base: "Neurothek", *models: str, corpus: str | None = None) -> "Comparison":
    """Models side by side.

    Args:
        models: names of models; none: all of the warehouse.
        corpus: name of the corpus to use; None: each model's shown one.

    Returns:
        An answer with a frame for each table that the command `compare` prints.

    Raises:
        NotMeasured: there is nothing to compare.

    Example:
        >>> comparison = warehouse.compare("mini-opt-0.7m", "mini-opt-2m")
        >>> comparison.models["model"].to_list()
        ['mini-opt-0.7m', 'mini-opt-2m']
    """
    from neurothek.queries.compare.comparison import compare as put_side_by_side

    with base.reader() as connection:
        return put_side_by_side(connection, models, corpus=corpus)


@validated
def claims(
    base: "Neurothek",
    *models: str,
    paper: PaperName | Sequence[PaperName] = (),
    family: str | None = None,
    corpus: str | None = None,
) -> "JudgedClaims":
    """Judge the papers' claims on models of one family.

    Args:
        models: names of models; none: all of the family.
        paper: "voita", "geva" or "din", or several of them; none: all.
        family: the family; None: the only one in the warehouse.
        corpus: name of the corpus to judge on; None: each model's shown one.

    Returns:
        An answer with the frame `claims`, one row a claim.

    Raises:
        NotFound: there are no such models.
        Invalid: they belong to several families.

    Example:
        >>> warehouse.claims(paper="voita").claims["section"].to_list()[:2]
        ['3', '3']
    """
    from neurothek.queries.papers.verdicts import judge_claims

    papers = (paper,) if isinstance(paper, str) else tuple(paper)
    with base.reader() as connection:
        return judge_claims(connection, models, papers=papers, family=family, corpus=corpus)


def weights_at_hand(models: "Sequence[KnownModel]") -> "AtHand":
    """The weights of models that answer within a second: on this machine, seen before, and small together."""
    from neurothek.queries.search.by_score import AtHand

    # The reader: what is stored is all that it has.
    if find_spec("numpy") is None:
        return AtHand({}, {})
    from neurothek.ingest.models.mapped_weights import map_measured

    mapped, why_not, n_bytes = {}, {}, 0
    for model in models:
        try:
            opened_weights = map_measured(model)
        except NeurothekError as error:
            if isinstance(error, Unavailable) and error.what == "weights":
                why_not[model.name] = error.why
            else:
                why_not[model.name] = str(error)
        else:
            n_bytes += opened_weights.n_bytes
            if n_bytes <= MOST_BYTES:
                mapped[model.model_id] = opened_weights
            else:
                why_not[model.name] = f"{n_bytes >> 20:,} MiB to read, more than {MOST_BYTES >> 20:,}"
    return AtHand(mapped, why_not)
