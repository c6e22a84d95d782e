"""Exhibits: each names views that exist, pictures that are drawn, jobs that are measured."""

import shutil
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.papers import din, geva, voita, voita_galleries
from neurothek.dashboards.papers.reproduced import collect
from neurothek.queries.papers.exhibit import OF_SIZES, Exhibit, Sheet
from neurothek.queries.papers.paper_names import PAPER_NAMES, PaperName
from neurothek.queries.papers.registry import PAPERS
from neurothek.queries.views.install import view
from tests.dashboards.papers.conftest import NAMES, Readers


def test_labels_make_addresses() -> None:
    made = [Exhibit(label, "", ()).slug for label in ("Table 9, Table 10", "Section 5.5", "Fit of mat")]
    assert made == ["table-9-table-10", "section-5-5", "fit-of-mat"]


def test_files_of_a_paper_have_names_of_their_own() -> None:
    for paper in PAPERS.values():
        stems = [sheet.stem for one in paper.exhibits for sheet in one.sheets]
        slugs = [picture.slug for one in paper.exhibits for picture in one.pictures]
        for names in (stems, slugs, [one.slug for one in paper.exhibits]):
            assert len(set(names)) == len(names), names


def test_every_picture_is_drawn() -> None:
    drawings = {"voita": {**voita.DRAWINGS, **voita_galleries.DRAWINGS}, "geva": geva.SKETCHES, "din": din.SKETCHES}
    for name, paper in PAPERS.items():
        assert {picture for one in paper.exhibits for picture in one.pictures} == set(drawings[name])


def test_claims_rest_on_what_is_measured_for_their_paper() -> None:
    for paper in PAPERS.values():
        for claim in paper.claims:
            assert set(claim.jobs) <= set(paper.jobs), claim.text
            assert paper.shown_in(claim)


@pytest.fixture
def path_of_quantized(tmp_path: Path, full_path: Path) -> Path:
    """The hand-made models, of which one is said to be stored in four bits."""
    shutil.copy(full_path, tmp_path / "w.duckdb")
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute("update store.models set variant = 'Q4_1' where name = 'tiny-2m'")
    return tmp_path / "w.duckdb"


@pytest.mark.parametrize("paper", PAPER_NAMES)
def test_sheets_are_rows_of_their_view(paper: PaperName, readers: Readers) -> None:
    reader = readers[paper]
    for one in PAPERS[paper].exhibits:
        for sheet in one.sheets:
            sheet_rows = reader.sql(sheet.sql, params=sheet.parameters(NAMES, ["tiny-1m", "tiny-2m"]))
            columns, found = ", ".join(sheet_rows.columns), sheet_rows.fetchall()
            where = f" and ({sheet.where})".replace(OF_SIZES, "variant is null") if sheet.where else ""
            asked = f"select {columns} from {sheet.view} where model in ({', '.join('?' * len(NAMES))}){where}"
            expected = reader.execute(asked, NAMES).fetchall()
            assert sorted(map(rounded, found)) == sorted(map(rounded, expected)), sheet


def test_sheets_of_sizes_are_of_a_quantized_family_too(path_of_quantized: Path) -> None:
    """All models of a family in 4 bits are its sizes; beside a plain one they are not."""
    n_sheets = 0
    with Warehouse(path_of_quantized).reader() as reader:
        (family,) = reader.execute("select distinct family from models where variant = 'Q4_1'").fetchall()[0]
        quantized = collect(reader, "voita", ["tiny-2m"], family=family)
        both = collect(reader, "voita", family=family)
    for one, names in ((quantized, {"tiny-2m"}), (both, {"tiny-1m"})):
        for table in (table for shown in one.exhibits for table in shown.tables if OF_SIZES in table.sheet.where):
            n_sheets += 1
            assert {row["model"] for row in table.rows.to_dicts() if row["variant"] in (None, "Q4_1")} == names, (
                table.sheet
            )
            assert "$sizes" not in table.sql
    assert n_sheets == 10


def rounded(row: tuple[object, ...]) -> str:
    """Sums of doubles end in other bits from one run to the next."""
    return repr([f"{value:.9g}" if isinstance(value, float) else value for value in row])


def test_models_stand_smallest_first(readers: Readers) -> None:
    reader = readers["geva"]
    sizes = dict(reader.execute("select model, size from models").fetchall())
    by_size = reader.sql(Sheet("scaling").sql, params={"models": NAMES}).pl()
    assert [sizes[name] for name in by_size["model"]] == sorted(sizes[name] for name in NAMES)
    # A view that does not know sizes has models as they were named.
    assert "size" not in view("norm_overlap").columns
    frame = reader.sql(Sheet("norm_overlap", ("layer",)).sql, params={"models": NAMES[::-1]}).pl()
    assert frame["model"].unique(maintain_order=True).to_list() == [
        name for name in NAMES[::-1] if name in set(frame["model"])
    ]
