"""Addresses of neurons: every one leads to its neuron and back, and no other text leads anywhere."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import Invalid, NotFound, NotMeasured
from neurothek.queries.names.models import find_neuron
from tests.support.tiny import MODELS, address, neurons_of


def test_every_address_leads_to_its_neuron(full: duckdb.DuckDBPyConnection) -> None:
    for neuron in neurons_of(1):
        found = find_neuron(full, address(neuron))
        assert (found.model_id, found.layer, found.neuron) == neuron
        assert str(found) == address(neuron)
    assert str(find_neuron(full, " tiny-1m/l0n3 ")) == "tiny-1m/L0N3"


def test_so_of_all_models_with_what_is_known_of_them(full: duckdb.DuckDBPyConnection) -> None:
    for model_id, plan in enumerate(MODELS):
        last = (model_id, plan.n_layers - 1, plan.d_ffn - 1)
        found = find_neuron(full, address(last))
        assert (found.model, found.of.n_layers, found.of.d_ffn) == (plan.name, plan.n_layers, plan.d_ffn)
        assert find_neuron(full, str(found)) == found


@pytest.mark.parametrize("text", ["tiny-1m/L0N3\n", "\ttiny-1m/l0n3", "tiny-1m/L00N0003"])
def test_white_space_case_and_zeros_are_no_difference(full: duckdb.DuckDBPyConnection, text: str) -> None:
    assert str(find_neuron(full, text)) == "tiny-1m/L0N3"


@pytest.mark.parametrize("place", ["L2N0", "L0N5", "L99999N0", "L0N999999999"])
def test_a_neuron_beyond_the_model_is_told_with_its_range(full: duckdb.DuckDBPyConnection, place: str) -> None:
    with pytest.raises(NotFound) as refused:
        find_neuron(full, f"tiny-1m/{place}")
    assert str(refused.value) == (
        f"there is no neuron tiny-1m/{place}: the model has layers 0 to 1 and neurons 0 to 4 in each; choose an"
        " address in this range"
    )


def test_any_other_text_is_no_address(full: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    for text in [
        *("", "/", "L0N0", "tiny-1m", "tiny-1m/", "tiny-1m/L0", "tiny-1m/N0L0", "tiny-1m/L0N0/", "a/tiny-1m/L0N0"),
        *("tiny-1m/L-1N0", "tiny-1m/L0.5N0", "tiny-1m/L0 N0", "tiny-1m/L100000N0", "tiny-1m/L0N1000000000"),
        *("tiny-1m/L\u0661N0", "ti\x1bny/L0N0", "tiny-1m/L0N0;"),
    ]:
        with subtests.test(text=text):
            with pytest.raises(Invalid) as refused:
                find_neuron(full, text)
            assert str(refused.value).startswith(f"{text!r} is not the address of a neuron; ")
            assert "\n" not in str(refused.value)


@given(text=st.text(max_size=20) | st.from_regex(r"tiny-1m/L[0-9]{1,6}N[0-9]{1,10}", fullmatch=True))
def test_any_text_is_a_neuron_or_a_sentence(full: duckdb.DuckDBPyConnection, text: str) -> None:
    try:
        found = find_neuron(full, text)
    except (Invalid, NotFound):
        return
    assert 0 <= found.layer < found.of.n_layers
    assert 0 <= found.neuron < found.of.d_ffn


def test_an_empty_warehouse_says_what_to_do(empty: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotMeasured, match="neurothek ingest MODEL"):
        find_neuron(empty, "tiny-1m/L0N0")
