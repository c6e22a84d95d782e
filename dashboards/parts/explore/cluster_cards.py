"""Clusters of value vectors as cards: what their neurons promote more often than chance would have it."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from neurothek.catalog.spelling import unmark, visible
from neurothek.dashboards.parts.muted import Muted
from neurothek.dashboards.parts.token_cards import STYLE, card_html, token_html
from neurothek.dashboards.widgets.links import link_html

Order = Literal["cohesion", "size", "share with the token"]

MOST_TOKENS = 8
LEAST_MEMBERS = 2
N_NAMES = 3
"""Tokens that name a cluster."""

_STYLE = """
<style>
.nt-shares { display: grid; grid-template-columns: max-content minmax(6rem, 22rem) max-content; gap: 0.15rem 0.8rem;
  align-items: center; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
.nt-shares > i { position: relative; display: block; height: 0.75rem; background: #8a8a8a1c; border-radius: 1px; }
.nt-shares > i b, .nt-shares > i u { position: absolute; left: 0; top: 0; bottom: 0; border-radius: 1px; }
.nt-shares > i b { background: var(--nt-bar); }
.nt-shares > i u { border-right: 2px solid currentcolor; opacity: 0.7; }
</style>
"""


def in_order(clusters: pl.DataFrame, order: Order) -> pl.DataFrame:
    """The clusters, the first to look at first; those of one neuron, which have no cohesion, last.

    Args:
        clusters: rows with cluster_id, size, cohesion, and n_listing where a token was asked for.
        order: what comes first.
    """
    if order == "size":
        return clusters.sort("size", "cohesion", "cluster_id", descending=[True, True, False], nulls_last=True)
    if order == "share with the token" and "n_listing" in clusters.columns:
        share = clusters.with_columns(share=pl.col("n_listing") / pl.col("size"))
        return share.sort("share", "size", "cluster_id", descending=[True, True, False]).drop("share")
    return clusters.sort("cohesion", "size", "cluster_id", descending=[True, True, False], nulls_last=True)


def cards_html(
    clusters: Sequence[Mapping[str, Any]],
    tokens: pl.DataFrame,
    links: Mapping[str, str],
    word: str | None = None,
    *,
    muted: Muted | None = None,
) -> str:
    """A card for each cluster: its name, which leads to its neurons, its number, size and layers, and its tokens.

    Args:
        clusters: rows with cluster_id, size, first_layer, last_layer, cohesion, is_beyond_null, and n_listing where a
            token was asked for.
        tokens: rows of the statement `distinctive_tokens` or `distinctive_tokens_by_corpus`.
        links: what the page of clusters is asked for besides the cluster.
        word: the token that was asked for.
        muted: tokens to show pale; None: none.
    """
    by_cluster: dict[int, list[dict[str, Any]]] = {}
    for row in tokens.to_dicts():
        by_cluster.setdefault(row["cluster_id"], []).append(row)
    cards = []
    for cluster in clusters:
        number = str(cluster["cluster_id"])
        rows = by_cluster.get(cluster["cluster_id"], [])
        title = " ".join(map(visible, names_of(rows, muted)))
        css = "nt-row nt-name" if title else "nt-row"
        name = link_html(title or f"cluster {number}", "clusters", css=css, **links, cluster=number)
        listing = f"; {cluster['n_listing']:,} of {cluster['size']:,} list “{word}”" if word else ""
        aside = f"cluster {number}" if title else ""
        cohesion = cohesion_text(cluster).replace("cohesion ", "cohesion\xa0")
        sentence = f"{size_text(cluster)}, {layers_text(cluster)}, {cohesion}{listing}"
        body = " ".join(
            token_html(row["token"], title=share_text(row), is_asked=reads(row["token"], word), muted=muted)
            for row in rows
        )
        cards.append(card_html(name, aside, sentence, body or '<span class="nt-muted">no distinctive token</span>'))
    return f'{STYLE}<div class="nt-cards">{"".join(cards)}</div>'


def names_of(rows: Sequence[Mapping[str, Any]], muted: Muted | None = None) -> list[str]:
    """The tokens that a cluster is called by: those of its distinctive tokens that most of its neurons list.

    Args:
        rows: of the statement `distinctive_tokens` or `distinctive_tokens_by_corpus` about one cluster.
        muted: tokens that name nothing, unless there are no others; None: none.
    """
    by_share = sorted(rows, key=lambda row: -row["n_inside"])
    pale = set((muted or Muted()).reasons)
    names = [row["token"] for row in by_share if row["token"] not in pale and row["token"].strip()]
    return names[:N_NAMES]


def reads(token: str, word: str | None) -> bool:
    """Whether a token is the one that was asked for: it reads the same, or is exactly what was typed."""
    return word is not None and (token.strip().casefold() == word.casefold() or token == unmark(word))


def shares_html(tokens: pl.DataFrame, colour: str, muted: Muted | None = None) -> str:
    """The distinctive tokens of one cluster, each with the share of its neurons that list it, and what is expected.

    Args:
        tokens: rows of the statement `distinctive_tokens` or `distinctive_tokens_by_corpus` about one cluster.
        colour: of the bars.
        muted: tokens to show pale; None: none.
    """
    rows = []
    for row in tokens.to_dicts():
        inside, expected = 100 * row["share_inside"], 100 * row["share_expected"]
        title = html.escape(share_text(row))
        bar = f'<i title="{title}"><b style="width: {inside:.1f}%"></b><u style="width: {expected:.1f}%"></u></i>'
        rows.append(f"<span>{token_html(row['token'], muted=muted)}</span>{bar}<span>{title}</span>")
    return f'{STYLE}{_STYLE}<div class="nt-shares" style="--nt-bar: {colour}">{"".join(rows)}</div>'


def share_text(row: Mapping[str, Any]) -> str:
    """How many of a cluster's neurons list a token, and what that is held against.

    "6 of 9 neurons; 0.4% of all", or "6 of 9 neurons; 6.7% of their lists, 0.12% of the corpus".
    """
    inside = f"{row['n_inside']:,} of {row['n_members']:,} neurons"
    if "share_of_corpus" not in row:
        return f"{inside}; {row['share_expected']:.1%} of all"
    elsewhere = f"{row['share_of_corpus']:.2%} of the corpus" if row["n_occurrences"] else "not in the corpus"
    return f"{inside}; {row['share_of_lists']:.1%} of their lists, {elsewhere}"


def size_text(cluster: Mapping[str, Any]) -> str:
    """How many neurons a cluster has."""
    return f"{cluster['size']:,} neuron{'' if cluster['size'] == 1 else 's'}"


def layers_text(cluster: Mapping[str, Any]) -> str:
    """Which layers its neurons come from."""
    first, last = cluster["first_layer"], cluster["last_layer"]
    return f"layer {first}" if first == last else f"layers {first} to {last}"


def cohesion_text(cluster: Mapping[str, Any]) -> str:
    """How tight it is, and whether chance makes clusters as tight, where that was measured."""
    if cluster["cohesion"] is None:
        return "one neuron alone"
    chance = chance_text(cluster)
    return f"cohesion {cluster['cohesion']:.3f}{', ' if chance else ''}{chance}"


def chance_text(cluster: Mapping[str, Any]) -> str:
    """Whether it is tighter than 95% of clusters of random directions; nothing where nobody knows."""
    if cluster["is_beyond_null"] is None:
        return ""
    return "beyond chance" if cluster["is_beyond_null"] else "within chance"


def null_text(clustering: Mapping[str, Any]) -> str:
    """How many clusters are tighter than random ones, in two sentences; nothing where that was not measured.

    Args:
        clustering: a row of the view `clusterings`.
    """
    if clustering["null_95"] is None or not clustering["n_several"]:
        return ""
    n, total = clustering["n_beyond_null"], clustering["n_several"]
    is_beyond = clustering["median_cohesion"] > clustering["null_95"]
    return (
        f"Of {clustering['n_null']:,} clusters of as many random directions the median cohesion is"
        f" {clustering['null_median']:.3f}, 95% have at most {clustering['null_95']:.3f}, the tightest has"
        f" {clustering['null_max']:.3f}. {n:,} of the model's {total:,} clusters of several neurons are beyond these"
        f" 95% ({n / total:.0%}, by chance 5%); its median cluster, {clustering['median_cohesion']:.3f}, is"
        f" {'beyond them, too' if is_beyond else 'within chance'}."
    )


def clusters_headline(clusters: pl.DataFrame) -> str:
    """How many clusters there are, how large and how tight, and how many of them reach over several layers.

    Args:
        clusters: a model's clusters, a row each as in the view `clusters_summary`; at least one.
    """
    several = clusters.filter(pl.col("size") >= LEAST_MEMBERS)
    total = f"{clusters.get_column('size').sum():,} neurons in {clusters.height:,} clusters"
    if several.is_empty():
        return f"{total}, each of one neuron."
    sizes, cohesions = (several.get_column(name).to_list() for name in ("size", "cohesion"))
    spanning = several.filter(pl.col("n_layers") > 1).height
    return (
        f"{total}. The median cluster has {_median(sizes):,.0f} neurons and a cohesion of {_median(cohesions):.3f},"
        f" the tightest {max(cohesions):.3f}. {spanning / several.height:.0%} of them reach over several layers."
    )


def _median(numbers: Sequence[float]) -> float:
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
