"""Which neurons push a word to the top: in a sentence, and a card per model whose rows lead to the neurons."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.catalog.terminal.cells import percent
from neurothek.dashboards.parts.explore.promoted import with_promoted
from neurothek.dashboards.parts.muted import Muted, muted_at
from neurothek.dashboards.parts.token_cards import STYLE, card_html, token_html
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.reading import Reader
from neurothek.queries.names.models import KnownModel

MOST_ROWS, _MOST_TOKENS = 8, 4

_SHEET = """
<style>
.nt-pushers { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0.8rem; }
.nt-pushers .nt-card header b { font-size: 0.95rem; }
.nt-push { display: grid; grid-template-columns: 5.2rem 4.2rem 10.5rem 1fr; gap: 0.5rem; align-items: center;
  padding: 0.16rem 0; border-top: 1px solid #8a8a8a22; font-size: 0.86rem; }
.nt-push .nt-bar { position: relative; }
.nt-push i { display: block; height: 0.55rem; border-radius: 0.15rem; }
.nt-push .nt-base { position: absolute; top: -0.2rem; width: 2px; height: 0.95rem; background: currentcolor; }
.nt-push .nt-share { font-variant-numeric: tabular-nums; text-align: right; }
.nt-push .nt-promoted { display: flex; flex-wrap: wrap; gap: 0 0.25rem; height: 1.6rem; min-width: 0;
  overflow: hidden; }
</style>
"""


def told_pushers(rows: pl.DataFrame, models: Sequence[str], word: str) -> str:
    """How often FFNs bring a word to the top, and which neuron exceeds its base rate most in pushing it.

    Args:
        rows: of the statement `pushers`, one at least, in its order.
        models: names, in the order in which they are told.
        word: what was asked for.
    """
    counts = saturations(rows)
    (model, n), *others = [(model, counts[model]) for model in models if model in counts]
    examples = _together([f"{n:,} example{'s' * (n != 1)} of {model}", *(f"{n:,} of {model}" for model, n in others)])
    brings = f'An FFN brings "{visible(word)}" to the top for good in {examples}.'
    best = rows.row(0, named=True)
    if best["push_gain"] <= 0:
        return f"{brings} No neuron pushes it more often than it is dominant in all examples anyway."
    return (
        f"{brings} {best['address']} exceeds its base rate most: it pushes the token in {best['n_pushes']:,} of "
        f"{best['n_saturations']:,} ({percent(best['push_share'])}), and is dominant in {percent(best['base_share'])} "
        f"of all {best['n_examples']:,} examples of its model."
    )


def saturations(rows: pl.DataFrame) -> dict[str, int]:
    """In how many examples of each model an FFN brought a token of the word to the top, in the order of the rows."""
    tokens = rows.unique(["model", "token"], maintain_order=True)
    counted = tokens.group_by("model", maintain_order=True).agg(pl.col("n_saturations").sum())
    return dict(counted.iter_rows())


def shown_pushers(reader: Reader, models: Sequence[KnownModel], rows: pl.DataFrame) -> pl.DataFrame:
    """The first rows of each model, with what their neurons promote.

    Args:
        reader: what the page reads.
        models: those of the rows, or more.
        rows: of the statement `pushers`.
    """
    parts = [
        with_promoted(reader, model, own.head(MOST_ROWS))
        for model in models
        if not (own := rows.filter(model=model.name)).is_empty()
    ]
    return pl.concat(parts)


def pushers_html(
    rows: pl.DataFrame,
    examples: Mapping[str, int],
    colours: Mapping[str, str],
    asked: Mapping[str, str],
    muted: Mapping[str, Muted] | None = None,
) -> str:
    """A card per model: its neurons that push the word, each with how often, its base rate and what it writes.

    Args:
        rows: as `shown_pushers` yields them.
        examples: in how many an FFN of each model brought the word to the top, in the order of the cards.
        colours: of the bars, by model.
        asked: what each neuron's page is asked for besides its address: the word to mark, the corpus.
        muted: model -> its tokens to show pale; None: none.
    """
    cards = []
    for model, n in examples.items():
        own = rows.filter(model=model)
        head = f"<b>{html.escape(model)}</b>"
        if own.is_empty():
            cards.append(card_html(head, "", "No FFN of it brought the word to the top for good.", ""))
            continue
        body = "".join(_row(row, colours[model], asked, muted_at(row["address"], muted)) for row in own.to_dicts())
        cards.append(card_html(head, f"{n:,} example{'s' * (n != 1)}", "", body))
    return f'{STYLE}{_SHEET}<div class="nt-pushers">{"".join(cards)}</div>'


def _row(row: Mapping[str, Any], colour: str, asked: Mapping[str, str], muted: Muted) -> str:
    share, base = row["push_share"], row["base_share"]
    told = (
        f"{row['n_pushes']:,} of {row['n_saturations']:,} examples of {visible(row['token'])}; dominant in "
        f"{row['times_dominant']:,} of all {row['n_examples']:,}; {_scores(row)}, mean coefficient "
        f"{row['mean_coefficient']:.3f}"
    )
    # At a coefficient below 0 a neuron promotes the bottom of its list.
    written = row["bottom_tokens" if row["mean_coefficient"] < 0 else "top_tokens"]
    address = row["address"]
    link = link_html(address.rpartition("/")[2], "neuron", title=told, css="nt-row", neuron=address, **asked)
    tokens = " ".join(token_html(token, muted=muted) for token in (written or ())[:_MOST_TOKENS])
    return (
        f'<div class="nt-push" title="{html.escape(told)}"><span>{link}</span>'
        f'<span class="nt-bar"><i style="width: {100 * share:.0f}%; background: {colour}"></i>'
        f'<span class="nt-base" style="left: {100 * base:.0f}%"></span></span>'
        f'<span class="nt-share">{percent(share)} ({percent(base)} of all examples)</span>'
        f'<span class="nt-promoted">{tokens}</span></div>'
    )


def _scores(row: Mapping[str, Any]) -> str:
    """The mean score, less what the neuron adds to every token, where that is known; and the raw one."""
    raw = f"mean raw score {row['mean_score']:.3f}"
    return raw if row["mean_centred"] is None else f"mean score {row['mean_centred']:.3f}, {raw}"


def _together(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
