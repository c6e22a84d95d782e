"""One cell of a traced prompt: what is predicted there, and the neurons that hold most of the FFN's update."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import polars as pl

from neurothek.catalog.spelling import quoted, spoken_corpus, visible
from neurothek.dashboards.widgets.links import href, token_question
from neurothek.queries.trace.grid import GridPage

SOURCE = (
    "Dominant neurons: the ten of the largest |activation| times the length of their value vector; share: of the sum "
    "over all neurons of the layer. Geva et al. 2022, sections 3 and 5. Adds: activation times value vector times "
    "unembedding through the final norm, whose divisor is held, less the mean over all tokens, which changes no "
    "prediction: this project."
)
Order = Literal["share", "adds"]
"""Of the neurons of a cell: by their share of the update, or by what they add to a token."""

LEAST_ADDED = 0.1
"""To the logit of a token, less the mean over all tokens: less changes its odds by less than a tenth [ours]."""

WRITES = (
    "tokens of the largest activation times value vector times unembedding: at an activation below 0 those that the "
    "neuron suppresses at one above 0"
)

_TOKENS = 8

N_RAISING = 8
"""Neurons of all layers that a cell's position shows."""


def cell_data(
    page: GridPage,
    layer: int,
    position: int,
    *,
    neurons: pl.DataFrame | None = None,
    token: str | None = None,
    order: Order = "share",
    pale: Collection[str] = (),
    is_gated: bool = False,
) -> Mapping[str, Any]:
    """What the browser draws of a chosen cell beside the grid.

    Args:
        page: the grid that the cell is one of.
        layer: the cell's layer.
        position: its position.
        neurons: the dominant neurons of every layer at its position, with `added`, what each adds to the logit of
            `token`; None: those of the grid, and what they add to that of the token predicted in the end.
        token: text of a token that was chosen; None: the one predicted in the end.
        order: whether the neurons of the largest share come first, or those that add most to the token.
        pale: tokens to show pale.
        is_gated: whether the model's neurons have gates, which may be open where hardly anything is written.
    """
    cell = page.cell(layer, position)
    if neurons is None:
        neurons = page.neurons.filter(position=position).with_columns(added="direct_final")
    everywhere, neurons = neurons, neurons.filter(layer=layer)
    about = cell["final"] if token is None else token
    shares = neurons.get_column("share").drop_nulls().to_list()
    alike = often_alike(neurons, is_gated=is_gated)
    return {
        "title": f"Layer {layer}, position {position}, after {quoted(cell['token'])}",
        "sentence": cell_sentence(
            cell, page.cell(page.n_layers - 1, position)["probability"], sum(shares) if shares else None
        ),
        "note": " ".join(filter(None, [alike, added_little(neurons, about)])),
        "order": order,
        "columns": _columns(neurons, about, alike, is_signed=_is_signed(page), is_gated=is_gated),
        "rows": [_row(row, pale) for row in neurons.sort("rank").to_dicts()],
        "raising": _raising(everywhere, about, pale),
        "links": [_token(one) for one in dict.fromkeys([cell["predicted"], about])],
        "inspected": None,
    }


def _is_signed(page: GridPage) -> bool:
    """Whether coefficients can be below 0, where a neuron writes the bottom of its list."""
    return bool((page.neurons.get_column("coefficient") < 0).any())


def added_little(neurons: pl.DataFrame, token: str) -> str:
    """A sentence where none of the neurons adds much to a token's logit; else nothing.

    Args:
        neurons: rows with `added`.
        token: text of the token.
    """
    most = neurons.get_column("added").max()
    if not isinstance(most, float) or most > LEAST_ADDED:
        return ""
    return f"None of the ten adds more than {LEAST_ADDED} to the logit of {quoted(token)}: the most is {most:+.3f}."


def _raising(neurons: pl.DataFrame, token: str, pale: Collection[str]) -> Mapping[str, Any]:
    """Those of the dominant neurons of every layer that add most to a token's logit, and what all of them add."""
    added = neurons.get_column("added")
    above, below = (float(added.filter(sign).sum()) for sign in (added > 0, added < 0))
    most = neurons.filter(pl.col("added") > 0).sort("added", descending=True).head(N_RAISING)
    of_all = f"the ten dominant neurons of each layer, {neurons.height} in all, add {above:+.2f} and {below:+.2f}"
    end = "to its logit; those that add most:" if most.height else "to its logit."
    return {
        "title": f"What all layers add to {quoted(token)} here",
        "sentence": f"{of_all[0].upper()}{of_all[1:]} {end}",
        "rows": [_row(row, pale) for row in most.to_dicts()],
    }


def cell_sentence(cell: Mapping[str, Any], final_probability: float, share: float | None) -> str:
    """What is predicted in a cell, what that is to the prediction in the end, and how much the ten neurons hold."""
    final = f"{quoted(cell['final'])}, predicted in the end ({100 * final_probability:.1f}%)"
    prediction = f"Predicts {quoted(cell['predicted'])} ({100 * cell['probability']:.1f}%)"
    end = ", as the whole model does" if cell["final_rank"] == 1 else f"; {final}, has rank "
    rank = "" if cell["final_rank"] == 1 else f"{cell['final_rank']:,} here"
    changed = cell["before"] is not None and cell["before"] != cell["predicted"]
    ffn = f" Before the FFN it was {quoted(cell['before'])}." if changed else ""
    held = "" if share is None else f" These ten neurons hold {share:.1%} of the layer's summed |m|·‖v‖."
    return f"{prediction}{end}{rank}.{ffn}{held}"


def _columns(neurons: pl.DataFrame, token: str, alike: str, *, is_signed: bool, is_gated: bool) -> list[Sequence[str]]:
    """Of each column a key, its name and what hovering over it tells; without that which `alike` stands for."""
    rows = neurons.filter(pl.col("n_tokens_seen").is_not_null()).select("n_tokens_seen", "corpus").rows()
    fires = "at which its gate is open, however small its activation" if is_gated else "that it fires on"
    of_text = f"share of {rows[0][0]:,} tokens of {spoken_corpus(rows[0][1])} {fires}" if rows else "not measured"
    words = WRITES if is_signed else "tokens of the largest value vector times unembedding"
    return [
        ("neuron", "neuron", "click for its contexts and lists"),
        ("share", "share", "of the sum of |activation| times length of the value vector, over the layer"),
        ("activation", "activation", "after the non-linearity"),
        (
            "adds",
            f"adds to {quoted(token)}",
            "to its logit at this position, less the mean over all tokens: activation times value vector times "
            "unembedding through the final norm, whose divisor is held; what layers above make of it is left out",
        ),
        ("writes", "promotes", words),
        *([] if alike else [("frequency", "gate open" if is_gated else "fires on", of_text)]),
    ]


def often_alike(neurons: pl.DataFrame, *, is_gated: bool) -> str:
    """A sentence that stands for the column of how often neurons fire, where all of its rows read the same.

    Args:
        neurons: rows with frequency and n_tokens_seen.
        is_gated: whether it is their gates that are counted.
    """
    rows = neurons.select("frequency", "n_tokens_seen").drop_nulls().rows()
    often = {f"{100 * share:.1f}%" for share, _ in rows}
    if len(rows) < max(2, neurons.height) or len(often) > 1:
        return ""
    what = "The gate of each is open at" if is_gated else "Each fires on"
    return f"{what} {often.pop()} of {rows[0][1]:,} tokens."


def _row(row: Mapping[str, Any], pale: Collection[str]) -> Mapping[str, Any]:
    tokens = (row["writes"] or [])[:_TOKENS]
    names = ("neuron", "share", "coefficient", "added", "frequency", "kind")
    return {
        **{name: row[name] for name in names},
        "place": row["address"].rpartition("/")[2],
        "writes": [{**_token(token), "is_pale": token in pale} for token in tokens],
    }


def _token(token: str) -> dict[str, Any]:
    """A token with its white space marked, and where its neurons are searched for."""
    return {"token": visible(token), "href": href("search", **token_question(token))}
