"""The root of the command line: every command, and the warehouse that they are about."""

from collections.abc import Sequence

import click

from neurothek.catalog.exchange.commands import export, import_, merge
from neurothek.catalog.terminal.root import Root, escape_what_cannot_be_shown, open_what_is_closed
from neurothek.catalog.upkeep.commands import check, label, pin, remove, rename, verify
from neurothek.dashboards.commands import dashboard
from neurothek.dashboards.reproduce.commands import reproduce
from neurothek.front_door import __version__
from neurothek.front_door import open as open_warehouse
from neurothek.ingest.commands import demo, ingest
from neurothek.ingest.golden.commands import golden
from neurothek.ingest.train_commands import train
from neurothek.queries.annotate.commands import annotate
from neurothek.queries.claims.commands import claims
from neurothek.queries.compare.commands import compare
from neurothek.queries.neuron.commands import neuron
from neurothek.queries.search.commands import search
from neurothek.queries.sql.commands import sql
from neurothek.queries.steering.commands import intervene
from neurothek.queries.trace.commands import switch, trace
from neurothek.queries.views.commands import corpora, models, runs, schema, views


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
