"""The command `mcp`: a warehouse as tools of an assistant."""

from __future__ import annotations

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import note
from neurothek.cli.options import common_options, pass_warehouse


@click.command()
@common_options
@pass_warehouse
def mcp(warehouse: Neurothek, /) -> None:
    """Serve the warehouse to an assistant: tools of the Model Context Protocol on standard input and output.

    The tools search, show neurons, compare sizes, list contrasts, describe the schema and run SQL through the same gate
    as `sql`; none measures, runs a model or writes. An assistant's settings name the command `neurothek mcp --warehouse
    FILE`; an address of a published catalog does as well. Requires the extra `neurothek[mcp]`.
    """
    from neurothek.api.assistant import server

    # What is not there is told before an assistant waits for it.
    warehouse.models()
    served = server(warehouse)
    note("serving on standard input and output; end it with Ctrl-C")
    served.run()
