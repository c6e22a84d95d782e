"""The views of interventions, and the answer made of them, against plain loops over the same rows."""

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek.catalog.publishing.summaries import rebuild_facts
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.queries.steering.effects import effects_of
from neurothek.queries.views.contents import thresholds
from neurothek.queries.views.install import all_views
from tests.support import continuation_rows, intervention_rows
from tests.support import event_warehouse as made
from tests.support.cookbook import wilson
from tests.support.tiny import MODELS

ROWS = intervention_rows.rows((*made.MEASURED, made.UNSHOWN))
CLOSE = 1e-12

Row = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interventions") / "w.duckdb"
    made.create(path)
    return path


@pytest.fixture
def connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(path).reader() as connection:
        yield connection


def ask(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def summed(model_id: int, intervention: str, **place: object) -> dict[int, Row]:
    """Set number -> sums over the rows of a model on its shown corpus."""
    wanted = {"model_id": model_id, "corpus_id": dict(made.MEASURED)[model_id], "intervention": intervention, **place}
    found: dict[int, Row] = {}
    for row in ROWS["intervention_effects"]:
        if all(row[name] == value for name, value in wanted.items()):
            entry = found.setdefault(row["set_number"], {})
            for name in row.keys() - wanted.keys() - {"run_id", "set_number", "domain", "position_from"}:
                if row[name] is not None:
                    entry[name] = entry.get(name, 0) + row[name]
    return found


def expected(sets: dict[int, Row]) -> Row:
    asked = sets[0]
    n = asked["n_tokens"]
    effect = {number: (one["nll"] - one["nll_untouched"]) / n for number, one in sets.items()}
    others = [effect[number] for number in sets if number]
    less = sum(1.0 if one < effect[0] else 0.5 if one == effect[0] else 0.0 for one in others)
    return {
        "n_tokens": n,
        "loss": asked["nll"] / n,
        "loss_untouched": asked["nll_untouched"] / n,
        "effect": effect[0],
        "kl": asked["kl"] / n,
        "n_sets": len(others),
        "random_effect": sum(others) / len(others),
        "random_effect_least": min(others),
        "random_effect_most": max(others),
        "percentile": 100 * less / len(others),
    }


@pytest.mark.parametrize(
    "view",
    [
        *("interventions", "steering", "worth_of_kinds", "continuations", "attribute_shares", "neuron_effects"),
        "neuron_effects_by_domain",
    ],
)
def test_keys_are_unique(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    key = ", ".join(all_views()[view].key)
    ((n_rows, n_keys),) = connection.execute(f"select count(*), count(distinct ({key})) from {view}").fetchall()
    assert n_rows == n_keys > 0


def test_interventions(connection: duckdb.DuckDBPyConnection) -> None:
    found = {(row["model"], row["intervention"]): row for row in ask(connection, "from interventions")}
    assert len(found) == len(made.MEASURED) * len(intervention_rows.INTERVENTIONS)
    percentiles = set()
    for model_id, _ in made.MEASURED:
        for one in intervention_rows.INTERVENTIONS:
            row = found[MODELS[model_id].name, str(one["intervention"])]
            sets = summed(model_id, str(one["intervention"]))
            for name, value in expected(sets).items():
                assert row[name] == pytest.approx(value, abs=CLOSE), name
            assert {name: row[name] for name in one} == one
            assert row["perplexity"] == pytest.approx(math.exp(row["loss"]))
            assert row["perplexity_untouched"] == pytest.approx(math.exp(row["loss_untouched"]))
            n = sets[0]["n_tokens"]
            for name in ("mass_promoted", "mass_promoted_untouched", "mass_suppressed", "mass_suppressed_untouched"):
                assert row[name] == pytest.approx(sets[0][name] / n)
            windows = {
                name: sets[0][name] / sets[0]["window_weight"] for name in ("nll_windows", "nll_windows_untouched")
            }
            assert row["window_perplexity"] == pytest.approx(math.exp(windows["nll_windows"]))
            assert row["window_perplexity_untouched"] == pytest.approx(math.exp(windows["nll_windows_untouched"]))
            is_watching = one["intervention"] == intervention_rows.WATCHING
            assert (row["watched"] is not None) == is_watching
            for name in ("mass_watched", "mass_watched_untouched"):
                assert row[name] == (pytest.approx(sets[0][name] / n) if is_watching else None)
            others = [sets[number]["mass_watched"] / n for number in sets if number] if is_watching else []
            assert row["random_mass_watched"] == (pytest.approx(sum(others) / len(others)) if is_watching else None)
            kls = [sets[number]["kl"] / n for number in sets if number]
            assert row["random_kl"] == pytest.approx(sum(kls) / len(kls))
            percentiles.add(row["percentile"])
    assert len(percentiles) > 2


def test_a_percentile_among_fewer_than_twenty_sets_is_not_shown(path: Path, tmp_path: Path) -> None:
    few = Path(shutil.copy(path, tmp_path / "few.duckdb"))
    with duckdb.connect(str(few)) as connection:
        for table in ("intervention_effects", "continuations", "attribute_scores"):
            connection.execute(f"delete from store.{table} where set_number = {intervention_rows.N_SETS}")
    with Warehouse(few).reader() as connection:
        for view in ("interventions", "steering", "worth_of_kinds", "attribute_shares"):
            rows = connection.execute(f"select n_sets, percentile from {view}").fetchall()
            assert rows, view
            assert {percentile for _, percentile in rows} == {None}, view
            assert max(n_sets for n_sets, _ in rows) == 19, view


def test_steering_is_the_same_by_domain_and_position(connection: duckdb.DuckDBPyConnection) -> None:
    found = ask(connection, "from steering")
    places = len(intervention_rows.DOMAINS) * len(intervention_rows.POSITIONS)
    assert len(found) == len(made.MEASURED) * len(intervention_rows.INTERVENTIONS) * places
    ids = {MODELS[model_id].name: model_id for model_id, _ in made.MEASURED}
    for row in found:
        place = {"domain": row["domain"], "position_from": row["position_from"]}
        for name, value in expected(summed(ids[row["model"]], row["intervention"], **place)).items():
            assert row[name] == pytest.approx(value, abs=CLOSE), name


def test_kinds_are_worth_what_they_add_beyond_random_neurons(connection: duckdb.DuckDBPyConnection) -> None:
    by_key = {(row["model"], row["kind"]): row for row in ask(connection, "from interventions where kind is not null")}
    found = ask(connection, "from worth_of_kinds")
    assert len(found) == len(by_key) == 2 * len(made.MEASURED)
    for row in found:
        whole = by_key[row["model"], row["kind"]]
        assert row["worth"] == pytest.approx(whole["effect"] - whole["random_effect"], abs=CLOSE)
        assert {name: row[name] for name in row.keys() - {"worth"}} == {
            name: whole[name] for name in row.keys() - {"worth"}
        }


def test_the_answer_holds_what_was_asked_in_its_order(connection: duckdb.DuckDBPyConnection) -> None:
    model = MODELS[made.MEASURED[0][0]].name
    answer = effects_of(connection, model, ["mine", "dead set to 0"])
    assert answer.interventions["intervention"].to_list() == ["mine", "dead set to 0"]
    effects, by_domain, watched, shares, examples = answer.sections()
    assert watched.frame["tokens"].to_list() == [[" a", "b"]]
    assert shares.frame["method"].to_list()[:5] == ["untouched", "changed", "random", "word_filter", "self_debiasing"]
    assert shares.frame.height == 2 * len(continuation_rows.SCORED) * 5
    assert set(examples.frame["prompt"]) == set(continuation_rows.PROMPTS[:3])
    assert effects.frame["intervention"].to_list() == ["mine", "dead set to 0"]
    assert "random" in effects.remark
    n = by_domain.frame.filter(intervention="mine")["tokens"].sum()
    assert n == answer.interventions["n_tokens"][0]
    weighted = by_domain.frame.filter(intervention="mine").select(("effect"), "tokens")
    whole = sum(effect * tokens for effect, tokens in weighted.iter_rows()) / n
    assert whole == pytest.approx(answer.interventions["effect"][0])
    assert answer.summary.startswith(f"{model} on {n:,} tokens of ")
    assert "from interventions" in answer.sql
    assert set(answer.data()) == {"interventions", "steering", "attribute_shares", "continuations"}
    assert "random mean" in repr(answer)
    first, *others = effects_of(connection, model, ["mine"]).sections()
    assert first.frame["intervention"].to_list() == ["mine"]
    assert not any("intervention" in section.frame.columns for section in others)
    elsewhere = effects_of(connection, model, ["none"])
    assert elsewhere.interventions.is_empty()
    assert "not its shown one" in elsewhere.summary
    assert "(none)" in repr(elsewhere)


def test_shares_of_continuations(connection: duckdb.DuckDBPyConnection) -> None:
    """Each share by hand: scores of 0.5 and more, of random sets set by set."""
    scores = continuation_rows.rows((*made.MEASURED, made.UNSHOWN))["attribute_scores"]
    found = ask(connection, "from attribute_shares")
    assert len(found) == len(made.MEASURED) * len(continuation_rows.NAMES) * len(continuation_rows.SCORED) * 5
    ids = {MODELS[model_id].name: (model_id, corpus_id) for model_id, corpus_id in made.MEASURED}
    percentiles = set()
    for row in found:
        own = {"intervention": row["intervention"], "scorer": row["scorer"], "attribute": row["attribute"]}
        own |= dict(zip(("model_id", "corpus_id"), ids[row["model"]], strict=True))
        by_set: dict[tuple[str, int], list[float]] = {}
        for score in scores:
            if all(score[name] == value for name, value in own.items()):
                by_set.setdefault((score["method"], score["set_number"]), []).append(score["score"])
        share = {key: sum(one >= 0.5 for one in some) / len(some) for key, some in by_set.items()}
        sets = [key for key in by_set if key[0] == row["method"]]
        n = sum(len(by_set[key]) for key in sets)
        assert (row["n_sets"], row["n_continuations"]) == (len(sets), n)
        assert row["n_blank"] == len(sets) * len(continuation_rows.PROMPTS) - n
        assert row["share"] == pytest.approx(sum(share[key] for key in sets) / len(sets))
        assert row["share_least"] == pytest.approx(min(share[key] for key in sets))
        assert row["share_most"] == pytest.approx(max(share[key] for key in sets))
        means = [sum(by_set[key]) / len(by_set[key]) for key in sets]
        assert row["score"] == pytest.approx(sum(means) / len(means))
        if row["method"] == "random":
            assert row["share_low"] is row["share_high"] is None
        else:
            low, high = wilson(round(share[sets[0]] * n), n)
            assert (row["share_low"], row["share_high"]) == pytest.approx((low, high), abs=CLOSE)
        others = [share[key] for key in by_set if key[0] == "random"]
        mine = share["changed", 0]
        less = sum(1.0 if one < mine else 0.5 if one == mine else 0.0 for one in others)
        assert row["percentile"] == (pytest.approx(100 * less / len(others)) if row["method"] == "changed" else None)
        percentiles.add(row["percentile"])
    assert len(percentiles) > 3


def test_continuations_are_those_on_the_shown_corpus(connection: duckdb.DuckDBPyConnection) -> None:
    stored = continuation_rows.rows((*made.MEASURED, made.UNSHOWN))["continuations"]
    names = ("intervention", "method", "set_number", "prompt_number", "prompt", "continuation", "n_tokens")
    expected_rows = {
        (MODELS[row["model_id"]].name, *(row[name] for name in names))
        for row in stored
        if (row["model_id"], row["corpus_id"]) in made.MEASURED
    }
    found = {(row["model"], *(row[name] for name in names)) for row in ask(connection, "from continuations")}
    assert found == expected_rows


def test_effects_of_single_neurons(connection: duckdb.DuckDBPyConnection) -> None:
    """Each neuron among the random ones of its layer, itself left out; the view neurons says the same."""
    stored = continuation_rows.rows((*made.MEASURED, made.UNSHOWN))["neuron_effects"]
    effect = {
        (MODELS[row["model_id"]].name, row["layer"], row["neuron"]): (row["nll"] - row["nll_untouched"]) / 64
        for row in stored
        if (row["model_id"], row["corpus_id"]) in made.MEASURED
    }
    found = ask(connection, "from neuron_effects")
    assert len(found) == len(effect) > 0
    for row in found:
        model, layer, neuron = row["model"], row["layer"], row["neuron"]
        own = effect[model, layer, neuron]
        others = [effect[model, layer, one] for one in range(continuation_rows.N_CONTROLS) if one != neuron]
        assert row["effect_on_loss"] == pytest.approx(own)
        assert row["effect_percentile"] is None
        assert row["random_effect"] == pytest.approx(sum(others) / len(others))
        assert (row["random_effect_least"], row["random_effect_most"]) == pytest.approx((min(others), max(others)))
        assert row["is_control"] == (neuron < continuation_rows.N_CONTROLS)
        assert row["address"] == f"{model}/L{layer}N{neuron}"
    by_address = {row["address"]: row for row in found}
    neurons = ask(connection, "select address, effect_on_loss from neurons")
    assert len(neurons) > len(found)
    for row in neurons:
        assert row["effect_on_loss"] == by_address.get(row["address"], {}).get("effect_on_loss")


def test_effects_of_single_neurons_on_each_domain(connection: duckdb.DuckDBPyConnection) -> None:
    stored = continuation_rows.rows((*made.MEASURED, made.UNSHOWN))["neuron_effects_by_domain"]
    effect = {
        (MODELS[row["model_id"]].name, row["layer"], row["neuron"], row["domain"]): (
            (row["nll"] - row["nll_untouched"]) / row["n_tokens"]
        )
        for row in stored
        if (row["model_id"], row["corpus_id"]) in made.MEASURED
    }
    found = ask(connection, "from neuron_effects_by_domain")
    assert len(found) == len(effect) > 0
    for row in found:
        *place, domain = row["model"], row["layer"], row["neuron"], row["domain"]
        model, layer, neuron = place
        others = [effect[model, layer, one, domain] for one in range(continuation_rows.N_CONTROLS) if one != neuron]
        assert row["effect_on_loss"] == pytest.approx(effect[model, layer, neuron, domain])
        assert (row["effect_percentile"], row["n_tokens"]) == (None, 16 if domain == "code" else 48)
        assert row["random_effect"] == pytest.approx(sum(others) / len(others))
        assert (row["random_effect_least"], row["random_effect_most"]) == pytest.approx((min(others), max(others)))
        assert row["is_control"] == (neuron < continuation_rows.N_CONTROLS)


def test_a_selective_neuron_has_its_effect_on_its_domain_and_elsewhere(path: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(path, tmp_path / "w.duckdb"))
    stored = continuation_rows.rows((*made.MEASURED, made.UNSHOWN))["neuron_effects_by_domain"]
    with duckdb.connect(str(copy)) as connection:
        # Those of layer 0 but the last are for code, or for prose; another one is for a domain that was not read.
        connection.execute(
            "insert into store.selectivity by name select set_id, corpus_id, layer, neuron, 9 as n_active,"
            " ['code', 'prose', 'code', 'speech'][1 + neuron] as domain, 0.9 as domain_share, 0.1 as entropy,"
            " 0.005 as p, 1 as n_shuffled_selective, run_id from store.neuron_effects where layer = 0 and neuron < 4"
        )
    with Warehouse(copy).reader() as connection:
        rows = ask(connection, "from selectivity")
        by_layer = ask(connection, "from selectivity_by_layer")
    assert len(rows) >= 4
    for row in rows:
        parts = [
            one
            for one in stored
            if (MODELS[one["model_id"]].name, one["layer"], one["neuron"]) == (row["model"], 0, row["neuron"])
            and (one["model_id"], one["corpus_id"]) in made.MEASURED
        ]
        for column, is_own in (("effect_on_domain", True), ("effect_elsewhere", False)):
            of_side = [one for one in parts if (one["domain"] == row["domain"]) == is_own]
            total = sum(one["nll"] - one["nll_untouched"] for one in of_side)
            n_tokens = sum(one["n_tokens"] for one in of_side)
            assert row[column] == (pytest.approx(total / n_tokens) if n_tokens else None)
    assert {row["effect_on_domain"] is None for row in rows} == {True, False}
    # Of a layer the random neurons alone say what single ones are worth; neuron 3 is none.
    assert {row["neuron"] >= continuation_rows.N_CONTROLS for row in rows} == {True, False}
    for row in by_layer:
        of_domain = [one for one in rows if (one["model"], one["domain"]) == (row["model"], row["domain"])]
        random = [one for one in of_domain if one["neuron"] < continuation_rows.N_CONTROLS]
        assert row["n_turned_off"] == len(random)
        for column in ("effect_on_domain", "effect_elsewhere"):
            values = [one[column] for one in random]
            assert row[column] == (pytest.approx(sum(values) / len(values)) if values else None)
    assert {row["n_turned_off"] for row in by_layer} >= {0, 1, 2}


@pytest.mark.parametrize("n_controls", [19, 20])
def test_a_neuron_has_a_percentile_among_twenty_others_at_least(path: Path, tmp_path: Path, n_controls: int) -> None:
    """By a plain loop; the views and the flat rows say the same."""
    copy = Path(shutil.copy(path, tmp_path / "w.duckdb"))
    with duckdb.connect(str(copy)) as connection:
        connection.execute("delete from store.neuron_effects where is_control")
        connection.execute(
            "insert into store.neuron_effects by name select effects.* replace (100 + n as neuron, true as is_control,"
            " nll_untouched + n / 16 - 0.5 as nll) from store.neuron_effects as effects, range($n) as numbers(n)"
            " where neuron = 3",
            {"n": n_controls},
        )
        for model_id, _ in made.MEASURED:
            rebuild_facts(connection, model_id)
    with Warehouse(copy).reader() as connection:
        rows = ask(connection, "from neuron_effects")
        told = ask(connection, "select address, effect_percentile from neurons where effect_on_loss is not null")
    others = [(number / 16 - 0.5) / 64 for number in range(n_controls)]
    percentiles = {row["address"]: row["effect_percentile"] for row in rows if not row["is_control"]}
    for row in rows:
        own = row["effect_on_loss"]
        less = sum(1.0 if one < own else 0.5 if one == own else 0.0 for one in others)
        # A random neuron is not among its own others, of which there are fewer.
        has_one = n_controls == 20 and not row["is_control"]
        assert row["effect_percentile"] == (pytest.approx(100 * less / 20) if has_one else None)
    assert len(set(percentiles.values())) > 2 or n_controls == 19
    # The flat rows made anew are of the corpora that the made-up runs name.
    flat = {row["address"]: row["effect_percentile"] for row in told}
    assert flat == {address: percentiles[address] for address in flat} != {}


def test_a_percentile_takes_as_many_everywhere() -> None:
    """Constants of SQL cannot be imported: each says what the program's own one does."""
    of_views = [thresholds(name).get("least_sets") for name in all_views()]
    assert {one for one in of_views if one is not None} == {LEAST_SETS}
    assert sum(one is not None for one in of_views) == 5
