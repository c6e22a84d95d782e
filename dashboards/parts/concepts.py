"""The results of annotation on a page: shares of tokens, classes by layer, annotators and their agreement."""

from collections.abc import Callable

import duckdb
import polars as pl
import streamlit as st
from sqlglot import exp

from neurothek.catalog.tables.annotations import CONDITIONS, POOLED, RULES
from neurothek.dashboards.charts import concepts
from neurothek.dashboards.charts.concepts import CONDITION_NAMES
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.colours import model_colours
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.figures import Data, data_of_models, data_of_query, show_figure, show_source
from neurothek.dashboards.widgets.html import legend_html, plain
from neurothek.dashboards.widgets.page import Theme, theme
from neurothek.queries.names.models import choose_models

_ANNOTATORS_OF_ALL = """\
-- Who judged vectors: all people together, the program rules, then the people by name.
select annotator
from concept_share
group by annotator
order by annotator <> 'all', annotator <> 'rules', annotator"""

_CONCEPTS_BY_LAYER = """\
-- How much of the highest tokens falls under concepts of each class in the layers of one model, in one kind of vector,
-- as one annotator or all people together say.
select
    layer,
    depth,
    class,
    token_share,
    token_share_low,
    token_share_high,
    n_tokens,
    n_top_tokens,
    concepts_per_vector,
    n_concepts,
    n_judgements,
    n_annotators,
    with_class_share,
from concepts_by_layer
where model = $model and condition = $condition and annotator = $annotator
order by layer, class"""

_ANNOTATORS = """\
-- How many vectors of one model each annotator judged, and in how many they name a concept.
select
    annotator,
    sum(n_judgements)::bigint as n_judgements,
    sum(n_with_concept)::bigint as n_with_concept,
    sum(n_concepts)::bigint as n_concepts,
from concept_share
where model = $model and annotator <> 'all'
group by annotator
order by n_judgements desc, annotator"""

_ANNOTATOR_AGREEMENT = """\
-- How far people who judged the same vectors of one model agree.
select annotator, other_annotator, condition, n_vectors, agreement, kappa, n_marked, mean_jaccard,
from annotator_agreement
where model = $model
order by annotator, other_annotator, condition"""

SHARE = (
    "Share of the 30 highest tokens that {who} tied to a concept, {seen}; lines: 95% intervals over judgements. Random "
    "vectors and outputs of whole FFNs are the controls. Table 2 of Geva et al. 2022."
)
WITHOUT = "The same without concepts of the class stopwords-punctuation, {who}, {seen}. Table 2 of Geva et al. 2022."
CLASSES = (
    "Share of the 30 highest tokens of {vectors} that {who} tied to a concept, by layer and class; a token of two "
    "classes counts in both. Figure 2 of Geva et al. 2022."
)
AGREEMENT = (
    "Over vectors that both judged. kappa: agreement beyond chance on whether there is a concept (Cohen 1960); tokens: "
    "mean overlap of the tokens that they tie to concepts. Source: this project."
)


def results(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    """Figures over all models that were annotated, then tables about one."""
    everything = [one.name for one in choose_models(connection)]
    rows = data_of_query(connection, "annotators_of_all", _ANNOTATORS_OF_ALL, {}).frame
    annotators = rows.get_column("annotator").to_list()
    if not annotators:
        st.info("Nobody has judged a vector of these models yet.")
        return
    who = st.selectbox("Who judged", annotators, key="who", format_func=named)
    judged_by = f"annotator = {exp.Literal.string(who).sql('duckdb')}"
    shares = data_of_models(connection, "concept_share", everything, "condition desc", where=judged_by)

    def look(theme: Theme) -> Look:
        return Look(model_colours(everything, theme=theme), {})

    annotated = shares.frame.get_column("model").unique(maintain_order=True).to_list()
    colours = look(theme()).colours
    st.html(legend_html({name: colours[name] for name in annotated}, are_models=True))
    left, right = st.columns(2, gap="medium")
    for column, name, title, caption in (
        (left, "token_share", "Tokens of a concept", SHARE),
        (right, "token_share_without_stopwords", "Without stopwords and punctuation", WITHOUT),
    ):
        with column:
            _shares(title, name, shares, look=look, caption=caption, who=who)
    _classes(connection, model, who)
    _people(connection, model)


def named(annotator: str) -> str:
    """Who judged, in words: all people together, the program, or one person."""
    return {POOLED: "people", RULES: "rules (the program)"}.get(annotator, annotator)


def seen(shares: pl.DataFrame) -> str:
    """How many vectors and people the shares rest on, in words."""
    of_models = shares.group_by("model", maintain_order=True).agg(
        pl.col("n_vectors").sum(), pl.col("n_annotators").max()
    )
    counts = [f"{vectors:,} vectors of {model} by {people}" for model, vectors, people in of_models.iter_rows()]
    return f"on {', '.join(counts)}{' annotators' if of_models.get_column('n_annotators')[-1] != 1 else ' annotator'}"


def _shares(title: str, number: str, shares: Data, *, look: Callable[[Theme], Look], caption: str, who: str) -> None:
    show_figure(
        title,
        lambda theme: concepts.concept_shares(shares.frame, number, look(theme)),
        caption.format(seen=seen(shares.frame), who=named(who)),
        Data(f"concept_{number}", shares.sql, shares.frame),
    )


def _classes(connection: duckdb.DuckDBPyConnection, model: str, who: str) -> None:
    st.header(f"Concepts that {plain(named(who))} named in {plain(model)}", anchor=False)
    condition = st.segmented_control(
        "Vectors", CONDITIONS, default=CONDITIONS[0], key="condition", format_func=CONDITION_NAMES.__getitem__
    )
    vectors = CONDITION_NAMES[condition or CONDITIONS[0]]
    data = data_of_query(
        connection,
        "concepts_by_layer",
        _CONCEPTS_BY_LAYER,
        {"model": model, "condition": condition or CONDITIONS[0], "annotator": who},
    )
    if data.frame.is_empty():
        st.info(plain(f"No {vectors} of {model} have been judged by {named(who)} yet."))
        return
    show_figure(
        f"Classes of concepts in {vectors}",
        lambda _: concepts.concepts_by_layer(data.frame),
        CLASSES.format(vectors=vectors, who=named(who)),
        data,
        own_legend=True,
    )


def _people(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    left, right = st.columns([2, 3], gap="medium")
    people = data_of_query(connection, "annotators", _ANNOTATORS, {"model": model})
    agreement = data_of_query(connection, "annotator_agreement", _ANNOTATOR_AGREEMENT, {"model": model})
    with left:
        st.header("Annotators", anchor=False)
        tables.show_table(people.frame, key="annotators")
        show_source(people)
    with right:
        st.header("Agreement", anchor=False)
        if agreement.frame.is_empty():
            st.caption("No two annotators have judged the same vector yet.")
            return
        tables.show_table(agreement.frame, key="agreement")
        st.caption(AGREEMENT)
        show_source(agreement)
