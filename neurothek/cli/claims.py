"""The command `claims`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import console, say_in_the_answer, whoever_reads
from neurothek.cli.options import Format, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_tables
from neurothek.queries.papers.paper_names import PAPER_NAMES, PaperName

if TYPE_CHECKING:
    from neurothek.queries.papers.verdicts import JudgedClaim, JudgedClaims


@click.command()
@click.argument("models", nargs=-1)
@click.option(
    "--paper",
    "papers",
    multiple=True,
    type=click.Choice(PAPER_NAMES),
    help="Only the claims of this paper (repeatable).  [default: all]",
)
@click.option("--family", metavar="NAME", help="Judge this family.  [default: the only one in the warehouse]")
@click.option("--corpus", metavar="NAME", help="Judge on this corpus.  [default: each model's shown corpus]")
@format_option
@common_options
@pass_warehouse
def claims(
    warehouse: Neurothek,
    /,
    models: tuple[str, ...],
    papers: tuple[PaperName, ...],
    output_format: Format,
    **of: str | None,
) -> None:
    """Judge the papers' claims on MODELS of one family (default: all), with the numbers and their intervals.

    A claim holds if the 95% interval of its difference lies above 0; for several sizes, layers or states, if it does so
    in more than half of them and for all together, and lies below 0 in none. It does not hold if an interval lies below
    0; otherwise it is undecided. With fewer than ten detectors or positional neurons a claim needs larger models, or
    more text if the text was too short. It needs another model if there is none to hold these against: a second size,
    or a variant (untrained, no positions, early steps of training, norms after the blocks) beside the plain model of
    its size. A claim does not apply to models that lack its subject, such as neurons that are exactly 0. If something
    was not measured, the command that measures it is given.
    """
    judged = warehouse.claims(*models, paper=papers, **of)
    if output_format != "table":
        show_tables(judged.sections(), output_format, judged.data())
        return
    for sentence in (judged.summary, *judged.remarks()):
        say_in_the_answer(sentence)
    with whoever_reads():
        say_in_the_answer("\n".join(report(judged, console().width)))


_VERDICT_WIDTH = len("needs larger models")
_LEAST_WIDTH = 60


def report(judged: JudgedClaims, width: int) -> Iterator[str]:
    """The lines, within `width` columns where that is at least 60."""
    from neurothek.queries.papers.verdicts import tally

    width = max(width, _LEAST_WIDTH)
    for paper, judged_claims in judged.by_paper().items():
        yield ""
        yield from textwrap.wrap(paper.source, width)
        yield from textwrap.wrap(f"{tally(judged_claims)}.", width)
        for one in judged_claims:
            yield from _claim(one, width)


def _claim(one: JudgedClaim, width: int) -> Iterator[str]:
    margin = " " * (_VERDICT_WIDTH + 2)
    yield ""
    head = f"{one.finding.outcome.ljust(_VERDICT_WIDTH)}  {one.claim.section}: {one.claim.text}"
    yield from textwrap.wrap(head, width, subsequent_indent=margin)
    of = "" if one.finding.n is None else f" (n = {one.finding.n:,})"
    numbers = f"{one.finding.numbers}{of}"
    yield from textwrap.wrap(
        numbers, width, initial_indent=margin, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
