"""Row groups of a catalog's files: as large as they are asked to be, whatever batches the rows come in."""

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

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
