"""The first page: one field, examples by measured effect on the largest model, and what was asked last."""

import re
from pathlib import Path
from typing import Any

import duckdb

from neurothek.dashboards.screens import __file__ as screens
from neurothek.dashboards.widgets.box import BOX
from tests.dashboards.conftest import Opener

SCRIPT = Path(screens).with_name("ask.py").read_text("utf-8")
(WORDS,) = re.findall(r'WORDS = """\\\n(.*?)"""', SCRIPT, flags=re.DOTALL)


def by_effect(row: dict[str, Any]) -> tuple[float, ...]:
    """Neurons in order: by effect, then words in two spellings by share of the output, then by what they did."""
    of_word = row["contribution_max"] if is_word(row) else None
    others = [row[name] for name in ("times_saturating", "times_dominant", "kurtosis")]
    numbers = [row["effect_on_loss"], float(is_word(row)), of_word, *others]
    return (*(float("inf") if one is None else -one for one in numbers), row["layer"], row["neuron"])


def written(row: dict[str, Any]) -> list[str]:
    return list(row["bottom_tokens"] if row["pole"] == "negative" else row["top_tokens"])


def is_word(row: dict[str, Any]) -> bool:
    first, second, *_ = (token.strip().lower() for token in written(row))
    return first == second


def is_readable(row: dict[str, Any]) -> bool:
    return row["corpus"] is None or (row["top_token_log_frequency"] or 0) >= 3 or is_word(row)


def test_words_are_those_that_the_neurons_of_largest_effect_promote(whole_path: Path) -> None:
    with duckdb.connect(str(whole_path)) as connection:
        connection.execute("begin")
        connection.execute(
            "update store.neuron_facts set effect_on_loss = case when neuron % 3 = 0 then neuron / 8 end,"
            " top_token_log_frequency = neuron % 5 + 1.5,"
            # Tokens of the tests' model are too short for words.
            " top_tokens = list_transform(top_tokens, lambda one, i: ' ' || repeat(chr(97 + (neuron + i)::integer), 6)"
            " || case when i = 2 then '1' else 'X' end)"
        )
        connection.execute(
            "update store.neuron_facts set top_tokens = list_concat([top_tokens[1], trim(top_tokens[1])], top_tokens)"
            " where neuron % 7 = 0"
        )
        for (model,) in connection.execute("select name from store.models").fetchall():
            found = [word for (word,) in connection.execute(WORDS, {"model": model}).fetchall()]
            neurons = connection.sql("from neurons where model = ?", params=[model]).pl().to_dicts()
            firsts: dict[str, int] = {}
            for place, row in enumerate(sorted(filter(is_readable, neurons), key=by_effect)[:500]):
                for token in written(row)[:3]:
                    if re.fullmatch(" [A-Za-z]{5,}", token):
                        firsts.setdefault(token.strip().lower(), place)
            assert found == sorted(firsts, key=lambda word: (firsts[word], word))[:6]
            assert found
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
