"""Traits, contrasts and attributions by layer, in findings.md: `python -m docs.generators.findings_layers PATH`.

In the demo's warehouse the three sizes were measured by the commands that the page names, and the blocks of the minis
are written; in one of SmolLM2, which `findings_prompts` describes, that of its layers. Names of blocks after the path
write these alone.
"""

import statistics
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl

import neurothek
from docs.generators.findings import PAGE, with_block
from docs.generators.findings_prompts import AGREEMENTS, FACTS, N_FIRST, POSITIONS, SETS, agreements, span
from docs.generators.findings_real import table
from neurothek import Neurothek
from neurothek.catalog.tables.traces import AttributionOrder

LEAST_CORRELATED = 10
"""Neurons of a half that a correlation takes."""
N_SEEDS = 10
"""Seeds of shuffles, the one that contrasts have unless asked included."""
ORDERS: tuple[AttributionOrder, ...] = ("relevance", "direct")

MINIS = ("mini-opt-0.7m", "mini-opt-2m", "mini-opt-5m")

MINI_FACTS = (
    ("They", " are", " is"),
    ("He", " was", " were"),
    ("There", " is", " are"),
    ("The dog in the garden", " is", " are"),
    ("The dogs in the garden", " are", " is"),
    ("She gave the book to", " her", " him"),
    ("He did not want to", " be", " the"),
    ("if x is", " None", " True"),
    ("if x is not", " None", " be"),
    ("import", " os", " sys"),
    ("def __init__(", "self", "cls"),
    ("class Foo:\n    def __init__(self", ",", "):"),
)
"""A prompt, a token that may come, and another: of English and of Python, whose tokens the minis have."""

# Of a layer's 500 random vectors and one like them each is the largest once in 501 times; half of them are long enough.
_LARGEST_AND_LONG = 1 / 501 / 2

_SHARES = {
    "selective": """
        select layer, avg(is_selective::int) as share, avg(shuffled_share) as chance
        from selectivity where model = $model and entropy is not null group by layer
    """,
    "entropy neurons": f"""
        select layer, n_entropy_neurons / n_neurons as share, {_LARGEST_AND_LONG} as chance
        from entropy_by_layer where model = $model
    """,
    "frequency neurons": f"""
        select layer, n_frequency_neurons / n_neurons as share, {_LARGEST_AND_LONG} as chance
        from entropy_by_layer where model = $model
    """,
    "writers": """
        select layer, writer_share as share, writer_chance as chance
        from readers_and_writers_by_layer where model = $model
    """,
}

_INPUTS = """
select input_score, other_score,
from input_scores_by_layer
where model = $model and is_strongest
order by layer
"""

_CONTRASTED = """
select
    layer,
    count_if(is_significant) / count(z) as share,
    any_value(n_significant_shuffled / n_tested) as chance,
from contrasts
inner join contrasts_summary using (model, contrast)
where model = $model and contrast = $contrast
group by layer
"""

_CONTRASTS = """
select
    summary.*,
    (select count_if(is_significant and is_always_on) from contrasts
    where model = summary.model and contrast = summary.contrast) as n_always_on,
from contrasts_summary as summary
where model = $model and contrast = $contrast
"""

_COSTS = """
select intervention, n_neurons, effect, random_effect, random_effect_least, random_effect_most, percentile,
from interventions
where model = $model and intervention like 'contrast %'
order by intervention
"""


def measured(
    warehouse: Neurothek, model: str, facts: Sequence[tuple[str, str, str]]
) -> Mapping[str, tuple[str, list[str]]]:
    """By measurement what chance would give, and the share of each layer."""
    asked = {name: (query, {"model": model}) for name, query in _SHARES.items()}
    for a, b in SETS:
        asked[f"{a} - {b}"] = (_CONTRASTED, {"model": model, "contrast": f"{a} - {b}, last"})
    cells = {}
    for name, (query, values) in asked.items():
        frame = warehouse.sql(query, values).sort("layer")
        cells[name] = (_percent(statistics.mean(frame["chance"])), list(map(_percent, frame["share"])))
    inputs = warehouse.sql(_INPUTS, {"model": model}).rows()
    cells["input score (of others)"] = ("", [f"{_percent(own)} ({_percent(others)})" for own, others in inputs])
    for sort in ORDERS:
        shares = first_by_layer(warehouse, model, facts, sort=sort)
        cells[f"first {N_FIRST} by {sort}"] = (_percent(1 / len(shares)), list(map(_percent, shares)))
    return cells


def first_by_layer(
    warehouse: Neurothek, model: str, facts: Sequence[tuple[str, str, str]], *, sort: AttributionOrder
) -> list[float]:
    """The share of each layer in the first neurons of an attribution, the mean over the prompts."""
    (n_layers,) = warehouse.sql("select n_layers from models where model = $model", {"model": model})["n_layers"]
    counts = Counter[int]()
    for prompt, toward, instead in facts:
        page = warehouse.attribute(model, prompt, toward=toward, instead=instead, sort=sort, top=N_FIRST)
        counts.update(page.neurons["layer"].head(N_FIRST).to_list())
    return [counts[layer] / counts.total() for layer in range(n_layers)]


def by_layer(warehouse: Neurothek, model: str) -> str:
    """A row a layer, and one of what chance would give."""
    columns = measured(warehouse, model, FACTS)
    n_layers = len(columns["selective"][1])
    rows = [["chance", *(chance for chance, _ in columns.values())]]
    rows += [[str(layer), *(cells[layer] for _, cells in columns.values())] for layer in range(n_layers)]
    return table(("layer", *columns), rows)


def mini_layers(warehouse: Neurothek) -> str:
    """A row a measurement and size, a column a layer."""
    of_sizes = {model: measured(warehouse, model, MINI_FACTS) for model in MINIS}
    deepest = max(len(cells["selective"][1]) for cells in of_sizes.values())
    rows = []
    for name in of_sizes[MINIS[0]]:
        for model in MINIS:
            chance, cells = of_sizes[model][name]
            rows.append([name, model.removeprefix("mini-opt-"), chance, *cells, *[""] * (deepest - len(cells))])
    return table(("of the neurons", "size", "chance", *(f"layer {layer}" for layer in range(deepest))), rows)


def mini_contrasts(warehouse: Neurothek) -> str:
    """A row a size and contrast: neurons that tell its prompts apart, by chance too, and with other seeds of chance."""
    rows = []
    for model in MINIS:
        for a, b in SETS:
            for at in POSITIONS:
                values = {"model": model, "contrast": f"{a} - {b}, {at}"}
                (it,) = warehouse.sql(_CONTRASTS, values).to_dicts()
                of_seeds = [
                    warehouse.contrast(model, f"builtin:{a}", f"builtin:{b}", at=at, seed=seed).contrast
                    for seed in range(N_SEEDS)
                ]
                assert of_seeds[0]["n_significant"] == it["n_significant"]
                found = [one["n_significant"] for one in of_seeds]
                by_chance = statistics.mean(one["n_significant_shuffled"] for one in of_seeds)
                most = max(one["n_significant_shuffled_most"] for one in of_seeds)
                rows.append(
                    [
                        model.removeprefix("mini-opt-"),
                        f"{a} - {b}",
                        at,
                        f"{it['n_significant']:,} of {it['n_tested']:,} ({it['significant_share']:.0%})",
                        f"{it['n_significant_shuffled']:.2f} (at most {it['n_significant_shuffled_most']:,})",
                        f"{min(found):,} to {max(found):,}",
                        f"{by_chance:.2f} (at most {most:,})",
                        f"{it['n_always_on']:,}",
                    ]
                )
    header = ("size", "A - B", "tokens", "tell apart", "with shuffled labels", f"{N_SEEDS} seeds", "shuffled")
    return table((*header, "always on"), rows)


def mini_costs(warehouse: Neurothek) -> str:
    """A row a size and contrast: what turning its first neurons off adds to the loss, beside random sets."""
    rows = [
        [
            model.removeprefix("mini-opt-"),
            row["intervention"].removeprefix("contrast "),
            f"{row['n_neurons']:,}",
            f"{row['effect']:+.4f}",
            f"{row['random_effect']:+.4f} ({row['random_effect_least']:+.4f} to {row['random_effect_most']:+.4f})",
            f"{row['percentile']:.0f}",
        ]
        for model in MINIS
        for row in warehouse.sql(_COSTS, {"model": model}).to_dicts()
    ]
    header = ("size", "turned off", "neurons", "loss", "random: mean (least to most)", "percentile")
    return table(header, rows)


def mini_attributions(warehouse: Neurothek) -> str:
    """A row a size and order: how well both effects agree with switching the first 50 off, and with each other."""
    rows = []
    for model in MINIS:
        for sort in ORDERS:
            pages = [
                warehouse.attribute(model, prompt, toward=toward, instead=instead, sort=sort, ablate=True)
                for prompt, toward, instead in MINI_FACTS
            ]
            rows.append([model.removeprefix("mini-opt-"), f"the first {N_FIRST} by {sort}", *agreements(pages)])
    return table(("size", "neurons", *AGREEMENTS), rows)


def attributions_by_half(warehouse: Neurothek, model: str) -> str:
    """A row a half of the layers: how well effects of its neurons among the first agree with switching them off."""
    (n_layers,) = warehouse.sql("select n_layers from models where model = $model", {"model": model})["n_layers"]
    pages = [
        warehouse.attribute(model, prompt, toward=toward, instead=instead, ablate=True)
        for prompt, toward, instead in FACTS
    ]
    is_lower, rows = pl.col("layer") < n_layers / 2, []
    for name, is_there in (("lower half", is_lower), ("upper half", ~is_lower)):
        halves = [page.neurons.head(N_FIRST).filter(is_there) for page in pages]
        enough = [half for half in halves if half.height >= LEAST_CORRELATED]
        cells = [span([_correlated(half, column) for half in enough]) for column in ("relevance", "direct")]
        rows.append(
            [name, f"{statistics.mean(half.height for half in halves):.0f} of {N_FIRST}", f"{len(enough)}", *cells]
        )
    return table(("layers", "neurons a prompt", "prompts", "relevance", "direct"), rows)


def _correlated(neurons: pl.DataFrame, column: str) -> float:
    return statistics.correlation(neurons[column].to_list(), neurons["ablated"].to_list())


def _percent(share: float) -> str:
    if 0 < share < 0.00005:
        return "<0.01%"
    return f"{share:.2%}" if 0 < share < 0.01 else f"{share:.1%}"


def main(path: str, *names: str) -> None:
    """Take the figures and write the blocks, or those that are named."""
    warehouse = neurothek.open(path)
    there = warehouse.sql("select model from models")["model"].to_list()
    blocks: dict[str, Callable[[Neurothek], str]] = {
        "mini layers": mini_layers,
        "mini contrasts": mini_contrasts,
        "mini costs": mini_costs,
        "mini attributions": mini_attributions,
    }
    if not set(MINIS) <= set(there):
        blocks = {
            "smollm2 by layer": partial(by_layer, model=there[0]),
            "smollm2 attributions by half": partial(attributions_by_half, model=there[0]),
        }
    for name, block in blocks.items():
        if not names or name in names:
            text = block(warehouse)
            PAGE.write_text(with_block(PAGE.read_text("utf-8"), name, text), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
