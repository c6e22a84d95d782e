"""The command `intervene`: change the neurons that a query finds, and see what the model loses."""

from __future__ import annotations

from typing import Any

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import console_progress, note
from neurothek.cli.options import Format, UserPath, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_tables


@click.command()
@click.argument("model")
@click.option(
    "--where",
    metavar="SQL",
    help='Neurons that meet a condition on the view neurons, e.g. "is_dead", or "is_negligible" of a gated model.',
)
@click.option("--search", "words", multiple=True, metavar="WORD", help="Neurons that promote a word (repeatable).")
@click.option("--limit", "-n", type=click.IntRange(1), help="How many, for --search.  [default: 10]")
@click.option("--neurons", type=UserPath(dir_okay=False), help="File of addresses, one per line.")
@click.option(
    "--each",
    type=click.Choice(["kind"]),
    help="Change each kind of neurons (dead or negligible, detectors, positional, dominant), one kind at a time.",
)
@click.option(
    "--contrast", metavar="NAME", help="Neurons that tell the prompts of a contrast apart most, if not always on."
)
@click.option("--top", type=click.IntRange(1), help="How many, for --contrast.  [default: 50]")
@click.option(
    "--set",
    "value",
    default="0",
    show_default=True,
    metavar="V",
    help="0, another number, mean, or x0.5 to scale; with --search, in a gated model, at the pole that promotes it.",
)
@click.option("--pre", is_flag=True, help="Set before the non-linearity instead of after it.")
@click.option(
    "--at", metavar="POSITIONS", help="Positions at which to change them, from 0: 3, 0-7 or 5-.  [default: all]"
)
@click.option("--name", help="Name of the intervention.  [default: made from the options]")
@click.option("--corpus", help="Corpus in the warehouse to measure on.  [default: the model's shown corpus]")
@click.option(
    "--tokens", type=click.IntRange(2), default=8_192, show_default=True, help="Token ids of each domain to read."
)
@click.option("--sets", type=click.IntRange(1, 1000), help="Random sets to compare with.  [default: 20]")
@click.option(
    "--watch",
    multiple=True,
    metavar="WORD",
    help="Word whose probability to measure (repeatable).  [default: those of --search]",
)
@click.option(
    "--prompts",
    type=UserPath(dir_okay=False),
    help="File of prompts for the changed model to continue: one per line, or JSON lines.",
)
@click.option("--continuation", type=click.IntRange(1), help="Tokens to write after each prompt.  [default: 20]")
@click.option(
    "--temperature",
    type=click.FloatRange(0),
    help="0 writes the most probable tokens; above, tokens are drawn.  [default: 0]",
)
@click.option("--seed", type=click.IntRange(0), help="Seed of the draws.  [default: 0]")
@click.option(
    "--score",
    multiple=True,
    metavar="SCORER",
    help="Scorer of the continuations (repeatable): domains, words:FILE, hf:REPO or"
    " command:PROGRAM.  [default: domains]",
)
@click.option(
    "--unwanted",
    metavar="ATTRIBUTE",
    help="Scored attribute that the word filter and self-debiasing work against.  [default: the only one]",
)
@click.option(
    "--banned",
    type=UserPath(dir_okay=False),
    help="File of words for the word filter.  [default: those of the scorer]",
)
@click.option(
    "--described", metavar="TEXT", help="The unwanted attribute in words, for self-debiasing.  [default: its name]"
)
@click.option("--one-by-one", is_flag=True, help="Turn each neuron off alone; --plan prints how long that takes.")
@click.option("--plan", is_flag=True, help="Print what would be changed, and measure nothing.")
@click.option("--force", is_flag=True, help="Replace an intervention of this name.")
@click.option("--weights", metavar="PATH", help="Folder of the weights.  [default: where they were measured]")
@format_option
@common_options
@pass_warehouse
def intervene(warehouse: Neurothek, /, model: str, output_format: Format, plan: bool, **options: Any) -> None:
    """Change neurons of MODEL, measure the effect on its loss, and store it.

    Choose the neurons with --where, --search, --neurons or --contrast, or use --each kind. The loss of every domain is
    measured with the neurons changed, and with random sets of as many neurons from the same layers that fire about as
    often (of a gated model: whose gate is open about as often): an effect is meaningful only in comparison with theirs.
    The warehouse keeps all interventions on a model and corpus; see the views interventions, steering and
    worth_of_kinds.

    With --prompts the changed model continues texts, and for comparison so do the untouched model, the random sets, a
    word filter and self-debiasing; see attribute_shares and continuations. With --one-by-one each neuron is turned off
    alone; see neuron_effects, neuron_effects_by_domain and selectivity.
    """
    options["set"] = options.pop("value")
    planned = warehouse.plan_intervention(model, **options)
    for sentence in planned.sentences():
        note(sentence)
    if plan:
        return
    with console_progress() as progress:
        answer = warehouse.run_intervention(planned, progress=progress)
    show_tables(answer.sections(), output_format, answer.data(), head=answer.summary)
