"""What the page of findings says of shortcuts: a row a model and method, and where a curve never crosses."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from docs.generators.findings_shortcuts import METHODS, quality, saved
from neurothek import Neurothek

MODELS = {"mini-opt-a": 2, "mini-opt-b": 3}


class Made(Neurothek):
    """A warehouse that knows only made-up shortcuts."""

    def sql(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limits: object = None,
        corpus: str | None = None,
    ) -> pl.DataFrame:
        if "from shortcut_quality" in query:
            # The smaller model has a state less, and so an empty cell.
            return pl.DataFrame(
                [
                    {"model": model, "method": method, "state": state, "n": 60}
                    | {"precision_1": 0.25 * state, "surprisal": 2.0}
                    for model, n_states in MODELS.items()
                    for state in range(n_states)
                    for method in METHODS
                ]
            )
        row = {"model": "mini-opt-a", "size": 7, "n": 60, "n_layers": 2}
        return pl.DataFrame(
            [row | {"method": "mat", "layers_saved_at_95": 0.75}, row | {"method": "id", "layers_saved_at_95": None}]
        )


def test_tables_have_a_row_a_model_and_method() -> None:
    made = Made(Path("made"))
    lines = quality(made).splitlines()
    assert len(lines) == 2 + len(MODELS) * len(METHODS)
    assert lines[2] == "| a | mat | 60 | 0.000 (2.00) | 0.250 (2.00) |  |"
    assert saved(made).splitlines()[2:] == [
        "| a | 60 | 2 | 0.75 | not through 95% | not through 95% | not through 95% |"
    ]
