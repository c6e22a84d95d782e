"""The commands that ask: search, neuron, compare, and what the warehouse holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from catalog.terminal.console import console_progress, note, warn
from catalog.terminal.options import Format, common_options, format_option
from catalog.terminal.printing import show_frame, show_tables

if TYPE_CHECKING:
    from queries.question import Question


class AnyFigure(Protocol):
    """What is told of a figure: see `dashboards.paper.Figure`."""

    name: str
    title: str
    series: str
    why_not: str


@click.command()
@click.argument("words", nargs=-1)
@click.option("--side", type=click.Choice(["promoted", "suppressed", "both"]), default="promoted", show_default=True)
@click.option("--suppresses", multiple=True, metavar="WORD", help="They must suppress this word, too (repeatable).")
@click.option("--triggered-by", multiple=True, metavar="WORD", help="Neurons that fire on a word or short phrase.")
@click.option("--like", metavar="ADDRESS", help="Neurons whose lists overlap most with those of this one.")
@click.option("--score", is_flag=True, help="Exact score and rank of one word for every neuron, from the weights.")
@click.option("--weights", metavar="PATH", help="Folder of the weights, for --score.")
@click.option("--concept", is_flag=True, help="Widen the words with their nearest tokens.")
@click.option(
    "--neighbours", type=click.IntRange(0, 10**6), default=5, show_default=True, help="How many, for each word."
)
@click.option(
    "--leave-out", "left_out", multiple=True, metavar="WORD", help="A near word not to widen with (repeatable)."
)
@click.option(
    "--model", "-m", "models", multiple=True, help="Only this model (repeatable).  [default: the plain sizes]"
)
@click.option("--variants", is_flag=True, help="Ask other seeds, steps of training and models without positions, too.")
@click.option("--layer", help="Only this layer, or a range: 3 or 3-5.")
@click.option("--depth", help="Only this range of depths, such as 0.5-1.")
@click.option(
    "--all/--any", "match_all", default=False, help="Every word, and every --triggered-by, or any.  [default: any]"
)
@click.option("--exact", is_flag=True, help="Take the words as exact tokens, white space and case included.")
@click.option("--without", multiple=True, metavar="WORD", help="Leave out neurons that list this word (repeatable).")
@click.option("--where", metavar="SQL", help='A condition on the view neurons, e.g. "frequency < 0.01".')
@click.option("--min-count", type=click.IntRange(0), default=0, help="Ignore tokens that the corpus holds less often.")
@click.option("--alive", is_flag=True, help="Only neurons that fired on the shown corpus.")
@click.option("--limit", "-n", type=click.IntRange(1, 10**9), default=20, show_default=True, help="How many neurons.")
@format_option
@common_options
@click.pass_context
def search(ctx: click.Context, /, like: str | None, output_format: Format, **options: Any) -> None:
    """Find the neurons that promote or suppress WORDS, best z-score first.

    A word stands for every token that reads so, whatever its case and white space: school finds " school", "School"
    and "SCHOOL"; "he,him,his" is any of the three. In tables white space is visible: ·school is " school", ↵ a newline.

    With --triggered-by and without WORDS, neurons that fire on these, by recall and share; beside WORDS it is a
    condition. With --like ADDRESS, neurons that do alike in any model with the same tokenizer. The lists hold 50 tokens
    a side: --score looks beyond them, with the weights that were measured.
    """
    by_score, weights = options.pop("score"), options.pop("weights")
    if by_score and like is not None:
        raise click.UsageError("--score and --like are two questions")
    if weights is not None and not by_score:
        raise click.UsageError("--weights stands with --score, which alone reads them")
    from queries.models import variants_hint

    question = _question(**options)
    if by_score:
        with console_progress() as progress:
            result = ctx.obj.score(question, weights=weights, progress=progress)
    else:
        result = ctx.obj.answer(question, like=like)
    for remark in (*result.notes, *variants_hint(result.left_out, "--variants asks all")):
        note(remark)
    if output_format == "table":
        show_frame(result.table(), output_format, title=result.title)
    else:
        show_frame(result.neurons, output_format)
        n_shown = result.neurons.height
        if n_shown < result.n_found:
            warn(f"these are the first {n_shown:,} of {result.n_found:,} neurons; --limit N brings N")


def _question(*, layer: str | None, depth: str | None, **options: Any) -> Question:
    from queries.question import Question, parse_depth, parse_layers

    layers = None if layer is None else parse_layers(layer)
    return Question(layers=layers, depth=None if depth is None else parse_depth(depth), **options)


@click.command()
@click.argument("address")
@click.option("--corpus", help="Show its activity on this corpus.  [default: the model's shown corpus]")
@click.option("--limit", "-n", type=click.IntRange(1, 10**9), default=10, show_default=True, help="Tokens per side.")
@click.option("--all", "show_all", is_flag=True, help="List the nearest in other models that are no counterparts too.")
@click.option("--figure", type=click.Path(path_type=Path), help="Draw its position profile to this .png or .svg too.")
@format_option
@common_options
@click.pass_context
def neuron(ctx: click.Context, /, address: str, *, figure: Path | None, output_format: Format, **options: Any) -> None:
    """Show the neuron at ADDRESS, for example opt-125m/L3N1702: its tokens, its activity, its strongest places.

    Also what triggers it: tokens, bigrams and trigrams, whether it is a detector of them, and why not; and its
    counterparts in other models, which overlap with it more than 99% of random vectors do: --all lists the rest.
    """
    from queries.neuron import neuron_page

    with ctx.obj.reader() as connection:
        page = neuron_page(connection, address, **options)
    if figure is not None:
        note(f"wrote {ctx.obj.draw_neuron(page, figure)}")
    show_tables(page.sections(), output_format, page.data(), head=page.summary)
    n_folded = 0 if page.show_all else page.relatives.below_chance.height
    if output_format == "table" and n_folded:
        note(f"{n_folded} of the nearest in other models are not above chance: --all lists them")


@click.command()
@click.argument("models", nargs=-1)
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    metavar="NAME",
    help="Compare on this corpus; several stand one after the other.  [default: each model's shown corpus]",
)
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    help="Write the papers' figures into this folder too; of several corpora, into a folder each within it.",
)
@format_option
@common_options
@click.pass_context
def compare(
    ctx: click.Context,
    models: tuple[str, ...],
    corpora: tuple[str, ...],
    figure: Path | None,
    output_format: Format,
) -> None:
    """Put MODELS (all, unless named) side by side: headline numbers, what changes with depth, kinds of neurons.

    --figure writes figures 1 to 4 and 8 to 15 of Voita et al. 2023 for these models, as PNG and SVG, and those of Din
    et al. 2023 on linear shortcuts (how states predict each other, precision, surprisal, parts replaced) and exits.
    With --corpus all of it is of that corpus, and what was not measured on it is said with the command that does it.
    A second --corpus stands beside the first, as figures 12 to 21 of Din et al. 2023 do.
    """
    from queries.compare import together
    from queries.corpora import folder_name

    asked: tuple[str | None, ...] = tuple(dict.fromkeys(corpora)) or (None,)
    comparisons = [ctx.obj.compare(*models, corpus=corpus) for corpus in asked]
    if figure is not None:
        for comparison in comparisons:
            is_one = len(comparisons) == 1 or comparison.corpus is None
            folder = figure if is_one else figure / folder_name(comparison.corpus)
            _say_what_is_drawn(ctx.obj.draw_comparison(comparison, folder), folder)
    sections, data = together(comparisons)
    show_tables(sections, output_format, data)


def _say_what_is_drawn(figures: Sequence[AnyFigure], folder: Path) -> None:
    """Which files were written; of those that were not, why, together where the reason is the same."""
    for (series, why_not), group in groupby(figures, lambda one: (one.series, one.why_not)):
        alike = list(group)
        if why_not:
            called = f"{alike[0].title} is" if len(alike) == 1 else f"{len(alike)} {series} are"
            note(f"{called} not drawn: {why_not}")
        else:
            for one in alike:
                note(f"wrote {folder / one.name}.png, .svg")


@click.command()
@click.argument("name", required=False)
@click.option("--sql", "as_sql", is_flag=True, help="Print the view's SQL, to edit and run.")
@format_option
@common_options
def views(name: str | None, as_sql: bool, output_format: Format) -> None:
    """List the views, or say what the view NAME holds."""
    from queries import listing
    from queries.views import view

    if name is None:
        show_frame(listing.views(), output_format, columns=("view", "one_row"))
    elif as_sql:
        click.echo(view(name).text, nl=False)
    else:
        show_frame(listing.view_columns(name), output_format, title=view(name).purpose)


@click.command()
@click.argument("name", required=False)
@format_option
@common_options
@click.pass_context
def schema(ctx: click.Context, name: str | None, output_format: Format) -> None:
    """List the views and tables of the warehouse, or the columns of NAME."""
    from queries import listing

    with ctx.obj.reader() as connection:
        frame = listing.relations(connection) if name is None else listing.columns(connection, name)
    show_frame(frame, output_format)


@click.command()
@format_option
@common_options
@click.pass_context
def models(ctx: click.Context, output_format: Format) -> None:
    """List the models of the warehouse, smallest first."""
    from queries import listing

    with ctx.obj.reader() as connection:
        frame = listing.models(connection)
    show_frame(listing.models_table(frame) if output_format == "table" else frame, output_format)


@click.command()
@format_option
@common_options
@click.pass_context
def corpora(ctx: click.Context, output_format: Format) -> None:
    """List the corpora that models were measured on."""
    from queries import listing

    with ctx.obj.reader() as connection:
        frame = listing.corpora(connection)
    show_frame(frame, output_format, columns=listing.CORPORA_TABLE)


@click.command()
@click.option(
    "--staging",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Where `ingest --staging` put unfinished measurements.",
)
@format_option
@common_options
@click.pass_context
def runs(ctx: click.Context, staging: Path | None, output_format: Format) -> None:
    """List what was measured when: published runs, and those that are running, failed or were interrupted."""
    from catalog.publishing.staging import staged_manifests
    from queries import listing

    beside = ctx.obj.warehouse.staging
    staged = staged_manifests(beside if staging is None else staging / beside.name)
    if staged and not ctx.obj.warehouse.exists():
        frame = listing.runs(None, staged)
    else:
        with ctx.obj.reader() as connection:
            frame = listing.runs(connection, staged)
    show_frame(frame, output_format, columns=listing.runs_table(frame))
