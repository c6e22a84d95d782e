"""The neurons like one, as cards in tabs: by their vectors, of its cluster, in other models."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.dashboards.parts.muted import Muted, muted_at, muted_of
from neurothek.dashboards.parts.token_cards import STYLE, card_html, tokens_html
from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.page import show_command
from neurothek.queries.neuron.page import NeuronPage

MOST_CARDS = 12
_MOST_TOKENS = 8
VECTORS = "Neurons of the same model whose value vectors have the largest cosine with its own. Source: this project."
CLUSTER = "Neurons of its cluster, nearest to the sum of the cluster's directions first. Geva et al. 2022, section 5.2."
COUNTERPART = (
    "Neurons whose lists of tokens overlap most with its own, at most five of each model. Random: the best overlap "
    "that 99% of random vectors do not exceed; mutual: each is the other's best match. Source: this project."
)


def cards_html(neurons: pl.DataFrame, measure: str, *, name: str, muted: Mapping[str, Muted] | None = None) -> str:
    """Neurons as cards: address, how near it is, and the first tokens that it promotes.

    Args:
        neurons: rows with address, top_tokens and the measure; null_99 and is_mutual where they are known.
        measure: the column that says how near it is.
        name: what people call that.
        muted: model -> its tokens to show pale; None: none.
    """
    cards = (_card(row, measure, name, muted_at(row["address"], muted)) for row in neurons.head(MOST_CARDS).to_dicts())
    return f'{SHEET}{STYLE}<div class="nt-cards">{"".join(cards)}</div>'


def show_similar(page: NeuronPage, others: list[str]) -> None:
    """All of them in tabs.

    Args:
        page: the neuron's page.
        others: names of the models whose neurons could be compared with it, smallest first.
    """
    relatives = page.relatives
    tabs = {
        "Nearest vectors": relatives.neighbours,
        "Its cluster": relatives.mates,
        **({"In other models": relatives.counterparts} if others else {}),
    }
    shown = {title: rows for title, rows in tabs.items() if title == "In other models" or not rows.is_empty()}
    if not shown:
        return
    st.subheader("Similar neurons", anchor=False)
    for tab, title in zip(st.tabs(list(shown)), shown, strict=True):
        with tab:
            if title == "Nearest vectors":
                _cards(relatives.neighbours, "cosine", "cosine", VECTORS)
            elif title == "Its cluster":
                st.caption(plain(relatives.sentence()))
                _cards(relatives.mates, "centre_cosine", "cosine with the centre", CLUSTER)
            else:
                _counterparts(page, others)


def _counterparts(page: NeuronPage, others: list[str]) -> None:
    """Its counterparts in other models; the nearest that are none are folded away."""
    relatives = page.relatives
    if relatives.compared.is_empty():
        st.caption("This model was not compared with another yet. To find the best five of every neuron:")
        show_command(command_line("ingest", page.facts["model"], others[-1], "--job", "counterparts"))
    for sentence in relatives.none_above_chance():
        st.markdown(plain(f"{sentence[0].upper()}{sentence[1:]}."))
    if not relatives.counterparts.is_empty():
        _cards(relatives.counterparts, "overlap", "overlap", COUNTERPART)
    if not relatives.below_chance.is_empty():
        with st.expander("The nearest ones, no more similar than random vectors"):
            _cards(relatives.below_chance, "overlap", "overlap", f"Not counterparts. {COUNTERPART}")
    link = link_html(
        "Search the other models for similar neurons", "search", like=page.address, models=",".join(others)
    )
    st.html(f"{SHEET}{link}")


def _cards(neurons: pl.DataFrame, measure: str, name: str, caption: str) -> None:
    models = {address.rpartition("/")[0] for address in neurons.get_column("address")}
    st.html(cards_html(neurons, measure, name=name, muted=muted_of(models)))
    cut = f" The first {MOST_CARDS} of {neurons.height:,}." if neurons.height > MOST_CARDS else ""
    st.caption(plain(f"{caption}{cut}"))


def _card(row: Mapping[str, Any], measure: str, name: str, muted: Muted) -> str:
    told = f"{name} {row[measure]:.2f}"
    if row.get("null_99") is not None:
        told += f", random {row['null_99']:.2f}"
    if row.get("is_mutual"):
        told += ", mutual"
    if row.get("pole"):
        told += f", at its {row['pole']} pole"
    return card_html(
        link_html(row["address"], "neuron", css="nt-row", neuron=row["address"]),
        told,
        "",
        tokens_html((row["top_tokens"] or [])[:_MOST_TOKENS], muted=muted),
    )
