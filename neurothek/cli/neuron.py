"""The command `neuron`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.spelling import marked_label
from neurothek.catalog.terminal.console import note
from neurothek.cli.options import Format, UserPath, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_tables


@click.command()
@click.argument("address")
@click.option("--corpus", help="Show its activity on this corpus.  [default: the model's shown corpus]")
@click.option("--limit", "-n", type=click.IntRange(1, 10**9), default=10, show_default=True, help="Tokens per side.")
@click.option(
    "--all", "show_all", is_flag=True, help="Also list the nearest neurons in other models that are not counterparts."
)
@click.option("--figure", type=UserPath(), help="Also draw its position profile to this .png or .svg file.")
@format_option
@common_options
@pass_warehouse
def neuron(
    warehouse: Neurothek, /, address: str, *, figure: Path | None, output_format: Format, **options: Any
) -> None:
    """Show the neuron at ADDRESS, for example opt-125m/L3N1702: its tokens, activity and strongest contexts.

    The answer also shows the tokens, bigrams and trigrams that trigger the neuron and whether it is a detector of them
    (if not, why), and the effect on the loss of each intervention that changed it, alone or with others. Where the job
    keys was run, it begins with the tokens that the neuron reads: those whose embedding its key likes most.
    Counterparts are neurons of other models that overlap with it more than 99% of random vectors do; --all also lists
    the nearest neurons that do not.
    """
    page = warehouse.neuron(address, **options)
    if figure is not None:
        note(f"wrote {warehouse.draw_neuron(page, figure)}")
    is_labelled = page.label is not None and page.explanations.is_empty()
    head = f"{page.summary}\n\nlabel: {marked_label(page.label or '')}" if is_labelled else page.summary
    show_tables(page.sections(), output_format, page.data(), head=head)
    n_folded = 0 if page.show_all else page.relatives.below_chance.height
    if output_format == "table" and n_folded:
        note(f"{n_folded} of the nearest in other models are not above chance; use --all to list them")
