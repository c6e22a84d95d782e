"""What is written of a catalog: row groups as large as they are asked to be, and the card's costs."""

import re
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from neurothek import Neurothek
from neurothek.catalog.hub.writing import Grouping, write_rows


@pytest.mark.parametrize(("n_rows", "most"), [(5_000, 1_024), (5_000, 4_096), (2_048, 1_024), (3, 1_024)])
def test_groups_are_as_large_as_asked(n_rows: int, most: int, tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        file = write_rows(
            connection,
            f"select i, 'x' as text from range({n_rows}) as numbers (i)",
            tmp_path,
            "rows.parquet",
            grouping=Grouping(1 << 23, most_rows=most),
            measured=("i",),
            sorted_by=("i",),
        )
    assert file is not None
    read = pq.ParquetFile(tmp_path / "rows.parquet")
    sizes = [read.metadata.row_group(number).num_rows for number in range(read.num_row_groups)]
    assert sizes == [*[most] * (n_rows // most), *([n_rows % most] if n_rows % most else [])]
    assert read.read()["i"].to_pylist() == list(range(n_rows))
    # A part a group, and the footer.
    assert len(file.ends) == len(sizes) + 1
    assert all(read.metadata.row_group(0).column(place).is_stats_set is (place == 0) for place in (0, 1))


@pytest.mark.long
def test_the_card_has_the_hours_of_each_measurement(local: Neurothek, whole: Path) -> None:
    runs = local.sql("select job, sum(epoch(finished_at - started_at)) as seconds from runs group by job")
    card = (whole / "README.md").read_text("utf-8").replace("\\", "")
    rows = re.findall(r"^\| (\w+) \| \d+ \| \d{4}-\d\d-\d\d \| ([\d.e-]+) \| ", card, re.MULTILINE)
    assert {job for job, _ in rows} == set(runs["job"])
    for job, hours in rows:
        (seconds,) = runs.filter(pl.col("job") == job)["seconds"]
        assert float(hours) == pytest.approx(seconds / 3600, rel=0.06)
        assert hours == "0.00" or float(hours) > 0
