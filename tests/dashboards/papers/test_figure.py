"""What the papers' figures share: names of files that sort by number, and captions without empty lines."""

import altair as alt
import pytest

from neurothek.dashboards.papers.figure import captioned, source
from neurothek.queries.papers.exhibit import Picture


def test_files_sort_as_the_figures_are_numbered() -> None:
    names = [Picture("a-thing", number).name for number in (1, 2, 9, 10, 11, 15)]
    assert names == sorted(names)
    assert names[0] == "figure-01-a-thing"
    assert Picture("x", 3).title == "figure 3"
    series = Picture("x", 3, "shortcuts")
    assert (series.name, series.title) == ("shortcuts-3-x", "shortcuts 3 (x)")


@pytest.mark.parametrize(
    ("lines", "shown"),
    [((), []), (("", ""), []), (("one", "", "two"), ["one", "two"])],
)
def test_a_caption_has_the_lines_that_say_something(lines: tuple[str, ...], shown: list[str]) -> None:
    chart = alt.Chart().mark_bar()
    drawn = captioned(chart, "a title", *lines).to_dict()
    assert drawn["title"] == {"text": "a title", "subtitle": shown}
    assert "title" not in chart.to_dict(), "the chart that was given is not changed"


def test_the_source_names_the_figure_of_the_paper() -> None:
    assert "Figure 9 " in source(Picture("x", 9))
