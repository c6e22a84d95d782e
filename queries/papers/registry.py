"""The papers that are reproduced."""

from collections.abc import Mapping

from neurothek.queries.papers.din import DIN
from neurothek.queries.papers.exhibit import Paper
from neurothek.queries.papers.geva import GEVA
from neurothek.queries.papers.paper_names import PaperName
from neurothek.queries.papers.voita import VOITA

PAPERS: Mapping[PaperName, Paper] = {paper.name: paper for paper in (VOITA, GEVA, DIN)}
