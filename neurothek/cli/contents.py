"""The commands that say what the warehouse holds."""

from __future__ import annotations

from pathlib import Path

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.advice import command_line
from neurothek.catalog.terminal.console import note
from neurothek.cli.options import Format, UserPath, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_frame


@click.command()
@click.argument("name", required=False)
@click.option("--sql", "as_sql", is_flag=True, help="Print the view's SQL, to edit and run.")
@format_option
@common_options
def views(name: str | None, as_sql: bool, output_format: Format) -> None:
    """List the views, or describe the view NAME."""
    from neurothek.queries.views import contents
    from neurothek.queries.views.install import view

    if name is None:
        show_frame(contents.views(), output_format, columns=("view", "one_row"))
    elif as_sql:
        click.echo(view(name).text, nl=False)
    else:
        show_frame(contents.view_columns(name), output_format, title=view(name).purpose)


@click.command()
@click.argument("name", required=False)
@format_option
@common_options
@pass_warehouse
def schema(warehouse: Neurothek, name: str | None, output_format: Format) -> None:
    """List the views and tables of the warehouse, or the columns of NAME."""
    show_frame(warehouse.schema(name), output_format)


@click.command()
@format_option
@common_options
@pass_warehouse
def models(warehouse: Neurothek, output_format: Format) -> None:
    """List the models of the warehouse, smallest first."""
    from neurothek.queries.views import contents

    frame = warehouse.models()
    with warehouse.reader() as connection:
        shared = contents.models_of_shared_ids(connection)
    show_frame(contents.models_table(frame) if output_format == "table" else frame, output_format)
    if shared:
        note(
            f"an earlier release measured {len(shared)} models on the same ids, though tokenizers of one vocabulary may"
            f" split a text differently; `{command_line('ingest', *shared)}` compares, and corrects what was wrong"
        )


@click.command()
@format_option
@common_options
@pass_warehouse
def corpora(warehouse: Neurothek, output_format: Format) -> None:
    """List the corpora that models were measured on."""
    from neurothek.queries.views.contents import CORPORA_TABLE

    show_frame(warehouse.corpora(), output_format, columns=CORPORA_TABLE)


@click.command()
@click.option(
    "--staging",
    type=UserPath(exists=True, file_okay=False),
    help="Folder in which `ingest --staging` put unfinished measurements.",
)
@format_option
@common_options
@pass_warehouse
def runs(warehouse: Neurothek, staging: Path | None, output_format: Format) -> None:
    """List all runs: published, running, failed and interrupted."""
    from neurothek.queries.views.contents import runs_table

    frame = warehouse.runs(staging=staging)
    show_frame(frame, output_format, columns=runs_table(frame))
