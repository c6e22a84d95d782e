"""The commands `trace` and `switch`: how a model builds its prediction for a prompt, and what neurons do to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypedDict

import click
from click.core import ParameterSource

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.terminal.console import complain, note
from neurothek.cli.options import Format, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_tables

if TYPE_CHECKING:
    from neurothek.catalog.tables.traces import AttributionOrder, RaisingOrder
    from neurothek.queries.trace.attribution import AttributionPage
    from neurothek.queries.trace.trace import Lens, TracePage


@click.command()
@click.argument("model")
@click.argument("prompt", required=False)
@click.option(
    "-i",
    "--interactive",
    "is_interactive",
    is_flag=True,
    help="Keep the model open, and trace each line that is typed, or that standard input holds.",
)
@click.option("--position", type=int, help="Position to trace, counted from 0, or back from -1.  [default: the last]")
@click.option(
    "--top", type=click.IntRange(1, 50), default=5, show_default=True, help="Tokens to show before and after each FFN."
)
@click.option("--token", metavar="TEXT", help="Also show the ranks and scores of this token; ·school is ' school'.")
@click.option(
    "--toward",
    metavar="TEXT",
    help="Rank the neurons of all layers by their effect on the logit of this token instead of showing the layers.",
)
@click.option(
    "--instead",
    metavar="TEXT",
    help="Take the logit of this token off that of --toward.  [default: the mean of all tokens]",
)
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
    help="Number of neurons to list, of those of all layers that raise the token most; with --toward by either sign.",
)
@click.option(
    "--sort",
    type=click.Choice(["centred", "score", "share", "relevance", "direct"]),
    help="Order of these neurons: by what each adds to the token's score, less the mean over all tokens (centred, the"
    " default) or not (score), or by its share of the layer's update. With --toward: by its effect through all layers"
    " (relevance, the default), or by what it adds itself (direct).",
)
@click.option(
    "--effects",
    is_flag=True,
    help="Also show the effect on the token of switching off each of the first ten; with --toward, of the first 50.",
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
    prompt: str | None,
    is_interactive: bool,
    position: int | None,
    top: int,
    token: str | None,
    toward: str | None,
    instead: str | None,
    lens: Lens,
    raising: int,
    sort: RaisingOrder | AttributionOrder | None,
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

    With --toward or --instead, the answer is about a difference of two logits: the neurons of all layers with the
    largest effects on it, by gradients through the layers above, in which norms and attention are held (relevance), and
    by what each adds itself (direct). --effects switches the first 50 off one by one, and says how well both agree with
    that.

    With --interactive, the model is opened once and answers one prompt a line, PROMPT first if it is given. Ctrl-D
    leaves. With --format json, each answer is one line.
    """
    files: _Files = {"corpus": corpus, "weights": weights, "allow_pickle": allow_pickle}
    is_attribution = toward is not None or instead is not None
    if is_attribution:
        source = click.get_current_context().get_parameter_source("top")
        _refuse_beside_attribution(
            token=token is not None, lens=lens == "mat", top=source is ParameterSource.COMMANDLINE
        )
        if raising == 0:
            raise click.UsageError("--raising 0 leaves nothing to show of --toward or --instead; give 1 or more")
    if sort is not None and (sort in _ATTRIBUTION_ORDERS) != is_attribution:
        raise click.UsageError(f"--sort {sort} is {'for' if not is_attribution else 'not for'} --toward or --instead")

    def answer(text: str) -> None:
        page: TracePage | AttributionPage
        if is_attribution:
            page = warehouse.attribute(
                model,
                text,
                toward=toward,
                instead=instead,
                position=position,
                top=raising,
                sort="direct" if sort == "direct" else "relevance",
                ablate=effects,
                **files,
            )
        else:
            page = warehouse.trace(
                model,
                text,
                position=position,
                top=top,
                token=token,
                lens=lens,
                raising=raising,
                sort="score" if sort == "score" else "share" if sort == "share" else "centred",
                effects=effects,
                **files,
            )
        show_tables(page.sections(), output_format, page.data(), head=page.summary)

    if is_interactive:
        if output_format not in {"table", "json"}:
            raise click.UsageError(f"--interactive prints tables or json, not {output_format}")
        from neurothek.api.prompts import open_for_prompts

        tokens = [text for text in (token, toward, instead) if text is not None]
        open_for_prompts(warehouse, model, tokens=tokens, weights=weights, allow_pickle=allow_pickle)
        click.get_current_context().exit(_converse(prompt, answer))
    if prompt is None:
        raise click.UsageError("Missing argument 'PROMPT'; --interactive reads prompts line by line")
    answer(prompt)


_ATTRIBUTION_ORDERS = ("relevance", "direct")


class _Files(TypedDict):
    """Where facts and weights come from."""

    corpus: str | None
    weights: str | None
    allow_pickle: bool


def _refuse_beside_attribution(**given: bool) -> None:
    """Refuse options about layers and states, which an attribution does not show."""
    for option, is_there in given.items():
        if is_there:
            raise click.UsageError(
                f"--{option} does not go with --toward or --instead, which show no layers; --raising counts neurons"
            )


def _converse(first: str | None, answer: Callable[[str], None]) -> int:
    """Answer prompts until there are no more; the exit code is 2 if one that was piped in has no answer."""
    is_at_a_terminal = sys.stdin.isatty()
    n_failed = 0
    for prompt in _prompts(first, _typed() if is_at_a_terminal else _piped()):
        try:
            answer(prompt)
        except NeurothekError as error:
            complain(error)
            n_failed += 1
        except KeyboardInterrupt:
            if not is_at_a_terminal:
                raise
            note("stopped")
        # Whoever reads line by line through a pipe waits for this answer before asking again.
        sys.stdout.flush()
    return 2 if n_failed and not is_at_a_terminal else 0


def _prompts(first: str | None, lines: Iterator[str]) -> Iterator[str]:
    """What is asked, without empty lines; spaces are part of a prompt."""
    if first is not None:
        yield first
    yield from (line for line in lines if line.strip())


def _typed() -> Iterator[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import InMemoryHistory

    note("One prompt a line. Ctrl-D leaves.")
    session: PromptSession[str] = PromptSession("prompt> ", history=InMemoryHistory())
    while True:
        try:
            yield session.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _piped() -> Iterator[str]:
    # Bytes that are no UTF-8 are traced as the sign for such, as those of an argument are.
    while line := sys.stdin.buffer.readline():
        yield line.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


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
@click.option(
    "--continuation",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Tokens that the untouched and the changed model write after the prompt.",
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
    continuation: int,
    weights: str | None,
    allow_pickle: bool,
    output_format: Format,
) -> None:
    """Switch neurons of MODEL off, or set them to a value, and show what it then predicts after PROMPT.

    An ADDRESS is that of a neuron, such as L3N17. The answer shows the prediction before and after, for each neuron
    alone and for all together, beside random neurons of the same layers that are set in the same way. With
    --continuation it also shows what the model writes after the prompt, untouched and changed. The command runs the
    model, using the weights that were measured.
    """
    # A neuron that is named twice is one.
    distinct = {one if "/" in one else f"{model}/{one.strip()}": None for one in addresses}
    ask = warehouse.switch if len(distinct) == 1 else warehouse.switch_together
    page = ask(
        model,
        prompt,
        *distinct,
        set=value,
        pre=pre,
        position=position,
        n_random=n_random,
        seed=seed,
        continuation=continuation,
        weights=weights,
        allow_pickle=allow_pickle,
    )
    show_tables(page.sections(), output_format, page.data(), head=page.summary)
