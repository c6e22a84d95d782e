"""The answer to `claims`: every paper's claims on a warehouse, full or empty, with the statements that were run."""

import duckdb
import pytest

from neurothek.catalog.problems import NotMeasured
from neurothek.queries.names.models import choose_models
from neurothek.queries.papers.registry import PAPERS
from neurothek.queries.papers.verdicts import COLUMNS, judge_claims, tally
from tests.support.claims import CLAIMS


def test_every_claim_is_judged(full: duckdb.DuckDBPyConnection) -> None:
    for family in {model.family for model in choose_models(full)}:
        judged = judge_claims(full, family=family)
        assert judged.claims.columns == list(COLUMNS)
        assert judged.claims["claim"].to_list() == [one.text for one in CLAIMS]
        assert all(finding.numbers for one in judged.judged if (finding := one.finding))
        assert judged.family == family


def test_one_paper(full: duckdb.DuckDBPyConnection) -> None:
    family = choose_models(full)[0].family
    for name, paper in PAPERS.items():
        judged = judge_claims(full, family=family, papers=[name])
        assert set(judged.claims["paper"]) == {name}
        (section,) = judged.sections()
        assert section.title == paper.source
        assert section.frame.height == len(judged.judged) == len(paper.claims)


def test_it_tells_what_it_asked(full: duckdb.DuckDBPyConnection) -> None:
    family = next(model.family for model in choose_models(full) if model.is_measured_on_text)
    assert "from store.runs" in judge_claims(full, family=family).sql


def test_an_empty_warehouse_has_nothing_to_judge(empty: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotMeasured):
        judge_claims(empty)


def test_claims_are_told_apart_by_their_text() -> None:
    assert len({one.text for one in CLAIMS}) == len(CLAIMS)
    assert all(one.rule for one in CLAIMS)
    assert tally([]) == "of 0 claims: "
