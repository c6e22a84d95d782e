"""The root of the command line: every command, and the warehouse that they are about."""

from collections.abc import Sequence

import click

from neurothek.cli.annotate import annotate
from neurothek.cli.claims import claims
from neurothek.cli.compare import compare
from neurothek.cli.contents import corpora, models, runs, schema, views
from neurothek.cli.dashboard import dashboard
from neurothek.cli.exchange import export, import_, merge
from neurothek.cli.golden import golden
from neurothek.cli.ingest import demo, ingest
from neurothek.cli.intervene import intervene
from neurothek.cli.neuron import neuron
from neurothek.cli.reproduce import reproduce
from neurothek.cli.root import Root, escape_what_cannot_be_shown, open_what_is_closed
from neurothek.cli.search import search
from neurothek.cli.sql import sql
from neurothek.cli.trace import switch, trace
from neurothek.cli.train import train
from neurothek.cli.upkeep import check, label, pin, remove, rename, verify
from neurothek.front_door import __version__
from neurothek.front_door import open as open_warehouse


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="neurothek")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Measure the feed-forward neurons of language models, and query them.

    Begin with `neurothek demo`; then `neurothek search school`.
    """
    open_what_is_closed()
    escape_what_cannot_be_shown()
    ctx.obj = open_warehouse()


_COMMANDS: Sequence[click.Command] = (
    *(demo, ingest, train, verify, golden),
    *(search, neuron, compare, claims, reproduce, trace, switch, intervene, sql, dashboard, annotate),
    *(views, schema, models, corpora, runs),
    *(pin, label, rename, remove, export, import_, merge, check),
)

for _command in _COMMANDS:
    main.add_command(_command)
