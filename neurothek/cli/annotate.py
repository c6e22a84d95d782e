"""The command `annotate`: draw the vectors that people judge, and publish what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import note
from neurothek.cli.options import Format, UserPath, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_frame


@click.command()
@click.argument("models", nargs=-1, metavar="[MODEL...]")
@click.option(
    "--sample", metavar="MODEL", help="Print vectors of MODEL to judge; --format csv prints a sheet to fill in."
)
@click.option(
    "--plausibility", metavar="MODEL", help="Print lists of next tokens of MODEL to judge as plausible or not."
)
@click.option(
    "--stdin", "from_stdin", is_flag=True, help="Publish annotations from stdin: one JSON object per line, or a sheet."
)
@click.option("--auto", is_flag=True, help="Judge the samples of MODEL... by rules, as the annotator rules.")
@click.option("--annotator", metavar="NAME", help="Name of the annotator; the sample omits vectors they have judged.")
@click.option("--seed", type=click.IntRange(0, 10**9 - 1), default=0, show_default=True, help="Seed of the sample.")
@click.option(
    "--glosses",
    metavar="FILE",
    type=UserPath(),
    help="Show glosses of tokens in the sample: a TSV or CSV of tokens and glosses.",
)
@click.option(
    "--wait", type=click.FloatRange(0), default=60.0, show_default=True, help="Seconds to wait for other processes."
)
@format_option
@common_options
@pass_warehouse
def annotate(
    warehouse: Neurothek,
    /,
    models: tuple[str, ...],
    *,
    sample: str | None,
    plausibility: str | None,
    from_stdin: bool,
    auto: bool,
    annotator: str | None,
    seed: int,
    glosses: Path | None,
    wait: float,
    output_format: Format,
) -> None:
    """Name the concepts that neurons promote: draw a sample of vectors to judge, or publish the judgements.

    --sample draws ten neurons per layer and mixes them with as many random vectors and FFN updates. Each is shown by
    its 30 highest tokens, without its kind. An annotator marks at least 4 tokens that share a pattern, names the
    pattern and gives its class: semantic, syntactic, names or stopwords-punctuation (Geva et al. 2022, section 4).

    --stdin reads one annotation per line, {"model": ..., "vector": ..., "concept": ..., "class": ..., "ranks": [1, 4,
    7, 9], "annotator": ...}. If there is no concept, it is null. Several lines may be about one vector. It also reads
    the sheet: write ranks as 1 4 7-9, use the class none if there is no concept, and leave rows empty to judge them
    later. Either everything is published or nothing. New annotations replace earlier ones by the same annotator of the
    same vectors.

    --auto judges the same samples, and all random vectors, by rules instead of people, for every model that has
    controls or only for MODEL... . The rules look for stop words, punctuation, numbers, names, inflected forms,
    affixes, and words near each other in the unembedding, and give at most 1 in 20 lists of random tokens a concept.
    Compare their shares with those in random vectors. Earlier judgements of these models by the annotator rules are
    replaced.

    --plausibility prints sentences with the five tokens that the linear shortcuts of MODEL put first, for both methods
    and every state, without naming either. A list is plausible if at least one of its tokens is a plausible
    continuation. --stdin reads {"model": ..., "item": ..., "plausible": true, "annotator": ...}, or the sheet with yes
    or no (after Din et al. 2023).
    """
    actions = {"--sample": sample, "--plausibility": plausibility, "--stdin": from_stdin, "--auto": auto}
    _refuse_mixtures([option for option, value in actions.items() if value not in (None, False)], models, glosses)
    if auto and annotator is not None:
        raise click.UsageError("the annotator of --auto is called rules; leave --annotator out")
    if plausibility is not None:
        _print_lists(warehouse, plausibility, annotator, seed, output_format)
        return
    if sample is not None:
        _print_sample(warehouse, sample, annotator, seed=seed, glosses=glosses, output_format=output_format)
        return
    from dataclasses import replace

    from neurothek.queries.annotate.annotations import annotate as publish
    from neurothek.queries.annotate.by_rules import annotate_by_rules
    from neurothek.queries.annotate.lines import read_lines

    patient = replace(warehouse.warehouse, wait_seconds=wait)
    if auto:
        saved = annotate_by_rules(patient, models, seed=seed)
    else:
        saved = publish(patient, read_lines(sys.stdin.buffer.read()), annotator=annotator)
    note(str(saved))


def _refuse_mixtures(actions: list[str], models: tuple[str, ...], glosses: Path | None) -> None:
    if len(actions) != 1:
        raise click.UsageError(
            "give one of --sample MODEL or --plausibility MODEL to print what is to be judged, --stdin to publish"
            " annotations, or --auto to judge by rules"
        )
    if models and actions != ["--auto"]:
        raise click.UsageError(f"{' '.join(models)} is only judged with --auto; name it behind --sample to judge it")
    if glosses is not None and actions != ["--sample"]:
        raise click.UsageError("--glosses is shown in a sample; give --sample MODEL, too")


def _print_lists(warehouse: Neurothek, model: str, annotator: str | None, seed: int, output_format: Format) -> None:
    from neurothek.queries.annotate.lists import draw_lists, lists_left

    with warehouse.reader() as connection:
        drawn = draw_lists(connection, model, seed=seed)
        left = drawn if annotator is None else lists_left(connection, drawn, annotator)
    frame = left.sheet(annotator) if output_format == "csv" else left.frame()
    show_frame(frame, output_format, columns=("item", "text", "tokens"))
    if len(left.lists) < len(drawn.lists):
        note(f"{len(drawn.lists) - len(left.lists):,} of {len(drawn.lists):,} lists were judged by {annotator}")


def _print_sample(
    warehouse: Neurothek,
    model: str,
    annotator: str | None,
    *,
    seed: int,
    glosses: Path | None,
    output_format: Format,
) -> None:
    from neurothek.queries.annotate.sample import GLOSSES, draw_sample, read_glosses, unjudged

    meanings = None if glosses is None else read_glosses(glosses)
    with warehouse.reader() as connection:
        drawn = draw_sample(connection, model, seed=seed)
        left = drawn if annotator is None else unjudged(connection, drawn, annotator)
    frame = left.sheet(annotator, meanings) if output_format == "csv" else left.frame(meanings)
    show_frame(frame, output_format, columns=("vector", "tokens", *([] if meanings is None else [GLOSSES])))
    if len(left.vectors) < len(drawn.vectors):
        note(f"{len(drawn.vectors) - len(left.vectors):,} of {len(drawn.vectors):,} vectors were judged by {annotator}")
