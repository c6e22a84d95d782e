"""The command `search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import console, console_progress, note, warn
from neurothek.cli.options import Format, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_frame, show_tables

if TYPE_CHECKING:
    from neurothek.queries.search.poles import FoundNeurons
    from neurothek.queries.search.question import Question


_WIDE = 120
"""Columns of a terminal from which on labels are shown."""


@click.command()
@click.argument("words", nargs=-1)
@click.option("--side", type=click.Choice(["promoted", "suppressed", "both"]), default="promoted", show_default=True)
@click.option(
    "--suppresses", multiple=True, metavar="WORD", help="Require that they also suppress this word (repeatable)."
)
@click.option(
    "--triggered-by",
    multiple=True,
    metavar="WORD",
    help="Find neurons that fire on a word or short phrase (repeatable).",
)
@click.option("--reads", is_flag=True, help="Find neurons whose keys like the word's embedding most (job keys).")
@click.option(
    "--explained", is_flag=True, help="Find neurons whose explanations, made with the command explain, hold all WORDS."
)
@click.option("--like", metavar="ADDRESS", help="Find neurons whose token lists overlap most with this one's.")
@click.option(
    "--score", is_flag=True, help="Compute the exact score and rank of one word for every neuron, from the weights."
)
@click.option("--weights", metavar="PATH", help="Folder of the weights, for --score.")
@click.option("--concept", is_flag=True, help="Add the nearest tokens of each word.")
@click.option(
    "--neighbours", type=click.IntRange(0, 10**6), default=5, show_default=True, help="Nearest tokens per word."
)
@click.option("--leave-out", "left_out", multiple=True, metavar="WORD", help="Nearest token not to add (repeatable).")
@click.option(
    "--model", "-m", "models", multiple=True, help="Only this model (repeatable).  [default: the plain sizes]"
)
@click.option("--variants", is_flag=True, help="Include other seeds, training steps and other architectures.")
@click.option("--layer", help="Only this layer, or a range: 3 or 3-5.")
@click.option("--depth", help="Only this range of relative depths, such as 0.5-1.")
@click.option(
    "--all/--any", "match_all", default=False, help="Require all words, and all --triggered-by, or any.  [default: any]"
)
@click.option("--exact", is_flag=True, help="Match tokens exactly, including white space and case.")
@click.option("--without", multiple=True, metavar="WORD", help="Exclude neurons that list this word (repeatable).")
@click.option("--where", metavar="SQL", help='A condition on the view neurons, e.g. "frequency < 0.01".')
@click.option(
    "--min-count", type=click.IntRange(0), default=0, help="Ignore tokens with fewer occurrences in the corpus."
)
@click.option("--script", "scripts", multiple=True, metavar="NAME", help="Any token of a script: Han, Cyrillic, Greek.")
@click.option("--pattern", "patterns", multiple=True, metavar="REGEX", help="Any token whose text matches (RE2).")
@click.option("--bytes", "bytes", is_flag=True, help="Any token that is a piece of a character's bytes.")
@click.option("--corpus", metavar="NAME", help="Corpus for --where, --alive and --min-count.")
@click.option("--alive", is_flag=True, help="Only neurons that fired on the shown corpus (gated: are ever not 0).")
@click.option("--limit", "-n", type=click.IntRange(1, 10**9), default=20, show_default=True, help="Number of neurons.")
@format_option
@common_options
@pass_warehouse
@click.pass_context
def search(
    context: click.Context,
    warehouse: Neurothek,
    /,
    like: str | None,
    output_format: Format,
    explained: bool,
    **options: Any,
) -> None:
    """Find the neurons that promote or suppress WORDS, best z-score first.

    A word matches every token with the same letters, regardless of case and surrounding white space: school finds
    " school", "School" and "SCHOOL"; "he,him,his" matches any of the three. Tables make white space visible: ·school
    is " school", ↵ a newline.

    --triggered-by without WORDS finds neurons that fire on a word or phrase, ordered by recall and share; with WORDS it
    is an additional condition. --like ADDRESS finds similar neurons in any model with the same tokenizer.

    --reads finds the neurons that read WORDS: tokens whose embedding the key likes most, or in a gated model the gate
    or the up projection. It needs the job keys (`neurothek ingest MODEL --job keys`).

    --explained finds neurons by the words of their explanations, those that beat their controls most first.

    For a single word, every neuron is scored from the weights if these are small and on this machine; --score does so
    at any size. Other searches use the stored lists of 50 tokens per side. A neuron of a gated model may match at
    coefficients of either sign; its pole is that sign.
    """
    if explained:
        _explained(context, warehouse, output_format, options)
        return
    by_score, weights = options.pop("score"), options.pop("weights")
    if by_score and like is not None:
        raise click.UsageError("--score and --like cannot be combined")
    if weights is not None and not by_score:
        raise click.UsageError("--weights requires --score")
    from neurothek.queries.search.condition import variants_hint

    question = _question(**options)
    if by_score:
        with console_progress() as progress:
            result: FoundNeurons = warehouse.score(question, weights=weights, progress=progress)
    else:
        result = warehouse.answer(question, like=like)
    for remark in (*result.notes, *variants_hint(result.left_out, "use --variants to include them")):
        note(remark)
    if output_format == "table":
        # In a narrower terminal a label would be cut to nothing.
        is_wide = console().width >= _WIDE
        show_frame(result.labelled() if is_wide else result.table(), output_format, title=result.title)
    else:
        show_frame(result.neurons, output_format)
        n_shown = result.neurons.height
        if n_shown < result.n_found:
            warn(f"showing {n_shown:,} of {result.n_found:,} neurons; use --limit for more")


def _explained(context: click.Context, warehouse: Neurothek, output_format: Format, options: dict[str, Any]) -> None:
    """Print the neurons whose explanations hold the words."""
    takes = {"words", "models", "limit", "explained", "output_format"}
    for option in context.command.params:
        is_given = option.name and context.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE
        if is_given and option.expose_value and option.name not in takes:
            raise click.UsageError(f"--explained and {option.opts[0]} cannot be combined")
    answer = warehouse.explained(*options["words"], model=options["models"], limit=options["limit"])
    show_tables(answer.sections(), output_format, answer.data(), head=answer.summary)


def _question(*, layer: str | None, depth: str | None, **options: Any) -> Question:
    from neurothek.queries.search.question import Question, parse_depth, parse_layers

    layers = None if layer is None else parse_layers(layer)
    return Question(layers=layers, depth=None if depth is None else parse_depth(depth), **options)
