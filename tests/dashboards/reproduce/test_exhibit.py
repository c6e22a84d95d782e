"""Exhibits: each names views that exist, figures that are drawn, jobs that are measured; every claim has its place."""

import pytest

from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.papers import din as din_figures
from neurothek.dashboards.papers import geva as geva_figures
from neurothek.dashboards.papers import voita as voita_figures
from neurothek.dashboards.papers.voita_galleries import GalleryRows, gallery_figures
from neurothek.dashboards.reproduce.collected import EXHIBITS
from neurothek.dashboards.reproduce.exhibit import Exhibit, Sheet
from neurothek.queries.claims.claim import PAPERS, Paper
from neurothek.queries.claims.lacking import JOBS
from neurothek.queries.claims.verdicts import CLAIMS
from neurothek.queries.views.install import view
from tests.dashboards.reproduce.conftest import NAMES, Readers


def test_labels_make_addresses() -> None:
    made = [Exhibit(label, "", ()).slug for label in ("Table 9, Table 10", "Section 5.5", "Fit of mat")]
    assert made == ["table-9-table-10", "section-5-5", "fit-of-mat"]


@pytest.mark.parametrize("paper", PAPERS)
def test_files_of_a_paper_have_names_of_their_own(paper: Paper) -> None:
    stems = [sheet.stem for one in EXHIBITS[paper] for sheet in one.sheets]
    pictures = [slug for one in EXHIBITS[paper] for slug in one.pictures]
    assert len(set(stems)) == len(stems)
    assert len(set(pictures)) == len(pictures)
    assert len({one.slug for one in EXHIBITS[paper]}) == len(EXHIBITS[paper])


def test_pictures_are_those_of_the_papers() -> None:
    drawn = {
        "voita": {slug for slug, _ in voita_figures._FIGURES.values()} | {"detectors-in-words", "kinds-of-positions"},
        "geva": set(geva_figures._FIGURES),
        "din": set(din_figures._FIGURES),
    }
    for paper in PAPERS:
        assert {slug for one in EXHIBITS[paper] for slug in one.pictures} == drawn[paper]


def test_the_galleries_have_these_slugs(readers: Readers) -> None:
    figures = gallery_figures(GalleryRows.of(readers["voita"], NAMES), Look({}, {}))
    assert {one.slug for one in figures} == {"detectors-in-words", "kinds-of-positions"}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_is_shown_somewhere(paper: Paper) -> None:
    places = {label for one in EXHIBITS[paper] for label in (*one.label.split(", "), *one.pictures)}
    for claim in CLAIMS:
        if claim.paper == paper:
            assert set(claim.shown_in) <= places, claim.text
            assert set(claim.jobs) <= set(JOBS[paper]) | {"activity"}, claim.text
    for one in EXHIBITS[paper]:
        assert set(one.jobs) <= set(JOBS[paper])


@pytest.mark.parametrize("paper", PAPERS)
def test_sheets_are_rows_of_their_view(paper: Paper, readers: Readers) -> None:
    reader = readers[paper]
    for one in EXHIBITS[paper]:
        for sheet in one.sheets:
            sheet_rows = reader.sql(sheet.sql, params={"models": NAMES})
            columns, found = ", ".join(sheet_rows.columns), sheet_rows.fetchall()
            where = f" and ({sheet.where})" if sheet.where else ""
            asked = f"select {columns} from {sheet.view} where model in ({', '.join('?' * len(NAMES))}){where}"
            expected = reader.execute(asked, NAMES).fetchall()
            assert sorted(map(rounded, found)) == sorted(map(rounded, expected)), sheet


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
