"""The sentence and the cards on the page: what they say of made-up sizes, before a chart is drawn."""

import re
from pathlib import Path

import duckdb
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.parts.sizes.conclusions import DEFINITIONS, _numbers, points, rows_behind
from neurothek.queries.compare.comparison import compare
from neurothek.queries.compare.trends import MEASURES, Number, Trend
from tests.dashboards.conftest import Opener
from tests.support.size_warehouse import Size, create

SIZES = (
    Size("1m", 1_000_000, (0, 0, *(200,) * 98)),
    Size("1m-seed", 1_000_000, (0, *(100,) * 99), variant="seed 1"),
    Size("4m", 4_000_000, (*(0,) * 40, *(400,) * 60)),
)
ZEROS = (Size("1m", 1_000_000, (200,) * 100), Size("4m", 4_000_000, (400,) * 100))


def shown_text(page: AppTest) -> str:
    """All the words of a page, with the marks of Markdown taken out."""
    parts = [*page.title, *page.header, *page.markdown, *page.caption, *page.info, *page.code]
    html = [element.proto.body for element in page.get("html")]
    return "\n".join([*(str(part.value) for part in parts), *html]).replace("\\", "")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sizes") / "made.duckdb"
    create(path, SIZES)
    return path


def test_the_page_opens_with_the_sentence_and_what_it_rests_on(page: Opener, path: Path) -> None:
    opened = page(path)
    assert [error.message for error in opened.exception] == []
    said = [one.value.replace("\\", "") for one in opened.markdown]
    sentence = "From 1m to 4m, dead neurons rise from 2.0% to 40% and the median frequency rises from 20% to 40%."
    assert sentence in said
    assert (
        opened.caption[0].value.replace("\\", "")
        == (
            "Each saw 1,000 tokens of text. Training tokens per parameter are about the same (20.0 to 20.0). "
            "Without embeddings, 1m has 1.0M, 4m has 4.0M parameters. "
        ).strip()
    )


def test_cards_hold_the_numbers_and_variants_are_hollow(page: Opener, path: Path) -> None:
    opened = page(path, models="made-1m,made-1m-seed,made-4m")
    cards = re.findall(r'card-number"><a [^>]*>([^<]+)</a></div><div class="nt-card-way">([^<]+)<', shown_text(opened))
    assert cards == [("2.0% → 40%", "rises"), ("20% → 40%", "rises")]
    assert "Hollow points are variants" in shown_text(opened)
    assert "Left out: made-1m-seed (a variant: seed 1)." in shown_text(opened)


def test_points_are_the_sizes_and_their_variants(path: Path) -> None:
    with Warehouse(path).reader() as connection:
        comparison = compare(connection)
    dead = points(comparison.models, comparison.conclusions, MEASURES[0])
    assert dead.select("model", "is_size", "value", "value_label", "size_label").rows() == [
        ("made-1m", True, 0.02, "2.0%", "1.0M"),
        ("made-1m-seed", False, 0.01, "1.0%", "1.0M"),
        ("made-4m", True, 0.4, "40%", "4.0M"),
    ]
    positional = next(one for one in MEASURES if one.column == "positional_share")
    assert points(comparison.models, comparison.conclusions, positional).is_empty()


def test_a_number_that_says_nothing_of_a_model_is_no_point(path: Path) -> None:
    with Warehouse(path).reader() as connection:
        comparison = compare(connection)
    frequency, effective = (
        next(one for one in MEASURES if one.column == column)
        for column in ("median_frequency", "median_effective_frequency")
    )
    # Both are known of all of these models, which have exact zeros.
    assert comparison.models.get_column("median_effective_frequency").null_count() == 0
    assert points(comparison.models, comparison.conclusions, frequency).height == comparison.models.height
    assert points(comparison.models, comparison.conclusions, effective).is_empty()


def test_a_number_that_is_0_everywhere_has_no_card_and_a_sentence(page: Opener, tmp_path: Path) -> None:
    create(tmp_path / "zeros.duckdb", ZEROS)
    text = shown_text(page(tmp_path / "zeros.duckdb"))
    assert "dead neurons stay at 0% and the median frequency rises from 20% to 40%." in text
    assert text.count("nt-card-way") == 1 + text.count(".nt-card-way")
    assert "No neuron of these models is dead on the 1,000 tokens seen." in text


def test_an_arrow_is_for_what_goes_one_way(subtests: pytest.Subtests) -> None:
    for values, ends, way in [
        ((0.1, 0.2, 0.4), "10% → 40%", "rises"),
        ((0.4, 0.1), "40% → 10%", "falls"),
        ((0.3, 0.3), "30%", "stays flat"),
        ((0.3, 0.31), "30% to 31%", "stays flat"),
        ((0.2, 0.5, 0.1), "10% to 50%", "goes up and down"),
    ]:
        with subtests.test(values=values, ends=ends, way=way):
            trend = Trend(MEASURES[1], tuple(f"m{value}" for value in values), tuple(map(Number, values)))
            shown = _numbers(trend, "from models")
            assert re.findall(r'card-number"><a [^>]*href="/sql\?query=from%20models"[^>]*>([^<]+)</a>', shown) == [
                ends
            ]
            assert shown.endswith(f'<div class="nt-card-way">{way}</div>')


def test_every_measure_is_defined() -> None:
    assert set(DEFINITIONS) == {measure.column for measure in MEASURES}
    assert pl.Series(list(DEFINITIONS.values())).str.ends_with(".").all()


def test_numbers_lead_to_the_rows_behind_them(whole_path: Path, path: Path, subtests: pytest.Subtests) -> None:
    """Shares are numbers of rows over the model's neurons, medians those of the rows; the rest are rows by layer."""
    column_of = {"median_frequency": "frequency", "median_effective_frequency": "effective_frequency"}
    for file in (path, whole_path):
        with duckdb.connect(str(file), read_only=True) as connection:
            models = connection.sql("from scaling").pl().to_dicts()
            for measure in MEASURES:
                rows = connection.sql(rows_behind(measure, [row["model"] for row in models])).pl()
                for model in models:
                    with subtests.test(file=file.name, measure=measure.column, model=model["model"]):
                        value = measure.of(model)
                        is_own = (
                            pl.col("address").str.starts_with(f"{model['model']}/")
                            if "address" in rows.columns
                            else pl.col("model") == model["model"]
                        )
                        own = rows.filter(is_own)
                        if value is None:
                            continue
                        if measure.column in column_of:
                            assert own.get_column(column_of[measure.column]).median() == pytest.approx(value)
                        elif measure.counts is not None:
                            assert own.height == model[measure.counts[0]]
                        else:
                            assert own.height > 0


def test_a_models_name_is_text_in_the_query() -> None:
    assert "'it''s'" in rows_behind(MEASURES[0], ["it's"])
