"""What prompts and traits show of SmolLM2, in findings.md: `python -m docs.generators.findings_prompts PATH`.

In the warehouse the file of `make real` was measured with `neurothek ingest smollm2-135m=FOLDER --tokens 15000` by the
jobs projections, activity, contexts, entropy, selectivity, massive and output_scores. Contrasts are kept in it; the
block "costs" tells of all interventions that it has. Names of blocks after the path write these alone.
"""

import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import neurothek
from docs.generators import findings_traits
from docs.generators.findings import PAGE, with_block
from docs.generators.findings_real import table
from neurothek import Neurothek
from neurothek.queries.trace.attribution import AttributionPage

SETS = (("code", "prose"), ("questions", "statements"))
POSITIONS: tuple[Literal["last", "all"], ...] = ("last", "all")

_BY_PART = """
select
    is_strongest,
    1 + least(floor(3 * depth), 2)::int as part,
    sum(n_neurons)::bigint as n,
    sum(n_neurons * input_score) / sum(n_neurons) as input_score,
    sum(n_neurons * other_score) / sum(n_neurons) as other_score,
    sum(n_readers)::bigint as n_readers,
from input_scores_by_layer
where model = $model
group by all
order by all
"""

FACTS = (
    ("The capital of France is", " Paris", " London"),
    ("The capital of Italy is", " Rome", " Paris"),
    ("The opposite of hot is", " cold", " hot"),
    ("The opposite of big is", " small", " big"),
    ("The sun rises in the", " east", " west"),
    ("Two plus two is", " four", " five"),
    ("The color of the sky is", " blue", " red"),
    ("The color of grass is", " green", " blue"),
    ("She gave the book to", " her", " him"),
    ("The dogs in the garden", " are", " is"),
    ("The dog in the garden", " is", " are"),
    ("One, two, three,", " four", " six"),
)
"""A prompt, the token that is to come, and one that would be wrong."""


def model_of(warehouse: Neurothek) -> str:
    """The only model."""
    (name,) = warehouse.sql("select model from models")["model"].to_list()
    return str(name)


def contrasts(warehouse: Neurothek) -> str:
    """A row a contrast: neurons that tell its prompts apart, by chance too, and where they are."""
    model, rows = model_of(warehouse), []
    for a, b in SETS:
        for at in POSITIONS:
            page = warehouse.contrast(model, f"builtin:{a}", f"builtin:{b}", at=at, keep=f"{a} - {b}, {at}")
            it = page.contrast
            found = page.neurons.filter("is_significant")
            by_layer = found.group_by("layer").len().sort("len", "layer", descending=[True, False])
            most = ", ".join(map(str, sorted(by_layer["layer"].head(3).to_list())))
            rows.append(
                [
                    f"{a} - {b}",
                    at,
                    f"{it['n_significant']:,} ({it['n_significant'] / it['n_tested']:.1%})",
                    f"{it['n_significant_shuffled']:.2f} (at most {it['n_significant_shuffled_most']:,})",
                    f"{found['is_always_on'].sum():,}",
                    most,
                ]
            )
    header = ("A - B", "tokens", "tell apart", "with shuffled labels", "always on", "most in layers")
    return table(header, rows)


def input_scores(warehouse: Neurothek) -> str:
    """A row a pole and third of the layers."""
    names = ("lower third", "middle third", "upper third")
    rows = [
        [
            f"{names[row['part'] - 1]}, {'strongest' if row['is_strongest'] else 'other'} pole",
            f"{row['n']:,}",
            f"{row['input_score']:.2%}",
            f"{row['other_score']:.2%}",
            f"{row['n_readers']:,} ({row['n_readers'] / row['n']:.1%})",
        ]
        for row in warehouse.sql(_BY_PART, {"model": model_of(warehouse)}).to_dicts()
    ]
    return table(("layers, pole", "neurons", "input score", "lists of others", "half of the contexts or more"), rows)


def attributions(warehouse: Neurothek) -> str:
    """A row an order: how well both effects agree with switching the first 50 off, over the prompts."""
    model, rows = model_of(warehouse), []
    for sort in ("relevance", "direct"):
        pages = [
            warehouse.attribute(model, prompt, toward=toward, instead=instead, sort=sort, ablate=True)
            for prompt, toward, instead in FACTS
        ]
        rows.append([f"the first {N_FIRST} by {sort}", *agreements(pages)])
    return table(("neurons", *AGREEMENTS), rows)


AGREEMENTS = ("relevance, off", "direct, off", "relevance, direct")
"""What `agreements` correlates."""

N_FIRST = 50
"""Neurons of an attribution that are looked at, as many as are switched off."""


def agreements(pages: Sequence[AttributionPage]) -> list[str]:
    """Cells of how well both effects of the first neurons agree with switching them off, and with each other."""
    return [
        span([page.attributed.correlation_relevance for page in pages]),
        span([page.attributed.correlation_direct for page in pages]),
        span([_between_effects(page) for page in pages]),
    ]


def span(values: Sequence[float | None]) -> str:
    """The median of what there is, and its least and largest."""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.2f} ({min(known):.2f} to {max(known):.2f})"


def _between_effects(page: AttributionPage) -> float:
    """The correlation of both effects of the first neurons."""
    first = page.neurons.head(N_FIRST)
    return statistics.correlation(first["relevance"].to_list(), first["direct"].to_list())


def main(path: str, *names: str) -> None:
    """Take the figures and write the blocks, or those that are named."""
    warehouse = neurothek.open(path)
    page = PAGE.read_text("utf-8")
    blocks: dict[str, Callable[[Neurothek], str]] = {
        "contrasts": contrasts,
        "input scores": input_scores,
        "attributions": attributions,
        **{
            name: partial(block, model=model_of(warehouse))
            for name, block in {
                "selective": findings_traits.selective,
                "entropy": findings_traits.entropy,
                "massive": findings_traits.massive,
                "costs": findings_traits.costs,
                "readers": findings_traits.readers,
                "explained": findings_traits.explained,
            }.items()
        },
    }
    for name, block in blocks.items():
        if names and name not in names:
            continue
        page = with_block(page, f"smollm2 {name}", block(warehouse))
        PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
