"""The command `trace`: how a model builds its prediction for one prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from catalog.terminal.options import Format, common_options, format_option
from catalog.terminal.printing import show_tables

if TYPE_CHECKING:
    from queries.trace.trace import Lens


@click.command()
@click.argument("model")
@click.argument("prompt")
@click.option("--position", type=int, help="Position to look at, from 0, or from -1 backwards.  [default: the last]")
@click.option("--top", type=click.IntRange(1, 50), default=5, show_default=True, help="Tokens before and after an FFN.")
@click.option("--token", metavar="TEXT", help="Show the ranks and scores of this token too; ·school is ' school'.")
@click.option(
    "--lens",
    type=click.Choice(["id", "mat"]),
    default="id",
    show_default=True,
    help="What states are read through: nothing, or the matrices kept by --job shortcuts too.",
)
@click.option(
    "--corpus",
    help="Corpus of the matrices of --lens mat, and of what is said of neurons.  [default: the model's shown corpus]",
)
@click.option("--weights", metavar="PATH", help="Folder of the weights.  [default: where they were]")
@click.option("--allow-pickle", is_flag=True, help="Read pickled weights: tensors only, never code.")
@format_option
@common_options
@click.pass_context
def trace(  # noqa: PLR0917 - click hands arguments over by name
    ctx: click.Context,
    /,
    model: str,
    prompt: str,
    position: int | None,
    top: int,
    token: str | None,
    lens: Lens,
    corpus: str | None,
    weights: str | None,
    allow_pickle: bool,
    output_format: Format,
) -> None:
    """Follow how MODEL, one of the warehouse, builds its prediction after PROMPT, layer by layer.

    Shown are the top tokens before and after each FFN, the rank of the token predicted in the end, where it comes to
    stay at the top (saturation) and where another is pushed down furthest (elimination), and the ten neurons that add
    most. With --lens mat also what the model says from each of its states, as it is and through the matrix that leads
    to the last one. The model itself is run for it, from the weights that were measured.
    """
    page = ctx.obj.trace(
        model,
        prompt,
        position=position,
        top=top,
        token=token,
        lens=lens,
        corpus=corpus,
        weights=weights,
        allow_pickle=allow_pickle,
    )
    show_tables(page.sections(), output_format, page.data(), head=page.summary)
