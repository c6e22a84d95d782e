"""The command `intervene`: change the neurons that a query finds, and see what the model loses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from catalog.terminal.console import console_progress, note
from catalog.terminal.options import Format, common_options, format_option
from catalog.terminal.printing import show_tables


@click.command()
@click.argument("model")
@click.option("--where", metavar="SQL", help='Neurons that a condition on the view neurons keeps, e.g. "is_dead".')
@click.option("--search", "words", multiple=True, metavar="WORD", help="Neurons that promote a word (repeatable).")
@click.option("--limit", "-n", type=click.IntRange(1), default=10, show_default=True, help="How many, for --search.")
@click.option("--neurons", type=click.Path(path_type=Path, dir_okay=False), help="File of addresses, one per line.")
@click.option("--each", type=click.Choice(["kind"]), help="Change each kind of neurons, one kind at a time.")
@click.option(
    "--set", "value", default="0", show_default=True, metavar="V", help="0, another number, mean, or x0.5 to scale."
)
@click.option("--pre", is_flag=True, help="Set before the non-linearity instead of after it.")
@click.option("--name", help="Name of the intervention.  [default: what was asked]")
@click.option("--corpus", help="Corpus in the warehouse to measure on.  [default: the model's shown corpus]")
@click.option(
    "--tokens", type=click.IntRange(2), default=8_192, show_default=True, help="Token ids of each domain to read."
)
@click.option(
    "--sets", type=click.IntRange(1, 1000), default=20, show_default=True, help="Random sets to compare with."
)
@click.option("--plan", is_flag=True, help="Print what would be changed, and measure nothing.")
@click.option("--force", is_flag=True, help="Replace an intervention of this name.")
@click.option("--weights", metavar="PATH", help="Folder of the weights.  [default: where they were measured]")
@format_option
@common_options
@click.pass_context
def intervene(ctx: click.Context, /, model: str, output_format: Format, plan: bool, **options: Any) -> None:
    """Change neurons of MODEL, measure what it loses, and store the effect.

    Choose the neurons with --where, --search or --neurons, or take --each kind. The loss of every domain is measured
    with the neurons changed, and with random sets of as many neurons from the same layers that fire about as often:
    an effect means something only beside theirs. Interventions on one model and corpus stay in the warehouse side by
    side; see the views interventions, steering and worth_of_kinds.
    """
    options["set"] = options.pop("value")
    planned = ctx.obj.plan_intervention(model, **options)
    for sentence in planned.told():
        note(sentence)
    if plan:
        return
    with console_progress() as progress:
        answer = ctx.obj.carry_out(planned, progress=progress)
    show_tables(answer.sections(), output_format, answer.data(), head=answer.summary)
