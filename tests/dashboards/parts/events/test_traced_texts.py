"""Texts of events: spelled from the ids of the examples, each a way to its trace."""

import html
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import polars as pl

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.parts.events import traced_texts_html
from neurothek.dashboards.widgets.figures import data_of
from tests.support import event_warehouse, tiny

MODELS = [tiny.MODELS[model_id].name for model_id, _ in event_warehouse.MEASURED]


def test_prompts_are_the_texts_of_the_examples(whole_path: Path) -> None:
    """Every one that the page shows is the text of an example of the word that can be typed; and some are shown."""
    known: set[tuple[str, int, str, str]] = set()
    for model_id, corpus_id in event_warehouse.MEASURED:
        plan = tiny.MODELS[model_id]
        texts = tiny.TEXTS[plan.tokenizer_id]
        for example in event_warehouse.rows()["examples"]:
            if (example["model_id"], example["corpus_id"]) == (model_id, corpus_id) and example["saturation_by_ffn"]:
                tokens = [texts[token] for token in example["tokens"]]
                prompt = "".join(token for token in tokens if token not in tiny.SPECIAL)
                if prompt.strip() and "\n" not in prompt and not any(token.startswith("\\x") for token in tokens):
                    layer = example["saturation_layer"]
                    known.add((plan.name, layer, texts[example["final_token"]], prompt))
    words = {token.strip().casefold() for _, _, token, _ in known}
    shown = 0
    with Warehouse(whole_path).reader() as connection:
        for word in words:
            rows = data_of(connection, "event_texts", {"models": MODELS, "word": word}).frame
            places = set(rows.select("model", "layer", "token", "prompt").iter_rows())
            assert places <= known
            assert {token.strip().casefold() for _, _, token, _ in places} <= {word}
            wanted = {model for model, _, token, _ in known if token.strip().casefold() == word}
            assert set(rows["model"]) == wanted
            assert all(n <= 2 for n in rows["model"].value_counts()["count"])
            shown += rows.height
    assert shown > 5


def test_a_line_leads_to_the_trace_of_its_text() -> None:
    prompt = "1 < 2 & so\ton"
    rows = pl.DataFrame({"model": ["a"], "layer": [2], "n_layers": [6], "token": [" <i>"], "prompt": [prompt]})
    drawn = traced_texts_html(rows)
    assert "layer 2 of 6" in drawn
    assert "<b>·&lt;i&gt;</b>" in drawn
    address = html.unescape(drawn.partition('href="')[2].partition('"')[0])
    assert urlsplit(address).path == "/trace"
    assert parse_qs(urlsplit(address).query) == {"model": ["a"], "prompt": [prompt]}
