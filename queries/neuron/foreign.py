"""One neuron in other people's catalogs: what they say of it in words, and how far their lists agree, beside chance."""

import polars as pl

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

_TITLE = "in other people's catalogs"

FOREIGN_REMARK = (
    "their words and scores; n_shared: of the first ten tokens of their two lists, those among as many of ours; by"
    " chance: the same with the lists of another neuron of the layer"
)


def foreign_table(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a page as people see them: a line for each explanation, what nobody says left out."""
    shared = pl.format("{} of {}", "n_shared", "n_compared")
    frequency = pl.col("foreign_frequency")
    columns = {
        "catalog": pl.col("catalog"),
        "explanation": pl.col("foreign_explanation"),
        "explainer": pl.col("foreign_explainer"),
        "score": pl.col("foreign_score"),
        "n_shared": pl.when(pl.col("n_compared") > 0).then(shared),
        "by_chance": pl.col("n_shared_by_chance"),
        "their_frequency": frequency,
        "frequency": pl.when(frequency.is_not_null()).then("frequency"),
    }
    table = rows.select(**columns)
    return table.select("catalog", *(name for name in table.columns[1:] if table[name].null_count() < table.height))


def foreign_sections(rows: pl.DataFrame) -> list[Section]:
    """The part of a page that tells of it; none where no catalog knows the neuron."""
    return [] if rows.is_empty() else [Section(_TITLE, foreign_table(rows), FOREIGN_REMARK)]
