"""The page `docs/papers.md`: every figure, table and claim of the papers, and the command that makes it."""

from collections.abc import Iterator, Mapping

from neurothek.queries.papers.exhibit import Exhibit, Paper
from neurothek.queries.papers.paper_names import PaperName
from neurothek.queries.papers.registry import PAPERS
from neurothek.queries.views.install import all_views

_HEAD = """\
# The papers, figure by figure

{header}\
One command writes a paper over again for your models: `neurothek reproduce voita MODELS --to FOLDER`, and likewise
`geva` and `din`. It measures what is missing after a yes, then writes each figure as PNG and SVG, each table as CSV and
Markdown with its SQL, and a page that shows them in the paper's order under the paper's claims, judged on these models.
`neurothek claims MODELS` prints the claims alone.

A row says *yes* where the figure or table comes out whole, for any models that have what it shows. Pictures are drawn
where there is something to draw: a figure about models without positions needs such a model. The views can be asked by
`neurothek sql` too.
"""

_TAILS: Mapping[PaperName, str] = {
    "voita": """\
Figures 10 and 11 and section 6 take models that differ in more than size: the variants `no-position`, `step N` and
`post-norm` of the mini family ship with the package. The [recipe](recipes/voita.md) measures the paper's own models.
""",
    "geva": """\
**WikiLM**, the second model of the paper, cannot be had here: it is a model of fairseq with adaptive input embeddings
and an adaptive softmax, published as a pickle of fairseq's classes, and no architecture of Hugging Face's reads it.
opt-125m stands in for what sets it apart from GPT-2, ReLU; the [recipe](recipes/geva.md) says more.
The two sketches of the paper (Figures 1 and 5) show no measurement.
""",
    "din": """\
The paper repeats its charts for each model (figures 1 to 11, 34 and 35) and on a second text (figures 12 to 21); which
of 11, 34 and 35 shows which number is our reading of the authors' plotting code. Here one chart holds all models, and
`reproduce din MODELS --corpus A --corpus B` writes a folder for each text. The [recipe](recipes/din.md) measures the
paper's own models.
""",
}


def papers(header: str) -> str:
    """The page.

    Args:
        header: the comment that says how it is made.
    """
    return "\n".join([_HEAD.format(header=header), *(line for paper in PAPERS.values() for line in _paper(paper))])


def _paper(paper: Paper) -> Iterator[str]:
    yield f"## {paper.source}\n"
    yield "| in the paper | what it shows | command | views | pictures | made whole |"
    yield "|---|---|---|---|---|---|"
    yield from (_row(paper, one) for one in paper.exhibits)
    if paper.name == "geva":
        yield "| WikiLM's columns | The same for a model of fairseq. | | | | no; OPT stands in |"
    yield f"\n{_TAILS[paper.name]}"
    yield "| section | claim | holds where | shown in | jobs |"
    yield "|---|---|---|---|---|"
    for one in paper.claims:
        yield f"| {one.section} | {one.text} | {one.rule} | {paper.shown_in(one)} | {', '.join(one.jobs)} |"
    yield ""


def _row(paper: Paper, one: Exhibit) -> str:
    views = ", ".join(dict.fromkeys(f"`{sheet.view}`" for sheet in one.sheets))
    pictures = ", ".join(f"`{picture.slug}`" for picture in one.pictures) or "table"
    remark = f" {one.remark}" if one.remark else ""
    return f"| {one.label} | {one.shows}{remark} | `reproduce {paper.name}` | {views} | {pictures} | {status(one)} |"


def status(one: Exhibit) -> str:
    """Whether it comes out whole: every view behind it is there. That its pictures are drawn is held by tests."""
    return "yes" if all(sheet.view in all_views() for sheet in one.sheets) else "in part"
