"""What the numbers of a model and of a layer say, in sentences made from the rows."""

from collections.abc import Mapping, Sequence
from math import asin, sqrt
from statistics import median
from typing import Any

import polars as pl

from neurothek.catalog.spelling import spoken_corpus
from neurothek.catalog.terminal.cells import percent

_MOST = 0.5
"""From this share on, one layer is said to hold most."""


def model_headline(layers: pl.DataFrame) -> str:
    """What one sees in a model: how many neurons do nothing, how active the others are, their kinds, where it settles.

    Args:
        layers: rows of the statement `model_layers`, by layer; at least one.
    """
    rows = layers.to_dicts()
    parts = [_silent(rows), _frequency(rows), _counted(rows), _settled(rows)]
    return " ".join(part for part in parts if part)


def layer_headline(layers: pl.DataFrame, layer: int) -> str:
    """What one sees in a layer beside the model's others: first what is most unlike them.

    Args:
        layers: rows of the statement `model_layers`, by layer.
        layer: the layer, one of them.
    """
    rows = layers.to_dicts()
    (row,) = [one for one in rows if one["layer"] == layer]
    others = [one for one in rows if one["layer"] != layer]
    tokens = f"the {row['n_tokens_seen']:,} tokens seen of {spoken_corpus(row['corpus'])}"
    parts = []
    for clause in _by_distance(row, others):
        if clause == "counts":
            counts = [_counted_as(row[name], what) for name, what in _KINDS if _tells(row, others, name)]
            parts.append(_capital(f"{' and '.join(counts)}."))
        elif clause == "saturated_share":
            settled = f"{row[clause]:.0%} of the predictions settle here"
            parts.append(f"{settled}{_beside(row, others, clause)}.")
        elif clause == "median_effective_frequency":
            share = f"{row[clause]:.1%} on {tokens}{_beside(row, others, clause)}"
            parts.append(f"The median neuron has an effective frequency of {share}.")
            tokens = "these tokens"
        elif clause == "median_frequency":
            share = f"{row[clause]:.1%} of {tokens}{_beside(row, others, clause)}"
            parts.append(f"The median of the neurons that fire is active at {share}.")
            tokens = "these tokens"
        else:
            word, count, share = _silence(row) or _DEAD
            verb = "is" if row[count] == 1 else "are"
            count_there = f"{row[count]:,} of {row['n_neurons']:,} neurons ({row[share]:.1%}) {verb} {word} on {tokens}"
            parts.append(f"{count_there}{_beside(row, others, share)}.")
            tokens = "these tokens"
    return " ".join(parts)


def _by_distance(row: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[str]:
    """What there is to tell of a layer, by how far it lies from the median of the others; no 0 beside 0."""
    silence = _silence(row)
    silent = [] if silence is None else [silence[2]]
    far = {name: _distance(row, others, name) for name in (*silent, _frequency_of(row), "saturated_share")}
    distances = {name: distance for name, distance in far.items() if _tells(row, others, name)}
    kinds = [_distance(row, others, name) for name, _ in _KINDS if _tells(row, others, name)]
    if kinds:
        distances["counts"] = max(kinds)
    return sorted(distances, key=lambda name: -distances[name])


def _tells(row: Mapping[str, Any], others: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether a number is known, and not 0 as in all other layers."""
    values = [one[name] for one in others if one.get(name) is not None]
    return row.get(name) is not None and (row[name] != 0 or not values or any(values))


def _distance(row: Mapping[str, Any], others: Sequence[Mapping[str, Any]], name: str) -> float:
    """Cohen's h of a share, or of a number of the layer's neurons, and the median of the others (Cohen 1988, ch. 6)."""

    def angle(one: Mapping[str, Any]) -> float:
        share = one[name] / one["n_neurons"] if name.startswith("n_") else one[name]
        return 2 * asin(sqrt(share))

    angles = [angle(one) for one in others if one.get(name) is not None]
    if row.get(name) is None or not angles:
        return 0.0
    return abs(angle(row) - median(angles))


def _beside(row: Mapping[str, Any], others: list[dict[str, Any]], share: str) -> str:
    """How a layer's share stands among those of the others, which are told from the least to the most."""
    values = [one[share] for one in others if one.get(share) is not None]
    if not values:
        return ""
    low, high = f"{min(values):.1%}", f"{max(values):.1%}"
    span = f"{low} to {high} in the others" if low != high else f"{low} in the others"
    if row[share] > max(values):
        return f", the most of any layer ({span})"
    return f", the least of any layer ({span})" if row[share] < min(values) else f" ({span})"


def positions_headline(kinds: pl.DataFrame, n_layers: int, n_neurons: int) -> str:
    """How many neurons are positional, in which layers, and of which kind.

    Args:
        kinds: n_neurons and n_sequences by layer, position_kind and position_strength; at least one row.
        n_layers: layers of the model.
        n_neurons: neurons of the model.
    """
    total = int(kinds.get_column("n_neurons").sum())
    by_layer = (
        kinds.group_by("layer").agg(pl.col("n_neurons").sum()).sort("n_neurons", "layer", descending=[True, False])
    )
    layer, held = by_layer.row(0)
    empty = sorted(set(range(n_layers)) - set(by_layer.get_column("layer")))
    where = f"all of them in layer {layer}" if held == total else f"{held:,} of them in layer {layer}"
    none = f", none in {_layers(empty)}" if empty and held < total else ""
    by_kind = kinds.group_by("position_kind").agg(pl.col("n_neurons").sum())
    kind, of_kind = by_kind.sort("n_neurons", "position_kind", descending=[True, False]).row(0)
    strong = int(kinds.filter(pl.col("position_strength") == "strong").get_column("n_neurons").sum())
    verb = "is" if total == 1 else "are"
    return (
        f"{total:,} of {n_neurons:,} neurons ({total / n_neurons:.1%}) {verb} positional, {where}{none}. The most "
        f"common kind is {kind} ({of_kind:,}); of all, {_counted_as(strong, 'strong')}."
    )


def team_sentence(teams: pl.DataFrame, layer: int) -> str:
    """What the largest team of a layer covers, in a sentence; empty where it has none.

    Args:
        teams: rows of the view `position_teams` of one model.
        layer: one of its layers.
    """
    rows = teams.filter(pl.col("layer") == layer).sort("n_neurons", descending=True).to_dicts()
    if not rows:
        return ""
    row = rows[0]
    redundant = _counted_as(row["n_redundant"], "redundant")
    return (
        f"{row['n_neurons']:,} strong neurons cover {row['covered_share']:.0%} of the {row['n_positions']:,} "
        f"positions; {redundant}."
    )


def _layers(layers: list[int]) -> str:
    """Layers in words, runs of them shortened."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    pair = 2
    parts = [part for run in runs for part in (map(str, run) if len(run) <= pair else [f"{run[0]} to {run[-1]}"])]
    words = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return f"{'layer' if len(layers) == 1 else 'layers'} {words}"


_KINDS = (("n_positional", "positional"), ("n_detectors", "a token detector"))
_KINDS_COUNTED = (("n_positional", "positional neurons"), ("n_detectors", "token detectors"))
_WRITTEN = {0: "none", 1: "one"}
"""Small numbers in sentences: a figure after a full stop reads as a part of the number before it."""


_DEAD = ("dead", "n_dead", "dead_share")
_NEGLIGIBLE = ("negligible", "n_negligible", "negligible_share")


def _silence(row: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """How neurons that do nothing are called, and the columns of their number and share; None where that is unknown."""
    return next((one for one in (_DEAD, _NEGLIGIBLE) if row.get(one[1]) is not None), None)


def _frequency_of(row: Mapping[str, Any]) -> str:
    """The column of how active the median neuron is: where no coefficient is exactly 0 half of them are "active"."""
    return "median_effective_frequency" if row.get("n_dead") is None else "median_frequency"


def _silent(rows: list[dict[str, Any]]) -> str:
    silence = _silence(rows[0])
    if silence is None:
        return ""
    word, count, share = silence
    n_silent, n_neurons = (sum(row[name] for row in rows) for name in (count, "n_neurons"))
    on = f"on the {rows[0]['n_tokens_seen']:,} tokens seen of {spoken_corpus(rows[0]['corpus'])}"
    if n_silent == 0:
        never = "fired at least once" if silence is _DEAD else "has at least 1% of its FFN's output somewhere"
        return f"Every neuron {never} {on}."
    most = max(rows, key=lambda row: row[share])
    place = f", most of all in layer {most['layer']} ({most[share]:.1%})" if len(rows) > 1 else ""
    if n_silent == 1 and place:
        place = f", in layer {most['layer']}"
    share_of_all = n_silent / n_neurons
    verb, written = "is" if n_silent == 1 else "are", f"{share_of_all:.1%}"
    # Not 0% of what is not 0.
    written = percent(share_of_all) if written == "0.0%" else written
    return f"{n_silent:,} of {n_neurons:,} neurons ({written}) {verb} {word} {on}{place}."


def _frequency(rows: list[dict[str, Any]]) -> str:
    name = _frequency_of(rows[0])
    measured = [row for row in rows if row.get(name) is not None]
    if not measured:
        return ""
    low, high = (end(measured, key=lambda row: row[name]) for end in (min, max))
    if name == "median_effective_frequency":
        beside = "" if low is high else f" in layer {high['layer']}, and of {low[name]:.1%} in layer {low['layer']}"
        return f"The median neuron has an effective frequency of {high[name]:.1%}{beside}."
    if low["layer"] == high["layer"]:
        return f"The median neuron that fires does so at {low['median_frequency']:.1%} of the tokens."
    return (
        f"The median neuron that fires does so at {high['median_frequency']:.1%} of the tokens in layer "
        f"{high['layer']}, and at {low['median_frequency']:.1%} in layer {low['layer']}."
    )


def _counted(rows: list[dict[str, Any]]) -> str:
    clauses = []
    for column, what in _KINDS_COUNTED:
        if all(row.get(column) is None for row in rows):
            continue
        total = sum(row[column] or 0 for row in rows)
        most = max(rows, key=lambda row: row[column] or 0)
        where = ""
        if total and len(rows) > 1:
            held = most[column]
            where = f", {held:,} of them in layer {most['layer']}" if held >= _MOST * total and held < total else ""
            where = f", all in layer {most['layer']}" if held == total and total > 1 else where
        clauses.append(f"{what}: {_WRITTEN.get(total, f'{total:,}')}{where}")
    return f"{_capital('; '.join(clauses))}." if clauses else ""


def _settled(rows: list[dict[str, Any]]) -> str:
    measured = [row for row in rows if row.get("saturated_share") is not None]
    if not measured:
        return ""
    *before, last = sorted(measured, key=lambda row: int(row["layer"]))
    of = f"{last['n_examples']:,} predictions" if last.get("n_examples") else "the predictions"
    if not before:
        return f"{last['saturated_share']:.0%} of {of} settle in layer {last['layer']}."
    early = sum(row["saturated_share"] for row in before)
    most = max(before, key=lambda row: row["saturated_share"])
    place = (
        f", most of these in layer {most['layer']} ({most['saturated_share']:.0%} of all)" if len(before) > 1 else ""
    )
    return f"{early:.0%} of {of} settle before the last layer{place if early else ''}."


def _counted_as(number: int, what: str) -> str:
    """How many are something: "none is positional", "one is positional", "47 are positional"."""
    if number in _WRITTEN:
        return f"{_WRITTEN[number]} is {what}"
    return f"{number:,} are {what.removeprefix('a ')}{'s' if what.startswith('a ') else ''}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
