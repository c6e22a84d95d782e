"""The claims of a paper as a block of the findings: one line a claim, and their count above it."""

import re
from pathlib import Path

import pytest

from docs.generators import claims as page
from docs.generators.findings import with_block
from neurothek import Neurothek
from neurothek.queries.papers.paper_names import PaperName
from neurothek.queries.papers.registry import PAPERS
from neurothek.queries.papers.verdicts import JudgedClaim, JudgedClaims
from neurothek.queries.papers.voita import VOITA
from tests.support.claims import voita_family


class Made(Neurothek):
    """A warehouse that knows only a made-up family."""

    def claims(self, *models: str, **_: object) -> JudgedClaims:
        made = voita_family(is_true=False)
        judged = [JudgedClaim(VOITA, one, one.on(made)) for one in VOITA.claims]
        return JudgedClaims("made", made.sizes, tuple(judged))


def test_the_block_counts_its_verdicts() -> None:
    shown = page.table(Made(Path("made")), "voita")
    verdicts = re.findall(r"\*\*(.*?)\*\* \|$", shown, flags=re.MULTILINE)
    assert shown.startswith(f"Of {len(verdicts)} claims: ")
    for words, start in (("hold", "holds"), ("do not hold", "does not hold"), ("need more text", "needs more text")):
        number = sum(one.startswith(start) for one in verdicts)
        assert f" {number} {words}" in shown.splitlines()[0]


@pytest.mark.parametrize(("paper", "block"), list(zip(PAPERS, ("claims", "events", "shortcut claims"), strict=True)))
def test_the_page_has_every_claim(paper: PaperName, block: str) -> None:
    findings = (Path(__file__).parents[3] / "docs" / "findings.md").read_text("utf-8")
    own = PAPERS[paper].claims
    assert f"<!-- {block} -->\nOf {len(own)} claims: " in findings
    for one in own:
        assert f"| {one.section} | {one.text} | {one.rule} |" in findings


def test_a_block_is_replaced() -> None:
    shown = with_block("a\n<!-- claims -->\nold\n<!-- end -->\n", "claims", "new")
    assert "<!-- claims -->\nnew\n<!-- end -->" in shown
