"""The commands that measure: `ingest` for any model, `demo` for the family that ships."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from catalog.commands import (
    Size,
    common_options,
    complain,
    console_progress,
    detail,
    note,
    say_in_the_answer,
    show_tables,
)

if TYPE_CHECKING:
    from ingest.request import IngestRequest

DEMO_TOKENS = 40_000
DEMO_EXAMPLES = 2_000


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]MODEL...")
@click.option("--job", "jobs", multiple=True, metavar="NAME", help="Measure this job only (repeatable); or all.")
@click.option("--corpus", "corpora", multiple=True, metavar="C", help="builtin, NAME=SOURCE, or one of the warehouse.")
@click.option("--corpus-name", help="Name of the corpus.  [default: its domains joined by +]")
@click.option("--tokens", type=click.IntRange(1), default=200_000, show_default=True, help="Tokens of each domain.")
@click.option("--sequence-length", type=click.IntRange(2), help="Ids per sequence.  [default: the model's context]")
@click.option("--no-packing", is_flag=True, help="Keep short documents apart instead of joining them.")
@click.option("--family", metavar="NAME", help="Family of every MODEL.  [default: its name without its size]")
@click.option(
    "--variant",
    metavar="V",
    help='What sets every MODEL apart: "step 1000", "seed 2", no-position, or plain for a plain size.'
    "  [default: by its revision and positions]",
)
@click.option("--revision", help="Revision of every hub repository; REPO@REVISION says that of one.")
@click.option("--allow-pickle", is_flag=True, help="Read pickled weights: tensors only, never code.")
@click.option(
    "--examples", type=click.IntRange(1), default=10_000, show_default=True, help="Examples of the job events."
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Shortcut that the job shortcuts tries (repeatable).  [default: all]",
)
@click.option(
    "--keep",
    type=click.Choice(["last", "all"]),
    default="last",
    show_default=True,
    help="Matrices that the job shortcuts keeps: those to the last state, or all.",
)
@click.option(
    "--domain",
    "domains",
    multiple=True,
    metavar="NAME",
    help="Domain whose sentences the job shortcuts takes (repeatable).  [default: prose, else all]",
)
@click.option(
    "--fit",
    type=int,
    metavar="N",
    help="Sentences that the job shortcuts fits on.  [default: 9000, or three of four of fewer]",
)
@click.option(
    "--validate",
    type=int,
    metavar="N",
    help="Sentences that the job shortcuts judges by.  [default: 3000, or the fourth]",
)
@click.option(
    "--baselines/--no-baselines",
    default=True,
    show_default=True,
    help="Fit classifiers of every layer in the job exits, too.",
)
@click.option(
    "--clusters",
    type=click.IntRange(1),
    multiple=True,
    metavar="N",
    help="Clusters the job clusters makes (repeatable).  [default: two sizes, by the number of neurons]",
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--dtype", type=click.Choice(["float32", "bfloat16", "float16"]), default="float32", show_default=True)
@click.option("--active-above", type=float, help="Count a coefficient as active above this value.")
@click.option("--memory", type=Size(), help="What measuring may add to memory, e.g. 4GB.  [default: half the machine]")
@click.option("--batch-tokens", type=click.IntRange(1), default=16_384, show_default=True, help="Tokens of a batch.")
@click.option("--staging", type=click.Path(path_type=Path, file_okay=False), help="Folder for unpublished rows.")
@click.option("--plan", is_flag=True, help="Only say what measuring would take; writes nothing into the warehouse.")
@click.option("--force", is_flag=True, help="Replace what was measured with other settings.")
@common_options
@click.pass_context
def ingest(ctx: click.Context, /, models: tuple[str, ...], **options: Any) -> None:
    """Measure models and publish what was measured.

    MODEL is a local folder, a model that ships, such as mini-opt-2m, the name of a model of the warehouse, whose
    weights are looked for where they were, or a hub id; NAME= gives a folder or a hub id another name. What is
    finished is not measured again, and what was interrupted is taken up where it stopped.

    REPO@REVISION is a revision of the hub, such as EleutherAI/pythia-70m@step1000, which becomes the variant "step
    1000" of its family. The branch main is a plain size, and so is the step that ended the training of Pythia. A name
    that ends with a seed, such as pythia-14m-seed1, is the variant "seed 1". A model that `neurothek train` wrote says
    its family and variant itself.

    Texts of any size are read within --memory. A row of a dataset of the hub counts from when the library datasets
    hands it over, not while that reads it.

    The job counterparts compares models of the warehouse, every two that are named: which neurons of the one do
    those of the other's job. It is no part of `--job all`.
    """
    run = _plan if options["plan"] else _ingest
    ctx.exit(run(ctx, (_request(options), models)))


@click.command()
@click.option("--tokens", type=click.IntRange(1), default=DEMO_TOKENS, show_default=True, help="Tokens of each domain.")
@common_options
@click.pass_context
def demo(ctx: click.Context, tokens: int) -> None:
    """Build the warehouse of the mini-OPT family from nothing, offline, and compare its sizes.

    The jobs shortcuts and exits, which would take minutes more, are left out:
    `neurothek ingest mini-opt-2m --job shortcuts --job exits --tokens 40000` adds them for one model.
    """
    from ingest import minis
    from ingest.request import DEFAULT_JOBS, IngestRequest, TextRequest

    jobs = (*DEFAULT_JOBS, "clusters", "controls", "events")
    request = IngestRequest(jobs=jobs, text=TextRequest(tokens_per_domain=tokens), examples=DEMO_EXAMPLES)
    pairs = IngestRequest(jobs=("counterparts",))
    status = _ingest(ctx, (request, minis.names()), (pairs, minis.sizes()))
    if status == 0:
        comparison = ctx.obj.compare()
        show_tables(comparison.sections(), "table", comparison.data())
    ctx.exit(status)


def _ingest(ctx: click.Context, *asked: tuple[IngestRequest, Sequence[str]]) -> int:
    """Measure what is asked for, one request after the other unless a model fails, and report on all together."""
    from ingest.pipeline.ingest_all import Outcome, ingest_all, print_report

    outcomes: list[Outcome] = []
    with console_progress() as progress:
        for request, models in asked:
            if all(outcome.problem is None for outcome in outcomes):
                outcomes += ingest_all(ctx.obj.warehouse, request, models, progress=progress, announce=note)
    return print_report(outcomes, ctx.obj.path, say=note, complain=complain, detail=detail)


def _plan(ctx: click.Context, asked: tuple[IngestRequest, Sequence[str]]) -> int:
    from ingest.pipeline.ingest_all import plan_all

    request, models = asked
    with console_progress() as progress:
        return plan_all(
            ctx.obj.warehouse,
            request,
            models,
            progress=progress,
            show=say_in_the_answer,
            complain=complain,
        )


def _request(options: dict[str, Any]) -> IngestRequest:
    from ingest.jobs import registry
    from ingest.request import DEFAULT_JOBS, IngestRequest, TextRequest

    jobs = tuple(name for asked in options["jobs"] for name in (registry.NAMES if asked == "all" else [asked]))
    text = TextRequest(
        corpora=options["corpora"] or ("builtin",),
        name=options["corpus_name"],
        tokens_per_domain=options["tokens"],
        sequence_length=options["sequence_length"],
        packing=not options["no_packing"],
    )
    memory = {} if options["memory"] is None else {"memory_bytes": options["memory"]}
    same = (
        "family",
        "variant",
        "revision",
        "allow_pickle",
        "device",
        "dtype",
        "active_above",
        "batch_tokens",
        "staging",
        "examples",
        "methods",
        "keep",
        "domains",
        "fit",
        "validate",
        "baselines",
        "clusters",
        "force",
    )
    return IngestRequest(
        jobs=jobs or DEFAULT_JOBS,
        named=tuple(asked for asked in options["jobs"] if asked != "all"),
        text=text,
        **memory,
        **{name: options[name] for name in same},
    )
