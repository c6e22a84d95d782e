"""The command that proves a warehouse sound."""

from __future__ import annotations

import click

from catalog.commands import Format, common_options, console_progress, format_option, note, show_frame


@click.command()
@format_option
@common_options
@click.pass_context
def check(ctx: click.Context, output_format: Format) -> None:
    """Prove that keys are unique, rows have their runs, and tables agree; exit 1 with what does not."""
    import polars as pl

    from catalog import checks

    with console_progress() as progress:
        findings = checks.check(ctx.obj.warehouse, progress=progress)
    schema = {"check": pl.String, "n_rows": pl.Int64, "first": pl.String, "law": pl.String}
    rows = [(found.name, found.n_rows, found.example, found.law) for found in findings]
    if rows or output_format != "table":
        show_frame(pl.DataFrame(rows, schema=schema, orient="row"), output_format)
    if not findings:
        note(f"{ctx.obj.path}: all {len(checks.checks())} checks hold")
        return
    note(f"{len(findings)} of {len(checks.checks())} checks do not hold")
    ctx.exit(1)
