"""The command `search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from catalog.terminal.console import console_progress, note, warn
from catalog.terminal.options import Format, common_options, format_option
from catalog.terminal.printing import show_frame

if TYPE_CHECKING:
    from queries.search.question import Question


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
    from queries.search.scope import variants_hint

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
    from queries.search.question import Question, parse_depth, parse_layers

    layers = None if layer is None else parse_layers(layer)
    return Question(layers=layers, depth=None if depth is None else parse_depth(depth), **options)
