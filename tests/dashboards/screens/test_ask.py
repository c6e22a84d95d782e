"""The first page: one field, examples by measured effect on the largest model, and what was asked last."""

import re
from pathlib import Path

import duckdb

from neurothek.dashboards.screens import __file__ as screens
from neurothek.dashboards.widgets.box import BOX
from tests.dashboards.conftest import Opener

SCRIPT = Path(screens).with_name("ask.py").read_text("utf-8")
(WORDS,) = re.findall(r'WORDS = """\\\n(.*?)"""', SCRIPT, flags=re.DOTALL)


def by_effect(row: tuple[float | None, ...]) -> tuple[float, ...]:
    """Neurons in order: by effect, then by saturations, then by examples that they dominate, then by kurtosis."""
    *numbers, layer, neuron, _ = row
    return (*(float("inf") if one is None else -one for one in numbers), layer or 0, neuron or 0)


def test_words_are_those_that_the_neurons_of_largest_effect_promote(whole_path: Path) -> None:
    columns = "effect_on_loss, times_saturating, times_dominant, kurtosis, layer, neuron, corpus"
    with duckdb.connect(str(whole_path)) as connection:
        connection.execute("begin")
        connection.execute(
            "update store.neuron_facts set effect_on_loss = case when neuron % 3 = 0 then neuron / 8 end"
        )
        # Tokens of the tests' model are too short for words.
        connection.execute("update store.tokens set text = ' ' || repeat(chr(97 + token_id % 26), 6)")
        connection.execute("update store.token_counts set n_occurrences = 40")
        for (model,) in connection.execute("select name from store.models").fetchall():
            found = [word for (word,) in connection.execute(WORDS, {"model": model}).fetchall()]
            neurons = sorted(
                connection.execute(f"select {columns} from neurons where model = ?", [model]).fetchall(), key=by_effect
            )
            expected: dict[str, int] = {}
            for place, row in enumerate(neurons[:500]):
                lists = connection.execute(
                    "select token, corpus_count from neuron_tokens where model = ? and layer = ? and neuron = ?"
                    " and side = 'promoted' and rank <= 3",
                    [model, row[4], row[5]],
                ).fetchall()
                for token, count in lists:
                    if re.fullmatch(" [A-Za-z]{5,}", token) and (row[6] is None or (count or 0) >= 20):
                        expected.setdefault(token.strip().lower(), place)
            assert found == sorted(expected, key=lambda word: (expected[word], word))[:6]
        connection.execute("rollback")


def test_what_is_typed_leads_on(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "ask")
    assert opened.title[0].value == "Ask"
    assert any("neurons" in one.value for one in opened.caption)
    opened.text_input(key=BOX).set_value("tiny-1m/L0N4").run()
    assert opened.title[0].value.replace("\\", "") == "tiny-1m/L0N4"


def test_the_last_search_is_shown_again(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "ask")
    with duckdb.connect(str(whole_path), read_only=True) as connection:
        (word,) = connection.execute("select word from promotions limit 1").fetchone() or ("",)
    opened.text_input(key=BOX).set_value(word).run()
    assert opened.title[0].value == "Search"
    opened.query_params.clear()
    opened.switch_page("screens/ask.py").run()
    assert [one.value for one in opened.header] == ["Last search"]
    assert not opened.exception


def test_one_model_is_named(page: Opener, whole_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.duckdb"
    path.write_bytes(whole_path.read_bytes())
    import neurothek  # noqa: PLC0415

    door = neurothek.open(path)
    names = door.models().get_column("model").to_list()
    for name in names[:-1]:
        door.remove(name)
    opened = page(path, "ask")
    assert any(one.value.replace("\\", "").startswith(f"{names[-1]}: ") for one in opened.caption)


def test_an_old_address_of_sizes_leads_on(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "ask", models="tiny-1m")
    assert opened.title[0].value == "Compare sizes"
    assert opened.query_params["models"] in ("tiny-1m", ["tiny-1m"])


def test_neurons_are_kept_on_a_shelf_that_can_be_sent(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "neuron", neuron="tiny-1m/L0N4")
    opened.button(key="keep").click().run()
    assert opened.button(key="keep").label == "On the shelf"
    opened.query_params.clear()
    opened.query_params["shelf"] = "tiny-2m/L1N2,nonsense,gone/L0N0"
    opened.switch_page("screens/ask.py").run()
    assert not opened.exception
    (table,) = [one.value for one in opened.dataframe if "label" in one.value.columns]
    assert table["address"].tolist() == ["tiny-1m/L0N4", "tiny-2m/L1N2"]
    assert any("1 of 3 neurons" in one.value for one in opened.caption)
    shelf = opened.query_params["shelf"]
    assert (shelf if isinstance(shelf, str) else shelf[0]) == "tiny-1m/L0N4,tiny-2m/L1N2,gone/L0N0"
    next(one for one in opened.button if one.label == "Clear the shelf").click().run()
    assert "shelf" not in opened.query_params
    assert not [one for one in opened.dataframe if "label" in one.value.columns]
