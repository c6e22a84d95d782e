"""Views on events against loops over the rows they are made of."""

import statistics
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.neuron.page import PUSHED_COLUMNS, neuron_page
from neurothek.queries.views.install import all_views
from tests.support import event_warehouse as made
from tests.support.tiny import MODELS, TEXTS
from tests.support.warehouse import hand_made

VIEWS = (
    *("saturation_by_layer", "event_scores", "top_candidate_scores", "dominant_share", "pushers", "extreme_clusters"),
    "extreme_updates",
)
ROWS = made.rows()
CLOSE = 1e-9
"""Means of a few dozen doubles in another order differ by less."""

Row = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events") / "events.duckdb"
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


def shown(table: str, model_id: int, **where: object) -> list[Row]:
    """Rows of a model on its shown corpus."""
    corpus_id = dict(made.MEASURED)[model_id]
    wanted = {"model_id": model_id, "corpus_id": corpus_id, **where}
    return [row for row in ROWS[table] if all(row[name] == value for name, value in wanted.items())]


def mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


@pytest.mark.parametrize("view", VIEWS)
def test_keys_are_unique(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    key = ", ".join(all_views()[view].key)
    ((n_rows, n_keys),) = connection.execute(f"select count(*), count(distinct ({key})) from {view}").fetchall()
    assert n_rows == n_keys > 0


@pytest.mark.parametrize("view", VIEWS)
def test_columns_are_documented(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    columns = [name for name, *_ in connection.execute(f"describe {view}").fetchall()]
    assert list(all_views()[view].columns) == columns


def test_only_measured_models_have_rows(connection: duckdb.DuckDBPyConnection) -> None:
    names = {MODELS[model_id].name for model_id, _ in made.MEASURED}
    for view in VIEWS:
        assert {row["model"] for row in ask(connection, f"select distinct model from {view}")} <= names


def test_saturation_by_layer(connection: duckdb.DuckDBPyConnection) -> None:
    for model_id, _ in made.MEASURED:
        plan, examples = MODELS[model_id], shown("examples", model_id)
        found = ask(connection, f"select * from saturation_by_layer where model = '{plan.name}' order by layer")
        assert [row["layer"] for row in found] == list(range(plan.n_layers))
        below = 0
        for layer, row in enumerate(found):
            there = [example for example in examples if example["saturation_layer"] == layer]
            below += len(there)
            assert row["n_examples"] == made.N_EXAMPLES
            assert row["n_saturated"] == len(there)
            assert row["saturated_share"] == pytest.approx(len(there) / made.N_EXAMPLES)
            assert row["n_by_ffn"] == sum(example["saturation_by_ffn"] for example in there)
            assert row["n_cumulative"] == below
            assert row["cumulative_share"] == pytest.approx(below / made.N_EXAMPLES)
            assert row["n_eliminations"] == sum(example["elimination_layer"] == layer for example in examples)
        assert sum(row["saturated_share"] for row in found) == pytest.approx(1)


AGGREGATES: dict[str, Callable[[list[float]], float]] = {"max": max, "mean": mean, "min": min}


def common(update: Row) -> float:
    """What a sub-update adds to the score of every token on average: m times the mean score of its neuron."""
    (own,) = (row for row in hand_made().rows["projections"] if at_of(row) == at_of(update))
    return float(update["coefficient"]) * float(own["score_mean"])


def at_of(row: Row) -> tuple[int, int, int]:
    return row["model_id"], row["layer"], row["neuron"]


def with_centred(updates: list[Row]) -> list[Row]:
    return [
        update | {f"centred_{name}": update[f"score_{name}"] - common(update) for name in ("candidate", "final")}
        for update in updates
    ]


def check_medians(row: Row, groups: list[list[Row]], numbers: Iterable[int], model_id: int, column: str) -> None:
    """Medians over the examples that were not read at position 0, which are counted apart."""
    lengths = {example["example_id"]: len(example["tokens"]) for example in shown("examples", model_id)}
    later = [group for group, number in zip(groups, numbers, strict=True) if lengths[number] > 1]
    assert row["n_first_position"] == len(groups) - len(later)
    for name, aggregate in AGGREGATES.items():
        expected = statistics.median(aggregate([update[column] for update in group]) for group in later)
        assert row[f"median_{name}_centred"] == pytest.approx(expected, abs=CLOSE)


def test_event_scores(connection: duckdb.DuckDBPyConnection) -> None:
    found = {(row["model"], row["event"], row["kind"]): row for row in ask(connection, "select * from event_scores")}
    seen = set()
    for model_id, _ in made.MEASURED:
        for event, token in (("saturation", "final"), ("elimination", "candidate")):
            happened = [row for row in shown("events", model_id, kind=event) if row["by_ffn"]]
            for kind in made.KINDS:
                groups = [
                    with_centred(
                        shown("sub_updates", model_id, example_id=row["example_id"], layer=row["layer"], kind=kind)
                    )
                    for row in happened
                ]
                row = found[MODELS[model_id].name, event, kind]
                seen.add((MODELS[model_id].name, event, kind))
                assert row["n_events"] == len(groups) > 0
                columns = {"": f"score_{token}", "_centred": f"centred_{token}", "_logit": f"score_logit_{token}"}
                for suffix, column in columns.items():
                    for name, aggregate in AGGREGATES.items():
                        expected = mean(aggregate([update[column] for update in group]) for group in groups)
                        assert row[f"mean_{name}{suffix}"] == pytest.approx(expected, abs=CLOSE)
                check_medians(row, groups, [row["example_id"] for row in happened], model_id, f"centred_{token}")
                sizes = [mean(abs(update[f"score_{token}"]) for update in group) for group in groups]
                assert row["mean_abs"] == pytest.approx(mean(sizes), abs=CLOSE)
    assert seen == set(found)


def test_top_candidate_scores(connection: duckdb.DuckDBPyConnection) -> None:
    found = {
        (row["model"], row["layer"], row["kind"]): row for row in ask(connection, "select * from top_candidate_scores")
    }
    n_seen = 0
    for model_id, _ in made.MEASURED:
        for layer in range(MODELS[model_id].n_layers):
            for kind in made.KINDS:
                groups = [
                    with_centred(shown("sub_updates", model_id, example_id=number, layer=layer, kind=kind))
                    for number in range(made.N_EVENTS)
                ]
                row = found[MODELS[model_id].name, layer, kind]
                n_seen += 1
                assert row["n_examples"] == made.N_EVENTS
                assert row["depth"] == (layer + 0.5) / MODELS[model_id].n_layers
                columns = {"": "score_candidate", "_centred": "centred_candidate", "_logit": "score_logit_candidate"}
                for suffix, column in columns.items():
                    for name, aggregate in AGGREGATES.items():
                        expected = mean(aggregate([update[column] for update in group]) for group in groups)
                        assert row[f"mean_{name}{suffix}"] == pytest.approx(expected, abs=CLOSE)
                check_medians(row, groups, range(made.N_EVENTS), model_id, "centred_candidate")
    assert n_seen == len(found)


def test_dominant_share(connection: duckdb.DuckDBPyConnection) -> None:
    for row in ask(connection, "select * from dominant_share"):
        model_id = [plan.name for plan in MODELS].index(row["model"])
        streams = shown("streams", model_id, layer=row["layer"], moment="post")
        there = [stream for stream in streams if stream["dominant_share"] is not None]
        examples = {row["example_id"]: row for row in shown("examples", model_id)}
        assert row["n_examples"] == len(there) < made.N_EXAMPLES
        assert row["d_ffn"] == MODELS[model_id].d_ffn
        for name in ("dominant_share", "leading_share", "effective_neurons"):
            assert row[name] == pytest.approx(mean(stream[name] for stream in there), abs=CLOSE)
            later = [stream[name] for stream in there if len(examples[stream["example_id"]]["tokens"]) > 1]
            assert row[f"{name}_later"] == pytest.approx(mean(later), abs=CLOSE)
            assert row["n_first_position"] == len(there) - len(later) > 0
        assert row["effective_share"] == pytest.approx(row["effective_neurons"] / row["d_ffn"], abs=CLOSE)
        sums: dict[int, float] = {}
        for update in shown("sub_updates", model_id, layer=row["layer"], kind="random"):
            if update["share"] is not None:
                sums[update["example_id"]] = sums.get(update["example_id"], 0) + update["share"]
        assert row["n_random_examples"] == len(sums) < made.N_EVENTS
        assert row["random_share"] == pytest.approx(mean(sums.values()), abs=CLOSE)


def test_pushers(connection: duckdb.DuckDBPyConnection) -> None:
    found = {
        (row["model"], row["token_id"], row["layer"], row["neuron"]): row
        for row in ask(connection, "select * from pushers")
    }
    pushes: dict[tuple[str, int, int, int], list[Row]] = {}
    saturated: dict[tuple[str, int], int] = {}
    for model_id, _ in made.MEASURED:
        name = MODELS[model_id].name
        for example in shown("examples", model_id, saturation_by_ffn=True):
            token, layer = example["final_token"], example["saturation_layer"]
            saturated[name, token] = saturated.get((name, token), 0) + 1
            for update in shown(
                "sub_updates", model_id, example_id=example["example_id"], layer=layer, kind="dominant"
            ):
                if update["score_final"] > common(update):
                    pushes.setdefault((name, token, layer, update["neuron"]), []).append(update)
    assert found.keys() == pushes.keys()
    for key, updates in pushes.items():
        row = found[key]
        assert row["n_pushes"] == len(updates)
        assert row["n_saturations"] == saturated[key[:2]]
        assert row["push_share"] == pytest.approx(len(updates) / saturated[key[:2]])
        assert row["mean_score"] == pytest.approx(mean(update["score_final"] for update in updates), abs=CLOSE)
        centred = mean(update["score_final"] - common(update) for update in updates)
        assert row["mean_centred"] == pytest.approx(centred, abs=CLOSE)
        assert row["mean_coefficient"] == pytest.approx(mean(update["coefficient"] for update in updates), abs=CLOSE)
        fact = next(one for one in hand_made().rows["neuron_facts"] if at_of(one) == at_of(updates[0]))
        assert row["writes"] == fact["bottom_tokens" if row["mean_coefficient"] < 0 else "top_tokens"]
        tokenizer_id = next(plan.tokenizer_id for plan in MODELS if plan.name == key[0])
        assert row["token"] == TEXTS[tokenizer_id][key[1]]
        assert row["address"] == f"{key[0]}/L{key[2]}N{key[3]}"
    assert any(row["mean_coefficient"] < 0 for row in found.values())
    assert any(update["score_final"] <= 0 for updates in pushes.values() for update in updates)


def test_extreme_clusters(connection: duckdb.DuckDBPyConnection) -> None:
    found = {(row["model"], row["cluster_id"]): row for row in ask(connection, "select * from extreme_clusters")}
    expected: dict[tuple[str, int], list[tuple[Row, Row]]] = {}
    for model_id, _ in made.MEASURED:
        examples = {row["example_id"]: row for row in shown("examples", model_id)}
        bound = made.EXTREME if MODELS[model_id].is_relu else made.EXTREME_GPT2
        for update in shown("sub_updates", model_id, kind="dominant"):
            if abs(update["score_candidate"]) >= bound:
                cluster = (update["layer"] + update["neuron"]) % 4
                found_there = expected.setdefault((MODELS[model_id].name, cluster), [])
                found_there.append((update, examples[update["example_id"]]))
    assert found.keys() == expected.keys()
    for (model, cluster), fired in expected.items():
        row, plan = found[model, cluster], next(plan for plan in MODELS if plan.name == model)
        members = [
            (layer, neuron)
            for layer in range(plan.n_layers)
            for neuron in range(plan.d_ffn)
            if (layer + neuron) % 4 == cluster
        ]
        total = sum(len(some) for (name, _), some in expected.items() if name == model)
        assert row["n_extreme"] == len(fired)
        assert row["extreme_share"] == pytest.approx(len(fired) / total)
        assert row["n_negative"] == sum(update["score_candidate"] < 0 for update, _ in fired)
        assert row["n_firing_neurons"] == len({(update["layer"], update["neuron"]) for update, _ in fired})
        assert row["cluster_size"] == len(members)
        assert row["neuron_share"] == pytest.approx(len(members) / (plan.n_layers * plan.d_ffn))
        layers = {layer for layer, _ in members}
        spanned = (row["first_layer"], row["last_layer"], row["n_layers_spanned"])
        assert spanned == (min(layers), max(layers), len(layers))
        assert row["early_share"] == pytest.approx(mean(example["n_prefix_tokens"] <= 3 for _, example in fired))
        known = [example["target_probability"] for _, example in fired if example["target_probability"] is not None]
        assert row["mean_target_probability"] == (pytest.approx(mean(known)) if known else None)
        assert row["n_first_position"] == sum(len(example["tokens"]) == 1 for _, example in fired)
    assert 0 < sum(row["n_first_position"] for row in found.values()) < sum(row["n_extreme"] for row in found.values())


def kind_of(cluster: Row, usual: float) -> str:
    if cluster["mean_log_count"] <= usual:
        return "specific tokens"
    return "early common tokens" if cluster["early_share"] >= 0.5 else "late common tokens"


def test_extreme_updates(connection: duckdb.DuckDBPyConnection) -> None:
    clusters = ask(connection, "select * from extreme_clusters")
    found = {(row["model"], row["kind"]): row for row in ask(connection, "select * from extreme_updates")}
    kinds = ("early common tokens", "late common tokens", "specific tokens")
    assert set(found) == {(model, kind) for model in {row["model"] for row in clusters} for kind in kinds}
    for model_id, plan in ((model_id, MODELS[model_id]) for model_id, _ in made.MEASURED):
        facts = [row for row in hand_made().rows["neuron_facts"] if row["model_id"] == model_id]
        usual = mean(row["top_token_log_frequency"] for row in facts)
        examples = shown("examples", model_id)
        known = [row["target_probability"] for row in examples if row["target_probability"] is not None]
        for kind in kinds:
            row = found[plan.name, kind]
            own = [one for one in clusters if one["model"] == plan.name and kind_of(one, usual) == kind]
            numbers = {one["cluster_id"] for one in own}
            members = [fact for fact in facts if (fact["layer"] + fact["neuron"]) % 4 in numbers]
            assert (row["n_clusters"], row["n_value_vectors"]) == (len(own), len(members))
            for name in ("n_extreme", "n_first_position"):
                assert row[name] == sum(one[name] for one in own)
            assert row["extreme_share"] == pytest.approx(sum(one["extreme_share"] for one in own))
            assert row["value_vector_share"] == pytest.approx(len(members) / len(facts))
            assert row["all_log_count"] == pytest.approx(usual)
            assert row["all_early_share"] == pytest.approx(mean(one["n_prefix_tokens"] <= 3 for one in examples))
            assert row["all_target_probability"] == pytest.approx(mean(known))
            layers = [fact["layer"] for fact in members]
            assert (row["first_layer"], row["last_layer"]) == (min(layers, default=None), max(layers, default=None))
            if not own:
                assert row["early_share"] is row["mean_log_count"] is row["mean_layers_spanned"] is None
                continue
            assert row["mean_layers_spanned"] == pytest.approx(mean(one["n_layers_spanned"] for one in own))
            assert row["mean_log_count"] == pytest.approx(mean(one["top_token_log_frequency"] for one in members))
            early = [share for one in own for share in [one["early_share"]] * one["n_extreme"]]
            assert row["early_share"] == pytest.approx(mean(early))
            sure = [share for one in own for share in [one["mean_target_probability"]] * one["n_extreme"]]
            told = [share for share in sure if share is not None]
            assert row["mean_target_probability"] == (pytest.approx(mean(told)) if told else None)
        assert sum(found[plan.name, kind]["extreme_share"] for kind in kinds) == pytest.approx(1)
    assert {kind for (_, kind), row in found.items() if row["n_clusters"]} >= {"early common tokens", "specific tokens"}


def test_columns_of_neurons(connection: duckdb.DuckDBPyConnection) -> None:
    for row in ask(connection, "select model, layer, neuron, times_dominant, times_saturating from neurons"):
        model_id = [plan.name for plan in MODELS].index(row["model"])
        if model_id not in dict(made.MEASURED):
            assert row["times_dominant"] is row["times_saturating"] is None
            continue
        examples = {example["example_id"]: example for example in shown("examples", model_id)}
        mine = [
            update
            for update in shown("sub_updates", model_id, kind="dominant", layer=row["layer"], neuron=row["neuron"])
            if update["coefficient"] != 0
        ]
        assert row["times_dominant"] == len(mine)
        assert row["times_saturating"] == sum(
            examples[update["example_id"]]["saturation_by_ffn"]
            and examples[update["example_id"]]["saturation_layer"] == row["layer"]
            and update["score_final"] > common(update)
            for update in mine
        )


def test_a_neurons_page_says_what_it_brought_to_the_top(connection: duckdb.DuckDBPyConnection) -> None:
    busy = "select address from neurons where times_saturating > 0"
    order = "n_pushes desc, push_share desc, token_id"
    rows = ask(connection, f"select * from pushers where address in ({busy}) order by {order}")
    assert len({row["address"] for row in rows}) > 1
    for address in {row["address"] for row in rows}:
        page = neuron_page(connection, address)
        mine = [row for row in rows if row["address"] == address]
        assert page.pushed.to_dicts() == [{name: row[name] for name in PUSHED_COLUMNS} for row in mine]
        assert f"in {page.facts['times_saturating']:,} of which its FFN brought a token" in page.summary
        assert f"tokens it brought to the top in {page.corpus}" in [section.title for section in page.sections()]
    query = "select address, times_dominant from neurons where coalesce(times_saturating, 0) = 0"
    for row in ask(connection, query):
        page = neuron_page(connection, row["address"])
        assert page.pushed.is_empty()
        if row["times_dominant"] is None:
            assert "mong the ten dominant" not in page.summary
        else:
            said = "Among the ten dominant" if row["times_dominant"] else "Never among the ten dominant"
            assert said in page.summary


def test_columns_of_scaling(connection: duckdb.DuckDBPyConnection) -> None:
    for row in ask(connection, "select * from scaling"):
        model_id = [plan.name for plan in MODELS].index(row["model"])
        if model_id not in dict(made.MEASURED):
            assert row["n_examples"] is row["early_saturation_share"] is row["dominant_share"] is None
            continue
        n_layers, examples = MODELS[model_id].n_layers, shown("examples", model_id)
        assert row["n_examples"] == made.N_EXAMPLES
        early = mean(example["saturation_layer"] < n_layers - 1 for example in examples)
        assert row["early_saturation_share"] == pytest.approx(early)
        assert row["ffn_saturation_share"] == pytest.approx(mean(example["saturation_by_ffn"] for example in examples))
        depth = mean((example["saturation_layer"] + 0.5) / n_layers for example in examples)
        assert row["mean_saturation_depth"] == pytest.approx(depth)
        streams = [row for row in shown("streams", model_id) if row["dominant_share"] is not None]
        for name in ("dominant_share", "leading_share"):
            assert row[name] == pytest.approx(mean(stream[name] for stream in streams))
        effective = mean(stream["effective_neurons"] for stream in streams) / MODELS[model_id].d_ffn
        assert row["effective_share"] == pytest.approx(effective)


def test_shares_of_scaling_long_have_intervals(connection: duckdb.DuckDBPyConnection) -> None:
    found = ask(connection, "select * from scaling_long where metric = 'early_saturation_share'")
    assert len(found) == len(made.MEASURED)
    for row in found:
        assert row["n"] == made.N_EXAMPLES
        assert row["low"] < row["value"] < row["high"]
        assert row["source_view"] == "saturation_by_layer"
