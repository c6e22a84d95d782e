"""The tokens that a neuron promotes and suppresses, as lists with bars; those that were searched for are marked."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl
import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.catalog.spelling import one_line, visible
from neurothek.dashboards.charts.logits import logit_histogram
from neurothek.dashboards.parts.chance import chance_cosine
from neurothek.dashboards.parts.muted import Muted, muted_at, muted_of
from neurothek.dashboards.parts.token_cards import STYLE, card_html, tokens_html
from neurothek.dashboards.widgets.figures import Data, show_figure
from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.links import link_html, token_link
from neurothek.dashboards.widgets.page import show_command
from neurothek.queries.ask.statements import filled
from neurothek.queries.names.models import KnownModel
from neurothek.queries.neuron.logits import logits_sentence
from neurothek.queries.neuron.page import NeuronPage

_NEURON_LOGITS = """\
-- How the scores of all tokens spread in one neuron's value vector.
select bin, z_from, z_to, n_tokens,
from logit_histograms
where model = $model and layer = $layer and neuron = $neuron
order by bin"""

_SHEET = """
<style>
.nt-list { display: grid; grid-template-columns: 1.8rem minmax(4rem, max-content) minmax(1.5rem, 1fr) max-content;
  gap: 0.05rem 0.5rem; font-size: 0.9rem; align-items: center; font-variant-numeric: tabular-nums; }
.nt-list > div { display: contents; }
.nt-list .nt-rank, .nt-list .nt-gap { opacity: 0.7; text-align: right; }
.nt-list .nt-name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.nt-list i { display: block; height: 0.6rem; border-radius: 0.15rem; }
.nt-list .nt-mark .nt-name a { font-weight: 700; background: #e6b80055; }
</style>
"""


def is_meant(token: str, words: Collection[str]) -> bool:
    """Whether a token is what one of these words stands for: the same letters, whatever their case and white space.

    A word with commas stands for each of its parts.
    """
    alternatives = {part for word in words for part in (word, *word.split(",")) if part}
    plain = token.strip().casefold()
    return token in alternatives or (plain != "" and plain in {word.strip().casefold() for word in alternatives})


def places_of(tokens: pl.DataFrame, words: Collection[str]) -> pl.DataFrame:
    """Those of a neuron's tokens that the words stand for, by side and rank."""
    return tokens.filter(
        pl.col("token").map_elements(lambda token: is_meant(token, words), return_dtype=pl.Boolean)
    ).sort("side", "rank")


def places_of_words(tokens: pl.DataFrame, words: Sequence[str], *, is_signed: bool = False) -> list[str]:
    """Where each word stands among a neuron's tokens, a sentence a word.

    Args:
        tokens: both sides of the neuron, with side, rank, token and z_score.
        words: what was searched for.
        is_signed: whether the neuron's activations can be below 0, at which it promotes the second list.
    """
    signed = {"promoted": "promoted at activations above 0", "suppressed": "promoted at activations below 0"}
    sides = signed if is_signed else {side: side for side in signed}
    n_listed = max((tokens.filter(side=side).height for side in ("promoted", "suppressed")), default=0)
    lines = []
    for word in words:
        rows = places_of(tokens, [word]).to_dicts()
        places = [
            f"{visible(row['token'])} {sides[row['side']]}, rank {row['rank']} of {n_listed}, "
            f"z-score {row['z_score']:.2f}"
            for row in rows
        ]
        absent = f"not among the {n_listed} tokens that it promotes most, nor among those that it suppresses most"
        lines.append(f"{one_line(word)}: {'; '.join(places) or absent}")
    return lines


def list_html(
    tokens: pl.DataFrame, words: Collection[str], *, colour: str, most: int, muted: Muted | None = None
) -> str:
    """One side: the first tokens, and after them those that were searched for.

    Args:
        tokens: the tokens of one side, best first, with rank, token, score, z_score and corpus_count.
        words: what was searched for.
        colour: of the bars, as #rrggbb.
        most: tokens to show but for those that were searched for.
        muted: tokens to show pale; None: none.
    """
    muted = muted or Muted()
    marked = places_of(tokens, words) if words else tokens.clear()
    first = tokens.head(most)
    beyond = marked.filter(pl.col("rank") > most)
    longest = max((abs(score) for score in first.get_column("score")), default=0.0) or 1.0
    meant = set(marked.get_column("rank"))
    rows = [_row(row, longest, colour, muted, is_marked=row["rank"] in meant) for row in first.to_dicts()]
    if not beyond.is_empty():
        rows.append('<div><span class="nt-gap">⋮</span><span></span><span></span><span></span></div>')
        rows += [_row(row, longest, colour, muted, is_marked=True) for row in beyond.to_dicts()]
    return f'{SHEET}{_SHEET}<div class="nt-list">{"".join(rows)}</div>'


def _row(row: Mapping[str, Any], longest: float, colour: str, muted: Muted, *, is_marked: bool) -> str:
    score, z_score, count = row["score"], row["z_score"], row["corpus_count"]
    width = 100 * min(1.0, abs(score) / longest)
    seen = "" if count is None else f", {count:,} in the corpus"
    title = f"raw score {score:.4f}, z-score {z_score:.2f}{seen}"
    mark = ' class="nt-mark"' if is_marked else ""
    pale = "" if is_marked else muted.css(row["token"])
    return (
        f'<div{mark}><span class="nt-rank">{row["rank"]}</span>'
        f'<span class="nt-name">{token_link(row["token"], title=title, css=pale)}</span>'
        f'<span class="{pale}" title="{title}"><i style="width: {width:.1f}%; background: {colour}"></i></span>'
        f'<span title="{title}">{score:.2f}</span></div>'
    )


SOURCE = "Scores as in Geva et al. 2022, section 3; the histogram is this project's. Dashed: a normal distribution."


def show_logits(page: NeuronPage) -> None:
    """The histogram, or which command counts it."""
    parameters = {name: page.facts[name] for name in ("model", "layer", "neuron")}
    if page.logits.is_empty():
        if not page.tokens.is_empty():
            st.caption(
                plain(f"The distribution of all logits was not counted when {parameters['model']} was measured.")
            )
            show_command(command_line("ingest", parameters["model"], "--job", "projections", "--force"))
        return
    show_figure(
        "All logits",
        lambda theme: logit_histogram(page.logits, page.tokens, theme),
        logits_sentence(page.logits, page.facts),
        Data("logits", filled(_NEURON_LOGITS, parameters), page.logits),
        source=SOURCE,
        own_legend=True,
    )


MOST_CARDS = 12
_MOST_TOKENS = 8
VECTORS = (
    "Neurons of the same model whose value vectors have the largest cosine with its own, of either sign. The nearest "
    "of {n_others:,} random directions in {width:,} dimensions is below {chance:.2f} in 99 of 100 draws. Source: this "
    "project."
)
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


def show_similar(page: NeuronPage, model: KnownModel, others: list[str]) -> None:
    """All of them in tabs.

    Args:
        page: the neuron's page.
        model: its model.
        others: names of the models whose neurons could be compared with it, smallest first.
    """
    relatives = page.relatives
    tabs = {
        "Nearest vectors": relatives.neighbours,
        "Its cluster": relatives.mates,
        **({"In other models": relatives.counterparts} if others else {}),
    }
    visible_tabs = {title: rows for title, rows in tabs.items() if title == "In other models" or not rows.is_empty()}
    if not visible_tabs:
        return
    st.header("Similar neurons", anchor=False)
    for tab, title in zip(st.tabs(list(visible_tabs)), visible_tabs, strict=True):
        with tab:
            if title == "Nearest vectors":
                _cards(relatives.neighbours, "cosine", "cosine", _vectors(model))
            elif title == "Its cluster":
                st.caption(plain(relatives.sentence()))
                _cards(relatives.mates, "centre_cosine", "cosine with the centre", CLUSTER)
            else:
                _counterparts(page, others)


def _vectors(model: KnownModel) -> str:
    """What the nearest vectors are, and how near random directions would be."""
    n_others = model.n_layers * model.d_ffn - 1
    chance = chance_cosine(n_others, model.d_model)
    return VECTORS.format(n_others=n_others, width=model.d_model, chance=chance)


def _counterparts(page: NeuronPage, others: list[str]) -> None:
    """Its counterparts in other models; the nearest that are none are folded away."""
    relatives = page.relatives
    if relatives.compared.is_empty():
        st.caption("This model has not been compared with another yet. To find the five best matches of every neuron:")
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
    measure_text = f"{name} {row[measure]:.2f}"
    if row.get("null_99") is not None:
        measure_text += f", random {row['null_99']:.2f}"
    if row.get("is_mutual"):
        measure_text += ", mutual"
    if row.get("pole"):
        measure_text += f", at its {row['pole']} pole"
    return card_html(
        link_html(row["address"], "neuron", css="nt-row", neuron=row["address"]),
        measure_text,
        "",
        tokens_html((row["top_tokens"] or [])[:_MOST_TOKENS], muted=muted),
    )
