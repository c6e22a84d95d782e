"""The commands `trace` and `switch`: how a model builds its prediction for a prompt, and what neurons do to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from neurothek.api.warehouse import Neurothek
from neurothek.cli.options import Format, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_tables

if TYPE_CHECKING:
    from neurothek.catalog.tables.traces import RaisingOrder
    from neurothek.queries.trace.trace import Lens


@click.command()
@click.argument("model")
@click.argument("prompt")
@click.option("--position", type=int, help="Position to trace, counted from 0, or back from -1.  [default: the last]")
@click.option(
    "--top", type=click.IntRange(1, 50), default=5, show_default=True, help="Tokens to show before and after each FFN."
)
@click.option("--token", metavar="TEXT", help="Also show the ranks and scores of this token; ·school is ' school'.")
@click.option(
    "--lens",
    type=click.Choice(["id", "mat"]),
    default="id",
    show_default=True,
    help="How to read states: as they are, or also through the matrices kept by --job shortcuts.",
)
@click.option(
    "--raising",
    type=click.IntRange(0, 1000),
    default=10,
    show_default=True,
    help="Number of neurons to list, of those of all layers that raise the token most.",
)
@click.option(
    "--sort",
    type=click.Choice(["centred", "score", "share"]),
    default="centred",
    show_default=True,
    help="Order of these neurons: by what each adds to the token's score, less the mean over all tokens (centred) or"
    " not (score), or by its share of the layer's update.",
)
@click.option(
    "--effects", is_flag=True, help="Also show the effect on the token of switching off each of the first ten."
)
@click.option(
    "--corpus",
    help="Corpus for the matrices of --lens mat and for facts about neurons.  [default: the model's shown corpus]",
)
@click.option("--weights", metavar="PATH", help="Folder of the weights.  [default: where they were measured]")
@click.option("--allow-pickle", is_flag=True, help="Allow pickled weights; loads tensors only, never code.")
@format_option
@common_options
@pass_warehouse
def trace(  # noqa: PLR0917 - click hands arguments over by name
    warehouse: Neurothek,
    /,
    model: str,
    prompt: str,
    position: int | None,
    top: int,
    token: str | None,
    lens: Lens,
    raising: int,
    sort: RaisingOrder,
    effects: bool,
    corpus: str | None,
    weights: str | None,
    allow_pickle: bool,
    output_format: Format,
) -> None:
    """Trace how MODEL, a model in the warehouse, builds its prediction after PROMPT, layer by layer.

    The answer shows the top tokens before and after each FFN, the rank of the finally predicted token, the layer where
    that token reaches the top for good (saturation), the layer where another is pushed down furthest (elimination), the
    neurons of all layers that raise a token most (that of --token, else the predicted one), and the ten neurons of each
    layer that contribute most. --lens mat also shows what the model predicts from each of its states, both directly and
    through the matrix that leads to the last state. The command runs the model, using the weights that were measured.
    """
    page = warehouse.trace(
        model,
        prompt,
        position=position,
        top=top,
        token=token,
        lens=lens,
        raising=raising,
        sort=sort,
        effects=effects,
        corpus=corpus,
        weights=weights,
        allow_pickle=allow_pickle,
    )
    show_tables(page.sections(), output_format, page.data(), head=page.summary)


@click.command()
@click.argument("model")
@click.argument("prompt")
@click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS...")
@click.option(
    "--set",
    "value",
    type=float,
    default=0.0,
    show_default=True,
    help="Value to set them to, at every position; 0: off.",
)
@click.option("--pre", is_flag=True, help="Set them before the non-linearity instead of after it.")
@click.option("--position", type=int, help="Position to read, counted from 0, or back from -1.  [default: the last]")
@click.option(
    "--random",
    "n_random",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="Random neurons of the layer, or sets of as many, to compare with.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Seed of the random draw."
)
@click.option("--weights", metavar="PATH", help="Folder of the weights.  [default: where they were measured]")
@click.option("--allow-pickle", is_flag=True, help="Allow pickled weights; loads tensors only, never code.")
@format_option
@common_options
@pass_warehouse
def switch(  # noqa: PLR0917 - click hands arguments over by name
    warehouse: Neurothek,
    /,
    model: str,
    prompt: str,
    addresses: tuple[str, ...],
    value: float,
    pre: bool,
    position: int | None,
    n_random: int,
    seed: int,
    weights: str | None,
    allow_pickle: bool,
    output_format: Format,
) -> None:
    """Switch neurons of MODEL off, or set them to a value, and show what it then predicts after PROMPT.

    An ADDRESS is that of a neuron, such as L3N17. The answer shows the prediction before and after, for each neuron
    alone and for all together, beside random neurons of the same layers that are set in the same way. The command runs
    the model, using the weights that were measured.
    """
    ask = warehouse.switch if len(addresses) == 1 else warehouse.switch_together
    page = ask(
        model,
        prompt,
        *addresses,
        set=value,
        pre=pre,
        position=position,
        n_random=n_random,
        seed=seed,
        weights=weights,
        allow_pickle=allow_pickle,
    )
    show_tables(page.sections(), output_format, page.data(), head=page.summary)
