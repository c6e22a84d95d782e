"""The views in Spark: created from an export's SQL, each has the rows that DuckDB has."""

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from neurothek.catalog.exchange.exports import export
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.views.dialects import exported_views
from neurothek.queries.views.install import View, all_views
from tests.support import detectors, event_warehouse, plausible_rows, shortcut_rows, sign_rows
from tests.support import warehouse as made
from tests.support.values import is_same

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    # Frames of pandas are not used here.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

ON_NGRAMS = (
    *("corpus_ngrams", "coverage_bins", "detected_ngrams", "ngram_detectors", "token_detectors", "suppression"),
    *("suppression_by_model", "detectors_by_layer", "detected_by_layer", "detectors_by_minimum"),
)
"""Views that have rows where n-grams were counted: on planted detectors."""


def tables_of(view: View) -> set[str]:
    return {table.name for table in sqlglot.parse_one(view.text, read="duckdb").find_all(exp.Table) if not table.db}


WAREHOUSE_OF: Mapping[str, str] = {name: "ngrams" if name in ON_NGRAMS else "events" for name in all_views()}


@cache
def read_by_others() -> set[str]:
    """Views that other views read."""
    return {table for view in all_views().values() for table in tables_of(view)} & set(all_views())


QUICK = {
    # Views over thousands of rows: compiling Spark's plans and dividing the work cost more than the work.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.files.openCostInBytes": "1",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    # Times are stored without a zone; what shows them must not add one.
    "spark.sql.session.timeZone": "UTC",
}

SHORTCUTS = ((0, 0), (1, 1))
"""(model, corpus): the corpora that the models show."""

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two warehouses that together have rows in every view, and their exports."""
    folder = tmp_path_factory.mktemp("spark")
    event_warehouse.create(folder / "events.duckdb")
    with duckdb.connect(str(folder / "events.duckdb")) as connection:
        made.insert(connection, "shortcuts", shortcut_rows.fits(SHORTCUTS))
        made.insert(connection, "shortcut_predictions", shortcut_rows.predictions(SHORTCUTS))
        made.insert(connection, "shortcut_sentences", shortcut_rows.sentences(SHORTCUTS))
        made.insert(connection, "shortcut_tops", shortcut_rows.tops(SHORTCUTS))
        judged = plausible_rows.judgements(shortcut_rows.sentences(SHORTCUTS), shortcut_rows.tops(SHORTCUTS))
        made.insert(connection, "plausibility_judgements", judged)
        sign_rows.insert(connection)
    detectors.publish(folder / "ngrams.duckdb")
    for name in ("events", "ngrams"):
        export(Warehouse(folder / f"{name}.duckdb"), folder / name, texts=exported_views())
    return folder


@pytest.fixture(scope="module")
def spark(folder: Path) -> Iterator[Any]:
    """A local session with one thread."""
    sql = pytest.importorskip("pyspark.sql", reason="Spark is an extra: pip install neurothek[spark]")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = sql.SparkSession.builder.master("local[1]").config("spark.sql.warehouse.dir", str(folder / "tables"))
    for name, value in QUICK.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.sql("create database found")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def in_spark(spark: Any, folder: Path) -> dict[str, tuple[list[str], Rows]]:  # noqa: ANN401 - PySpark is an extra
    """View -> its columns and rows, asked of the export that has rows for it."""
    found = {}
    for warehouse in ("events", "ngrams"):
        spark.sql(f"set folder={folder / warehouse}")
        for script in sorted((folder / warehouse / "views" / "spark").iterdir()):
            for statement in script.read_text("utf-8").split(";\n"):
                if statement.strip():
                    spark.sql(statement)
            name = script.stem.partition("-")[2]
            if name not in WAREHOUSE_OF:
                continue
            frame = spark.table(name)
            if WAREHOUSE_OF[name] == warehouse:
                found[name] = (frame.columns, [tuple(row) for row in frame.collect()])
            if name in read_by_others():
                # Planning a view down to the tables takes longer than asking it: those above read what this one found.
                frame.write.saveAsTable(f"found.{warehouse}_{name}")
                spark.sql(f"create or replace view {name} as select * from found.{warehouse}_{name}")
    return found


def in_duckdb(folder: Path, view: str) -> tuple[list[str], Rows]:
    with duckdb.connect(str(folder / f"{WAREHOUSE_OF[view]}.duckdb"), read_only=True) as connection:
        cursor = connection.execute(f"select * from {view}")
        return [column[0] for column in cursor.description or []], cursor.fetchall()


def keyed(columns: list[str], rows: Rows, key: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    places = [columns.index(name) for name in key]
    return {repr([row[place] for place in places]): row for row in rows}


def test_every_view_has_rows_in_one_of_the_warehouses(folder: Path) -> None:
    assert not [name for name in all_views() if not in_duckdb(folder, name)[1]]


def test_every_view_ran_in_spark(in_spark: dict[str, tuple[list[str], Rows]]) -> None:
    assert set(in_spark) == set(all_views())


@pytest.mark.parametrize("view", all_views())
def test_spark_has_the_same_rows(view: str, in_spark: dict[str, tuple[list[str], Rows]], folder: Path) -> None:
    columns, rows = in_spark[view]
    expected_columns, expected = in_duckdb(folder, view)
    assert columns == expected_columns
    assert len(rows) == len(expected)
    key = all_views()[view].key
    found, known = keyed(columns, rows, key), keyed(columns, expected, key)
    assert found.keys() == known.keys()
    different = [
        (place, name, found[place][number], known[place][number])
        for place in known
        for number, name in enumerate(columns)
        if not is_same(found[place][number], known[place][number])
    ]
    assert different == []
