"""The blocks of the findings page on what sets neurons of a real model apart, and what they are worth."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from docs.generators.findings_real import table
from neurothek import Neurothek

_PARTS = ("lower third", "middle third", "upper third")

_SELECTIVE = """
select
    1 + least(floor(3 * depth), 2)::int as part,
    count(*) as n,
    avg(is_selective::int) as selective,
    avg(shuffled_share) as shuffled,
    avg((is_selective and domain = 'code')::int) as code,
    avg((is_selective and domain = 'math')::int) as math,
    avg((is_selective and domain = 'prose')::int) as prose,
    avg((is_selective and entropy <= 0.5)::int) as uneven,
from selectivity
where model = $model and entropy is not null
group by all
order by all
"""

_ENTROPY = """
select
    1 + least(floor(3 * depth), 2)::int as part,
    count(*) as n,
    avg((null_share_percentile = 100)::int) as beyond,
    count_if(is_entropy_neuron) as n_entropy,
    max(null_share) as largest,
    count_if(is_frequency_neuron) as n_frequency,
from entropy_neurons
where model = $model
group by all
order by all
"""

_MASSIVE = """
select address, input_largest, output_channel, output_largest, output_ratio, output_position, weight, weight_share,
from massive_activations
where model = $model and is_massive
order by layer
"""

_READERS = """
select
    1 + least(floor(3 * depth), 2)::int as part,
    input_score,
    output_score,
    other_score,
    untouched_score,
    is_reader,
    least(n_contexts * input_other_score, 1) as reader_chance,
    is_writer,
    (1 + floor(n_others * 0.05)) / (n_others + 1) as writer_chance,
from output_scores
where model = $model and is_sampled and is_reader is not null and is_writer is not null
"""

_COSTS = """
select intervention, n_neurons, effect, random_effect, random_effect_most, percentile,
from interventions
where model = $model
order by intervention
"""

_COSTS_BY_DOMAIN = """
select intervention, domain, sum(n_tokens * effect) / sum(n_tokens) as effect,
from steering
where model = $model
group by all
"""


def selective(warehouse: Neurothek, model: str) -> str:
    """A row a third of the layers: neurons of one domain, and how many there are with shuffled domains."""
    rows = [
        [
            _PARTS[row["part"] - 1],
            f"{row['n']:,}",
            f"{row['selective']:.1%}",
            f"{row['shuffled']:.2%}",
            *(f"{row[name]:.1%}" for name in ("code", "math", "prose", "uneven")),
        ]
        for row in warehouse.sql(_SELECTIVE, {"model": model}).to_dicts()
    ]
    return table(("layers", "neurons", "selective", "shuffled", "code", "math", "prose", "entropy to 0.5"), rows)


def entropy(warehouse: Neurothek, model: str) -> str:
    """A row a third of the layers: neurons that move no logit, or follow token counts."""
    rows = [
        [
            _PARTS[row["part"] - 1],
            f"{row['n']:,}",
            f"{row['beyond']:.2%}",
            f"{row['n_entropy']:,}",
            f"{row['largest']:.1%}",
            f"{row['n_frequency']:,}",
        ]
        for row in warehouse.sql(_ENTROPY, {"model": model}).to_dicts()
    ]
    header = ("layers", "neurons", "beyond all random", "entropy neurons", "largest null share", "frequency neurons")
    return table(header, rows)


def massive(warehouse: Neurothek, model: str) -> str:
    """A row a layer with a massive activation."""
    rows = [
        [
            row["address"].rpartition("/")[2],
            f"{row['input_largest']:,.0f}",
            str(row["output_channel"]),
            f"{row['output_largest']:,.0f}",
            f"{row['output_ratio']:,.0f}",
            str(row["output_position"]),
            f"{row['weight']:.2f}",
            f"{row['weight_share']:.0%}",
        ]
        for row in warehouse.sql(_MASSIVE, {"model": model}).to_dicts()
    ]
    header = ("neuron", "coefficient", "channel", "output", "times the mean", "position", "weight", "its share")
    return table(header, rows)


def readers(warehouse: Neurothek, model: str) -> str:
    """A row a third of the layers: neurons that read what they promote, that write it, and how both go together."""
    neurons = warehouse.sql(_READERS, {"model": model})
    parts = neurons.group_by("part").agg(
        n=pl.len(),
        reader=pl.col("is_reader").mean(),
        reader_chance=pl.col("reader_chance").mean(),
        writer=pl.col("is_writer").mean(),
        writer_chance=pl.col("writer_chance").mean(),
        both=(pl.col("is_reader") & pl.col("is_writer")).mean(),
        output=pl.col("output_score").mean(),
        other=pl.col("other_score").mean(),
        untouched=pl.col("untouched_score").mean(),
        correlation=pl.corr("input_score", "output_score", method="spearman"),
    )
    rows = [
        [
            _PARTS[row["part"] - 1],
            f"{row['n']:,}",
            f"{row['reader']:.1%} ({row['reader_chance']:.1%})",
            f"{row['writer']:.1%} ({row['writer_chance']:.1%})",
            f"{row['both']:.1%}",
            f"{row['correlation']:.2f}",
            *(f"{row[name]:.4f}" for name in ("output", "other", "untouched")),
        ]
        for row in parts.sort("part").to_dicts()
    ]
    header = ("layers", "neurons", "readers (chance: at most)", "writers (chance)", "both", "rank correlation")
    return table((*header, "output score", "other lists", "untouched"), rows)


def costs(warehouse: Neurothek, model: str) -> str:
    """A row an intervention: what turning neurons off adds to the loss, of all text and by domain."""
    by_domain = {
        (row["intervention"], row["domain"]): row["effect"]
        for row in warehouse.sql(_COSTS_BY_DOMAIN, {"model": model}).to_dicts()
    }
    rows = [
        [
            row["intervention"],
            f"{row['n_neurons']:,}",
            f"{row['effect']:+.4f}",
            f"{row['random_effect']:+.4f} (at most {row['random_effect_most']:+.4f})",
            f"{row['percentile']:.0f}",
            *(f"{by_domain[row['intervention'], domain]:+.4f}" for domain in ("code", "math", "prose")),
        ]
        for row in warehouse.sql(_COSTS, {"model": model}).to_dicts()
    ]
    header = ("turned off", "neurons", "loss", "random sets", "percentile", "code", "math", "prose")
    return table(header, rows)


def explained(warehouse: Neurothek, model: str) -> str:
    """A row a method: the score of explanations beside those of their controls, with intervals, and what is missing."""
    pooled = warehouse.explained(model=model).pooled()
    controls = ("borrowed", "random text", "made-up unit", "shuffled")
    rows = []
    for method in ("detection", "fuzzing", "intruder"):
        by_condition = {row["condition"]: row for row in pooled.filter(method=method).to_dicts()}
        own = by_condition["explanation"]
        missing = own["failed"] / (own["failed"] + own["contexts"])
        cells = [_with_interval(by_condition.get(name)) for name in ("explanation", *controls)]
        rows.append([method, f"{own['contexts']:,}", f"{missing:.0%}", *cells])
    return table(("method", "contexts", "missing", "explanation", *controls), rows)


def _with_interval(row: Mapping[str, Any] | None) -> str:
    return "" if row is None else f"{row['score']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
