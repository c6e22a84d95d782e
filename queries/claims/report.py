"""Judged claims as lines for a terminal: the verdict before each claim, what was found under it, nothing cut off."""

import textwrap
from collections.abc import Iterator

from neurothek.queries.claims.claim import PAPERS, SOURCES
from neurothek.queries.claims.verdicts import JudgedClaim, JudgedClaims, tally

_VERDICT_WIDTH = len("needs larger models")
_LEAST_WIDTH = 60


def report(judged: JudgedClaims, width: int) -> Iterator[str]:
    """The lines, within `width` columns where that is at least 60."""
    width = max(width, _LEAST_WIDTH)
    for paper in PAPERS:
        own = judged.of_paper(paper)
        if own:
            yield ""
            yield from textwrap.wrap(SOURCES[paper], width)
            yield from textwrap.wrap(f"{tally(own)}.", width)
            for one in own:
                yield from _claim(one, width)


def _claim(one: JudgedClaim, width: int) -> Iterator[str]:
    margin = " " * (_VERDICT_WIDTH + 2)
    yield ""
    head = f"{one.finding.outcome.ljust(_VERDICT_WIDTH)}  {one.claim.section}: {one.claim.text}"
    yield from textwrap.wrap(head, width, subsequent_indent=margin)
    of = "" if one.finding.n is None else f" (n = {one.finding.n:,})"
    found = f"{one.finding.numbers}{of}"
    yield from textwrap.wrap(
        found, width, initial_indent=margin, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
