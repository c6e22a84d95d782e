"""The page of clusters of value vectors: what the neurons of each promote together, the tightest first."""

from typing import cast, get_args

import duckdb
import polars as pl
import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.catalog.spelling import quoted, spoken_corpus, unmark
from neurothek.dashboards.charts import spread
from neurothek.dashboards.colours import ACCENT
from neurothek.dashboards.parts.explore import cluster_cards
from neurothek.dashboards.parts.explore.cluster_cards import Order
from neurothek.dashboards.parts.muted import muted_of
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import address_value, asked_among, asked_number, own_key, remember
from neurothek.dashboards.widgets.figures import Data, Draw, data_of, data_of_query, show_figure, show_source, title_row
from neurothek.dashboards.widgets.html import plain, prose
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import answer, heading, missing, show_command, show_preview, theme
from neurothek.dashboards.widgets.pickers import ALONE, pick_model
from neurothek.queries.names.models import MeasuredCorpus, shown_corpora

_CLUSTERS = """\
-- The clusters of one model in its shown clustering, largest first.
select
    clustering_id,
    cluster_id,
    n_clusters,
    size,
    n_layers,
    first_layer,
    last_layer,
    cohesion,
    shared_tokens,
    n_shared_tokens,
    top_share,
    null_95,
    is_beyond_null,
from clusters_summary
where model = $model and is_shown
order by size desc, cohesion desc nulls last, cluster_id"""

_CLUSTER_NEURONS = """\
-- The neurons of one cluster, nearest to its centre first.
select
    address,
    centre_cosine,
    case when pole = 'negative' then bottom_tokens else top_tokens end as top_tokens,
    layer,
    neuron,
from cluster_members
where model = $model and clustering_id = $clustering_id and cluster_id = $cluster_id
order by case when pole is null then centre_cosine else abs(centre_cosine) end desc nulls last, layer, neuron"""

_CLUSTERING = """\
-- The shown clustering of one model: how tight its clusters are, beside those of random directions.
select
    n_several,
    median_cohesion,
    max_cohesion,
    n_null,
    null_median,
    null_95,
    null_max,
    n_beyond_null,
    share_beyond_null,
from clusterings
where model = $model and is_shown"""

_SIZES = """\
-- Into how many clusters one model's clusterings were asked for.
select n_clusters_asked
from clusterings
where model = $model
order by clustering_id"""

MEMBERS = ("address", "centre_cosine", "top_tokens")
MORE = 24
"""Cards that are shown at first, and added by each click."""

MOST_SHOWN = 480
COHESION = (
    "Cohesion: mean cosine of the pairs of value vectors, of a gated model each at its pole. A cluster is named after "
    "those of its tokens that most of its neurons list; its name leads to them."
)
LISTED = "A token is listed where it is among the first ten that a neuron promotes. Distinctive of a cluster: "
FROM_OTHERS = (
    f"{LISTED}listed by at least two of its neurons, and by a larger share of them (p) than of all neurons of the "
    "model (q); in the order of p ln(p / q). This project's."
)
FROM_CORPUS = (
    f"{LISTED}listed by at least two of its neurons, and more often among all that they list than in the corpus: by "
    "the log odds ratio with one half added to each count (Haldane 1956), over 1.96 standard errors above 0; in the "
    "order of log odds ratio over standard error. The use of it is this project's."
)
RANDOM = (
    "As many random directions as the model has neurons, linked in the same way and cut into as many clusters; the "
    "cohesion that 95% of those of at least two directions do not exceed. Chance would have 5% of the clusters beyond "
    "it. This project's."
)
CLUSTERED = (
    "Agglomerative clustering of value vectors by cosine: Geva et al. 2022, section 5.2; complete linkage: the code "
    "that they link to; the number of clusters is this project's."
)


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Clusters")
    asked_of = address_value("model")
    model = pick_model(connection, width=ALONE).name
    if asked_of not in (None, model):
        # Clusters of two models have nothing but their numbers in common.
        remember(cluster=None)
    data = data_of_query(connection, "clusters", _CLUSTERS, {"model": model})
    if data.frame.is_empty():
        missing(connection, "The neurons of this model have not been clustered yet.", [model], jobs=("clusters",))
        show_preview("clusters")
        return
    cluster_ids = data.frame.get_column("cluster_id").to_list()
    chosen = asked_among("cluster", cluster_ids)
    if chosen is not None:
        _steps(model, cluster_cards.in_order(data.frame, "cohesion").get_column("cluster_id").to_list(), chosen)
        _show_one(connection, model, data.frame.filter(pl.col("cluster_id") == chosen))
        return
    st.markdown(plain(cluster_cards.clusters_headline(data.frame)))
    _show_null(connection, model)
    _cards(connection, model, data)
    _spread(data)


def _show_null(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    """How tight clusters of random directions are, or how to measure it."""
    data = data_of_query(connection, "clusterings", _CLUSTERING, {"model": model})
    (row,) = data.frame.to_dicts()
    sentence = cluster_cards.null_text(row)
    if sentence:
        with title_row(data.name):
            st.markdown(plain(sentence), help=plain(RANDOM))
            show_source(data)
        return
    if row["n_several"]:
        sizes = data_of_query(connection, "clusterings_asked", _SIZES, {"model": model}).frame
        options = [word for (size,) in sizes.rows() for word in ("--clusters", str(size))]
        with st.container(gap="xsmall"):
            st.caption(
                "Chance was not measured: an earlier release clustered this model, so nobody can tell which of these "
                "clusters are tighter than those of random directions. This command measures it:"
            )
            show_command(command_line("ingest", model, "--job", "clusters", *options, "--force"))


def _steps(model: str, ordered: list[int], chosen: int) -> None:
    place = ordered.index(chosen)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(link_html("All clusters", "clusters", model=model), width="content")
        for label, target in (("Previous", place - 1), ("Next", place + 1)):
            is_beyond = target not in range(len(ordered))
            cluster = None if is_beyond else str(ordered[target])
            help_text = "In the order of cohesion"
            st.button(
                label,
                key=label.lower(),
                help=help_text,
                disabled=is_beyond,
                on_click=remember,
                kwargs={"cluster": cluster},
            )


def _show_one(connection: duckdb.DuckDBPyConnection, model: str, cluster: pl.DataFrame) -> None:
    (row,) = cluster.to_dicts()
    which = {"model": model, "clustering_id": row["clustering_id"]}
    corpus = _corpus(connection, model)
    tokens = _tokens(connection, which, [row["cluster_id"]], corpus)
    muted = muted_of([model])[model]
    names = " ".join(map(quoted, cluster_cards.names_of(tokens.frame.to_dicts(), muted)))
    title = f"{names}: neurons of cluster" if names else "Neurons of cluster"
    st.header(prose(f"{title} {row['cluster_id']}"), anchor=False)
    sentence = (
        f"{cluster_cards.size_text(row)} in {cluster_cards.layers_text(row)}, {cluster_cards.cohesion_text(row)}."
    )
    st.markdown(plain(sentence))
    if not tokens.frame.is_empty():
        with title_row(tokens.name):
            st.markdown("**Distinctive tokens**", help=plain(FROM_CORPUS if corpus else FROM_OTHERS))
            show_source(tokens)
        st.html(cluster_cards.shares_html(tokens.frame, ACCENT[theme()], muted))
        st.caption(plain(_mark_text(corpus)))
    data = data_of_query(connection, "cluster_neurons", _CLUSTER_NEURONS, {**which, "cluster_id": row["cluster_id"]})
    with title_row(data.name):
        st.markdown("**Neurons, nearest to the centre first**")
        show_source(data)
    tables.link_to_neurons(data.frame, MEMBERS, key=f"members-{row['cluster_id']}", height=420)


def _cards(connection: duckdb.DuckDBPyConnection, model: str, data: Data) -> None:
    which = {"model": model, "clustering_id": data.frame.get_column("clustering_id")[0]}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        word = _ask_token()
        order = _pick_order(has_token=word is not None)
    clusters = data.frame if word is None else with_token(connection, data.frame, which, word)
    if clusters.is_empty():
        st.info(plain(f"No neuron of {model} lists {word} among the first ten tokens that it promotes."))
        return
    n_shown = asked_number("shown", least=MORE, most=MOST_SHOWN) or MORE
    clusters_there = cluster_cards.in_order(clusters, order).head(n_shown)
    corpus = _corpus(connection, model)
    tokens = _tokens(connection, which, clusters_there.get_column("cluster_id").to_list(), corpus)
    title = f"{clusters.height:,} clusters"
    if word is not None:
        title += f" with neurons that promote {word}"
    with title_row(tokens.name):
        st.markdown(f"**{plain(title)}**", help=plain(f"{FROM_CORPUS if corpus else FROM_OTHERS} {CLUSTERED}"))
        show_source(tokens)
    muted = muted_of([model])[model]
    st.html(cluster_cards.cards_html(clusters_there.to_dicts(), tokens.frame, {"model": model}, word, muted=muted))
    st.caption(plain(f"{_against_text(corpus)} {COHESION}"))
    if clusters_there.height < min(clusters.height, MOST_SHOWN):
        st.button(
            f"Show more of the {clusters.height:,}",
            key="more",
            type="tertiary",
            on_click=remember,
            kwargs={"shown": str(clusters_there.height + MORE)},
        )


def _against_text(corpus: MeasuredCorpus | None) -> str:
    """What the tokens of the cards tell a cluster from."""
    if corpus is None:
        others = "the model's other neurons, since it read no corpus yet"
        return f"Tokens that tell a cluster from {others}; hover for their shares."
    where = f"the {corpus.n_tokens:,} tokens of {spoken_corpus(corpus.corpus)}"
    return f"Tokens that a cluster's neurons promote more often than {where} hold them; hover for their shares."


def _mark_text(corpus: MeasuredCorpus | None) -> str:
    """What the bars and the marks of one cluster's tokens are."""
    bars = "Bars: share of the cluster's neurons that list the token; the mark:"
    if corpus is None:
        return f"{bars} of all neurons, since the model read no corpus yet."
    among = f"the {corpus.n_tokens:,} tokens of {spoken_corpus(corpus.corpus)}"
    return f"{bars} what is expected of how often it occurs among {among}."


def _ask_token() -> str | None:
    token = address_value("token") or ""
    written = st.text_input(
        "Token", value=token, key=own_key("token"), placeholder="that its neurons promote", width=300
    ).strip()
    remember(token=written or None)
    return written or None


def with_token(
    connection: duckdb.DuckDBPyConnection, clusters: pl.DataFrame, which: dict[str, object], word: str
) -> pl.DataFrame:
    """The clusters with neurons that list a token, with the number of these.

    Args:
        connection: the page's lease.
        clusters: rows of `_CLUSTERS`.
        which: name of the model, and number of the clustering.
        word: a word, which stands for every token that reads the same, or a token with its white space marked.
    """
    parameters = {**which, "word": word.casefold(), "token": unmark(word)}
    counts = data_of(connection, "clusters_of_token", parameters).frame
    return clusters.join(counts, on="cluster_id", how="inner", maintain_order="left")


def _pick_order(*, has_token: bool) -> Order:
    every: tuple[Order, ...] = get_args(Order)
    options = [every[-1], *every[:-1]] if has_token else list(every[:-1])
    default = asked_among("order", options, is_silent=True) or options[0]
    picked = st.segmented_control(
        "In the order of",
        options,
        default=default,
        key=own_key(f"order-{has_token}"),
        format_func=str.capitalize,
        required=True,
    )
    order = cast("Order", picked)
    remember(order=None if order == options[0] else order)
    return order


def _corpus(connection: duckdb.DuckDBPyConnection, model: str) -> MeasuredCorpus | None:
    """The corpus that tokens are held against: the model's shown one; None where it read none."""
    return cached_answer(connection, shown_corpora, (model,)).get(model)


def _tokens(
    connection: duckdb.DuckDBPyConnection,
    which: dict[str, object],
    cluster_ids: list[int],
    corpus: MeasuredCorpus | None,
) -> Data:
    parameters = {**which, "cluster_ids": cluster_ids, "n": cluster_cards.MOST_TOKENS}
    if corpus is None:
        return data_of(connection, "distinctive_tokens", parameters)
    return data_of(connection, "distinctive_tokens_by_corpus", {**parameters, "corpus_id": corpus.corpus_id})


def _spread(data: Data) -> None:
    left, right = st.columns(2, gap="medium")
    for column, name, title in (
        (left, "size", "Clusters by size"),
        (right, "cohesion", "Clusters by cohesion"),
    ):
        with column:
            number = spread.Number(name, is_log=name == "size")
            values = data.frame.get_column(name)
            bins = spread.binned_counts(values) if name == "size" else spread.binned(values, is_log=number.is_log)
            if not bins.is_empty():
                part = data.showing(f"clusters_by_{name}")
                show_figure(title, _histogram(bins, number), "", part, source=CLUSTERED)


def _histogram(bins: pl.DataFrame, number: spread.Number) -> Draw:
    return lambda theme: spread.histogram(bins, number, ACCENT[theme], counted="clusters")


answer(show)
