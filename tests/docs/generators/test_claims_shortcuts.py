"""Claims on linear shortcuts judged on made-up readings, of which all hold, none does, or nothing can be told."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from docs.generators.claims_shortcuts import METHODS, claims, quality, saved, table
from neurothek import Neurothek

MODELS = {"mini-opt-a": 2, "mini-opt-b": 3}
# How likely each method's top token is the model's, where all claims hold; turned round where none does.
BEST_FIRST = ("mat_attn", "mat_ffn", "mat_ln1_ln2", "mat", "id")


class Made(Neurothek):
    """A warehouse that knows only made-up shortcuts; its name says what is true there."""

    def sql(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limits: object = None,
        corpus: str | None = None,
    ) -> pl.DataFrame:
        kind = self.path.name
        if "from store.shortcut_readings" in query:
            return pl.DataFrame([row for model, n_states in MODELS.items() for row in readings(model, n_states, kind)])
        if "from shortcut_quality" in query:
            # The smaller model has a state less, and so an empty cell.
            return pl.DataFrame(
                [
                    {
                        "model": model,
                        "method": method,
                        "state": state,
                        "n": 60,
                        "precision_1": 0.25 * state,
                        "surprisal": 2.0,
                    }
                    for model, n_states in MODELS.items()
                    for state in range(n_states)
                    for method in METHODS
                ]
            )
        if "from shortcut_fit" in query:
            n_above = {"true": 3, "false": 1, "few": 3}[kind]
            return pl.DataFrame([{"model": model, "n": 3, "n_above": n_above, "least": 0.5} for model in MODELS])
        assert "from exit_tradeoff" in query
        row = {"model": "mini-opt-a", "size": 7, "n": 60, "n_layers": 2}
        return pl.DataFrame(
            [row | {"method": "mat", "layers_saved_at_95": 0.75}, row | {"method": "id", "layers_saved_at_95": None}]
        )


def readings(model: str, n_states: int, kind: str) -> list[dict[str, Any]]:
    """Of 60 sentences; a method that stands before another one is right on those of the other and ten more."""
    methods = BEST_FIRST if kind == "true" else BEST_FIRST[::-1]
    rows = []
    for state in range(n_states):
        for place, method in enumerate(methods):
            right = 30 if kind == "few" else 55 - 10 * place
            for sentence in range(60):
                # Where nothing can be told, every method is right on half the sentences, each on others.
                is_first = (sentence + 7 * place) % 60 < right
                if kind != "few":
                    is_first = sentence < right
                row = {"model": model, "method": method, "state": state, "sentence_id": sentence}
                rows.append(row | {"is_first": float(is_first), "surprisal": 1.0 - is_first})
    return rows


@pytest.mark.parametrize(("kind", "verdict"), [("true", "holds"), ("false", "does not hold")])
def test_orderings_are_judged_by_the_interval(kind: str, verdict: str) -> None:
    judged = claims(Made(Path(kind)))
    assert len(judged) == 5
    assert {one.text: one.verdict for one in judged} == {one.text: verdict for one in judged}


def test_what_cannot_be_told_says_of_how_many() -> None:
    verdicts = [one.verdict for one in claims(Made(Path("few"))) if "every pair" not in one.rule]
    assert verdicts == ["undecided, n = 120"] * 4


def test_the_differences_are_those_of_pairs() -> None:
    told = next(one for one in claims(Made(Path("true"))) if "mat minus that of id" in one.rule).numbers
    # Ten of sixty sentences apart, at the two states of one model and the three of the other.
    assert told.count("+0.167 [+0.") == 5
    assert told.startswith("a 0: ")


def test_tables_have_a_row_a_model_and_method() -> None:
    made = Made(Path("true"))
    lines = quality(made).splitlines()
    assert len(lines) == 2 + len(MODELS) * len(METHODS)
    assert lines[2] == "| a | mat | 60 | 0.000 (2.00) | 0.250 (2.00) |  |"
    assert saved(made).splitlines()[2:] == [
        "| a | 60 | 2 | 0.75 | not through 95% | not through 95% | not through 95% |"
    ]


def test_the_page_has_the_tables() -> None:
    lines = table(Made(Path("true"))).splitlines()
    assert len(lines) == 2 + 5
    assert all(line.count(" | ") == 4 for line in lines if not line.startswith("|---"))
    page = (Path(__file__).parents[3] / "docs" / "findings.md").read_text("utf-8")
    for block in ("shortcuts -->\n| model | method |", "exits -->\n| model | n |", "shortcut claims -->\n| section |"):
        assert f"<!-- {block}" in page
