"""The answer to `claims`: each claim of the papers with what these models say of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import polars as pl

from neurothek.catalog.tables.table import TEXT
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import records
from neurothek.queries.compare.conclusion import training_sentence
from neurothek.queries.papers.exhibit import Claim, Paper
from neurothek.queries.papers.family import Family
from neurothek.queries.papers.findings import Finding, Outcome
from neurothek.queries.papers.paper_names import PaperName
from neurothek.queries.papers.registry import PAPERS
from neurothek.queries.views.on_corpus import on_corpus

_TRAINED = """\
-- Training tokens over all parameters of some models.
select
    model,
    tokens_per_parameter,
from models
where list_contains($models::varchar[], model)
"""

COLUMNS = ("paper", "section", "claim", "verdict", "found", "rule", "shown in")


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of a paper and what was found."""

    paper: Paper = field(repr=False)
    claim: Claim
    finding: Finding


@dataclass(frozen=True, repr=False)
class JudgedClaims(TabularAnswer):
    """Claims judged on the models of a family, paper by paper.

    Attributes:
        family: the family.
        models: its sizes, smallest first.
        judged: the claims in the order of the papers.
        left_out: models that may not be compared with the others, with the reason.
        all_models: all models that were asked about, variants and those left out included, smallest first.
        training: how far the sizes were trained, a sentence: whether they differ in size alone; nothing of one.
    """

    family: str
    models: tuple[str, ...]
    judged: tuple[JudgedClaim, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    all_models: tuple[str, ...] = ()
    training: str = ""

    @property
    def claims(self) -> pl.DataFrame:
        """One row a claim."""
        rows = [
            {
                "paper": one.paper.name,
                "section": one.claim.section,
                "claim": one.claim.text,
                "verdict": one.finding.verdict,
                "found": one.finding.numbers,
                "rule": one.claim.rule,
                "shown in": one.paper.shown_in(one.claim),
            }
            for one in self.judged
        ]
        return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, TEXT))

    def by_paper(self) -> dict[Paper, tuple[JudgedClaim, ...]]:
        """The claims of each paper of which any were judged."""
        papers = dict.fromkeys(one.paper for one in self.judged)
        return {paper: tuple(one for one in self.judged if one.paper is paper) for paper in papers}

    @property
    def summary(self) -> str:
        """Which models were judged, and how far they were trained."""
        judged = f"Claims judged on {', '.join(self.models) or 'no model'}, of the family {self.family}."
        return f"{judged} {self.training}".rstrip()

    def remarks(self) -> list[str]:
        """Which models were left out."""
        return [f"{model} is left out: {why}" for model, why in self.left_out.items()]

    def data(self) -> dict[str, pl.DataFrame]:
        """The claims for programs."""
        return {"claims": self.claims}

    def sections(self) -> list[Section]:
        """One table a paper."""
        return [
            Section(
                paper.source,
                self.claims.filter(paper=paper.name).select("section", "claim", "verdict", "found"),
                tally(judged),
            )
            for paper, judged in self.by_paper().items()
        ]


def tally(judged: Sequence[JudgedClaim]) -> str:
    """How many claims of each verdict there are, in a sentence."""
    counts = Counter(one.finding.outcome for one in judged)
    parts = ", ".join(f"{n} {_PLURAL[outcome]}" for outcome in _PLURAL if (n := counts[outcome]))
    return f"of {len(judged)} claims: {parts}"


_PLURAL: Mapping[Outcome, str] = {
    "holds": "hold",
    "does not hold": "do not hold",
    "undecided": "undecided",
    "needs more text": "need more text",
    "needs larger models": "need larger models",
    "needs another model": "need another model",
    "does not apply": "do not apply",
    "not measured": "not measured",
}


@with_its_sql
def judge_claims(
    connection: duckdb.DuckDBPyConnection,
    models: Sequence[str] = (),
    *,
    papers: Sequence[PaperName] = (),
    family: str | None = None,
    corpus: str | None = None,
) -> JudgedClaims:
    """Judge the papers' claims on models of one family.

    Args:
        connection: a reader.
        models: names of models; none: all of the family.
        papers: which papers; none: all.
        family: the family; None: the only one there.
        corpus: the corpus to judge on; None: each model's shown one.
    """
    with on_corpus(connection, models, corpus) as on_its_corpus:
        of_family = Family.of(on_its_corpus, models, family=family, corpus=corpus)
        chosen = [paper for name, paper in PAPERS.items() if not papers or name in papers]
        judged = [JudgedClaim(paper, claim, claim.on(of_family)) for paper in chosen for claim in paper.claims]
        training = _training(on_its_corpus, of_family.sizes)
    left_out = dict(of_family.left_out)
    return JudgedClaims(of_family.name, of_family.sizes, tuple(judged), left_out, of_family.all_models, training)


def _training(connection: duckdb.DuckDBPyConnection, sizes: Sequence[str]) -> str:
    """How far models were trained; nothing of fewer than two, which differ in nothing."""
    if len(sizes) < 2:
        return ""
    rows = records(connection, _TRAINED, {"models": list(sizes)})
    per_parameter = {row["model"]: row["tokens_per_parameter"] for row in rows}
    return training_sentence([per_parameter.get(model) for model in sizes])
