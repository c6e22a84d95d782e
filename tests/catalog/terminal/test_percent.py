"""Parts of 1 in per cent: two digits, and neither nothing nor all where it is not so."""

import pytest

from neurothek.catalog.terminal.cells import percent


def test_two_digits_and_never_nothing_or_all_of_what_is_not(subtests: pytest.Subtests) -> None:
    for share, said in [
        *((0.0, "0%"), (2e-7, "<0.01%"), (0.0001, "0.010%"), (0.0004, "0.040%"), (0.0625, "6.2%"), (0.1, "10%")),
        *((0.873, "87%"), (0.985, "98%"), (0.996, ">99%"), (0.99999, ">99%"), (1.0, "100%"), (-0.05, "-5.0%")),
    ]:
        with subtests.test(share=share, said=said):
            assert percent(share) == said


def test_more_digits_tell_more() -> None:
    assert [percent(0.9996, digits) for digits in (2, 3, 4)] == [">99%", ">99.9%", "99.96%"]
    assert [percent(0.00004, digits) for digits in (2, 3)] == ["<0.01%", "0.00400%"]
