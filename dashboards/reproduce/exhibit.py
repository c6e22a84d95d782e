"""What a figure or table of a paper becomes: the rows of views behind it, and the pictures drawn of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from neurothek.queries.views.install import view
from neurothek.queries.views.neuron_facts import SMALLEST_FIRST, of_models


@dataclass(frozen=True)
class Sheet:
    """A table of an exhibit: rows of a view, of the models that are reproduced."""

    view: str  # the view
    order: Sequence[str] = ()  # columns that order the rows of a model
    where: str = ""  # a condition on its rows; nothing for all
    name: str = ""  # of its files, where the view's own name does not tell it from another sheet
    first: Sequence[str] = ()  # columns that stand before the others, so that they are in view

    @property
    def stem(self) -> str:
        """The name of its files, without the ending."""
        return self.name or self.view

    @property
    def sql(self) -> str:
        """The statement that yields it for the models `$models`: smallest first where the view knows their size."""
        knows_size = {"size", "variant"} <= set(view(self.view).columns)
        models = SMALLEST_FIRST if knows_size else ("list_position($models::varchar[], model)",)
        return of_models(
            self.view, (*models, *self.order), where=f"({self.where})" if self.where else "", first=self.first
        )


@dataclass(frozen=True)
class Exhibit:
    """One figure or table of a paper."""

    label: str  # what the paper calls it, such as "Figure 1"; its section, where it is words alone
    shows: str  # what it shows, one sentence
    sheets: tuple[Sheet, ...]  # its numbers
    # slugs of the figures that are drawn of them, as `neurothek.dashboards.papers` names them
    pictures: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()  # what has to be measured for it
    remark: str = ""  # where it departs from the paper's own, and why

    @property
    def slug(self) -> str:
        """Its label as a part of names of files and addresses."""
        return "-".join("".join(letter if letter.isalnum() else " " for letter in self.label.lower()).split())
