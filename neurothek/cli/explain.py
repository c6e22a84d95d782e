"""The command `explain`: what neurons respond to in words, by a language model, scored beside controls."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import console_progress, note, warn
from neurothek.cli.options import Format, UserPath, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_tables


@click.command()
@click.argument("model")
@click.option(
    "--where", metavar="SQL", help='Neurons that meet a condition on the view neurons, e.g. "is_token_detector".'
)
@click.option(
    "--scores-only",
    metavar="FILE",
    type=UserPath(dir_okay=False),
    help="Only score explanations that people bring: JSON lines with address, text, explainer and, if you like, pole.",
)
@click.option(
    "--endpoint",
    metavar="URL",
    required=True,
    help="An OpenAI-compatible server, such as http://localhost:8000/v1; nothing is sent anywhere else.",
)
@click.option(
    "--model-name", metavar="NAME", required=True, help="The language model to ask, by the name the endpoint knows."
)
@click.option(
    "--key-variable",
    metavar="VARIABLE",
    default="OPENAI_API_KEY",
    show_default=True,
    help="Environment variable that holds the key; no key is sent where it is not set.",
)
@click.option("--allow-http", is_flag=True, help="Allow http to another machine: contexts and key are not encrypted.")
@click.option(
    "--answer-tokens",
    type=click.IntRange(1, 100_000),
    default=200,
    show_default=True,
    help="Most tokens of an answer; give more to language models that think first.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.01, 3_600),
    default=120.0,
    show_default=True,
    help="Seconds for one whole answer.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 256),
    default=4,
    show_default=True,
    help="Calls at a time; a server that answers one after the other is best asked with 1.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Seed of all draws.")
@click.option("--plan", is_flag=True, help="Print what would be sent, and send nothing.")
@click.option("--yes", is_flag=True, help="Send the calls without asking.")
@click.option("--force", is_flag=True, help="Ask again for what the warehouse keeps.")
@format_option
@common_options
@pass_warehouse
def explain(
    warehouse: Neurothek,
    /,
    model: str,
    *,
    scores_only: Path | None,
    plan: bool,
    yes: bool,
    output_format: Format,
    **options: Any,
) -> None:
    """Explain neurons of MODEL in words, and score how well the words predict where they are active.

    For each neuron a language model sees contexts from the strongest down, with the active tokens marked, and the
    tokens that the neuron promotes. The same language model then judges other contexts: detection asks whether the
    text fits a context, fuzzing whether it fits the marked tokens, intruder for the odd one of five contexts. Read
    each score beside its controls: the text of another neuron, random words, a made-up unit of random contexts, and
    the same answers with the labels shuffled.

    The number of calls and tokens is printed before anything is sent. Answers are kept: if the command is interrupted
    or the endpoint fails, repeat it to continue. See the views explanations and explanation_scores; `neurothek search
    --explained WORD` finds neurons by their explanations.
    """
    planned = warehouse.plan_explanations(model, scores_only=scores_only, **options)
    for sentence in planned.sentences():
        warn(sentence) if not (plan or yes) else note(sentence)
    if plan:
        return
    if planned.n_calls and not yes:
        if not sys.stdin.isatty():
            raise planned.unconfirmed()
        click.confirm("Send them?", abort=True, err=True)
    with console_progress() as progress:
        answer = warehouse.explain_neurons(planned, progress=progress)
    show_tables(answer.sections(), output_format, answer.data(), head=answer.summary)
    for remark in answer.notes:
        warn(remark)
    if answer.is_stopped:
        click.get_current_context().exit(1)
