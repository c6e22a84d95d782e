"""The saturation profile side by side, against loops over the examples it is counted from."""

from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.compare.comparison import (
    SATURATION_COLUMNS,
    compare,
    saturation,
    saturation_sections,
    saturation_table,
)
from tests.support import event_warehouse as made
from tests.support.tiny import MODELS


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saturation") / "events.duckdb"
    made.create(path)
    return path


def test_stretches_of_depth_hold_all_examples(path: Path) -> None:
    with Warehouse(path).reader() as connection:
        profile = saturation(connection, [plan.name for plan in MODELS])
    assert dict(profile.schema) == dict(SATURATION_COLUMNS)
    table = saturation_table(profile)
    assert table["model"].to_list() == ["tiny-1m", "gelu-1m", "tiny-2m"]
    # The shallowest has two layers.
    assert table.columns == ["model", "examples", "by FFN", "0-50%", "50-100%"]
    examples = {
        MODELS[model_id].name: [
            row for row in made.rows()["examples"] if (row["model_id"], row["corpus_id"]) == (model_id, corpus_id)
        ]
        for model_id, corpus_id in made.MEASURED
    }
    for row in table.to_dicts():
        plan = next(plan for plan in MODELS if plan.name == row["model"])
        depths = [(example["saturation_layer"] + 0.5) / plan.n_layers for example in examples[plan.name]]
        assert row["examples"] == made.N_EXAMPLES
        assert row["0-50%"] == pytest.approx(sum(depth < 0.5 for depth in depths) / made.N_EXAMPLES)
        assert row["0-50%"] + row["50-100%"] == pytest.approx(1)
        by_ffn = sum(example["saturation_by_ffn"] for example in examples[plan.name])
        assert row["by FFN"] == pytest.approx(by_ffn / made.N_EXAMPLES)


def test_models_without_events_have_no_section(full: duckdb.DuckDBPyConnection) -> None:
    assert saturation_sections(saturation(full, [plan.name for plan in MODELS])) == []


def test_a_comparison_shows_it(path: Path) -> None:
    with Warehouse(path).reader() as connection:
        comparison = compare(connection)
    assert [section.title.split(":")[0] for section in comparison.sections()].count("saturation") == 1
    assert comparison.data()["saturation"].height == comparison.saturation.height > 0
