"""The commands that prove a warehouse sound, and right."""

from __future__ import annotations

import dataclasses

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.spelling import escape_controls
from neurothek.catalog.terminal.console import (
    note,
    whoever_reads,
)
from neurothek.cli.options import Format, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_frame


@click.command()
@format_option
@common_options
@pass_warehouse
def check(warehouse: Neurothek, output_format: Format) -> None:
    """Check that the file is whole, keys are unique, rows have runs, and tables agree; exit 1 if any check fails.

    The command first reads every block of the file that is in use and compares it with its checksum; if the file is
    damaged, it stops with exit code 2. It skips blocks that are no longer used. If a killed process left a log beside
    the file (FILE.wal), its header and its entries are checked too. The matrices kept beside the file are checked last.

    Some damage cannot be detected. A truncated log looks like a transaction that did not finish, and so does a log with
    an entry whose damaged length reaches beyond the end. A deleted log looks as if there had been none. In these cases
    the last commits before the kill are missing, and no command reports it.
    """
    from collections import Counter

    import polars as pl

    report = warehouse.check(progress=True)
    schema = {"check": pl.String, "n_rows": pl.Int64, "first": pl.String, "law": pl.String}
    rows = [(finding.name, finding.n_rows, finding.example, finding.law) for finding in report.findings]
    if rows or output_format != "table":
        with whoever_reads():
            show_frame(pl.DataFrame(rows, schema=schema, orient="row"), output_format)
    for again, n_lost in Counter(one.again() for one in report.missing).items():
        beside = f"copy {warehouse.warehouse.maps.name} from beside the original"
        note(f"kept matrices missing beside the warehouse: {n_lost:,}; {beside}, or recreate them with `{again}`")
    for finding in report.findings:
        if finding.advice:
            note(finding.advice)
    if report.passed:
        note(f"{warehouse.path}: file intact, {report.n_checks} checks passed")
        return
    note(f"{len(report.findings)} of {report.n_checks} checks failed")
    click.get_current_context().exit(1)


@click.command()
@click.argument("model")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of layers to measure again, for each job.",
)
@click.option("--weights", metavar="PATH", help="Folder of the weights, if they have moved.")
@format_option
@common_options
@pass_warehouse
def verify(warehouse: Neurothek, model: str, sample: int, weights: str | None, output_format: Format) -> None:
    """Tokenize the texts of MODEL again and measure some of its layers again; exit 1 if the warehouse disagrees."""
    import polars as pl

    from neurothek.catalog.upkeep.verification import Agreement

    parts = warehouse.verify(model, sample=sample, weights=weights, progress=True)
    agreements = [part for part in parts if isinstance(part, Agreement)]
    names = [field.name for field in dataclasses.fields(Agreement)]
    rows = pl.DataFrame([dataclasses.astuple(part) for part in agreements], schema=names, orient="row")
    columns = [name for name in names if name != "first_difference" or any(part.n_different for part in agreements)]
    with whoever_reads():
        show_frame(rows, output_format, columns=columns)
    for part in parts:
        if not isinstance(part, Agreement):
            note(f"{part.job} was not verified: {part.reason}")
    wrong = [part for part in agreements if part.n_different]
    if wrong:
        tables = ", ".join(part.table for part in wrong)
        note(f"{sum(part.n_different for part in wrong):,} rows of {tables} disagree")
    else:
        note(f"{sum(part.n_rows for part in agreements):,} rows of {model} measured again, all agree")
    if wrong or any(not isinstance(part, Agreement) and part.is_broken for part in parts):
        click.get_current_context().exit(1)


@click.command()
@click.argument("model")
@click.option("--corpus", help="Corpus for views to show.")
@click.option("--clusters", type=int, help="Clustering for views to show, by the requested number of clusters.")
@common_options
@pass_warehouse
def pin(warehouse: Neurothek, model: str, corpus: str | None, clusters: int | None) -> None:
    """Choose the corpus or the clustering that views show for MODEL."""
    if corpus is None and clusters is None:
        raise click.UsageError("nothing to pin; give --corpus NAME, --clusters N or both")
    warehouse.pin(model, corpus=corpus, clusters=clusters)
    choices = [*([f"on {corpus}"] if corpus else []), *([f"in {clusters:,} clusters"] if clusters is not None else [])]
    note(f"{model} is shown {' and '.join(choices)}")


@click.command()
@click.argument("model")
@click.option("--family", metavar="NAME", help="Family; its models differ only in size or variant.")
@click.option(
    "--variant", metavar="V", help='"step 1000", "seed 2", Q4_1, no-position, post-norm, or plain for a plain size.'
)
@common_options
@pass_warehouse
def label(warehouse: Neurothek, model: str, family: str | None, variant: str | None) -> None:
    """Set the family of MODEL, and the variant that distinguishes it from the plain model of its size.

    Figures and views compare the plain sizes of a family, and show a variant beside the plain model of its size.
    """
    from neurothek.catalog.variants import described

    if family is None and variant is None:
        raise click.UsageError("nothing to label; give --family NAME, --variant V or both")
    now = warehouse.label(model, family=family, variant=variant)
    note(f"{model} is {described(now.family, now.variant)}")


@click.command()
@click.argument("model")
@click.argument("name")
@common_options
@pass_warehouse
def rename(warehouse: Neurothek, model: str, name: str) -> None:
    """Rename MODEL to NAME, which also changes the addresses of its neurons."""
    warehouse.rename(model, name)
    note(f"{model} is now called {name}")


@click.command()
@click.argument("model")
@click.option("--job", help="Remove only the results of this job.")
@click.option("--corpus", help="Remove only the results on this corpus.")
@click.option("--catalog", help="Remove only this catalog of other people, see the view foreign_catalogs.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@common_options
@pass_warehouse
def remove(warehouse: Neurothek, /, model: str, *, yes: bool, **parts: str | None) -> None:
    """Delete MODEL and its annotations from the warehouse, or only its rows from one job, corpus or foreign catalog."""
    from neurothek.catalog.upkeep import changes

    what = ", ".join([f"model {model}", *(f"{name} {part}" for name, part in parts.items() if part)])
    job, corpus, catalog = (parts[name] for name in ("job", "corpus", "catalog"))
    if catalog and (job or corpus):
        raise click.UsageError("--catalog goes without --job and --corpus: a foreign catalog is of neither")
    if not yes:
        if catalog:
            changes.require_foreign(warehouse.warehouse, model, catalog)
        else:
            changes.require_removable(warehouse.warehouse, model, job=job, corpus=corpus)
        # A job can be run again: what people wrote is gone for good.
        n_written = 0 if job or corpus or catalog else changes.count_annotations(warehouse.warehouse, model)
        if n_written:
            what += f" with the {n_written:,} annotation{'s' if n_written > 1 else ''} that people wrote"
        click.confirm(escape_controls(f"Remove {what} from {warehouse.path}?"), abort=True, err=True)
    deleted = warehouse.remove(model, job=job, corpus=corpus, catalog=catalog)
    note(
        f"removed {sum(deleted.values()):,} rows of {what}; the file keeps its size, and new rows will reuse the space"
    )
