"""A paper as a warehouse tells it: the exhibits with their rows and drawings, and the claims judged on the models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl

from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.papers.din import shortcut_figures
from neurothek.dashboards.papers.figure import Figure
from neurothek.dashboards.papers.files import material_of
from neurothek.dashboards.papers.geva import GevaRows, geva_figures
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.papers.voita import paper_figures
from neurothek.dashboards.papers.voita_galleries import GalleryRows, gallery_figures
from neurothek.dashboards.reproduce import din_exhibits, geva_exhibits, voita_exhibits
from neurothek.dashboards.reproduce.exhibit import Exhibit, Sheet
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.statements import Asked
from neurothek.queries.claims.claim import SOURCES, Paper
from neurothek.queries.claims.verdicts import JudgedClaim, JudgedClaims, judge_claims
from neurothek.queries.compare.comparison import compare
from neurothek.queries.names.unmeasured import corpus_words
from neurothek.queries.views.on_corpus import on_corpus

EXHIBITS: Mapping[Paper, Sequence[Exhibit]] = {
    "voita": voita_exhibits.EXHIBITS,
    "geva": geva_exhibits.EXHIBITS,
    "din": din_exhibits.EXHIBITS,
}


@dataclass(frozen=True)
class Table:
    """The rows of a sheet."""

    sheet: Sheet  # which
    rows: pl.DataFrame  # its rows
    sql: str  # the statement that yields them, with its values written out


@dataclass(frozen=True)
class Shown:
    """An exhibit with what was found for these models."""

    exhibit: Exhibit  # which
    tables: tuple[Table, ...]  # its numbers
    drawn: Mapping[str, Drawing]  # slug -> drawing, of the pictures that could be drawn
    why_not: Mapping[str, str]  # slug -> why a picture could not be drawn
    claims: tuple[JudgedClaim, ...]  # the paper's claims that it shows, judged


@dataclass(frozen=True)
class Reproduced:
    """A paper over again."""

    paper: Paper  # which
    models: tuple[str, ...]  # of which models, smallest first
    corpus: str | None  # the corpus that was asked for; None: each model's shown one
    claims: JudgedClaims  # the paper's claims, judged
    shown: tuple[Shown, ...]  # its exhibits, in its order

    @property
    def source(self) -> str:
        """The paper."""
        return SOURCES[self.paper]


def collect(
    connection: duckdb.DuckDBPyConnection,
    paper: Paper,
    models: Sequence[str] = (),
    *,
    family: str | None = None,
    corpus: str | None = None,
) -> Reproduced:
    """Read what a paper shows, for some models of one family.

    Args:
        connection: a reader.
        paper: which.
        models: names of models, variants included; none: all of the family.
        family: the family; None: the only one there.
        corpus: the corpus to tell of; None: each model's shown one.
    """
    claims = judge_claims(connection, models, papers=[paper], family=family, corpus=corpus)
    names = claims.everybody
    figures = _figures(connection, paper, names, corpus)
    with on_corpus(connection, names, corpus) as shown:
        exhibits = tuple(_shown(shown, one, names, figures, claims) for one in EXHIBITS[paper])
    return Reproduced(paper, names, corpus, claims, exhibits)


def _figures(
    connection: duckdb.DuckDBPyConnection, paper: Paper, names: Sequence[str], corpus: str | None
) -> Mapping[str, Figure]:
    """The paper's figures by their slugs."""
    material = material_of(connection, compare(connection, names, corpus=corpus))
    on = corpus_words(connection, names, corpus)
    figures: list[Figure]
    with on_corpus(connection, names, corpus) as shown:
        if paper == "voita":
            gallery = GalleryRows.of(shown, material.sizes(), on)
            figures = [*paper_figures(material), *gallery_figures(gallery, material.look, corpus=corpus)]
        elif paper == "geva":
            figures = [*geva_figures(GevaRows.of(shown, material.sizes(), on), material.look, corpus=corpus)]
        else:
            figures = [*_shortcuts(material, corpus)]
    return {figure.slug: figure for figure in figures}


def _shortcuts(material: Material, corpus: str | None) -> Sequence[Figure]:
    assert material.shortcuts is not None, "material_of reads them"
    return shortcut_figures(material.shortcuts, material.look, corpus=corpus)


def _shown(
    connection: duckdb.DuckDBPyConnection,
    exhibit: Exhibit,
    names: Sequence[str],
    figures: Mapping[str, Figure],
    claims: JudgedClaims,
) -> Shown:
    parameters = {"models": list(names)}
    tables = tuple(
        Table(sheet, run_query(connection, sheet.sql, parameters), Asked(sheet.sql, parameters).sql)
        for sheet in exhibit.sheets
    )
    own = [figures[slug] for slug in exhibit.pictures]
    labels = set(exhibit.label.split(", ")) | set(exhibit.pictures)
    return Shown(
        exhibit,
        tables,
        {one.slug: one.chart for one in own if one.chart is not None},
        {one.slug: one.why_not for one in own if one.chart is None},
        tuple(one for one in claims.judged if labels & set(one.claim.shown_in)),
    )
