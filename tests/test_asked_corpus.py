"""Every answer that takes a corpus is of that corpus, or says what was not measured on it.

Each is held against plain sums over the store's tables, and against a warehouse in which no other text was ever read.
"""

import json
import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.spelling import spoken_corpus
from neurothek.catalog.tables.registry import OWNERS
from neurothek.dashboards.papers.reproduced import figures_of_comparison
from neurothek.queries.compare.comparison import Comparison, together
from tests.support import two_corpora as two

MODEL, ASKED, SHOWN = two.MODEL, two.ASKED, two.SHOWN
SECTIONS = (
    *("models", "layers", "coverage", "detectors", "detected", "suppression", "positions", "teams", "saturation"),
    *("early_exits", "exit_tradeoff"),
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> neurothek.Neurothek:
    path = tmp_path_factory.mktemp("both") / "both.duckdb"
    two.create(path)
    return neurothek.open(path)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> neurothek.Neurothek:
    """The warehouse in which only the corpus that is asked for was read."""
    path = tmp_path_factory.mktemp("alone") / "alone.duckdb"
    two.create_alone(path, two.ASKED_ID)
    return neurothek.open(path)


@pytest.fixture(scope="module")
def asked(both: neurothek.Neurothek) -> Comparison:
    return both.compare(MODEL, corpus=ASKED)


@pytest.fixture(scope="module")
def expected(alone: neurothek.Neurothek) -> Comparison:
    """The comparison where no other corpus was read."""
    return alone.compare(MODEL)


@pytest.fixture(scope="module")
def of_shown(both: neurothek.Neurothek) -> Comparison:
    """The comparison on the corpus that is shown unless another is asked for."""
    return both.compare(MODEL)


def rows(warehouse: neurothek.Neurothek, table: str, **of: Any) -> list[dict[str, Any]]:
    """Rows of a table of the store about the model on the asked corpus."""
    where = {OWNERS[table]: two.MODEL_ID, "corpus_id": two.ASKED_ID, **of}
    query = f"select * from store.{table} where {' and '.join(f'{name} = ${name}' for name in where)}"
    with warehouse.reader() as connection:
        return list(connection.sql(query, params=where).pl().to_dicts())


def facts(warehouse: neurothek.Neurothek) -> Mapping[tuple[int, int], tuple[int, int]]:
    """(layer, neuron) -> positions seen, and those at which it was active."""
    found: dict[tuple[int, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row in rows(warehouse, "activity"):
        seen, active = found[row["layer"], row["neuron"]]
        found[row["layer"], row["neuron"]] = seen + row["n_positions"], active + row["n_active"]
    return found


def run(*arguments: str) -> str:
    result = CliRunner().invoke(neurothek.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


@pytest.mark.long
def test_sections_are_those_of_a_warehouse_that_read_nothing_else(
    asked: Comparison, expected: Comparison, of_shown: Comparison, subtests: pytest.Subtests
) -> None:
    for section in SECTIONS:
        with subtests.test(section):
            found, shown = asked.data()[section], of_shown.data()[section]
            assert not found.is_empty()
            assert_frame_equal(found, expected.data()[section], rel_tol=1e-9)
            # What is said of the other text is something else, or this would not see a section that ignores the corpus.
            assert not found.drop("corpus").equals(shown.drop("corpus"))
            assert set(found.get_column("corpus")) == {ASKED}
            assert set(shown.get_column("corpus")) == {SHOWN}


def test_activity_is_the_sum_over_the_texts_own_rows(both: neurothek.Neurothek, asked: Comparison) -> None:
    neurons = facts(both)
    headline = asked.models.row(0, named=True)
    alive = [active / seen for seen, active in neurons.values() if active]
    assert headline["n_tokens_seen"] == next(iter(neurons.values()))[0]
    assert headline["n_dead"] == len(neurons) - len(alive)
    assert headline["mean_frequency"] == pytest.approx(sum(alive) / len(alive))
    assert headline["median_frequency"] == pytest.approx(pl.Series(alive).median())
    for row in asked.layers.to_dicts():
        own = [active for (layer, _), (_, active) in neurons.items() if layer == row["layer"]]
        assert row["n_dead"] == own.count(0)


def detectors_by_hand(warehouse: neurothek.Neurothek, n: int) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """(layer, neuron) -> the triggers that it detects."""
    triggers: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows(warehouse, "triggers", n=n):
        if row["n_occurrences"] >= 10 and row["n_active"] >= 0.95 * row["n_occurrences"]:
            triggers[row["layer"], row["neuron"]].append(row)
    found = {}
    for row in rows(warehouse, "ngrams", n=n):
        own = triggers[row["layer"], row["neuron"]]
        few = row["n_covering_95"] <= (5 if n == 1 else 50)
        if row["n_active"] >= 100 and few and sum(one["n_active"] for one in own) >= 0.95 * row["n_active"]:
            found[row["layer"], row["neuron"]] = own
    return found


def test_detectors_are_counted_among_the_texts_own_rows(both: neurothek.Neurothek, asked: Comparison) -> None:
    for n in (1, 2, 3):
        by_hand = detectors_by_hand(both, n)
        assert by_hand
        for row in asked.typology.detectors.filter(n=n).to_dicts():
            own = [key for key in by_hand if key[0] == row["layer"]]
            assert row["n_detectors"] == len(own)
            (told,) = asked.typology.detected.filter(n=n, layer=row["layer"]).to_dicts()
            assert told["n_detected"] == len({tuple(one["token_ids"]) for key in own for one in by_hand[key]})
    suppression = asked.typology.suppression.row(0, named=True)
    scores = [[one["score"] for one in own] for own in detectors_by_hand(both, 1).values()]
    assert suppression["n_detectors"] == len(scores)
    assert suppression["n_suppressing"] == sum(sum(own) / len(own) < 0 for own in scores)


def test_coverage_is_of_the_texts_own_rows(both: neurothek.Neurothek, asked: Comparison) -> None:
    alive = [row for row in rows(both, "ngrams", n=1) if row["n_active"] and 2 * row["layer"] + 1 <= 3]
    told = asked.typology.coverage.filter(region="first half", n=1)
    assert set(told.get_column("n_alive")) == {len(alive)}
    few = sum(row["n_covering_95"] == 1 and row["n_active"] >= 100 for row in alive)
    assert told.filter(bin="1").get_column("n_neurons").to_list() == [few]


def test_positions_are_of_the_texts_own_profiles(both: neurothek.Neurothek, asked: Comparison) -> None:
    profiles = rows(both, "positions", domain="all")
    for row in asked.typology.positions.to_dicts():
        own = [one for one in profiles if one["layer"] == row["layer"]]
        assert row["n_positional"] == sum(one["mutual_information_corrected"] > 0.05 for one in own)
        assert row["n_sequences"] == own[0]["n_sequences"]


def test_predictions_and_exits_are_of_the_texts_own_examples(both: neurothek.Neurothek, asked: Comparison) -> None:
    examples = rows(both, "examples")
    for row in asked.saturation.to_dicts():
        assert row["n_saturated"] == sum(one["saturation_layer"] == row["layer"] for one in examples)
    exits = rows(both, "exits")
    for row in asked.early_exits.to_dicts():
        own = [one["accuracy"] for one in exits if one["method"] == row["method"]]
        assert row["accuracy"] == pytest.approx(sum(own) / len(own))
    by_hand = {(one["method"], one["parameter"]): one["layers_run"] for one in exits}
    assert asked.exit_tradeoff.height > 3
    for row in asked.exit_tradeoff.to_dicts():
        assert row["layers_run"] == by_hand[row["method"], row["parameter"]]


@pytest.fixture(scope="module")
def drawn(both: neurothek.Neurothek, asked: Comparison) -> dict[str, Any]:
    return charts(both, asked)


def charts(warehouse: neurothek.Neurothek, comparison: Comparison) -> dict[str, Any]:
    """Every figure that is drawn: what it shows, as vega has it, by name."""
    with warehouse.reader() as connection:
        figures = figures_of_comparison(connection, comparison)
    return {one.name: one.chart.to_dict() for one in figures if one.chart is not None}


@pytest.mark.long
def test_every_figure_is_of_the_asked_corpus(
    both: neurothek.Neurothek,
    alone: neurothek.Neurothek,
    drawn: dict[str, Any],
    expected: Comparison,
    of_shown: Comparison,
) -> None:
    same, shown = charts(alone, expected), charts(both, of_shown)
    # All but those that need variants of a model.
    assert len(drawn) == len(same) == len(shown) == 20
    for name, chart in drawn.items():
        text = " ".join(chart["title"]["subtitle"])
        assert f" of {spoken_corpus(ASKED)}" in text, name
        assert SHOWN not in text, name
        assert text == " ".join(same[name]["title"]["subtitle"])
        assert_same_data(chart["datasets"], same[name]["datasets"])
        assert chart["datasets"] != shown[name]["datasets"], name


def assert_same_data(found: dict[str, Any], expected: dict[str, Any]) -> None:
    # Names of the parts are digests of their rows, which differ in their last digits.
    for one, other in zip(found.values(), expected.values(), strict=True):
        assert_frame_equal(pl.DataFrame(one), pl.DataFrame(other), rel_tol=1e-9)


def test_shortcut_figures_draw_the_texts_own_fits(both: neurothek.Neurothek, drawn: dict[str, Any]) -> None:
    (points,) = drawn["shortcuts-1-fit-mat"]["datasets"].values()
    by_hand = {(one["source_state"], one["target_state"]): one["r2"] for one in rows(both, "shortcuts", method="mat")}
    assert {(one["source_state"], one["target_state"]): one["r2"] for one in points} == by_hand
    (points,) = drawn["shortcuts-3-precision"]["datasets"].values()
    said = {(one["method"], one["state"]): one["precision_5"] for one in rows(both, "shortcut_predictions")}
    assert all(one["precision_5"] == said[one["method"], one["state"]] for one in points)


@pytest.mark.long
def test_what_was_not_measured_there_is_said_with_the_command(both: neurothek.Neurothek) -> None:
    comparison = both.compare(two.OTHER, MODEL, corpus=SHOWN)
    missing = [note for note in comparison.hints if note.startswith("not measured")]
    assert missing == [
        f"not measured on {SHOWN}: ngrams, events, shortcuts, exits of {two.OTHER}; measure with"
        f" `neurothek ingest {two.OTHER} --job ngrams --job events --job shortcuts --job exits"
        f" --corpus {SHOWN} --sequence-length 49`"
    ]
    data = comparison.data()
    for section in ("coverage", "saturation", "early_exits", "exit_tradeoff"):
        assert set(data[section].get_column("model")) == {MODEL}, section
    assert set(data["layers"].get_column("model")) == {two.OTHER, MODEL}
    only = both.compare(two.OTHER, corpus=SHOWN)
    assert only.saturation.is_empty()
    with both.reader() as connection:
        reasons = {one.name: one.why_not for one in figures_of_comparison(connection, only)}
    assert reasons["figure-02-tokens-that-cover"] == f"n-grams were not counted on {SHOWN}"
    (reason,) = {why_not for name, why_not in reasons.items() if name.startswith("shortcuts-")}
    assert reason.startswith(
        f"none were fitted on {SHOWN}; fit them with `neurothek ingest MODEL --corpus {SHOWN} --sequence-length 49"
        " --job shortcuts"
    )


def test_two_corpora_stand_one_after_the_other(both: neurothek.Neurothek, asked: Comparison) -> None:
    sections, data = together([asked, both.compare(MODEL, corpus=SHOWN)])
    for title in ("share of dead neurons by depth", "detectors of n-grams", "layers saved at 95% precision"):
        for corpus in (ASKED, SHOWN):
            assert title in " ".join(one.title for one in sections if one.title.endswith(f", on {corpus}"))
    base = ("compare", MODEL, "--corpus", ASKED, "--corpus", SHOWN, "--warehouse", str(both.path))
    told = json.loads(run(*base, "--format", "json"))
    for section in SECTIONS:
        frame = data[section]
        assert frame.filter(corpus=ASKED).equals(asked.data()[section])
        assert [row["corpus"] for row in told[section]] == frame.get_column("corpus").to_list()
        assert set(frame.get_column("corpus")) == {ASKED, SHOWN}


@pytest.mark.long
def test_figures_of_two_corpora_lie_in_a_folder_each(both: neurothek.Neurothek, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("compare", MODEL, "--corpus", ASKED, "--corpus", SHOWN, "--figure", str(out), "--warehouse", str(both.path))
    names = {folder.name: {file.name for file in folder.iterdir()} for folder in out.iterdir()}
    assert names.keys() == {ASKED, SHOWN}
    assert names[ASKED] == names[SHOWN]
    assert "shortcuts-1-fit-mat.svg" in names[ASKED]
    for corpus in (ASKED, SHOWN):
        drawn = (out / corpus / "shortcuts-1-fit-mat.svg").read_text("utf-8")
        assert f"sentences of {spoken_corpus(corpus)}" in drawn


@pytest.mark.long
def test_a_neuron_is_told_of_the_asked_corpus(both: neurothek.Neurothek, alone: neurothek.Neurothek) -> None:
    differ = set()
    for (layer, neuron), (seen, active) in sorted(facts(both).items())[::4]:
        address = f"{MODEL}/L{layer}N{neuron}"
        page, shown = both.neuron(address, corpus=ASKED), both.neuron(address)
        expected = alone.neuron(address)
        assert page.summary == expected.summary
        assert [one.title for one in page.sections()] == [one.title for one in expected.sections()]
        assert (page.facts["n_tokens_seen"], page.facts["n_active"], page.facts["corpus"]) == (seen, active, ASKED)
        dominant = rows(both, "sub_updates", kind="dominant", layer=layer, neuron=neuron)
        assert page.facts["times_dominant"] == sum(one["coefficient"] != 0 for one in dominant)
        assert (page.triggers.suppression is not None) == ((layer, neuron) in detectors_by_hand(both, 1))
        assert page.unmeasured == ()
        for name, found in page.data().items():
            told = shown.data()[name]
            if isinstance(found, pl.DataFrame):
                assert_frame_equal(found, expected.data()[name], rel_tol=1e-9)
                differ |= set() if found.equals(told) else {name}
            else:
                differ |= set() if found == told else {name}
    # What hangs on the text is told otherwise of the other text, for some neuron; nothing else is.
    assert differ == {
        *("tokens", "neuron", "domains", "positions", "triggers", "detection", "suppression", "contexts", "pushed"),
        *("effect", "interventions", "windows", "activation_histogram"),
    }


def test_a_neuron_says_what_was_not_measured_there(both: neurothek.Neurothek) -> None:
    page = both.neuron(f"{two.OTHER}/L0N0", corpus=SHOWN)
    assert f"Not measured on {SHOWN}: ngrams, events of {two.OTHER}; measure with `neurothek ingest" in page.summary
    assert page.facts["times_dominant"] is None
    assert page.pushed.is_empty()


VIEWS = (
    *("neurons", "layer_activity", "pushers", "token_detectors", "extreme_clusters", "event_scores", "contexts_text"),
    *("shortcut_quality", "dead_by_tokens", "promotions", "top_candidate_scores"),
)


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS)
def test_sql_asks_views_that_tell_of_the_corpus(
    view: str, both: neurothek.Neurothek, alone: neurothek.Neurothek
) -> None:
    query = f"select * from {view} where model = '{MODEL}' order by all"
    found = both.sql(query, corpus=ASKED)
    assert not found.is_empty()
    assert_frame_equal(found, alone.sql(query), rel_tol=1e-9)
    assert not found.equals(both.sql(query))


def test_what_people_type_is_asked_of_the_corpus_too(both: neurothek.Neurothek) -> None:
    query = f"select n_tokens_seen, corpus from neurons where model = '{MODEL}' limit 1"
    told = run("sql", query, "--corpus", ASKED, "--format", "json", "--warehouse", str(both.path))
    assert json.loads(told) == [{"n_tokens_seen": next(iter(facts(both).values()))[0], "corpus": ASKED}]


@pytest.mark.parametrize(
    "command",
    [
        ["compare"],
        ["compare", "--corpus", ASKED, "--figure", "out"],
        ["neuron", f"{MODEL}/L0N0"],
        ["neuron", f"{MODEL}/L0N0", "--figure", "one.svg"],
        ["sql", "from neurons"],
        ["trace", MODEL, "a prompt", "--lens", "mat"],
        ["trace", MODEL, "a prompt"],
    ],
)
def test_a_corpus_that_is_not_there_is_refused(
    command: list[str], both: neurothek.Neurothek, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(neurothek.main, [*command, "--corpus", "elsewhere", "--warehouse", str(both.path)])
    assert result.exit_code == 2
    assert "measured on a corpus elsewhere" in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "query",
    ["select count(*) from store.neuron_facts", 'with f as (from STORE."neuron_facts") select set_id from f'],
)
def test_the_table_that_holds_shown_corpora_alone_is_not_asked_of_another(
    query: str, both: neurothek.Neurothek
) -> None:
    with pytest.raises(NeurothekError, match=f"on the corpus {ASKED}, because it holds only each model's shown corpus"):
        both.sql(query, corpus=ASKED)
    assert not both.sql(query).is_empty()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (("school",), []),
        (
            ("school", "--alive"),
            [f"on the shown corpora {ASKED} (gelu-1m, {two.OTHER}), {SHOWN} ({MODEL}); `neurothek pin"],
        ),
        (
            ("--triggered-by", "school"),
            [
                f"on the shown corpus {SHOWN}; `neurothek pin {MODEL} --corpus {ASKED} --warehouse ",
                f"no n-grams counted on the shown corpus, so left out: weights-only, {two.OTHER}, gelu-1m",
            ],
        ),
        (("school", "--triggered-by", "school", "-m", MODEL), [f"on the shown corpus {SHOWN}; "]),
        (("school", "--min-count", "1", "-m", "gelu-1m"), []),
        (("--like", f"{MODEL}/L0N0", "--where", "frequency > 0"), [f"on the shown corpora {ASKED} ({two.OTHER}), "]),
    ],
)
def test_a_search_that_hangs_on_text_says_on_which(
    both: neurothek.Neurothek, question: tuple[str, ...], said: list[str]
) -> None:
    result = CliRunner().invoke(neurothek.main, ["search", *question, "--warehouse", str(both.path)])
    assert result.exit_code == 0
    found = [line for line in result.stderr.splitlines() if "shown corp" in line]
    assert len(found) == len(said)
    for line, beginning in zip(found, said, strict=True):
        assert line.startswith(beginning)


def test_what_a_search_recommends_shows_the_other_corpus(both: neurothek.Neurothek, tmp_path: Path) -> None:
    path = Path(shutil.copy(both.path, tmp_path / "own.duckdb"))
    search = ("search", "school", "--alive", "--model", MODEL, "--warehouse", str(path))
    said = CliRunner().invoke(neurothek.main, search).stderr
    (command,) = re.findall("`neurothek ([^`]+)`", said)
    assert f"on the shown corpus {SHOWN};" in said
    run(*shlex.split(command))
    again = CliRunner().invoke(neurothek.main, search).stderr
    assert f"on the shown corpus {ASKED}; `neurothek pin {MODEL} --corpus {SHOWN} " in again


def test_searches_tell_of_the_corpus_that_was_asked_for(both: neurothek.Neurothek, alone: neurothek.Neurothek) -> None:
    like = both.search("school", model=MODEL, limit=1).neurons["address"][0]
    questions: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
        (("school",), {}),
        (("school", "coffee"), {}),
        (("school",), {"alive": True}),
        (("school",), {"min_count": 1}),
        (("school",), {"where": "frequency > 0.01", "side": "both"}),
        ((), {"triggered_by": "school"}),
        ((), {"like": like}),
        ((), {"like": like, "where": "frequency > 0.01"}),
    )
    n_different = 0
    for words, asked in questions:
        found = both.search(*words, model=MODEL, corpus=ASKED, limit=500, **asked).neurons
        assert_frame_equal(found, alone.search(*words, model=MODEL, limit=500, **asked).neurons)
        n_different += not found.equals(both.search(*words, model=MODEL, limit=500, **asked).neurons)
    assert n_different > len(questions) / 2
    output = run("search", "school", "--model", MODEL, "--corpus", ASKED, "--warehouse", str(both.path))
    assert "school" in output
