"""What every search answers: its title says whether the limit cut it, its remarks what was left out."""

from dataclasses import dataclass

import polars as pl
import pytest

from neurothek.queries.search.condition import IN_PYTHON
from neurothek.queries.search.poles import FoundNeurons


@dataclass(frozen=True, repr=False, kw_only=True)
class Found(FoundNeurons):
    """Neurons that some search found."""

    @property
    def title(self) -> str:
        return f"{self.first}{self.n_found} neurons"

    def table(self) -> pl.DataFrame:
        return self.neurons.select("address")


def found(n_shown: int, n_found: int, *, notes: tuple[str, ...] = (), left_out: tuple[str, ...] = ()) -> Found:
    neurons = pl.DataFrame({"address": [f"m/L0N{number}" for number in range(n_shown)], "layer": [0] * n_shown})
    return Found(neurons=neurons, n_found=n_found, notes=notes, left_out=left_out)


def test_the_title_says_where_the_limit_cuts(subtests: pytest.Subtests) -> None:
    for n_shown, n_found, first in [
        (0, 0, ""),
        (1, 1, ""),
        (3, 3, ""),
        (3, 4, "the first 3 of "),
        (0, 9, "the first 0 of "),
    ]:
        with subtests.test(n_shown=n_shown, n_found=n_found, first=first):
            (section,) = found(n_shown, n_found).sections()
            assert section.title == f"{first}{n_found} neurons"
            assert section.frame.columns == ["address"]
            assert section.frame.height == n_shown


def test_remarks_are_the_notes_and_what_was_left_out() -> None:
    assert found(1, 1).remarks() == []
    answer = found(1, 2, notes=("one", "two"), left_out=("m-seed-1",))
    assert answer.remarks()[:2] == ["one", "two"]
    (left_out,) = answer.remarks()[2:]
    assert "m-seed-1" in left_out
    assert left_out.endswith(IN_PYTHON)
    lines = repr(answer).splitlines()
    assert lines[0] == "the first 1 of 2 neurons"
    assert lines[-3:] == answer.remarks()


def test_a_page_of_a_notebook_escapes_what_stands_in_it() -> None:
    page = found(1, 1, notes=("<i>",))._repr_html_()
    assert "&lt;i&gt;" in page
    assert "<i>" not in page


def test_a_search_has_to_say_what_its_title_and_table_are() -> None:
    bare = FoundNeurons(neurons=pl.DataFrame(), n_found=0, notes=())
    with pytest.raises(NotImplementedError):
        bare.sections()
