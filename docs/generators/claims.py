"""The claims of a paper judged on the mini-OPT family, as blocks of findings.md."""

from neurothek import Neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.queries.papers.paper_names import PaperName
from neurothek.queries.papers.verdicts import tally


def table(warehouse: Neurothek, paper: PaperName, *models: str) -> str:
    """The claims of a paper on some models, else on all, as a table in Markdown; how many of each verdict there are."""
    judged = warehouse.claims(*models, paper=paper).judged
    if not judged:
        raise NeurothekError(f"no claims of {paper} were judged")
    lines = ["| section | claim | rule | found | verdict |", "|---|---|---|---|---|"]
    for one in judged:
        claim, finding = one.claim, one.finding
        lines.append(f"| {claim.section} | {claim.text} | {claim.rule} | {finding.numbers} | **{finding.verdict}** |")
    told = tally(judged)
    return "\n".join([f"{told[0].upper()}{told[1:]}.", "", *lines])
