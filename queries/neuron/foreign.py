"""One neuron in other people's catalogs: what they say of it in words, and how far their lists agree, beside chance."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from neurothek.catalog.spelling import one_line
from neurothek.queries.ask.answer import Section

NEURON_FOREIGN = """\
-- What other people's catalogs say of one neuron, and how far their lists agree with ours, beside chance.
select
    agreement.catalog,
    explanations.foreign_explanation,
    explanations.foreign_explainer,
    explanations.foreign_score,
    explanations.score_name,
    agreement.n_shared,
    agreement.n_compared,
    agreement.n_shared_by_chance,
    agreement.foreign_frequency,
    agreement.frequency,
    agreement.is_same_rule,
    agreement.are_same_positions,
from foreign_agreement as agreement
left join foreign_explanations as explanations
    on explanations.catalog = agreement.catalog
    and explanations.model = agreement.model
    and explanations.layer = agreement.layer
    and explanations.neuron = agreement.neuron
where agreement.model = $model and agreement.layer = $layer and agreement.neuron = $neuron
order by agreement.catalog, explanations.number
"""

FOREIGN_REMARK = (
    "their words and numbers; n_shared: of the first ten tokens of their two lists, those among as many of ours;"
    " by_chance: the same with the lists of another neuron of the layer"
)


def foreign_parts(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each catalog that knows the neuron: its name with what it says in words, and its numbers beside ours."""
    for (catalog,), lines in rows.group_by("catalog", maintain_order=True):
        words = [_spoken(row) for row in lines.to_dicts() if row["foreign_explanation"] is not None]
        title = f"other people's catalog {one_line(str(catalog))}"
        yield f"{title}: {'; '.join(words)}" if words else title, _numbers(lines.head(1))


def foreign_sections(rows: pl.DataFrame) -> list[Section]:
    """The part of a page that tells of it; none where no catalog knows the neuron."""
    parts = list(foreign_parts(rows)) if rows.height else []
    return [Section(*part, FOREIGN_REMARK if n == len(parts) else "") for n, part in enumerate(parts, start=1)]


def _spoken(row: Mapping[str, Any]) -> str:
    """An explanation in quotation marks, with who wrote it and their score."""
    score = None if row["foreign_score"] is None else f"{one_line(row['score_name'])} {row['foreign_score']:.2f}"
    by = [one for one in (row["foreign_explainer"] and one_line(row["foreign_explainer"]), score) if one]
    whose = f" ({', '.join(by)})" if by else ""
    return f"“{one_line(row['foreign_explanation'])}”{whose}"


def _numbers(row: pl.DataFrame) -> pl.DataFrame:
    shared = pl.format("{} of {}", "n_shared", "n_compared")
    return row.select(
        pl.when(pl.col("n_compared") > 0).then(shared).alias("n_shared"),
        pl.col("n_shared_by_chance").alias("by_chance"),
        pl.col("foreign_frequency").alias("their_frequency"),
        "frequency",
        pl.col("is_same_rule").alias("same_rule"),
        pl.col("are_same_positions").alias("same_positions"),
    )
