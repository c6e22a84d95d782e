"""A paper as a warehouse tells it: the exhibits with their rows and drawings, and the claims judged on the models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl

from neurothek.dashboards.papers import din, geva, voita, voita_galleries
from neurothek.dashboards.papers.figure import Figure, draw_all, draw_sheets
from neurothek.dashboards.papers.material import Material
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.statements import ExecutedStatement
from neurothek.queries.compare.comparison import Comparison, compare
from neurothek.queries.names.models import choose_models, sizes_of
from neurothek.queries.papers.din import DIN
from neurothek.queries.papers.exhibit import Exhibit, Paper, Sheet
from neurothek.queries.papers.geva import GEVA
from neurothek.queries.papers.paper_names import PaperName
from neurothek.queries.papers.registry import PAPERS
from neurothek.queries.papers.verdicts import JudgedClaim, JudgedClaims, judge_claims
from neurothek.queries.views.on_corpus import on_corpus


@dataclass(frozen=True)
class Table:
    """The rows of a sheet."""

    sheet: Sheet  # which
    rows: pl.DataFrame  # its rows
    sql: str  # the statement that yields them, with its values written out


@dataclass(frozen=True)
class ReproducedExhibit:
    """An exhibit with what was found for these models."""

    exhibit: Exhibit  # which
    tables: tuple[Table, ...]  # its numbers
    figures: tuple[Figure, ...]  # its pictures
    claims: tuple[JudgedClaim, ...]  # the paper's claims that it shows, judged


@dataclass(frozen=True)
class Reproduced:
    """A paper over again."""

    paper: Paper  # which
    models: tuple[str, ...]  # of which models, smallest first
    corpus: str | None  # the corpus that was asked for; None: each model's shown one
    claims: JudgedClaims  # the paper's claims, judged
    exhibits: tuple[ReproducedExhibit, ...]  # its exhibits, in its order


def collect(
    connection: duckdb.DuckDBPyConnection,
    name: PaperName,
    models: Sequence[str] = (),
    *,
    family: str | None = None,
    corpus: str | None = None,
) -> Reproduced:
    """Read what a paper shows, for some models of one family.

    Args:
        connection: a reader.
        name: which paper.
        models: names of models, variants included; none: all of the family.
        family: the family; None: the only one there.
        corpus: the corpus to tell of; None: each model's shown one.
    """
    paper = PAPERS[name]
    claims = judge_claims(connection, models, papers=[name], family=family, corpus=corpus)
    names, judged = claims.all_models, {one.claim: one for one in claims.judged}
    material = Material.of(connection, compare(connection, names, corpus=corpus))
    sizes = [model.name for model in sizes_of(choose_models(connection, names))]
    with on_corpus(connection, names, corpus) as on_its_corpus:
        tables = {sheet: _table(on_its_corpus, sheet, names, sizes) for one in paper.exhibits for sheet in one.sheets}
        figures = {one.picture: one for one in _figures(on_its_corpus, paper, material, tables)}
    exhibits = tuple(
        ReproducedExhibit(
            one,
            tuple(tables[sheet] for sheet in one.sheets),
            tuple(figures[picture] for picture in one.pictures),
            tuple(judged[claim] for claim in one.claims),
        )
        for one in paper.exhibits
    )
    return Reproduced(paper, names, corpus, claims, exhibits)


def _table(connection: duckdb.DuckDBPyConnection, sheet: Sheet, models: Sequence[str], sizes: Sequence[str]) -> Table:
    parameters = sheet.parameters(models, sizes)
    return Table(sheet, run_query(connection, sheet.sql, parameters), ExecutedStatement(sheet.sql, parameters).sql)


def _figures(
    connection: duckdb.DuckDBPyConnection, paper: Paper, material: Material, tables: Mapping[Sheet, Table]
) -> list[Figure]:
    """The paper's pictures, drawn or not."""
    rows = {sheet: table.rows for sheet, table in tables.items()}
    if paper is DIN:
        return din.draw_shortcuts(rows, material.setting)
    if paper is GEVA:
        of_sizes = {sheet: frame.filter(pl.col("model").is_in(material.sizes())) for sheet, frame in rows.items()}
        return draw_sheets(paper.exhibits, geva.SKETCHES, of_sizes, material.setting)
    gallery = voita_galleries.GalleryRows.of(connection, material.sizes(), material.setting)
    return [*draw_all(voita.DRAWINGS, material), *draw_all(voita_galleries.DRAWINGS, gallery)]


def figures_of_comparison(connection: duckdb.DuckDBPyConnection, comparison: Comparison) -> list[Figure]:
    """The figures that show how models differ: of Voita et al. 2023 by layer and size, of Din et al. 2023 all."""
    material = Material.of(connection, comparison)
    names = material.all_models()
    sheets = [sheet for one in DIN.exhibits if one.pictures for sheet in one.sheets]
    with on_corpus(connection, names, comparison.corpus) as on_its_corpus:
        rows = {sheet: run_query(on_its_corpus, sheet.sql, {"models": names}) for sheet in sheets}
    return [*draw_all(voita.DRAWINGS, material), *din.draw_shortcuts(rows, material.setting)]
