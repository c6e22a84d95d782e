"""Claims as lines: within the width, every number there, the verdict first."""

import pytest

from neurothek.cli.claims import report
from neurothek.queries.papers.verdicts import JudgedClaim, JudgedClaims
from neurothek.queries.papers.voita import VOITA
from tests.support.claims import voita_family


@pytest.fixture(scope="module")
def judged() -> JudgedClaims:
    made = voita_family(is_true=False)
    return JudgedClaims("made", made.sizes, tuple(JudgedClaim(VOITA, one, one.on(made)) for one in VOITA.claims[:21]))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit_and_say_everything(judged: JudgedClaims, width: int) -> None:
    lines = list(report(judged, width))
    assert max(map(len, lines)) <= width
    said = " ".join(" ".join(lines).split())
    for one in judged.judged:
        assert " ".join(f"{one.claim.section}: {one.claim.text}".split()) in said
        assert " ".join(one.finding.numbers.split()) in said


def test_a_verdict_stands_before_its_claim(judged: JudgedClaims) -> None:
    lines = list(report(judged, 200))
    (line,) = (line for line in lines if "The second half is fully alive." in line)
    assert line.startswith("does not hold        3: ")
    (line,) = (line for line in lines if "fire more rarely" in line and "neurons of larger models" in line)
    assert line.startswith("undecided")
    assert any(line.endswith(")") and "(n = " in line for line in lines)
