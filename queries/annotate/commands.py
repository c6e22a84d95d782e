"""The command `annotate`: draw the vectors that people judge, and publish what they say."""

from __future__ import annotations

import sys

import click

from catalog.terminal.console import note
from catalog.terminal.options import Format, common_options, format_option
from catalog.terminal.printing import show_frame


@click.command()
@click.option(
    "--sample", metavar="MODEL", help="Print vectors of MODEL to judge; --format csv prints a sheet to fill in."
)
@click.option(
    "--stdin", "from_stdin", is_flag=True, help="Publish annotations from stdin: one JSON object per line, or a sheet."
)
@click.option("--annotator", metavar="NAME", help="Name of the annotator; the sample omits vectors they have judged.")
@click.option("--seed", type=click.IntRange(0, 10**9 - 1), default=0, show_default=True, help="Seed of the sample.")
@click.option(
    "--wait", type=click.FloatRange(0), default=60.0, show_default=True, help="Seconds to wait for other processes."
)
@format_option
@common_options
@click.pass_context
def annotate(
    ctx: click.Context,
    /,
    sample: str | None,
    *,
    from_stdin: bool,
    annotator: str | None,
    seed: int,
    wait: float,
    output_format: Format,
) -> None:
    """Name the concepts that neurons promote: draw a sample of vectors to judge, or publish the judgements.

    --sample draws ten neurons per layer and mixes them with as many random vectors and FFN updates. Each comes with its
    30 highest tokens, and nothing reveals which kind it is. An annotator marks at least 4 tokens that share a pattern,
    names the pattern and gives its class: semantic, syntactic, names or stopwords-punctuation (Geva et al. 2022,
    section 4).

    --stdin reads one annotation per line, {"model": ..., "vector": ..., "concept": ..., "class": ..., "ranks": [1, 4,
    7, 9], "annotator": ...}. If there is no concept, it is null. Several lines may be about one vector. It also reads
    the sheet: write ranks as 1 4 7-9, use the class none if there is no concept, and leave rows empty to judge them
    later. Either everything is published or nothing. New annotations replace those that the same annotator made before
    for the same vectors.
    """
    if (sample is not None) == from_stdin:
        raise click.UsageError(
            "give either --sample MODEL to print vectors to judge, or --stdin to publish annotations"
        )
    if sample is not None:
        _print_sample(ctx, sample, annotator, seed, output_format)
        return
    from dataclasses import replace

    from queries.annotate.annotations import annotate as publish
    from queries.annotate.lines import read_lines

    lines = read_lines(sys.stdin.buffer.read())
    saved = publish(replace(ctx.obj.warehouse, wait_seconds=wait), lines, annotator=annotator)
    replaced = f", in place of {saved.n_replaced:,} earlier ones" if saved.n_replaced else ""
    note(f"saved {saved.n_annotations:,} annotations of {saved.n_vectors:,} vectors{replaced}")


def _print_sample(ctx: click.Context, model: str, annotator: str | None, seed: int, output_format: Format) -> None:
    from queries.annotate.sample import draw_sample, unjudged

    with ctx.obj.reader() as connection:
        drawn = draw_sample(connection, model, seed=seed)
        left = drawn if annotator is None else unjudged(connection, drawn, annotator)
    frame = left.sheet(annotator) if output_format == "csv" else left.frame()
    show_frame(frame, output_format, columns=("vector", "tokens"))
    if len(left.vectors) < len(drawn.vectors):
        note(f"{len(drawn.vectors) - len(left.vectors):,} of {len(drawn.vectors):,} vectors were judged by {annotator}")
