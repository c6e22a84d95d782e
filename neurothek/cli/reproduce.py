"""The command `reproduce`: measure what a paper needs, then write its figures, tables and claims for these models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import complain, console_progress, note, say_in_the_answer
from neurothek.cli.options import Size, UserPath, common_options, pass_warehouse
from neurothek.queries.papers.paper_names import PAPER_NAMES

if TYPE_CHECKING:
    from neurothek.queries.papers.prerequisites import Unsteered


@click.command()
@click.argument("paper", type=click.Choice(PAPER_NAMES))
@click.argument("models", nargs=-1)
@click.option(
    "--to",
    "folder",
    type=UserPath(file_okay=False),
    required=True,
    help="Folder to write to; several corpora each get a subfolder.",
)
@click.option("--family", metavar="NAME", help="All models of this family.  [default: the only one in the warehouse]")
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    metavar="NAME",
    help="Use this corpus (repeatable).  [default: each model's shown corpus]",
)
@click.option("--plan", is_flag=True, help="Print what is missing and the cost of measuring it; write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Measure what is missing without asking.")
@click.option("--no-measuring", is_flag=True, help="Use only what has been measured.")
@click.option("--tokens", type=click.IntRange(1), help="Tokens per domain to read with new models.")
@click.option("--device", metavar="NAME", help="Where to measure: cpu, cuda or auto.  [default: auto]")
@click.option("--memory", type=Size(), metavar="SIZE", help="Memory for measuring, such as 64GB.")
@common_options
@pass_warehouse
def reproduce(warehouse: Neurothek, /, **options: Any) -> None:
    """Write the figures and tables of PAPER for MODELS of one family (default: all, variants included).

    The command first prints a plan of what is missing, asks, and measures it; if it is interrupted, run it again. It
    then writes each figure as PNG and SVG and each table as CSV and Markdown with its SQL. index.html shows them in the
    paper's order, each under the paper's claims as judged on these models: holds, does not hold, undecided, needs more
    text, needs larger models, needs another model, does not apply, or not measured.

    voita: Voita et al. 2023, Neurons in Large Language Models: Dead, N-gram, Positional

    geva: Geva et al. 2022, Transformer Feed-Forward Layers Build Predictions by Promoting Concepts

    din: Din et al. 2023, Jump to Conclusions: Short-Cutting Transformers With Linear Transformations

    A model that is not in the warehouse yet is given as to `ingest`, for example facebook/opt-125m.
    """
    from neurothek.dashboards.papers.folders import require_place
    from neurothek.queries.names.models import folder_name

    require_place(options["folder"])
    corpora: Sequence[str | None] = tuple(dict.fromkeys(options["corpora"])) or (None,)
    models = _models(warehouse, options)
    for corpus in corpora:
        models = _measured(warehouse, options, models, corpus)
        if options["plan"]:
            continue
        if options["paper"] == "geva" and not options["no_measuring"]:
            _judge(warehouse, models)
            _steer(warehouse, options, models)
        folder = options["folder"] if len(corpora) == 1 or corpus is None else options["folder"] / folder_name(corpus)
        files = warehouse.reproduce(options["paper"], *models, to=folder, family=options["family"], corpus=corpus)
        note(f"wrote {len(files)} files; open {files[-1]}")


def _models(warehouse: Neurothek, options: dict[str, Any]) -> tuple[str, ...]:
    """Those that were named, as the warehouse calls them, or all of the family.

    Models of several families are refused here, before anything is measured.
    """
    from neurothek.queries.papers.family import Family
    from neurothek.queries.papers.prerequisites import known_as

    names: tuple[str, ...] = options["models"]
    if names and not warehouse.warehouse.exists():
        return names
    with warehouse.reader() as connection:
        names_by_model = known_as(connection, names)
        existing = [name for name in names_by_model.values() if name is not None]
        if existing or not names:
            all_models = Family.of(connection, existing, family=options["family"]).all_models
            if not names:
                return all_models
    return tuple(names_by_model[one] or one for one in names)


def _judge(warehouse: Neurothek, models: tuple[str, ...]) -> None:
    """Have rules judge the samples of models that they have not judged."""
    from neurothek.queries.papers.prerequisites import without_rules

    with warehouse.reader() as connection:
        names = without_rules(connection, models)
    if names:
        saved = warehouse.annotate_by_rules(*names)
        note(f"judged {saved.n_vectors:,} vectors of {', '.join(names)} by rules")


def _unsteered(warehouse: Neurothek, options: dict[str, Any], models: tuple[str, ...]) -> Sequence[Unsteered]:
    """Models that are in the warehouse, and whose interventions wrote nothing, if the paper shows what they write."""
    from neurothek.queries.papers.prerequisites import unsteered

    if options["paper"] != "geva" or not warehouse.warehouse.exists():
        return []
    with warehouse.reader() as connection:
        return unsteered(connection, models)


def _steer(warehouse: Neurothek, options: dict[str, Any], models: tuple[str, ...]) -> None:
    """Have these models continue code with neurons of prose turned on."""
    from neurothek.queries.papers.prerequisites import STEERING, STEERING_WORDS

    for one in _unsteered(warehouse, options, models):
        note(str(one))
        settings = {"words": STEERING_WORDS, "prompts": list(one.prompts), **STEERING}
        with console_progress() as progress:
            warehouse.run_intervention(warehouse.plan_intervention(one.model, **settings), progress=progress)


def _measured(
    warehouse: Neurothek, options: dict[str, Any], models: tuple[str, ...], corpus: str | None
) -> tuple[str, ...]:
    """Measure what is missing, if that is wanted; returns the models as the warehouse calls them."""
    from neurothek.ingest.pipeline.outcomes import ModelReport

    missing = warehouse.lacking(options["paper"], *models, corpus=corpus)
    unsteered = _unsteered(warehouse, options, models)
    if not (missing or unsteered) or options["no_measuring"]:
        if options["plan"]:
            of = f" on {corpus}" if corpus is not None else ""
            say_in_the_answer(
                f"{', '.join(models)}: everything that the paper shows is measured{of}; nothing is missing"
            )
        return models
    how = {name: options[name] for name in ("device", "memory") if options[name] is not None}
    new = {} if options["tokens"] is None else {"tokens": options["tokens"]}
    requests = [(one.model, {**new, **one.options, **how}) for one in missing]
    for model, keywords in requests:
        (plan,) = warehouse.plan(model, progress=True, **keywords)
        say_in_the_answer("\n".join(plan.lines()))
    for one in unsteered:
        say_in_the_answer(str(one))
    if options["plan"]:
        return models
    if not options["yes"]:
        click.confirm("Measure this?", abort=True, err=True)
    names = {}
    for model, keywords in requests:
        (outcome,) = warehouse.ingest(model, progress=True, **keywords)
        if not isinstance(outcome.report, ModelReport):
            complain(f"{outcome.asked}: {outcome.problem}")
            click.get_current_context().exit(2)
        names[model] = outcome.report.model
        note(f"{outcome.report.model}: measured {', '.join(outcome.report.jobs)} in {outcome.report.seconds:.0f} s")
    return tuple(names.get(model, model) for model in models)
