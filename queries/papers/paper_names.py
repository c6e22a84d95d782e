"""Names of the papers, as commands take them."""

from typing import Literal, get_args

PaperName = Literal["voita", "geva", "din"]
PAPER_NAMES: tuple[PaperName, ...] = get_args(PaperName)
