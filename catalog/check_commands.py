"""The commands that prove a warehouse sound, and right."""

from __future__ import annotations

import click

from catalog.commands import Format, common_options, console_progress, format_option, note, show_frame, whoever_reads


@click.command()
@format_option
@common_options
@click.pass_context
def check(ctx: click.Context, output_format: Format) -> None:
    """Prove that the file is whole, keys are unique, rows have their runs, and tables agree; exit 1 with what does not.

    First it reads every block of the file that is in use and compares it with its checksum: a damaged file is told
    with exit code 2. Blocks that are no longer used are left out. If a killed process left a log beside the file
    (FILE.wal), its head and its entries are compared too. The matrices kept beside the file come last.

    What it cannot see: a log that breaks off is taken for a transaction that did not finish, and so is one in which
    the length of an entry is damaged so that it reaches beyond the end; a log that is gone is taken for none. Then the
    last commits before the kill are missing, and no command says so.
    """
    from collections import Counter

    import polars as pl

    from catalog import checks, kept_maps

    with console_progress() as progress:
        findings = checks.check(ctx.obj.warehouse, progress=progress)
    schema = {"check": pl.String, "n_rows": pl.Int64, "first": pl.String, "law": pl.String}
    # The laws of the tables, and the files beside them.
    n_checks = len(checks.checks()) + 1
    rows = [(found.name, found.n_rows, found.example, found.law) for found in findings]
    if rows or output_format != "table":
        with whoever_reads():
            show_frame(pl.DataFrame(rows, schema=schema, orient="row"), output_format)
    with ctx.obj.reader() as connection:
        lost = kept_maps.missing_maps(kept_maps.kept_maps(connection), ctx.obj.warehouse.maps)
    for again, n_lost in Counter(one.again() for one in lost).items():
        note(f"{n_lost:,} kept matrices are not beside the warehouse; `{again}` makes them anew")
    for found in findings:
        if found.advice:
            note(found.advice)
    if not findings:
        note(f"{ctx.obj.path}: every block is what was written, and all {n_checks} checks hold")
        return
    note(f"{len(findings)} of {n_checks} checks {'does' if len(findings) == 1 else 'do'} not hold")
    ctx.exit(1)


@click.command()
@click.argument("model")
@click.option("--sample", type=click.IntRange(min=1), default=1, show_default=True, help="How many layers of each job.")
@click.option("--weights", metavar="PATH", help="Folder of the weights, if they are no longer where they were.")
@format_option
@common_options
@click.pass_context
def verify(ctx: click.Context, model: str, sample: int, weights: str | None, output_format: Format) -> None:
    """Measure some layers of MODEL again from its weights; exit 1 if the warehouse says anything else."""
    import dataclasses

    import polars as pl

    from catalog.verification import Agreement

    parts = ctx.obj.verify(model, sample=sample, weights=weights, progress=True)
    agreements = [part for part in parts if isinstance(part, Agreement)]
    names = [field.name for field in dataclasses.fields(Agreement)]
    rows = pl.DataFrame([dataclasses.astuple(part) for part in agreements], schema=names, orient="row")
    shown = [name for name in names if name != "first_difference" or any(part.n_different for part in agreements)]
    with whoever_reads():
        show_frame(rows, output_format, columns=shown)
    for part in parts:
        if not isinstance(part, Agreement):
            note(f"{part.job} was not verified: {part.reason}")
    wrong = [part for part in agreements if part.n_different]
    if wrong:
        tables = ", ".join(part.table for part in wrong)
        note(f"{sum(part.n_different for part in wrong):,} rows of {tables} do not agree")
    else:
        note(f"{sum(part.n_rows for part in agreements):,} rows of {model} were measured again, and all agree")
    if wrong or any(not isinstance(part, Agreement) and part.is_broken for part in parts):
        ctx.exit(1)
