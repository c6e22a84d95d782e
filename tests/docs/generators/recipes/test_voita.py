"""The recipe on OPT: its larger texts are as large as the paper's, and cost what their tokens cost."""

from docs.generators.recipes import voita
from docs.generators.recipes.shapes import OPT


def test_the_larger_texts_are_those_of_the_paper() -> None:
    assert 5_000_000 < voita.LARGE.n_tokens < 6_000_000
    assert 20_000_000 < voita.LARGEST.n_tokens < 22_000_000


def test_commands_read_as_many_domains_as_the_tables_are_of() -> None:
    page = voita.voita()
    for text, name in ((voita.SMALL, "voita "), (voita.LARGE, "voita-5m"), (voita.LARGEST, "voita-20m")):
        lines = [line for line in page.splitlines() if line.startswith("neurothek ingest") and f"name {name}" in line]
        assert lines
        assert all(line.count("--corpus ") == text.n_domains for line in lines)
        assert all(f"--tokens {text.tokens} " in line for line in lines)


def test_every_size_has_a_row_in_both_tables() -> None:
    page = voita.voita()
    assert all(page.count(f"| opt-{size} |") == 2 for size in OPT)


def test_four_times_the_tokens_take_four_times_the_forward_pass() -> None:
    """Of opt-66b, in the table of both texts."""
    (row,) = (line for line in voita.voita().splitlines() if line.startswith("| opt-66b |") and " h |" in line)
    small, large = (float(cell) for cell in row.replace(" FLOPs", "").split(" | ") if "e+" in cell)
    assert 3.9 < large / small < 4.1
