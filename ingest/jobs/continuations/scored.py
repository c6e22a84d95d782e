"""Scores of what was written, as rows."""

from collections.abc import Iterable, Sequence

import polars as pl

from neurothek.catalog.tables.interventions import ATTRIBUTE_SCORES
from neurothek.ingest.interventions.scorers.text_scorer import TextScorer, named


def scores_of(rows: pl.DataFrame, scorers: Sequence[TextScorer]) -> pl.DataFrame:
    """One row per continuation, scorer and attribute; continuations without a text are not scored."""
    rows = rows.filter(pl.col("continuation").str.contains(r"[^ \t\n\r\x0B\x0C]"))
    # The same text may have been written by many methods: it is scored once.
    texts = rows["continuation"].unique(maintain_order=True)
    frames = [ATTRIBUTE_SCORES.empty()]
    for scorer in scorers:
        name = named(scorer)["name"]
        scores: Iterable[Iterable[float]] = scorer.scores(texts.to_list()) if len(texts) else ()
        by_text = pl.DataFrame(
            [
                (text, name, attribute, float(score))
                for text, of_text in zip(texts, scores, strict=True)
                for attribute, score in zip(scorer.attributes, of_text, strict=True)
            ],
            schema={"continuation": pl.String, "scorer": pl.String, "attribute": pl.String, "score": pl.Float64},
            orient="row",
        )
        frames.append(rows.join(by_text, on="continuation", maintain_order="left").select(*ATTRIBUTE_SCORES.columns))
    return pl.concat(frames)
