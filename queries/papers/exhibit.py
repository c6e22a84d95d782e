"""A figure, table or section of a paper as one object: its numbers, pictures, the paper's claims and their rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from neurothek.queries.papers.findings import Finding, NotApplicable
from neurothek.queries.papers.paper_names import PaperName
from neurothek.queries.views.install import view
from neurothek.queries.views.neuron_facts import SMALLEST_FIRST, of_models

if TYPE_CHECKING:
    from neurothek.queries.papers.family import Family


@dataclass(frozen=True)
class Claim:
    """A claim of a paper and how it is judged."""

    section: str  # where the paper makes it; "ours" of what it does not claim
    text: str  # what it says, in our words
    rule: str  # what is asked for it to hold
    judge: Callable[[Family], Finding]  # judges it on a family
    jobs: tuple[str, ...] = ()  # what has to be measured

    def on(self, family: Family) -> Finding:
        """Judge it; a family that cannot be asked has an outcome that says why."""
        try:
            if lacking := family.lacking(self.jobs):
                return Finding("not measured", lacking)
            return self.judge(family)
        except NotApplicable as reason:
            return Finding(reason.outcome, str(reason))


OF_SIZES = "list_contains($sizes::varchar[], model)"
"""Keeps the sizes of a family: its plain models; where it has none, those of its commonest quantization."""


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

    def parameters(self, models: Sequence[str], sizes: Sequence[str]) -> dict[str, list[str]]:
        """Values of the names in its statement: all models that are reproduced, and those that are sizes."""
        return {"models": list(models)} | ({"sizes": list(sizes)} if OF_SIZES in self.where else {})


@dataclass(frozen=True)
class Picture:
    """A drawing of an exhibit, the key under which `neurothek.dashboards.papers` knows how it is drawn."""

    slug: str  # what it shows, the name of its files in a reproduced paper
    number: int | None = None  # of the paper's figure, or in its series; None where `compare` draws none of the paper
    series: str = ""  # what it is counted among, if not among the paper's figures

    @property
    def name(self) -> str:
        """The name of its files beside those of other papers, without the ending."""
        return f"{self.series}-{self.number}-{self.slug}" if self.series else f"figure-{self.number:02d}-{self.slug}"

    @property
    def title(self) -> str:
        """The words for it where it is missing."""
        return f"{self.series} {self.number} ({self.slug})" if self.series else f"figure {self.number}"


@dataclass(frozen=True)
class Exhibit:
    """One figure, table or section of a paper."""

    label: str  # what the paper calls it, such as "Figure 1"; its section, where it is words alone
    shows: str  # what it shows, one sentence
    sheets: tuple[Sheet, ...]  # its numbers
    claims: tuple[Claim, ...] = ()  # what the paper claims of it
    pictures: tuple[Picture, ...] = ()  # what is drawn of the numbers
    remark: str = ""  # where it departs from the paper's own, and why

    @property
    def slug(self) -> str:
        """Its label as a part of addresses."""
        return "-".join("".join(letter if letter.isalnum() else " " for letter in self.label.lower()).split())


@dataclass(frozen=True)
class Paper:
    """A paper and all that is reproduced of it."""

    name: PaperName  # what commands call it
    source: str  # authors, year and title
    jobs: tuple[str, ...]  # what its exhibits rest on
    exhibits: tuple[Exhibit, ...]  # in its order

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of its exhibits, each once, by sections; ours come last."""
        return tuple(
            sorted(dict.fromkeys(one for of in self.exhibits for one in of.claims), key=lambda one: one.section)
        )

    def shown_in(self, claim: Claim) -> str:
        """The exhibits that show a claim, by their labels."""
        return ", ".join(one.label for one in self.exhibits if claim in one.claims)
