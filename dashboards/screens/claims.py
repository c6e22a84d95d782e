"""The page of what the papers claim: each claim with its verdict on the models of a family, and the numbers."""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import duckdb
import streamlit as st

from neurothek.catalog import advice
from neurothek.dashboards.colours import verdict_colour
from neurothek.dashboards.widgets.address import address_value, asked_among, own_key, remember
from neurothek.dashboards.widgets.figures import show_files, title_row
from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import (
    answer,
    elsewhere,
    heading,
    jobs_of_models,
    missing,
    say_first,
    theme,
)
from neurothek.dashboards.widgets.pickers import ALONE, pick_corpus, usual_model
from neurothek.queries.names.models import KnownModel, choose_models
from neurothek.queries.papers.findings import OUTCOMES, Finding, Outcome
from neurothek.queries.papers.paper_names import PAPER_NAMES, PaperName
from neurothek.queries.papers.registry import PAPERS
from neurothek.queries.papers.verdicts import JudgedClaim, JudgedClaims, judge_claims

RULE = (
    "A claim holds if the 95% interval of its difference lies above 0; for several sizes, layers or states, if it does "
    "so in more than half of them and for all together, and lies below 0 in none. It does not hold if an interval lies "
    "below 0; otherwise it is undecided."
)

_STYLE = """
<style>
.nt-claims { display: grid; grid-template-columns: max-content 1fr; gap: 1rem 1.6rem; line-height: 1.45; }
.nt-claims b { font-weight: 600; font-size: 0.93rem; padding-top: 0.1rem; }
.nt-claims .nt-found { display: flex; flex-wrap: wrap; gap: 0 1.6rem; font-size: 0.93rem; padding-top: 0.15rem;
  font-variant-numeric: tabular-nums; }
.nt-claims .nt-rule { font-size: 0.88rem; opacity: 0.75; }
.nt-claims code { font-size: 0.85rem; }
@media (max-width: 700px) { .nt-claims { grid-template-columns: 1fr; gap: 0.1rem; }
  .nt-claims b { padding-top: 0.9rem; } }
</style>
"""


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom, below its heading."""
    models = choose_models(connection)
    families = list(dict.fromkeys(model.family for model in models))
    left, middle, right = st.columns([2.4, 1, 1], vertical_alignment="bottom")
    with left:
        paper = _pick_paper()
    with middle:
        family = _pick_family(families, models)
    with right:
        corpus = pick_corpus(connection, [model.name for model in models if model.family == family])
    with st.spinner("Judging the claims"):
        judged = _judged(connection, paper, family, corpus)
    say_first(_headline(judged), _rests_on(judged), rule=RULE)
    outcomes = _pick_outcomes(judged)
    chosen = [one for one in judged.judged if not outcomes or one.finding.outcome in outcomes]
    of_others = [one for one in chosen if not outcomes and one.finding.outcome in _OF_OTHERS]
    with title_row("claims"):
        st.markdown(f"**{plain(PAPERS[paper].source)}**")
        show_files("claims", judged.claims)
    st.html(claims_html([one for one in chosen if one not in of_others]))
    if of_others:
        with st.expander(f"{len(of_others)} that need another model beside these, or do not apply to them"):
            st.html(claims_html(of_others))
    if unmeasured := _unmeasured_jobs(judged):
        what = "What some of these claims are about has not been measured yet."
        missing(connection, what, judged.models, jobs=unmeasured, corpus=corpus)


# Of claims that these models cannot tell of; they are unfolded by hand.
_OF_OTHERS: tuple[Outcome, ...] = ("needs another model", "does not apply")


def _headline(judged: JudgedClaims) -> str:
    """How many claims hold and how many do not; the buttons below count the others."""
    counts = Counter(one.finding.outcome for one in judged.judged)
    hold, fail = counts["holds"], counts["does not hold"]
    verb, verbs = ("holds" if hold == 1 else "hold"), ("does" if fail == 1 else "do")
    return f"{hold} of {len(judged.judged)} claims {verb}, {fail} {verbs} not."


def claims_html(judged: Sequence[JudgedClaim]) -> str:
    """Claims under each other: the verdict, what the paper says, what was found, and by which rule it is judged."""
    return f'{SHEET}{_STYLE}<div class="nt-claims">{"".join(_claim(one) for one in judged)}</div>'


def _claim(one: JudgedClaim) -> str:
    claim, finding = one.claim, one.finding
    section = f"section {claim.section}"
    exhibits = one.paper.shown_in(claim)
    # Some sections are exhibits themselves.
    place = html.escape(section if exhibits.lower() == section else f"{section}: {exhibits}")
    numbers = "".join(f"<span>{part}</span>" for part in _parts(finding.numbers))
    return (
        f'<b style="color: {verdict_colour(finding.outcome, theme=theme())}">{html.escape(finding.outcome)}</b>'
        f'<div>{html.escape(claim.text)} <span class="nt-muted">({place})</span><div class="nt-found">{numbers}</div>'
        f'<div class="nt-rule">Judged by: {html.escape(claim.rule)}{_rests_on_n(finding.n)}</div></div>'
    )


def _parts(numbers: str) -> Iterator[str]:
    """The parts of a sentence of numbers, commands as such."""
    path = elsewhere()
    for part in (advice.about(numbers, path) if path else numbers).split("; "):
        yield re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(part, quote=False))


def _rests_on_n(n: int | None) -> str:
    return "" if n is None else f"; n = {n:,}"


def _rests_on(judged: JudgedClaims) -> str:
    return " ".join((judged.summary, *(f"{remark}." for remark in judged.remarks())))


def _pick_paper() -> PaperName:
    named = asked_among("paper", PAPER_NAMES)
    chosen = next((name for name in PAPER_NAMES if name == named), PAPER_NAMES[0])
    picked = st.segmented_control(
        "Paper",
        PAPER_NAMES,
        default=chosen,
        key=own_key("paper"),
        format_func=lambda name: PAPERS[name].source.partition(",")[0],
        label_visibility="collapsed",
    )
    # Pressed once more, the chosen one is let go.
    remember(paper=picked)
    return picked or chosen


def _pick_family(families: Sequence[str], models: Sequence[KnownModel]) -> str:
    """The family of the address, else that of the model that other pages begin with."""
    usual = usual_model(models)
    chosen = asked_among("family", families) or next(model.family for model in models if model.name == usual)
    if len(families) == 1:
        return chosen
    picked = st.selectbox(
        "Family",
        families,
        index=families.index(chosen),
        key=own_key("family"),
        label_visibility="collapsed",
        width=ALONE,
    )
    remember(family=picked)
    return picked


def _pick_outcomes(judged: JudgedClaims) -> list[Outcome]:
    """The verdicts that a person wants to see; none: all."""
    counts = {one: sum(each.finding.outcome == one for each in judged.judged) for one in OUTCOMES}
    options = [one for one, n in counts.items() if n]
    typed = (address_value("verdict") or "").split(",")
    picked = st.pills(
        "Verdicts",
        options,
        selection_mode="multi",
        default=[one for one in options if one in typed],
        key=own_key(f"verdict-{judged.judged[0].paper.name}"),
        format_func=lambda one: f"{one} ({counts[one]})",
        label_visibility="collapsed",
    )
    remember(verdict=",".join(picked) or None)
    return picked


def _unmeasured_jobs(judged: JudgedClaims) -> list[str]:
    """The jobs that claims without a verdict rest on and that a size lacks, in the order of the claims."""
    had = jobs_of_models()
    needed = [job for one in judged.judged if one.finding.outcome == "not measured" for job in one.claim.jobs]
    return [job for job in dict.fromkeys(needed) if any(job not in had.get(model, ()) for model in judged.models)]


def _judged(connection: duckdb.DuckDBPyConnection, paper: PaperName, family: str, corpus: str | None) -> JudgedClaims:
    """The claims of a paper, from memory where they were judged before: all but the rules, which are functions."""
    bare, findings = cached_answer(connection, _find, paper, family, corpus)
    of = PAPERS[paper]
    pairs = zip(of.claims, findings, strict=True)
    return replace(bare, judged=tuple(JudgedClaim(of, claim, finding) for claim, finding in pairs))


def _find(
    connection: duckdb.DuckDBPyConnection, paper: PaperName, family: str, corpus: str | None
) -> tuple[JudgedClaims, list[Finding]]:
    judged = judge_claims(connection, papers=(paper,), family=family, corpus=corpus)
    return replace(judged, judged=()), [one.finding for one in judged.judged]


heading("Claims")
answer(show)
