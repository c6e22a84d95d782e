"""The command `claims`."""

from __future__ import annotations

import click

from catalog.terminal.console import console, say_in_the_answer, whoever_reads
from catalog.terminal.options import Format, common_options, format_option
from catalog.terminal.printing import show_tables


@click.command()
@click.argument("models", nargs=-1)
@click.option(
    "--paper",
    "papers",
    multiple=True,
    type=click.Choice(["voita", "geva", "din"]),
    help="Only the claims of this paper (repeatable).  [default: all]",
)
@click.option("--family", metavar="NAME", help="Judge this family.  [default: the only one in the warehouse]")
@click.option("--corpus", metavar="NAME", help="Judge on this corpus.  [default: each model's shown corpus]")
@format_option
@common_options
@click.pass_context
def claims(
    ctx: click.Context,
    /,
    models: tuple[str, ...],
    papers: tuple[str, ...],
    output_format: Format,
    **of: str | None,
) -> None:
    """Judge what the papers claim on MODELS of one family (default: all), with the numbers and their intervals.

    A claim holds where the 95% interval of its difference lies above 0 in every size, and does not hold where one lies
    below; else it is undecided. Claims about detectors and positional neurons need larger models where there are fewer
    than ten of them. A claim about a variant (another seed, no positions, early steps of training, norms after the
    blocks) is judged where there is such a model beside a plain one of its size. What was not measured is said with the
    command that measures it.
    """
    from queries.claims.report import report

    judged = ctx.obj.claims(*models, paper=papers, **of)
    if output_format != "table":
        show_tables(judged.sections(), output_format, judged.data())
        return
    for sentence in (judged.summary, *judged.remarks()):
        say_in_the_answer(sentence)
    with whoever_reads():
        say_in_the_answer("\n".join(report(judged, console().width)))
