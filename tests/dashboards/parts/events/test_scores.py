"""What is said of scores: the numbers of the rows, averaged over examples; and what the page shows of them."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

from neurothek.dashboards.parts.events import (
    extremes_caption,
    scores_sentence,
    shares_sentence,
    without_twins,
)
from tests.dashboards.conftest import Opener
from tests.support import event_warehouse, tiny

SCORES = pl.DataFrame(
    {
        "model": ["a", "a", "a", "b"],
        "event": ["saturation", "elimination", "saturation", "saturation"],
        "kind": ["dominant", "dominant", "random", "dominant"],
        "median_mean_centred": [0.504, -0.35, 0.0, 9.0],
    }
)
SHARES = pl.DataFrame(
    {
        "model": ["a", "a", "a", "b"],
        "dominant_share": [0.5, 0.2, None, 0.9],
        "n_examples": [10, 30, 0, 10],
        "random_share": [0.01, 0.02, None, 0.9],
        "n_random_examples": [10, 10, 0, 10],
    }
)


def test_scores_are_told_with_their_signs_and_what_is_unknown_is_said() -> None:
    assert scores_sentence(SCORES, "a") == (
        "In a, in the median event, a dominant neuron changes the centred score of the token that settles by +0.50, "
        "and that of the one that is pushed down by -0.35; a random neuron by 0.00 and an unknown amount."
    )


def test_random_active_neurons_have_a_row_where_they_are_not_all_random_ones() -> None:
    def rows(model: str, active: float | None) -> list[dict[str, object]]:
        numbers = {"dominant": 3.0, "random_active": active, "random": -0.25}
        return [
            {"model": model, "event": event, "kind": kind, "median_mean_centred": number, "median_min_centred": -1.0}
            for event in ("saturation", "elimination")
            for kind, number in numbers.items()
        ]

    # The same sum in another order.
    frame = pl.DataFrame([*rows("gated", -0.25 * (1 + 1e-12)), *rows("relu", 0.25), *rows("unknown", None)])
    left, alike = without_twins(frame)
    assert alike == ["gated"]
    of_model = left.group_by("model").agg(pl.col("kind").n_unique()).sort("model").rows()
    assert of_model == [("gated", 2), ("relu", 3), ("unknown", 3)]
    assert set(left.filter(model="gated")["kind"]) == {"dominant", "random"}
    assert without_twins(frame.filter(kind="dominant"))[1] == []


def test_shares_are_averaged_over_examples() -> None:
    dominant, random = (0.5 * 10 + 0.2 * 30) / 40, (0.01 * 10 + 0.02 * 10) / 20
    assert shares_sentence(SHARES, "a") == (
        f"In a, the ten dominant neurons hold {dominant:.0%} of a layer's update on average; ten random others hold "
        f"{random:.1%}."
    )
    assert shares_sentence(SHARES.with_columns(random_share=None), "b").endswith(
        "hold 90% of a layer's update on average."
    )
    assert shares_sentence(SHARES, "c") == ""


def test_the_page_begins_with_the_word_and_repeats_no_curve_of_compare(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "events")
    assert not opened.exception
    assert [one.value for one in opened.header] == [
        "Neurons that push a word to the top",
        "Effect of ten neurons on the token of an event",
        "By layer, for the token at the top",
        "Sources of extreme updates",
    ]
    titles = [one.value.replace("\\", "").strip("*") for one in opened.markdown]
    models = [tiny.MODELS[model_id].name for model_id, _ in event_warehouse.MEASURED]
    measured = [model for model in models if "nopos" not in model]
    assert all(titles.count(model) == 3 for model in measured)
    assert "Where predictions settle" not in titles
    bodies = " ".join(element.proto.body for element in opened.get("html"))
    assert 'href="/compare?models=' in bodies


@pytest.mark.parametrize("word", ["School ", "nothing-of-the-kind"])
def test_a_word_is_answered_whatever_its_case(page: Opener, whole_path: Path, word: str) -> None:
    opened = page(whole_path, "events", word=word)
    assert not opened.exception
    said = "\n".join(str(one.value).replace("\\", "") for one in (*opened.markdown, *opened.caption))
    if word == "School ":
        assert "An FFN brings `school` to the top for good in " in said
    else:
        assert f'No FFN brought "{word}" to the top for good in these examples.' in said


@pytest.mark.parametrize(("n_first", "is_massive"), [(0, False), (30, False), (31, True), (60, True)])
def test_extreme_updates_of_first_tokens_are_said_and_not_drawn(n_first: int, *, is_massive: bool) -> None:
    rows = pl.DataFrame({"n_extreme": [40, 20, 0], "n_first_position": [n_first, 0, 0]})
    caption, massive = extremes_caption(rows, {"n_neurons": 5, "n_clusters": 2})
    assert massive is is_massive
    assert caption.startswith(f"60 extreme updates of 5 neurons in 2 clusters; {n_first} at position 0")
    assert ("massive" in caption) is is_massive


def test_extreme_updates_are_counted_with_their_neurons(page: Opener, whole_path: Path) -> None:
    with duckdb.connect(str(whole_path), read_only=True) as connection:
        wanted = connection.execute(
            "select model, sum(n_extreme)::bigint, sum(n_first_position)::bigint, sum(n_firing_neurons)::bigint,"
            " count(*) filter (n_extreme > 0) from extreme_clusters group by model"
        ).fetchall()
    said = [one.value.replace("\\", "") for one in page(whole_path, "events").caption]
    for _, n, n_first, n_neurons, n_clusters in wanted:
        counts = f"{n:,} extreme updates of {n_neurons:,} neurons in {n_clusters:,} clusters; {n_first:,} at position 0"
        assert any(one.startswith(counts) for one in said)
