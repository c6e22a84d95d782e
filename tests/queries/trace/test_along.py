"""The answer `activations`: each token with the neuron's activation, and where it is strongest."""

import json

import polars as pl
import pytest

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import Invalid, NotFound
from neurothek.queries.trace.grid import ALONG_COLUMNS, AlongPage
from tests.support import ingests
from tests.support.models import build

# One worker measures the warehouse.
pytestmark = pytest.mark.xdist_group("trace")

PROMPT = "one two three"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    folder = tmp_path_factory.mktemp("along")
    build(folder / "tiny", "opt", d_ffn=32)
    ingests.measure(
        ingests.open_warehouse(folder / "w.duckdb"), folder / "tiny", ingests.request((), jobs=("projections",))
    )
    return neurothek.open(folder / "w.duckdb")


def test_activations_are_those_that_traces_and_switches_tell(door: Neurothek) -> None:
    traces = [door.trace("tiny", PROMPT, position=position) for position in range(4)]
    address = traces[3].neurons["address"][0]
    page = door.activations(address, PROMPT)
    assert dict(page.tokens.schema) == dict(ALONG_COLUMNS)
    assert tuple(page.tokens["token"]) == traces[0].traced.tokens
    for position, traced in enumerate(traces):
        dominant = traced.neurons.filter(address=address)
        if not dominant.is_empty():
            assert page.tokens["activation"][position] == pytest.approx(dominant["coefficient"][0], rel=1e-4)
        switched = door.switch("tiny", PROMPT, address, position=position, n_random=1)
        assert page.tokens["activation"][position] == pytest.approx(switched.neurons["coefficient"][0], abs=1e-5)


def test_it_says_where_it_is_strongest(door: Neurothek) -> None:
    rows = [(0, "</s>", 0.5), (1, "one", -2.25), (2, " two", 2.0)]
    page = AlongPage("tiny/L0N1", pl.DataFrame(rows, schema=dict(ALONG_COLUMNS), orient="row"))
    assert page.summary == "tiny/L0N1 is strongest on one (position 1): -2.25."
    silent = AlongPage("tiny/L0N1", page.tokens.with_columns(activation=pl.lit(0.0, pl.Float32)))
    assert silent.summary == "tiny/L0N1 is 0 on all 3 tokens."
    assert "·two" in repr(page)
    assert page.data()["tokens"].equals(page.tokens)
    assert json.loads(json.dumps(page.data()["along"])) == {"address": "tiny/L0N1"}


def test_what_is_no_neuron_is_refused(door: Neurothek) -> None:
    with pytest.raises(NotFound):
        door.activations("tiny/L9N0", PROMPT)
    with pytest.raises(Invalid):
        door.activations("17", PROMPT)
