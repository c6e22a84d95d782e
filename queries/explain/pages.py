"""Explanations to read: each with its scores beside those of the controls, and never without them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.arguments import bad_argument
from neurothek.catalog.spelling import one_line
from neurothek.catalog.tables.explanations import CONDITIONS, METHODS
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import frame_of
from neurothek.queries.names.models import choose_models
from neurothek.queries.rules.chance import wilson
from neurothek.queries.views.scored_texts import CONTROLS, REMARK

_EXPLANATIONS = """\
-- Explanations of some neurons, or those that hold some words, with scores and controls.
select *,
from explanations
where
    list_contains($models::varchar[], model)
    and ($explainers::varchar[] is null or list_contains($explainers::varchar[], explainer))
    and ($judge::varchar is null or judge is null or judge = $judge)
    and ($addresses::varchar[] is null or list_contains($addresses::varchar[], address))
    and list_bool_and(list_transform($words::varchar[], lambda word: contains(lower(text), lower(word))))
order by
    detection - greatest(detection_borrowed, detection_random_text, detection_made_up_unit) desc nulls last,
    model, layer, neuron, pole, explainer, judge
"""

_SCORES = """\
-- Every score and control of some explanations, over all parts and for each.
select model, layer, neuron, address, pole, explainer, judge, method, condition, part, score, score_low, score_high,
    n_true, n_true_right, n_false, n_false_right, n_failed,
from explanation_scores
where
    list_contains($models::varchar[], model)
    and ($addresses::varchar[] is null or list_contains($addresses::varchar[], address))
order by model, layer, neuron, pole, explainer, judge, method, condition, part
"""


@dataclass(frozen=True, repr=False)
class Explained(TabularAnswer):
    """Explanations with their scores and controls.

    Attributes:
        title: what they are.
        explanations: a row of the view `explanations` for each, those that beat their controls most first.
        scores: their rows of the view `explanation_scores`.
        notes: what is to be said below.
        limit: how many explanations the table shows.
        is_stopped: whether an endpoint failed so often that not all calls were sent.
    """

    title: str
    explanations: pl.DataFrame
    scores: pl.DataFrame
    notes: Sequence[str] = ()
    limit: int = 20
    is_stopped: bool = False

    @property
    def summary(self) -> str:
        """How many there are."""
        n = self.explanations.height
        return f"{self.title}: {n:,} explanation{'' if n == 1 else 's'}."

    def sections(self) -> list[Section]:
        """Scores over all of them, and a line for each."""
        if self.explanations.is_empty():
            return []
        pooled = self.pooled()
        rows = self.explanations.head(self.limit)
        table = _lines(rows.to_dicts())
        cut = (
            f"the first {self.limit:,} of {self.explanations.height:,}" if self.limit < self.explanations.height else ""
        )
        judged = [] if pooled.is_empty() else [Section("scores over all of them", pooled, REMARK)]
        signs = "; (-): at negative coefficients" if (rows["pole"] == "negative").any() else ""
        remark = f"detection, fuzzing, intruder: the score | the highest score of a control{signs}"
        return [*judged, Section("explanations", table, "\n".join(part for part in (cut, remark) if part))]

    def remarks(self) -> list[str]:
        """Failures."""
        return list(self.notes)

    def pooled(self) -> pl.DataFrame:
        """Score of each method and condition over all contexts of all neurons."""
        rows = []
        of_all = self.scores.filter(part="all")
        for method in METHODS:
            for condition in CONDITIONS:
                of = of_all.filter(method=method, condition=condition)
                if of.is_empty():
                    continue
                n_true, right, n_false, false_right, n_failed = (
                    int(of.get_column(name).sum())
                    for name in ("n_true", "n_true_right", "n_false", "n_false_right", "n_failed")
                )
                score, low, high = score_of(method, right, n_true, false_right, n_false)
                rows.append(
                    {
                        "method": method,
                        "condition": condition,
                        "score": score,
                        "low": low,
                        "high": high,
                        "contexts": n_true + n_false,
                        "failed": n_failed,
                    }
                )
        return pl.DataFrame(rows, schema_overrides={"score": pl.Float64, "low": pl.Float64, "high": pl.Float64})

    def beside_controls(self) -> pl.DataFrame:
        """A row for each explanation, for a page: its scores, each with the highest of its controls."""
        rows = []
        for row in self.explanations.to_dicts():
            of = {"address": row["address"], "pole": row["pole"], "explanation": one_line(row["text"])}
            of["explainer"] = one_line(row["explainer"])
            of["judge"] = None if row["judge"] is None else one_line(row["judge"])
            for method, controls in CONTROLS.items():
                of |= {method: row[method], f"{method}_control": _highest(row, method, controls)}
            rows.append(of)
        scores = {name: pl.Float64 for method in CONTROLS for name in (method, f"{method}_control")}
        texts = dict.fromkeys(("address", "pole", "explanation", "explainer", "judge"), pl.String)
        return pl.DataFrame(rows, schema={**texts, **scores})

    def data(self) -> dict[str, Any]:
        """For programs: `explanations`, `scores`, and what is said below."""
        return {"explanations": self.explanations, "scores": self.scores, "remarks": list(self.notes)}


def score_of(
    method: str, n_true_right: int, n_true: int, n_false_right: int, n_false: int
) -> tuple[float | None, float | None, float | None]:
    """A score with the ends of its 95% interval: of a share Wilson's, of a mean of two shares after Newcombe 1998."""
    if not n_true:
        return None, None, None
    share, low, high = wilson(n_true_right, n_true)
    if method == "intruder":
        return share, low, high
    if not n_false:
        return None, None, None
    other, other_low, other_high = wilson(n_false_right, n_false)
    middle = (share + other) / 2
    return (
        middle,
        middle - hypot(share - low, other - other_low) / 2,
        middle + hypot(high - share, other_high - other) / 2,
    )


def _lines(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A line for each explanation; a model or explainer that all have in common is not repeated."""
    is_one, is_of_one = (len({row[name] for row in rows}) == 1 for name in ("model", "explainer"))
    lines = []
    for row in rows:
        neuron = f"L{row['layer']}N{row['neuron']}" if is_one else row["address"]
        line = {"neuron": f"{neuron}{' (-)' if row['pole'] == 'negative' else ''}", "explanation": row["text"]}
        line |= {method: _beside(row, method, controls) for method, controls in CONTROLS.items()}
        lines.append(line if is_of_one else line | {"explainer": row["explainer"]})
    return pl.DataFrame(lines)


def _beside(row: Mapping[str, Any], method: str, controls: Sequence[str]) -> str:
    """A score, and the highest of its controls."""
    highest = _highest(row, method, controls)
    return " | ".join("-" if value is None else f"{value:.2f}" for value in (row[method], highest))


def _highest(row: Mapping[str, Any], method: str, controls: Sequence[str]) -> float | None:
    return max((value for one in controls if (value := row[f"{method}_{one}"]) is not None), default=None)


@with_its_sql
def explanations_page(
    connection: duckdb.DuckDBPyConnection,
    title: str,
    models: Sequence[str] = (),
    *,
    addresses: Sequence[str] | None = None,
    explainers: Sequence[str] | None = None,
    judge: str | None = None,
    words: Sequence[str] = (),
    notes: Sequence[str] = (),
    limit: int = 20,
    is_stopped: bool = False,
) -> Explained:
    """Explanations of some neurons, or those that hold all of some words, whatever their case.

    Args:
        connection: a reader.
        title: what they are.
        models: whose; none: of all models.
        addresses: of the neurons; None: all.
        explainers: who explains; None: anybody.
        judge: who judged; None: anybody.
        words: that the texts hold.
        notes: what is to be said below.
        limit: how many the table shows.
        is_stopped: whether an endpoint was asked no more.
    """
    if any(not word.strip() for word in words):
        raise bad_argument("words", list(words), "give words that explanations hold")
    names = [model.name for model in choose_models(connection, models)]
    of = {"models": names, "addresses": None if addresses is None else list(addresses)}
    values = {**of, "explainers": explainers and list(explainers), "judge": judge, "words": list(words) or [""]}
    rows = frame_of(connection, _EXPLANATIONS, values)
    scores = frame_of(connection, _SCORES, {**of, "addresses": rows.get_column("address").unique().to_list()})
    keys = ["model", "layer", "neuron", "pole", "explainer", "judge"]
    scores = scores.join(rows.select(keys), on=keys, how="semi")
    return Explained(title, rows, scores, notes, limit, is_stopped)
