"""What random vectors make of a word, counted by a loop over their lists."""

import math
from pathlib import Path

import duckdb
import polars as pl
import pytest
from scipy.stats import beta

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.parts.chance import SURE, beyond, chance_cosine, is_of_one_word, random_lists
from neurothek.queries.names.models import choose_models
from neurothek.queries.search.question import Question
from tests.dashboards.conftest import Opener


@pytest.mark.parametrize("side", ["promoted", "suppressed", "both"])
def test_random_vectors_that_list_a_word_are_those_of_a_loop(whole_path: Path, side: str) -> None:
    with Warehouse(whole_path).reader() as connection:
        models = choose_models(connection)
        rows = connection.sql("from control_tokens").pl().to_dicts()
        random = [row for row in rows if row["kind"] == "random"]
        assert random
        tokens = {row["token"] for row in random[::5]}
        found = random_lists(connection, models, tokens, side=side).to_dicts()
    assert [row["model"] for row in found] == [
        model.name for model in models if any(row["model"] == model.name for row in random)
    ]
    signed = {model.name for model in models if model.is_signed}
    for row in found:
        mine = [one for one in random if one["model"] == row["model"]]
        hits = [
            one for one in mine if one["token"] in tokens and (side in ("both", one["side"]) or row["model"] in signed)
        ]
        assert row["n_vectors"] == len({(one["layer"], one["control_id"]) for one in mine})
        assert row["n_listing"] == len({(one["layer"], one["control_id"]) for one in hits})
        largest = max((abs(one["z_score"]) for one in hits if one["z_score"] is not None), default=None)
        assert row["largest_z"] == (None if largest is None else pytest.approx(largest))


def test_neurons_beyond_random_vectors_are_counted() -> None:
    neurons = pl.DataFrame({"model": ["tiny", "tiny", "tiny", "other"], "z_sum": [4.5, 4.0, 3.5, 9.0]})
    row = {"model": "tiny", "n_vectors": 1500, "n_listing": 3, "largest_z": 4.0}
    expected = "tiny: 3 of 1,500 random vectors (0.20%) list it, up to a z-score of 4.00; 1 of its 3 shown are beyond."
    assert beyond(row, neurons) == expected
    nobody = {**row, "n_listing": 0, "largest_z": None}
    assert beyond(nobody, neurons) == "tiny: none of 1,500 random vectors lists it."


@pytest.mark.parametrize(("n_others", "width"), [(46_079, 576), (4607, 192), (449, 64), (10, 3)])
def test_the_nearest_random_direction_is_that_of_the_beta_distribution(n_others: int, width: int) -> None:
    """A squared cosine with an even direction is distributed as Beta(1/2, (width - 1)/2)."""
    expected = math.sqrt(beta.ppf(SURE ** (1 / n_others), 0.5, (width - 1) / 2))
    # Pages tell two digits.
    assert chance_cosine(n_others, width) == pytest.approx(expected, abs=1e-3)


def test_only_one_word_is_compared() -> None:
    assert is_of_one_word(Question(words=("school",)), ["school", "school"])
    assert not is_of_one_word(Question(words=("school", "river")), ["school", "river"])
    assert not is_of_one_word(Question(words=("school",), suppresses=("river",)), ["school"])


def test_the_search_page_tells_of_chance(page: Opener, whole_path: Path) -> None:
    with duckdb.connect(str(whole_path), read_only=True) as connection:
        (word,) = connection.execute(
            "select word from promotions where model in (select model from control_tokens) limit 1"
        ).fetchone() or ("",)
    opened = page(whole_path, "search", words=word)
    assert not opened.exception
    assert any("random vectors" in one.value for one in opened.caption)
