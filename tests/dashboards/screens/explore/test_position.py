"""The page of positions: a row of the heat map opens its neuron, and what is said of teams is a row's numbers."""

import re
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
from streamlit.testing.v1 import AppTest
from streamlit.util import AttributeDictionary

from neurothek.dashboards.widgets.figures import statement
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.statements import filled

Opener = Callable[..., AppTest]


def text(page: AppTest) -> str:
    parts = [*page.title, *page.markdown, *page.caption, *page.info]
    return "\n".join(str(part.value) for part in parts).replace("\\", "")


def positional(path: Path, model: str | None = None) -> tuple[str, pl.DataFrame]:
    """A model and its positional neurons; by itself the model with most."""
    with duckdb.connect(str(path), read_only=True) as connection:
        counted = (
            "select model from positions_by_layer group by model order by sum(n_positional) desc nulls last, model"
        )
        ((most,), *_) = connection.sql(counted).fetchall()
        model = model or most
        return model, run_query(connection, statement("positional_of_model"), {"model": model, "n": 1000})


def test_a_click_on_a_row_opens_its_neuron(page: Opener, full_path: Path) -> None:
    model, found = positional(full_path)
    assert found.height
    opened = page(full_path, "position", model=model)
    assert not opened.exception
    places = {"layers": found["layer"].to_list()[:120], "neurons": found["neuron"].to_list()[:120]}
    sql = filled(statement("position_profiles"), {"model": model, **places})
    key = f"chart-position_profiles-Where in a sequence they fire-{zlib.crc32(sql.encode())}"
    address = found["address"][0]
    opened.session_state[key] = AttributeDictionary({"selection": {"chosen": [{"address": address}]}})
    opened.run()
    assert opened.title[0].value.replace("\\", "") == address


def test_the_sentence_counts_what_was_found(page: Opener, full_path: Path) -> None:
    model, found = positional(full_path)
    shown = text(page(full_path, "position", model=model))
    assert f"{found.height:,} of " in shown
    most = found.group_by("layer").len().sort("len", "layer", descending=[True, False]).row(0)
    held = f"all of them in layer {most[0]}" if most[1] == found.height else f"{most[1]} of them in layer {most[0]}"
    assert held in shown


def rows(opened: AppTest) -> list[str]:
    (body,) = [one.proto.body for one in opened.get("html") if '<div class="nt-rows">' in one.proto.body]
    return list(body.split("<tbody>")[1].split("<tr>")[1:])


def addresses(opened: AppTest) -> list[str]:
    return [row.split("?neuron=")[1].split('"')[0] for row in rows(opened)]


def test_the_list_is_in_the_order_that_is_chosen(page: Opener, full_path: Path) -> None:
    model, found = positional(full_path)
    opened = page(full_path, "position", model=model)
    assert addresses(opened) == found["address"].to_list()
    for name, key in (("frequency", lambda row: -row["frequency"]), ("layer", lambda row: row["layer"])):
        opened.segmented_control(key="order").set_value(name).run()
        assert addresses(opened) == [row["address"] for row in sorted(found.to_dicts(), key=key)]
        assert opened.query_params["order"] == name
    assert addresses(page(full_path, "position", model=model, order="layer")) == addresses(opened)


def test_tokens_of_the_list_are_muted_until_the_switch_is_off(page: Opener, full_path: Path) -> None:
    """As many pale tokens as the rows have byte and undertrained ones, and the caption counts them."""
    # Which tokens are muted is not known of every model.
    model, found = positional(full_path, "tiny-2m")
    with duckdb.connect(str(full_path), read_only=True) as connection:
        lists = dict(connection.execute("select address, top_tokens from neurons where model = ?", [model]).fetchall())
        known = "select token, reason from token_quality where model = ? and reason is not null"
        reasons = dict(connection.execute(known, [model]).fetchall())
    pale = Counter(reasons[token] for address in found["address"] for token in lists[address] if token in reasons)
    assert pale["byte"]
    opened = page(full_path, "position", model=model)
    assert sum(row.count("nt-muted") for row in rows(opened)) == pale.total()
    told = " and ".join(f"{pale[reason]} {reason}" for reason in ("byte", "undertrained") if pale[reason])
    assert f"{told} tokens muted" in text(opened)
    opened.toggle(key="muted").set_value(False).run()
    assert "nt-muted" not in "".join(rows(opened))
    assert "tokens muted" not in text(opened)


def test_of_few_sequences_it_says_how_many_are_needed_and_how_to_have_them(
    page: Opener, full_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "few.duckdb"
    path.write_bytes(full_path.read_bytes())
    with duckdb.connect(str(path)) as connection:
        for table in ("corpora", "kept_measured_corpora"):
            connection.execute(f"update store.{table} set n_tokens = 17818, sequence_length = 2048")
        query = "select distinct model, n_sequences from positions_by_layer where why_not is not null"
        ((model, n_sequences),) = connection.sql(query).fetchall()
    opened = page(path, "position", model=model)
    assert not opened.exception
    assert n_sequences < 100
    assert f"{n_sequences} full-length sequences, 100 are needed." in text(opened)
    (command,) = opened.code
    assert command.value.startswith(f"neurothek ingest {model} --job positions --corpus ")
    (length,) = re.findall(r"--sequence-length (\d+)", command.value)
    # Three quarters of 17,818 tokens are 104 sequences of 128, and 52 of 256.
    assert length == "128"
