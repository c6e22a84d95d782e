"""The command `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import note
from neurothek.cli.options import Format, UserPath, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_tables

if TYPE_CHECKING:
    from neurothek.dashboards.papers.figure import Figure


@click.command()
@click.argument("models", nargs=-1)
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    metavar="NAME",
    help="Compare on this corpus (repeatable).  [default: each model's shown corpus]",
)
@click.option(
    "--figure",
    type=UserPath(),
    help="Also write the papers' figures to this folder, with a subfolder per corpus if there are several.",
)
@format_option
@common_options
@pass_warehouse
def compare(
    warehouse: Neurothek,
    models: tuple[str, ...],
    corpora: tuple[str, ...],
    figure: Path | None,
    output_format: Format,
) -> None:
    """Compare MODELS (default: all) side by side: headline numbers, changes with depth, kinds of neurons.

    The answer begins with a summary of the plain sizes of a family and its basis: a number rises or falls if no size
    breaks the order and the ends differ by more than 5%, shares of neurons by more than their 95% interval.

    --figure writes figures 1 to 4 and 8 to 16 of Voita et al. 2023 for these models, as PNG and SVG, and those of Din
    et al. 2023 on linear shortcuts (how states predict each other, precision, surprisal, parts replaced) and exits.
    With --corpus, everything is about that corpus; if something was not measured on it, the answer gives the command
    that measures it. A second --corpus is shown beside the first, as in figures 12 to 21 of Din et al. 2023.
    """
    from neurothek.queries.compare.comparison import together
    from neurothek.queries.names.models import folder_name

    names: tuple[str | None, ...] = tuple(dict.fromkeys(corpora)) or (None,)
    comparisons = [warehouse.compare(*models, corpus=corpus) for corpus in names]
    if figure is not None:
        for comparison in comparisons:
            corpus = comparison.corpus
            folder = figure if len(comparisons) == 1 or corpus is None else figure / folder_name(corpus)
            _say_what_is_drawn(warehouse.draw_comparison(comparison, folder), folder)
    sections, data = together(comparisons)
    head = "\n".join(summary for comparison in comparisons if (summary := comparison.summary))
    show_tables(sections, output_format, data, head=head)


def _say_what_is_drawn(figures: Sequence[Figure], folder: Path) -> None:
    """Which files were written; of those that were not, why, together where the reason is the same."""
    for (series, why_not), group in groupby(figures, lambda one: (one.picture.series or one.name, one.why_not)):
        alike = list(group)
        if why_not:
            title = alike[0].picture.title
            called = f"{title} is" if len(alike) == 1 else f"{len(alike)} figures of linear {series} are"
            note(f"{called} not drawn: {why_not}")
        else:
            for one in alike:
                note(f"wrote {folder / one.name}.png, .svg")
