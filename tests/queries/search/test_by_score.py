"""Search by exact score: where a token is listed the stored row says the same, and elsewhere there is an answer too."""

import json
import re
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek.catalog.problems import Invalid, NotFound, Unavailable
from neurothek.queries.search.by_score import Scoring, _notes, scorings
from neurothek.queries.search.question import Question
from tests.support.ingests import measure, open_warehouse, request
from tests.support.known import known_model


@pytest.fixture(scope="module")
def door(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> neurothek.Neurothek:
    path = tmp_path_factory.mktemp("scored") / "scored.duckdb"
    measure(open_warehouse(path), tiny_models["opt"], request((), jobs=("projections",)))
    return neurothek.open(path)


@pytest.fixture(scope="module")
def token(door: neurothek.Neurothek) -> str:
    """A token that some neurons list on either side and others do not."""
    query = "select token from promotions group by token having count(distinct side) = 2 order by count(*), token"
    return str(door.sql(query).item(0, 0))


@pytest.mark.parametrize("side", ["promoted", "suppressed"])
def test_listed_rows_are_the_stored_ones(door: neurothek.Neurothek, token: str, side: str) -> None:
    question = Question(words=(token,), exact=True, side=side, limit=10_000)  # type: ignore[arg-type]
    result = door.score(question)
    n_neurons = int(door.sql("select count(*) from neurons").item())
    assert result.n_found == result.neurons.height == n_neurons
    stored = door.sql(
        "select address, rank, score, z_score from promotions where token = $t and side = $s", {"t": token, "s": side}
    )
    assert 0 < stored.height < n_neurons
    found = {row["address"]: row for row in result.neurons.to_dicts()}
    place = "rank" if side == "promoted" else "rank_from_bottom"
    for row in stored.to_dicts():
        exact = found[row["address"]]
        assert exact[place] == row["rank"]
        assert exact["score"] == pytest.approx(row["score"], rel=1e-4)
        assert exact["z_score"] == pytest.approx(row["z_score"], rel=1e-4, abs=1e-4)
    sign = 1 if side == "promoted" else -1
    order = [sign * z for z in result.neurons["z_score"]]
    assert order == sorted(order, reverse=True)


def test_conditions_hold(door: neurothek.Neurothek, token: str) -> None:
    result = door.score(Question(words=(token,), exact=True, layers=(1, 1), where="neuron < 3", limit=2))
    assert result.neurons["layer"].to_list() == [1, 1]
    assert result.n_found == 3
    assert max(result.neurons["neuron"]) < 3
    assert result.title.startswith("the 2 of 3 neurons that promote")
    assert "rank" in repr(result)


def test_models_with_the_same_tokens_are_named_together() -> None:
    def one(name: str, *tokens: str) -> Scoring:
        return Scoring(known_model(name=name), dict(enumerate(tokens)), (0, 0))

    said = _notes([one("a", " x"), one("b", " x"), one("c", " x", "x")])
    assert said == ("scored ' x' in a, b", "scored ' x', 'x' in c")


def run(door: neurothek.Neurothek, *arguments: str) -> Result:
    return CliRunner().invoke(neurothek.main, ["search", *arguments, "--warehouse", str(door.path)])


def test_the_command(door: neurothek.Neurothek, token: str) -> None:
    result = run(door, token, "--exact", "--score", "--limit", "3", "--format", "json")
    assert result.exit_code == 0
    assert [row["place"] for row in json.loads(result.stdout)] == [1, 2, 3]
    assert "all cannot be used with exact scores" in run(door, token, "--score", "--all").stderr
    assert "cannot be combined" in run(door, "--score", "--like", "x/L0N0").stderr
    assert "words cannot be used with neurons like one" in run(door, "x", "--like", "x/L0N0").stderr
    assert "--weights requires --score" in run(door, token, "--weights", "x").stderr


def test_bad_questions(door: neurothek.Neurothek, token: str, full: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        scorings(full, Question(words=()))
    for words in (("school", "tea"), ("schoolbus",), ("sun",)):
        with pytest.raises((Invalid, NotFound)):
            scorings(full, Question(words=words))
    with pytest.raises(Invalid, match=re.escape('give one word, or alternatives as "he,him,his"')):
        scorings(full, Question(words=("school", "tea")))
    with pytest.raises(Unavailable, match="needs the weights of"):
        door.score(Question(words=(token,), exact=True), weights=tmp_path)
