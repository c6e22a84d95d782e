"""The command `contrast`: which neurons tell two sets of prompts apart."""

from __future__ import annotations

from typing import Literal

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import console_progress
from neurothek.cli.options import Format, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_tables


@click.command()
@click.argument("model")
@click.option(
    "--a",
    metavar="PROMPTS",
    help="Prompts of A: a file with one per line, or JSON lines; or builtin:code, builtin:prose, builtin:questions or"
    " builtin:statements.",
)
@click.option("--b", metavar="PROMPTS", help="Prompts of B, likewise.")
@click.option(
    "--at",
    type=click.Choice(["last", "all"]),
    help="Take activations at the last token of each prompt, or their means over all of its tokens.  [default: last]",
)
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Neurons that each table shows.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Seed of the shuffles of the labels.  [default: 0]")
@click.option(
    "--keep", metavar="NAME", help="Keep the contrast and its prompts in the warehouse; alone: show one that is there."
)
@click.option("--force", is_flag=True, help="Replace a contrast of this name.")
@click.option("--corpus", help="Corpus for facts about neurons.  [default: the model's shown corpus]")
@click.option("--weights", metavar="PATH", help="Folder of the weights.  [default: where they were measured]")
@click.option("--allow-pickle", is_flag=True, help="Allow pickled weights; loads tensors only, never code.")
@format_option
@common_options
@pass_warehouse
def contrast(  # noqa: PLR0917 - click hands arguments over by name
    warehouse: Neurothek,
    /,
    model: str,
    a: str | None,
    b: str | None,
    at: Literal["last", "all"] | None,
    top: int,
    seed: int | None,
    keep: str | None,
    force: bool,
    corpus: str | None,
    weights: str | None,
    allow_pickle: bool,
    output_format: Format,
) -> None:
    """Find the neurons of MODEL whose activations tell two sets of prompts apart.

    For each neuron the answer has its mean activation on the prompts of A and of B, and how far the two lie apart: z,
    in standard deviations over all ways to label the prompts. q is the share of false discoveries among the neurons
    with a z at least as large. The line above the tables says how many neurons are found, and how many are where
    shuffled labels are taken for the true ones; --seed shuffles them otherwise. The command runs the model, using the
    weights that were measured.

    With --keep the warehouse keeps the contrast: see the views contrasts and contrasts_summary. `intervene --contrast
    NAME` then changes its neurons.
    """
    with console_progress() as progress:
        page = warehouse.contrast(
            model,
            a,
            b,
            at=at,
            keep=keep,
            top=top,
            seed=seed,
            corpus=corpus,
            force=force,
            weights=weights,
            allow_pickle=allow_pickle,
            progress=progress,
        )
    show_tables(page.sections(), output_format, page.data(), head=page.summary)
