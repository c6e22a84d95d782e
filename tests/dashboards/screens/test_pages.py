"""Every page under streamlit's own test runner: right numbers, missing data, and nothing that it should not do."""

import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

import neurothek
from neurothek.catalog.publishing import summaries
from neurothek.catalog.spelling import spoken_corpus
from neurothek.dashboards.addresses import FRONT
from neurothek.dashboards.addresses import PAGES as ADDRESSES
from neurothek.dashboards.parts.sizes.curves import DEAD_BY_DEPTH, DEAD_BY_TOKENS, FREQUENCY_BY_DEPTH
from neurothek.dashboards.widgets.box import BOX
from neurothek.dashboards.widgets.figures import data_of_query, statement
from neurothek.dashboards.widgets.tables import table_key
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.statements import filled
from neurothek.queries.sql.cookbook import questions
from tests.support import sign_rows, tiny
from tests.support import warehouse as made

Opener = Callable[..., AppTest]
PAGES = sorted((FRONT, *ADDRESSES))


def text(page: AppTest) -> str:
    """All the words of a page, with the marks of Markdown taken out."""
    parts = [*page.title, *page.markdown, *page.caption, *page.info, *page.error, *page.warning, *page.code]
    return "\n".join(str(part.value) for part in parts).replace("\\", "")


def table(page: AppTest, column: str) -> pl.DataFrame:
    """The table of the page that has a column."""
    (found,) = [one.value for one in page.dataframe if column in one.value.columns]
    return pl.from_pandas(found)


def in_order(page: AppTest) -> None:
    assert [error.message for error in page.exception] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_page_runs_on_a_full_warehouse(page: Opener, whole_path: Path, name: str) -> None:
    opened = page(whole_path, name)
    in_order(opened)
    assert not opened.error
    in_order(opened.run())


@pytest.mark.parametrize("name", PAGES)
def test_every_page_runs_on_projections_only(page: Opener, weights_path: Path, name: str) -> None:
    opened = page(weights_path, name)
    in_order(opened)
    assert not opened.error


UNKNOWN = {
    "compare": "The activity of these models has not been measured yet.",
    "neuron": "no text has been run through the model yet.",
    "layer": "The activity of these neurons has not been measured yet.",
    "model": "The activity of this model has not been measured yet.",
    "interventions": "The activity of these models has not been measured yet;",
}
"""What a page says where only weights were read."""


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_page_without_its_data_says_which_command_fills_it(page: Opener, weights_path: Path, name: str) -> None:
    shown = text(page(weights_path, name))
    assert UNKNOWN[name] in shown
    assert "neurothek ingest" in shown
    assert "--job activity" in shown


OF_ONE_JOB = {
    "position": "positions",
    "events": "events",
    "shortcuts": "shortcuts",
    "clusters": "clusters",
    "annotate": "controls",
}


@pytest.mark.parametrize(("name", "job"), OF_ONE_JOB.items())
def test_a_page_of_one_job_names_it(page: Opener, weights_path: Path, name: str, job: str) -> None:
    shown = text(page(weights_path, name))
    assert "neurothek ingest" in shown
    assert f"--job {job}" in shown


def test_a_neurons_page_of_weights_fills_its_width(page: Opener, weights_path: Path, full_path: Path) -> None:
    """Its tokens stand beside the logits, as wide as each other; there is no column for contexts that nobody has."""

    def wide(path: Path) -> list[float]:
        opened = page(path, "neuron", neuron="tiny-2m/L1N2")
        columns = [one for one in opened.columns if any("Promotes" in str(said.value) for said in one.markdown)]
        return [round(one.weight, 2) for one in columns]

    assert wide(weights_path)[0] == 0.5
    assert wide(full_path)[0] == 0.4


def test_a_neurons_page_names_the_other_jobs(page: Opener, weights_path: Path) -> None:
    shown = text(page(weights_path, "neuron"))
    assert "--job ngrams --job positions --job clusters --job events" in shown


@pytest.mark.parametrize(
    ("name", "number", "digits"),
    [
        ("trace", "position", 20),
        ("annotate", "seed", 5000),
        ("clusters", "cluster", 20),
        ("layer", "layer", 20),
        ("search", "limit", 5000),
    ],
)
def test_a_number_beyond_counting_is_no_error(
    page: Opener, whole_path: Path, name: str, number: str, digits: int
) -> None:
    in_order(page(whole_path, name, **{number: "9" * digits}))


@pytest.mark.parametrize(
    ("name", "asked"),
    [("model", "model"), ("layer", "model"), ("layer", "layer"), ("compare", "models"), ("search", "models")],
)
def test_what_the_address_asks_for_and_is_not_there_is_said(
    page: Opener, full_path: Path, name: str, asked: str
) -> None:
    opened = page(full_path, name, **{asked: "98"})
    in_order(opened)
    (warning,) = [one.value.replace("\\", "") for one in opened.warning]
    if asked == "model":
        assert warning == f"No model “98”; this is {opened.selectbox[0].value}."
    else:
        assert warning == f"The address has an unknown {asked.removesuffix('s')}: 98."


def test_a_corpus_that_is_not_there_is_said(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron="tiny-1m/L0N0", corpus="elsewhere")
    in_order(opened)
    assert "an unknown corpus: elsewhere" in text(opened)


def test_too_little_text_is_no_reason_to_measure_again(page: Opener, whole_path: Path) -> None:
    with neurothek.open(whole_path).reader() as connection:
        query = "select distinct model, corpus, n_sequences from positions_by_layer where why_not is not null"
        untold = connection.execute(query).fetchall()
    assert untold
    for model, corpus, n_sequences in untold:
        shown = text(page(whole_path, "position", model=model))
        assert (
            f"The positional neurons of {model} cannot be determined: {spoken_corpus(corpus)} has {n_sequences}"
            " full-length sequences, 100 are needed." in shown
        )
        assert "neurothek ingest" not in shown


@pytest.mark.parametrize("name", sorted(set(PAGES) - {"sql"}))
def test_without_a_warehouse_a_page_says_how_to_build_one(page: Opener, tmp_path: Path, name: str) -> None:
    opened = page(tmp_path / "none.duckdb", name)
    in_order(opened)
    assert "neurothek demo" in text(opened)
    assert not (tmp_path / "none.duckdb").exists()


def test_headlines_and_the_tokens_behind_them(page: Opener, full_path: Path) -> None:
    opened = page(full_path)
    row = table(opened, "n_dead").row(by_predicate=pl.col("model") == "tiny-1m", named=True)
    dead = [key for key in tiny.DEAD if key[0] == 0]
    assert row["n_dead"] == len(dead)
    assert row["dead_share_percent"] == pytest.approx(100 * len(dead) / 10)
    # Figures and headlines name the tokens on which "dead" was seen.
    seen = int(row["n_tokens_seen"])
    assert seen == 41
    captions = [caption.value.replace("\\", "") for caption in opened.caption if "Never active" in caption.value]
    assert captions
    assert all(f"tiny-1m {seen}" in caption for caption in captions)
    assert any("Voita et al. 2023" in str(title.proto.help).replace("\\", "") for title in opened.markdown)


def test_models_are_picked_and_kept_in_the_address(page: Opener, full_path: Path) -> None:
    opened = page(full_path, models="tiny-1m,tiny-2m,nothing")
    assert list(table(opened, "n_dead")["model"]) == ["tiny-1m", "tiny-2m"]
    opened.multiselect(key="models").set_value(["tiny-2m"]).run()
    assert list(table(opened, "n_dead")["model"]) == ["tiny-2m"]
    assert opened.query_params["models"] == "tiny-2m"


def test_a_corpus_is_chosen_and_kept_in_the_address(page: Opener, full_path: Path) -> None:
    opened = page(full_path, models="tiny-1m,tiny-2m", corpus="long")
    in_order(opened)
    assert set(table(opened, "n_dead")["corpus"]) == {"long"}
    neuron = page(full_path, "neuron", neuron="tiny-1m/L0N0")
    assert "of the built-in text" in text(neuron)
    neuron.selectbox(key="corpus").set_value("long").run()
    assert "of long" in text(neuron)
    assert neuron.query_params["corpus"] == "long"


def test_search_finds_the_planted_neurons_and_a_click_opens_one(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "search", words="coffee", table="yes")
    rows = table(opened, "neighbours")
    assert {"tiny-1m/L0N1", "tiny-2m/L2N3"} <= set(rows["address"])
    place = list(rows["address"]).index("tiny-2m/L2N3")
    chosen = {"selection": {"rows": [], "columns": [], "cells": [[place, "address"]]}}
    opened.session_state[table_key("found", rows["address"])] = chosen
    opened.run()
    in_order(opened)
    assert opened.title[0].value.replace("\\", "") == "tiny-2m/L2N3"


def test_a_condition_narrows_a_search_and_is_refused_where_it_is_more(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "search", words="coffee", where="layer = 2", table="yes")
    assert all("/L2N" in address for address in table(opened, "neighbours")["address"])
    opened.text_input(key="where").set_value("true; drop table store.models").run()
    in_order(opened)
    assert "is not one expression" in text(opened)


def test_a_word_that_is_none_is_answered_as_text(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "search", words="![x](http://h/a.png)")
    in_order(opened)
    assert r"\!\[x\]\(http" in opened.error[0].value


def counterparts_of(layer: int, neuron: int) -> list[list[tiny.Row]]:
    """What was found of a neuron of tiny-1m in the models it was compared with, the smaller of the two first."""
    place = {"model_id": 0, "layer": layer, "neuron": neuron}
    found = [row for row in made.hand_made().rows["counterparts"] if place.items() <= row.items()]
    return [[row for row in found if row["other_model_id"] == other] for other in (4, 1)]


def test_a_counterpart_is_a_way_into_the_other_model(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron="tiny-1m/L0N1")
    of_models = counterparts_of(0, 1)
    every = [row["overlap"] for rows in of_models for row in rows]
    null = tiny.made_up_null(0, 0)
    above, below = ([overlap for overlap in every if (overlap > null) == wanted] for wanted in (True, False))
    assert above
    assert below
    shown, folded = (part.proto.body for part in opened.get("html") if "overlap " in part.proto.body)
    told = [f"overlap {overlap:.2f}, random {null:.2f}" for overlap in above]
    assert [found.removesuffix(", mutual") for found in re.findall(r"<span>([^<]+)</span></header>", shown)] == told
    told = [f"overlap {overlap:.2f}, random {null:.2f}" for overlap in below]
    assert re.findall(r"<span>([^<]+)</span></header>", folded) == told
    assert 'href="/neuron?neuron=tiny-2m/L' in shown


def test_where_no_neuron_is_above_chance_the_page_says_none(page: Opener, full_path: Path) -> None:
    bests = {
        (layer, neuron): min(rows[0]["overlap"] for rows in counterparts_of(layer, neuron) if rows)
        for _, layer, neuron in tiny.neurons_of(0)
    }
    layer, neuron = min(bests, key=lambda place: bests[place] - tiny.made_up_null(0, place[0]))
    best, null = bests[layer, neuron], tiny.made_up_null(0, layer)
    assert best <= null
    shown = text(page(full_path, "neuron", neuron=f"tiny-1m/L{layer}N{neuron}"))
    assert "None above chance in " in shown
    assert f"the nearest overlaps by {best:.3f}, 99% of random vectors by up to {null:.3f}." in shown


def test_where_no_models_were_compared_a_page_says_how_and_searches(page: Opener, weights_path: Path) -> None:
    shown = text(page(weights_path, "neuron", neuron="tiny-1m/L0N1"))
    assert "neurothek ingest tiny-1m tiny-2m-nopos --job counterparts" in shown
    # A model whose tokens no other has is compared with none.
    assert "counterparts" not in text(page(weights_path, "neuron", neuron="gelu-1m/L0N1"))


def test_models_without_exact_zeros_are_told_by_sparseness_and_what_is_negligible(
    page: Opener, full_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "w.duckdb"
    shutil.copy(full_path, path)
    with duckdb.connect(str(path)) as connection:
        sign_rows.insert(connection)
        for (model_id,) in connection.execute("select model_id from store.models").fetchall():
            summaries.refresh(connection, model_id)
    opened = page(path, "compare", models="gelu-1m")
    shown = text(opened)
    assert "Effective frequency" in shown
    assert "Negligible neurons" in shown
    assert "Dead neurons" not in shown
    assert "has 25% negligible neurons" in shown
    for name, place in (("model", {}), ("layer", {"layer": "0"})):
        told = text(page(path, name, model="gelu-1m", **place))
        assert "negligible on" in told
        assert "effective frequency of" in told
        assert "dead on" not in told


def test_neurons_alike_are_searched(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "search", like="tiny-1m/L0N1", models="tiny-2m", table="yes")
    rows = table(opened, "overlap")
    assert all(address.startswith("tiny-2m/") for address in rows["address"])
    kept = [row for row in made.hand_made().rows["counterparts"] if row["other_model_id"] == 1]
    best = max(row["overlap"] for row in kept if (row["layer"], row["neuron"]) == (0, 1))
    assert rows["overlap"][0] == pytest.approx(best)
    opened.text_input(key="like").set_value("tiny-1m/L0N99").run()
    in_order(opened)
    assert "there is no neuron" in text(opened)


def test_a_neuron_shows_its_numbers_and_steps_to_the_next(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron="tiny-1m/L0N4")
    key = (0, 0, 4)
    counted = [m for line in made.hand_made().coefficients[0, key].values() for m in line[1:]]
    n_active = sum(m > 0 for m in counted)
    assert f"Active at {n_active} of the {len(counted)} tokens of the built-in text" in text(opened)
    assert table(opened, "domain")["n_active"].sum() == n_active
    next_one = next(button for button in opened.button if button.label == "Next")
    next_one.click().run()
    assert opened.query_params["neuron"] == "tiny-1m/L1N0"
    opened.text_input(key=BOX).set_value("tiny-2m/L1N2").run()
    assert "layer 1 of tiny-2m" in text(opened)
    opened.text_input(key=BOX).set_value("l2n0").run()
    assert "layer 2 of tiny-2m" in text(opened)


def test_a_dead_neuron_is_called_so_with_its_tokens(page: Opener, full_path: Path) -> None:
    assert "Dead: never active on the 41 tokens of the built-in text" in text(
        page(full_path, "neuron", neuron="tiny-1m/L0N3")
    )


def test_a_neuron_that_is_none_is_a_sentence(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron="<b>/L0")
    in_order(opened)
    assert "is not the address of a neuron" in text(opened)


def test_a_script_token_is_text_wherever_it_stands(page: Opener, full_path: Path) -> None:
    contexts = page(full_path, "sql", query="select address from contexts_text where token = ' <script>' limit 1")
    address = table(contexts, "address")["address"][0]
    opened = page(full_path, "neuron", neuron=address)
    bodies = [element.proto.body for element in opened.get("html")]
    assert any("·&lt;script&gt;" in body for body in bodies)
    assert not any("<script" in body for body in bodies)


def test_a_layer_counts_its_dead_and_lists_its_neurons(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "layer", model="tiny-2m", layer="2")
    assert "1 of 6 neurons (16.7%) is dead on the 84 tokens seen" in text(opened)
    assert list(table(opened, "address")["address"]) == [f"tiny-2m/L2N{i}" for i in range(6)]
    layers = page(full_path, "layer", model="tiny-2m", layer="99").selectbox(key="layer-tiny-2m")
    assert layers.value == 3 * len(layers.options) // 4 > 0


@pytest.mark.parametrize("corpus", ["builtin", "long"])
def test_a_layer_and_a_model_are_shown_on_a_corpus_of_choice(page: Opener, full_path: Path, corpus: str) -> None:
    # From the table itself, summed over its domains.
    sums = f"""
        select neuron, sum(n_active) / sum(n_positions) as frequency, sum(n_positions) as seen, sum(n_active) as active
        from store.activity
        inner join store.corpora using (corpus_id)
        where set_id = 1 and layer = 2 and corpora.name = '{corpus}'
        group by neuron order by neuron
    """
    with duckdb.connect(str(full_path), read_only=True) as connection:
        expected = connection.sql(sums).pl()
    layer = page(full_path, "layer", model="tiny-2m", layer="2", corpus=corpus)
    in_order(layer)
    assert table(layer, "frequency_percent")["frequency_percent"].to_list() == pytest.approx(
        (100 * expected["frequency"]).to_list()
    )
    n_dead, seen = expected.filter(pl.col("active") == 0).height, expected["seen"][0]
    verb = "is" if n_dead == 1 else "are"
    counted = f"{n_dead} of 6 neurons ({n_dead / 6:.1%}) {verb} dead"
    assert f"{counted} on the {seen:,} tokens seen of {spoken_corpus(corpus)}" in text(layer)
    assert layer.query_params["corpus"] == corpus
    model = page(full_path, "model", model="tiny-2m", corpus=corpus)
    in_order(model)
    (bars,) = [element.proto.body for element in model.get("html") if "nt-layers" in element.proto.body]
    assert f"corpus={corpus}&amp;layer=2" in bars
    assert bars.count(f"<b>{n_dead / 6:.1%}</b>") >= 1
    assert f"tokens seen of {spoken_corpus(corpus)}" in text(model)


@pytest.mark.parametrize("corpus", ["builtin", "long"])
@pytest.mark.parametrize("name", ["layer_neurons", "model_neurons"])
def test_neurons_on_a_corpus_have_all_that_is_known_of_it(full_path: Path, corpus: str, name: str) -> None:
    place: dict[str, Any] = {"model": "tiny-2m", **({"layer": 2} if name == "layer_neurons" else {"n": 100})}
    with duckdb.connect(str(full_path), read_only=True) as connection:
        ids = connection.execute("select corpus_id from store.corpora where name = ?", [corpus]).fetchall()
        shown = run_query(connection, statement(name), place)
        found = run_query(connection, statement(f"{name}_by_corpus"), {**place, "corpus_id": ids[0][0]})
        rows = {
            table: connection.execute(f"select {columns} from store.{table} where {where}", ids[0]).fetchall()
            for table, columns, where in (
                ("sequences", "domain, tokens, sequence_id", "corpus_id = ? order by sequence_id"),
                ("activity", "layer, neuron, domain, first_active", "set_id = 1 and corpus_id = ?"),
                ("token_counts", "token_id, n_occurrences", "corpus_id = ?"),
            )
        }
        listed = connection.execute("select layer, neuron, top_token_ids from store.projections where set_id = 1")
        tops = {(layer, neuron): ids for layer, neuron, ids in listed.fetchall()}
    assert found.columns == shown.columns
    assert found["address"].to_list() == shown["address"].to_list()
    if found["corpus"][0] == shown["corpus"][0]:
        assert_frame_equal(found, shown)
    lengths: dict[str, int] = {}
    for domain, tokens, _ in rows["sequences"]:
        lengths[domain] = lengths.get(domain, 0) + len(tokens) - 1  # every sequence begins with a BOS
    before = {domain: sum(list(lengths.values())[:number]) for number, domain in enumerate(lengths)}
    counts = dict.fromkeys(range(1000), 0)
    for token_id, n in rows["token_counts"]:
        counts[token_id] += n
    for row in found.to_dicts():
        layer = int(row["address"].split("/L")[1].split("N")[0])
        firsts = [
            before[domain] + first
            for of_layer, neuron, domain, first in rows["activity"]
            if (of_layer, neuron) == (layer, row["neuron"]) and first is not None
        ]
        assert row["first_active"] == min(firsts, default=None)
        logarithms = [math.log(1 + counts[token_id]) for token_id in tops[layer, row["neuron"]]]
        # Sums of ten doubles in another order.
        assert row["top_token_log_frequency"] == pytest.approx(sum(logarithms) / len(logarithms), rel=1e-12)


def test_a_model_of_one_corpus_has_none_to_choose(page: Opener, full_path: Path) -> None:
    for name in ("layer", "model"):
        opened = page(full_path, name, model="gelu-1m", corpus="long")
        in_order(opened)
        assert not [box for box in opened.selectbox if box.key == "corpus"]


def test_sql_answers_with_time_and_rows_and_keeps_the_query_in_the_address(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "sql", query="select count(*) as n from neurons")
    assert table(opened, "n")["n"][0] == sum(plan.n_layers * plan.d_ffn for plan in tiny.MODELS)
    assert "1 row in" in text(opened)
    assert opened.query_params["query"] == "select count(*) as n from neurons"
    assert table(page(full_path, "sql", query="select 2 as two"), "two")["two"][0] == 2


def test_a_neuron_of_an_answer_is_opened(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "sql", query="select address from neurons where model = 'tiny-2m' order by address")
    addresses = table(opened, "address")["address"]
    chosen = {"selection": {"rows": [], "columns": [], "cells": [[3, "address"]]}}
    opened.session_state[table_key("answer", addresses)] = chosen
    opened.run()
    in_order(opened)
    assert opened.title[0].value.replace("\\", "") == addresses[3]
    # What only looks like one leads nowhere.
    other = page(full_path, "sql", query="select 'nothing' as address")
    other.session_state[table_key("answer", ["nothing"])] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    other.run()
    in_order(other)
    assert other.title[0].value == "SQL"


def card(opened: AppTest, number: int) -> Button:
    (found,) = [button for button in opened.button if button.key == f"card-{number}"]
    return found


def test_a_question_of_the_cookbook_is_asked_of_the_models_that_are_there(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "sql")
    question = questions()[1]
    expected = question.about([min(tiny.MODELS, key=lambda plan: (plan.size, plan.name)).name])
    card(opened, question.number).click().run()
    in_order(opened)
    assert table(opened, "rank").height == 20
    # What fits is drawn, whole answers and nothing else; and the address carries the query.
    assert "Score by token" in text(opened)
    assert opened.query_params["query"] == expected
    assert " by " not in text(page(full_path, "sql", query="select 1 as one")).replace("layer by layer", "")


def test_without_models_the_questions_stay_as_they_are_written(page: Opener, tmp_path: Path) -> None:
    opened = page(tmp_path / "none.duckdb", "sql")
    card(opened, questions()[1].number).click().run()
    in_order(opened)
    assert opened.query_params["query"] == questions()[1].query


FORBIDDEN = (
    "delete from store.models",
    "copy (select 1) to 'stolen.csv'",
    "select 1; select 2",
    "attach 'other.duckdb'",
    "set threads = 1",
    "from read_csv('/etc/passwd')",
    "from '/etc/passwd'",
    "select content from read_text('/etc/passwd')",
)


def test_forbidden_sql_is_refused_in_a_sentence(page: Opener, full_path: Path) -> None:
    for query in FORBIDDEN:
        opened = page(full_path, "sql", query=query)
        in_order(opened)
        assert len(opened.error) == 1, query
        assert not opened.dataframe, query


def test_sql_brings_no_more_rows_than_a_page_holds(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "sql", query="from range(20000)")
    assert table(opened, "range")["range"].to_list() == list(range(1_000))
    assert "Rows 1 to 1,000 of 10,000." in text(opened)
    (page_number,) = [one for one in opened.number_input if one.label == "Page"]
    page_number.set_value(10).run()
    assert table(opened, "range")["range"].to_list() == list(range(9_000, 10_000))
    assert opened.query_params["page"] in ("10", ["10"])
    assert "the first 10,000 of 20,000 rows" in text(opened)
    assert "the page shows no more; `neurothek sql QUERY --format csv --warehouse" in text(opened)


def test_no_page_opens_a_writer(page: Opener, full_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[bool] = []
    connect = duckdb.connect

    def watched(path: str, read_only: bool = False, **settings: Any) -> duckdb.DuckDBPyConnection:
        opened.append(read_only)
        return connect(path, read_only=read_only, **settings)

    monkeypatch.setattr(duckdb, "connect", watched)
    for name in PAGES:
        page(full_path, name)
    assert opened
    assert all(opened)


@pytest.mark.parametrize(
    "query",
    [DEAD_BY_DEPTH, FREQUENCY_BY_DEPTH, statement("frequency_distribution"), DEAD_BY_TOKENS],
    ids=["dead_by_depth", "frequency_by_depth", "frequency_distribution", "dead_by_tokens"],
)
def test_the_sql_behind_a_figure_yields_its_data(full_path: Path, query: str) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        data = data_of_query(connection, "curve", query, {"models": ["tiny-1m", "it's none"]})
        assert data.frame.height
        assert run_query(connection, data.sql).equals(data.frame)


def test_values_are_written_out_as_literals() -> None:
    assert filled("$a = $b", {"a": "it's", "b": [1, "x"]}) == "'it''s' = [1, 'x']"


def test_frequencies_of_the_distribution_are_those_of_the_neurons(full_path: Path) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        bins = run_query(connection, statement("frequency_distribution"), {"models": ["tiny-1m"]})
        neurons = run_query(connection, "select frequency from neurons where model = 'tiny-1m' and frequency > 0")
    found = [
        neurons.filter(pl.col("frequency").is_between(row["frequency_from"] * 0.9999, row["frequency_to"] * 1.0001))
        for row in bins.to_dicts()
    ]
    assert sum(bins.get_column("n_neurons")) == neurons.height
    assert bins.get_column("share").sum() == pytest.approx(1)
    assert all(part.height >= row["n_neurons"] for part, row in zip(found, bins.to_dicts(), strict=True))
