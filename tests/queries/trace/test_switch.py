"""The answer `switch`: joined with the catalog, readable, never without random neurons, and refused in one sentence."""

import json

import polars as pl
import pytest
from click.testing import CliRunner

import neurothek
from neurothek import Neurothek, main
from neurothek.catalog.problems import Invalid, NeurothekError, NotFound
from neurothek.catalog.spelling import quoted
from neurothek.queries.trace.switch import CHANGE_COLUMNS, SET_COLUMNS, SWITCHED_COLUMNS, TEXT_COLUMNS
from tests.support import ingests
from tests.support.models import build

# One worker measures the warehouse.
pytestmark = pytest.mark.xdist_group("trace")

PROMPT = "one two three"
D_FFN = 32


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    """`tiny` was measured on text, where two neurons of layer 0 are made silent; `other` was not."""
    folder = tmp_path_factory.mktemp("switch")
    (folder / "words.txt").write_text("one two three four five six school " * 20)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for number, (name, jobs) in enumerate({"tiny": ("projections", "activity"), "other": ("projections",)}.items()):
        build(folder / name, "opt", d_ffn=D_FFN, seed=number)
        ingests.measure(warehouse, folder / name, ingests.request((f"words={folder / 'words.txt'}",), jobs=jobs))
    with warehouse.writer() as connection:
        connection.execute("update store.neuron_facts set n_active = 0 where layer = 0 and neuron in (5, 6)")
    return neurothek.open(folder / "w.duckdb")


def test_tokens_have_their_texts_and_neurons_their_addresses(door: Neurothek) -> None:
    page = door.switch("tiny", PROMPT, "L1N3", set=2.5)
    assert dict(page.neurons.schema) == dict(SWITCHED_COLUMNS)
    assert dict(page.changes.schema) == dict(CHANGE_COLUMNS)
    assert (page.address, page.model) == ("tiny/L1N3", "tiny")
    assert page.neurons["address"].to_list()[0] == page.address
    assert page.neurons["is_random"].to_list() == [False] + 20 * [True]
    texts = dict(door.sql("select token_id, text from store.tokens").rows())
    done = page.switched
    assert page.token == texts[done.token] == door.trace("tiny", PROMPT).final
    assert page.neurons["token"].to_list() == [texts[token] for token in done.neurons["token_id"]]
    assert page.changes["token"].to_list() == [texts[token] for token in done.changes["token_id"]]
    assert page.changes["address"].unique(maintain_order=True).to_list() == [page.address, page.median_address]
    for row in page.changes.to_dicts():
        assert row["change"] == row["probability_after"] - row["probability_before"]
        assert row["is_random"] == (row["address"] != page.address)
    assert "from store.tokens" in page.sql.replace("inner join", "from")


def test_the_untouched_model_is_that_of_a_trace(door: Neurothek) -> None:
    traced, page = door.trace("tiny", PROMPT, position=1), door.switch("tiny", PROMPT, "L0N0", position=1)
    assert page.switched.probability == pytest.approx(traced.traced.final_probability, rel=1e-5)
    assert (page.switched.position, page.switched.tokens) == (1, traced.traced.tokens)


def test_random_neurons_are_active_on_the_prompt_and_then_on_the_shown_corpus(door: Neurothek) -> None:
    firing = set(door.sql("select address from neurons where model = 'tiny' and layer = 0 and n_active > 0")["address"])
    assert len(firing) == D_FFN - 2
    along = {f"tiny/L0N{n}": door.activations(f"tiny/L0N{n}", PROMPT).tokens["activation"] for n in range(1, D_FFN)}
    active = {address for address, activations in along.items() if (activations != 0).any()}
    page = door.switch("tiny", PROMPT, "L0N0", n_random=D_FFN)
    assert set(page.neurons["address"][1:]) == active | (firing - {"tiny/L0N0"})
    assert (page.switched.n_active, page.switched.n_candidates) == (len(active), page.neurons.height - 1)
    n_more = page.neurons.height - 1 - len(active)
    rest = f", and {n_more} drawn from {n_more} that are not" if n_more else ""
    assert page.drawn_from.endswith(f"all {len(active)} others of layer 0 active on the prompt{rest}") or not n_more
    few = door.switch("tiny", PROMPT, "L0N0", n_random=3)
    assert set(few.neurons["address"][1:]) <= active
    assert few.drawn_from == f"3 neurons drawn from the {len(active)} others of layer 0 that are active on the prompt"
    assert few.drawn_from in repr(few)
    assert few.data()["switch"]["n_active"] == few.data()["switch"]["n_candidates"] == len(active)
    assert door.switch("other", PROMPT, "L0N0", n_random=D_FFN).switched.n_candidates == D_FFN - 1


def test_no_result_is_shown_without_the_random_ones(door: Neurothek) -> None:
    page = door.switch("tiny", PROMPT, "tiny/L1N3", set=3)
    predicted, own, beside = page.sections()
    assert predicted.frame["changed"].to_list() == ["(nothing)", "tiny/L1N3", f"{page.median_address} (random)"]
    assert predicted.frame["percentile"].to_list() == [None, page.switched.percentile, None]
    assert (own.frame.height, beside.frame.height) == (10, 10)
    assert page.median_address in beside.title
    for shown in (page.summary, repr(page), page._repr_html_()):
        assert f"percentile {page.switched.percentile:.3g} among 20 random neurons of its layer" in shown
    assert page.summary.startswith("tiny/L1N3 set to 3 at every position; its own activation at position 3 (0 to 3)")
    said = page.data()
    assert json.loads(json.dumps(said["switch"]))["median_address"] == page.median_address
    assert isinstance(said["neurons"], pl.DataFrame)


def test_a_summary_says_what_makes_way(door: Neurothek) -> None:
    layer_one = [door.switch("tiny", PROMPT, f"L1N{neuron}", set=9, n_random=1) for neuron in range(8)]
    replaced = [page for page in layer_one if page.neurons["token"][0] != page.token]
    assert replaced
    for page in replaced:
        assert f"The prediction changes from {quoted(page.token)} (" in page.summary
        assert f" to {quoted(page.neurons['token'][0])} (" in page.summary
        assert "; the median of one random neuron of its layer set to the same value is" in page.summary
        assert page.data()["switch"]["percentile"] is None
    off = door.switch("tiny", PROMPT, "L1N3", pre=True, set=-1)
    assert "before the non-linearity" in off.summary
    assert f"{quoted(off.token)} (" in off.summary


@pytest.mark.parametrize(
    ("neuron", "error"),
    [("L9N0", NotFound), ("L0N99", NotFound), ("17", Invalid), ("other/L0N0", Invalid)],
)
def test_neurons_that_are_not_of_the_model_are_refused(
    door: Neurothek, neuron: str, error: type[NeurothekError]
) -> None:
    with pytest.raises(error):
        door.switch("tiny", PROMPT, neuron)
    with pytest.raises(NotFound):
        door.switch("tinny", PROMPT, neuron)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"set": float("nan")}, "set=nan is not valid"),
        ({"set": 1e31}, "give a number from"),
        ({"n_random": 0}, "n_random=0 is not valid; give 1 to 1,000"),
        ({"seed": -1}, "seed=-1 is not valid"),
    ],
)
def test_numbers_out_of_range_are_refused(door: Neurothek, arguments: dict[str, float], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        door.switch("tiny", PROMPT, "L0N0", **arguments)  # type: ignore[arg-type]  # of either kind


def test_the_command_shows_before_and_after_of_each_neuron_and_of_all(door: Neurothek) -> None:
    def run(*arguments: str) -> str:
        asked = ["switch", "tiny", PROMPT, *arguments, "--warehouse", str(door.path), "--random", "3"]
        result = CliRunner().invoke(main, asked)
        assert result.exit_code == 0, result.output
        return result.stdout

    page = door.switch_together("tiny", PROMPT, "L1N3", "tiny/L0N5", "L1N3", set=2, n_random=3)
    assert dict(page.sets.schema) == dict(SET_COLUMNS)
    addresses = ["tiny/L1N3", "tiny/L0N5", None, None, None, None]
    assert page.sets["address"].to_list() == addresses
    alone = door.switch("tiny", PROMPT, "L1N3", set=2, n_random=3)
    assert page.sets["kl"][0] == pytest.approx(alone.neurons["kl"][0], rel=1e-5)
    said = json.loads(run("L1N3", "tiny/L0N5", "--set", "2", "--format", "json"))
    assert [row["kl"] for row in said["sets"]] == page.sets["kl"].to_list()
    shown = run("L1N3", "tiny/L0N5", "--set", "2")
    for text in ("tiny/L1N3", "tiny/L0N5", "all of them", "random set of median", "what changes most with all of them"):
        assert text in shown
    assert run("L1N3", "tiny/L1N3", "--set", "2") == run("L1N3", "--set", "2")
    one = json.loads(run("L1N3", "--set", "2", "--format", "json"))
    assert one["switch"]["address"] == "tiny/L1N3"
    refused = CliRunner().invoke(main, ["switch", "tiny", PROMPT, "other/L0N1", "L0N1", "--warehouse", str(door.path)])
    assert isinstance(refused.exception, NeurothekError | SystemExit)
    assert "other/L0N1 is not a neuron of tiny" in refused.output + str(refused.exception)
    with pytest.raises(Invalid, match="neurons"):
        door.switch_together("tiny", PROMPT)


def test_what_the_model_writes_is_shown_beside_the_untouched_and_a_random_one(door: Neurothek) -> None:
    assert door.switch("tiny", PROMPT, "L1N3").texts.is_empty()
    page = door.switch("tiny", PROMPT, "L1N3", set=9, continuation=3)
    assert dict(page.texts.schema) == dict(TEXT_COLUMNS)
    assert page.texts["changed"].to_list() == ["(nothing)", page.address, f"{page.median_address} (random)"]
    assert page.texts["text"].to_list() == page.switched.texts["text"].to_list()
    together = door.switch_together("tiny", PROMPT, "L1N3", "L0N4", set=9, continuation=3)
    assert together.texts["changed"].to_list() == ["(nothing)", "all of them", "random set of median divergence"]
    asked = ["switch", "tiny", PROMPT, "L1N3", "--set", "9", "--warehouse", str(door.path)]
    plain, written = (CliRunner().invoke(main, [*asked, *more]) for more in ([], ["--continuation", "3"]))
    assert "what the model writes" not in plain.stdout
    assert "what the model writes after “</s>one two three”" in written.stdout
    assert f"{page.median_address} (random)" in written.stdout.split("what the model writes")[1]
    said = json.loads(CliRunner().invoke(main, [*asked, "--continuation", "3", "--format", "json"]).stdout)
    assert [row["text"] for row in said["texts"]] == page.texts["text"].to_list()
    with pytest.raises(Invalid, match="give 0 or more tokens"):
        door.switch("tiny", PROMPT, "L1N3", continuation=-1)
