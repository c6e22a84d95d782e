"""The sentence about a neuron, against plain counts over what the hand-made models did."""

from collections.abc import Iterable
from dataclasses import replace

import duckdb

from neurothek.catalog.spelling import visible
from neurothek.queries.neuron.headline import headline, labels_of
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from tests.support.tiny import address
from tests.support.warehouse import hand_made


def page_of(connection: duckdb.DuckDBPyConnection, key: tuple[int, int, int]) -> NeuronPage:
    return neuron_page(connection, address(key))


def named(tokens: Iterable[str]) -> str:
    return " ".join(f"“{visible(token)}”" for token in tokens)


def test_it_fires_as_often_as_it_did_in_the_hand_made_model(full: duckdb.DuckDBPyConnection) -> None:
    key = (0, 0, 4)
    counted = [m for line in hand_made().coefficients[0, key].values() for m in line[1:]]
    share = 100 * sum(m > 0 for m in counted) / len(counted)
    assert share > 10
    assert headline(page_of(full, key)).startswith(
        f"Fires at {share:.0f}% of the {len(counted):,} tokens of the built-in text"
    )


def test_it_names_the_first_three_tokens_of_either_side(full: duckdb.DuckDBPyConnection) -> None:
    page = page_of(full, (0, 0, 1))
    said = headline(page)
    for side, verb in (("promoted", "promotes"), ("suppressed", "suppresses")):
        tokens = sorted((row for row in page.tokens.to_dicts() if row["side"] == side), key=lambda row: row["rank"])
        assert f"; {verb} {named(row['token'] for row in tokens[:3])}" in said


def test_it_passes_over_tokens_that_say_little_where_there_are_others(full: duckdb.DuckDBPyConnection) -> None:
    page = page_of(full, (0, 0, 1))
    tokens = [row["token"] for row in page.tokens.sort("rank").to_dicts() if row["side"] == "promoted"]
    assert len(tokens) > 4
    others = named((tokens[1], tokens[3], tokens[4]))
    assert f"promotes {others}" in headline(page, {tokens[0], tokens[2]})
    assert f"promotes {named(tokens[:3])}" in headline(page, set(tokens))


def test_a_dead_neuron_never_fires(full: duckdb.DuckDBPyConnection) -> None:
    page = page_of(full, (0, 0, 3))
    assert headline(page).startswith("Never fires on the 41 tokens of the built-in text; promotes ")
    assert "dead" in labels_of(page.facts)


def test_kinds_are_those_of_the_view(full: duckdb.DuckDBPyConnection) -> None:
    rows = full.sql("select * from neurons").pl().to_dicts()
    told = {row["address"]: labels_of(row) for row in rows}
    assert {address for address, names in told.items() if "dead" in names} == {
        row["address"] for row in rows if row["is_dead"]
    }
    positional = {address for address, names in told.items() if any(name.startswith("positional") for name in names)}
    assert positional == {row["address"] for row in rows if row["position_strength"] in ("strong", "weak")} != set()
    assert any(not names for names in told.values())


def test_without_text_it_tells_of_tokens_alone(full: duckdb.DuckDBPyConnection) -> None:
    (found,) = full.execute("select address from neurons where corpus is null limit 1").fetchall()
    said = headline(neuron_page(full, found[0]))
    assert said.startswith("promotes ")


def test_a_neuron_that_always_fires_does_so_at_100_percent(full: duckdb.DuckDBPyConnection) -> None:
    page = page_of(full, (0, 0, 4))
    seen = page.domains.get_column("n_tokens_seen")
    for share, told in ((1.0, "100%"), (0.1, "10%"), (0.0625, "6.2%"), (0.0004, "0.040%"), (0.996, ">99%")):
        domains = page.domains.with_columns(n_active=(seen * 10_000 * share).cast(int), n_tokens_seen=seen * 10_000)
        assert headline(replace(page, domains=domains)).startswith(f"Fires at {told} of")
