"""Tables fitted into a width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.terminal.cells import GAP, PrintedColumn, fit, padded, shortened, text_width

columns = st.lists(
    st.builds(
        PrintedColumn,
        name=st.text("abc", min_size=1, max_size=8),
        cells=st.lists(st.text("ab 漢é", max_size=30), min_size=2, max_size=2).map(tuple),
        is_right=st.booleans(),
        is_flexible=st.booleans(),
        keeps_end=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


# A rigid column alone may take 30 wide characters: 60 terminal cells.
@given(table=columns, width=st.integers(60, 120))
def test_lines_fit_and_nothing_vanishes_silently(table: list[PrintedColumn], width: int) -> None:
    layout = fit(table, width)
    assert all(text_width(line) <= width for line in layout.lines())
    assert [*(column.name for column in table[: len(layout.columns)]), *layout.omitted] == [one.name for one in table]
    for own, shown in zip(table, layout.columns, strict=False):
        for before, after in zip(own.cells, shown.cells, strict=True):
            assert after == before or (own.is_flexible and "…" in after)


@given(table=columns)
def test_with_room_nothing_is_cut(table: list[PrintedColumn]) -> None:
    layout = fit(table, 1000)
    assert layout.columns == tuple(table)
    assert layout.omitted == ()
    starts = [sum(layout.widths[:number]) + GAP * number for number in range(len(table))]
    header = layout.lines()[0]
    for column, start, width in zip(table, starts, layout.widths, strict=True):
        assert header[start : start + width].strip() == column.name


def test_shortened(subtests: pytest.Subtests) -> None:
    for text, width, keeps_end, expected in [
        ("abc", 3, False, "abc"),
        ("abcd", 3, False, "ab…"),
        ("abcd", 3, True, "…cd"),
        ("漢字漢", 4, False, "漢…"),
        ("漢字漢", 4, True, "…漢"),
    ]:
        with subtests.test(text=text, width=width, keeps_end=keeps_end, expected=expected):
            assert shortened(text, width, keeps_end=keeps_end) == expected


def test_padded_counts_terminal_cells() -> None:
    assert padded("漢", 4, False) == "漢  "
    assert padded("漢", 4, True) == "  漢"
    assert text_width("e\u0301") == 1


def test_what_was_asked_for_is_the_last_to_go() -> None:
    """Of a search: others give way from the right, then what was asked for does, its first column last of all."""
    names = ("#", "address", "rank", "z_score", "token", "neighbours")
    asked = {"address", "z_score", "token"}
    table = [PrintedColumn(name=name, cells=("x" * 10,), is_asked_for=name in asked) for name in names]
    shown = {width: [column.name for column in fit(table, width).columns] for width in (70, 60, 46, 35, 34, 22, 5)}
    assert shown[70] == list(names)
    assert shown[60] == ["#", "address", "rank", "z_score", "token"]
    assert shown[46] == ["#", "address", "z_score", "token"]
    assert shown[35] == shown[34] == ["address", "z_score", "token"]
    assert shown[22] == ["address", "z_score"]
    assert shown[5] == ["address"]
    assert fit(table, 34).omitted == ("#", "rank", "neighbours")
