"""Search against a loop over all scores, for planted neurons, random questions and bad ones."""

import re
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.catalog.problems import Invalid, NotFound, NotMeasured
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.search.by_word import COLUMNS, SearchResult, search
from neurothek.queries.search.question import SIDES, Question
from tests.support.tiny import MODELS, TEXTS, Neuron, address, neurons_of
from tests.support.warehouse import hand_made

MADE = hand_made()
WORDS = ("school", "coffee", "tea", "the", "un", "dog", "[bold]", "café", "UNIVERSITY", "</s>")


@dataclass(frozen=True)
class Hit:
    """What the oracle finds for one neuron and word."""

    strength: float
    rank: int
    side: str
    token: int
    score: float


def counts_of(model_id: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    for row in MADE.rows["token_counts"]:
        if row["corpus_id"] == MADE.shown.get(model_id):
            counts[row["token_id"]] = counts.get(row["token_id"], 0) + row["n_occurrences"]
    return counts


def lists_of(neuron: Neuron) -> dict[str, list[int]]:
    scores = MADE.scores[neuron]
    k = min(50, len(scores) // 2)
    tokens = range(len(scores))
    return {
        "promoted": sorted(tokens, key=lambda token: (-scores[token], token))[:k],
        "suppressed": sorted(tokens, key=lambda token: (scores[token], token))[:k],
    }


def best_hit(neuron: Neuron, tokens: set[int], sides: tuple[str, ...]) -> Hit | None:
    scores = MADE.scores[neuron]
    mean, sd = statistics.fmean(scores), statistics.pstdev(scores)
    hits = []
    for side in sides:
        for rank, token in enumerate(lists_of(neuron)[side], start=1):
            if token in tokens:
                z = (scores[token] - mean) / sd if sd else 0.0
                hits.append(Hit(z if side == "promoted" else -z, rank, side, token, scores[token]))
    # Strengths that differ only by rounding are ties: the stored ones are float32.
    return min(hits, key=lambda hit: (-round(hit.strength, 5), hit.rank, hit.side, hit.token), default=None)


def oracle(question: Question) -> dict[str, list[Hit | None]]:
    """Address -> best hit of each word, for every neuron that answers the question."""
    sides = ("promoted", "suppressed") if question.side == "both" else (question.side,)
    found: dict[str, list[Hit | None]] = {}
    for model_id, plan in enumerate(MODELS):
        texts, counts = TEXTS[plan.tokenizer_id], counts_of(model_id)
        if plan.name not in question.models if question.models else plan.variant and not question.variants:
            continue
        for neuron in neurons_of(model_id):
            first, last = question.layers or (0, 99)
            meant = [
                {n for n, text in enumerate(texts) if text.strip().casefold() == word.casefold()}
                for word in question.words
            ]
            frequent = [{n for n in tokens if counts.get(n, 0) >= question.min_count} for tokens in meant]
            hits = [best_hit(neuron, tokens, sides) for tokens in frequent]
            unwanted = {n for n, text in enumerate(texts) if text.strip().casefold() in question.without}
            values = MADE.coefficients.get((MADE.shown.get(model_id, -1), neuron), {})
            first_counted = 0 if plan.tokenizer_id else 1
            fires = any(m > 0 for line in values.values() for m in line[first_counted:])
            answers = (
                first <= neuron[1] <= last
                and any(hits)
                and not (question.match_all and not all(hits))
                and best_hit(neuron, unwanted, sides) is None
                and not (question.alive and not fires)
            )
            if answers:
                found[address(neuron)] = hits
    return found


def strength(hits: list[Hit | None]) -> float:
    return sum(hit.strength for hit in hits if hit is not None)


def check(result: SearchResult, question: Question) -> None:
    expected = oracle(question)
    rows = result.neurons.to_dicts()
    assert dict(result.neurons.schema) == dict(COLUMNS)
    assert result.n_found == len(expected)
    assert len(rows) == min(question.limit, len(expected))
    for row in rows:
        hits = expected[row["address"]]
        texts = TEXTS[MODELS[[plan.name for plan in MODELS].index(row["model"])].tokenizer_id]
        present = [hit for hit in hits if hit is not None]
        assert row["n_words"] == len(present)
        assert row["z_sum"] == pytest.approx(strength(hits), abs=1e-5)
        assert row["matched"] == [texts[hit.token] for hit in present]
        assert row["matched_ranks"] == [hit.rank for hit in present]
        assert row["matched_scores"] == [hit.score for hit in present]
        assert row["matched_sides"] == [hit.side for hit in present]
        assert not set(row["neighbours"]) & set(row["matched"])
    # Best first; those left out are no better than the last; ties by address, layer and neuron as numbers.
    order = [(-row["z_sum"], row["model"], row["layer"], row["neuron"]) for row in rows]
    assert order == sorted(order)
    left_out = set(expected) - {row["address"] for row in rows}
    assert all(strength(expected[one]) <= rows[-1]["z_sum"] + 1e-5 for one in left_out)


@pytest.mark.parametrize(
    "question",
    [
        Question(words=("school",)),
        Question(words=("School",), limit=500),
        Question(words=("School",), limit=500, variants=True),
        Question(words=("tea", "school"), limit=500, variants=True),
        Question(words=("school",), limit=500, models=("tiny-2m-nopos",)),
        Question(words=("school",), side="suppressed"),
        Question(words=("school", "coffee", "tea"), limit=500),
        Question(words=("school", "coffee"), match_all=True, side="both", limit=500),
        Question(words=("tea",), without=("school",), limit=500),
        Question(words=("the",), min_count=4, alive=True, layers=(1, 2), models=("tiny-2m", "gelu-1m")),
    ],
    ids=str,
)
def test_search_equals_the_loop(full: duckdb.DuckDBPyConnection, question: Question) -> None:
    check(search(full, question), question)


def test_variants_are_left_out_unless_they_are_named_or_asked_for(full: duckdb.DuckDBPyConnection) -> None:
    plain = search(full, Question(words=("school",), limit=500))
    assert plain.left_out == ("tiny-2m-nopos",)
    assert repr(plain).splitlines()[-1] == "left out the variant tiny-2m-nopos; use variants=True to include them"
    assert "use variants=True to include them" in plain._repr_html_()
    for asked in (Question(words=("school",), variants=True), Question(words=("school",), models=("tiny-2m-nopos",))):
        found = search(full, asked)
        assert found.left_out == ()
        assert "left out" not in repr(found)
        assert "tiny-2m-nopos" in set(found.neurons["model"])
    with pytest.raises(Invalid, match="give True or False"):
        Question(words=("school",), variants="yes")  # type: ignore[arg-type]


questions = st.builds(
    Question,
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique_by=str.casefold).map(tuple),
    side=st.sampled_from(SIDES),
    models=st.sampled_from([(), ("tiny-1m",), ("tiny-2m", "tiny-2m-nopos"), ("weights-only", "tiny-1m")]),
    variants=st.booleans(),
    layers=st.sampled_from([None, (0, 0), (0, 1)]),
    match_all=st.booleans(),
    without=st.sampled_from([(), ("cat",), ("bus", "school")]),
    min_count=st.integers(0, 4),
    alive=st.booleans(),
    limit=st.integers(1, 60),
)


@settings(max_examples=40)
@given(question=questions)
def test_random_questions_equal_the_loop(full_path: Path, question: Question) -> None:
    if not question.models:
        # The other tokenizer splits some of the words, which the loop does not.
        question = Question(**{**vars(question), "models": ("tiny-1m", "tiny-2m")})
    with Warehouse(full_path).reader() as connection:
        check(search(connection, question), question)


def test_planted_neurons_come_first(full: duckdb.DuckDBPyConnection) -> None:
    found = search(full, Question(words=("school",), models=("tiny-1m",)))
    assert found.neurons.item(0, "address") == "tiny-1m/L0N0"
    assert found.neurons.item(0, "matched").to_list() == [" school"]
    found = search(full, Question(words=("school",), models=("tiny-1m",), side="suppressed"))
    first = found.neurons.row(0, named=True)
    assert first["matched_scores"][0] < 0 < first["z_sum"]
    found = search(full, Question(words=("coffee", "tea"), match_all=True, models=("tiny-1m",)))
    assert found.neurons.item(0, "address") == "tiny-1m/L0N1"


def test_a_word_is_all_its_spellings_and_exact_is_one(full: duckdb.DuckDBPyConnection) -> None:
    spellings = search(full, Question(words=("sChOoL",), models=("tiny-1m",), limit=500)).neurons
    assert set(spellings.get_column("matched").explode()) == {" school", "School", "SCHOOL"}
    result = search(full, Question(words=(" school",), exact=True, models=("tiny-1m",), limit=500))
    assert result.title.endswith(" that promote ·school")
    exact = result.neurons
    assert set(exact.get_column("matched").explode()) == {" school"}
    # As a table shows it, so may a person type it.
    assert search(full, Question(words=("·school",), exact=True, models=("tiny-1m",), limit=500)).neurons.equals(exact)


def test_a_word_of_several_tokens_is_split_and_all_are_needed(full: duckdb.DuckDBPyConnection) -> None:
    result = search(full, Question(words=("sun",), models=("tiny-1m", "tiny-2m"), limit=500))
    assert result.notes[0] == "“sun” is not a token: split into “·s” “un”, which must all be listed"
    s, un = TEXTS[0].index(" s"), TEXTS[0].index("un")
    expected = {
        address(neuron)
        for model_id in (0, 1)
        for neuron in neurons_of(model_id)
        if {s, un} <= set(lists_of(neuron)["promoted"])
    }
    assert set(result.neurons.get_column("address")) == expected
    assert result.neurons.item(0, "address") == "tiny-2m/L0N2"
    # A split word beside another word still needs all of its parts, and counts as one word.
    both = search(full, Question(words=("sun", "coffee"), models=("tiny-1m", "tiny-2m"), match_all=True, limit=500))
    assert set(both.neurons.get_column("address")) <= expected
    assert set(both.neurons.get_column("n_words")) == {2}
    assert both.neurons.get_column("matched").list.len().unique().to_list() == [3]


def test_where_sees_the_columns_of_neurons(full: duckdb.DuckDBPyConnection) -> None:
    question = Question(words=("coffee",), where="layer = 1 and frequency > 0.2 -- busy", limit=500)
    found = search(full, question).neurons
    everything = search(full, Question(words=("coffee",), limit=500)).neurons
    kept = {row["address"] for row in everything.to_dicts() if row["layer"] == 1 and (row["frequency"] or 0) > 0.2}
    assert set(found.get_column("address")) == kept != set()
    assert search(full, Question(words=("coffee",), where="list_contains(top_tokens, ' tea')")).n_found > 0


def test_models_without_text_are_named_when_text_is_needed(full: duckdb.DuckDBPyConnection) -> None:
    result = search(full, Question(words=("school",), alive=True))
    assert "not measured on text, so left out: weights-only" in result.notes
    assert "weights-only" not in set(result.neurons.get_column("model"))


def test_search_without_any_text(weights_path: Path, tmp_path: Path) -> None:
    """A warehouse of projections only answers too: the flat rows hold nothing of activity."""
    path = tmp_path / "weights.duckdb"
    path.write_bytes(weights_path.read_bytes())
    with duckdb.connect(str(path)) as connection:
        from neurothek.catalog.publishing.summaries import rebuild_facts  # noqa: PLC0415  (only this test publishes)

        for model_id in range(len(MODELS)):
            rebuild_facts(connection, model_id)
    with Warehouse(path).reader() as connection:
        found = search(connection, Question(words=("school",), models=("tiny-1m",)))
    assert found.neurons.item(0, "address") == "tiny-1m/L0N0"
    assert found.neurons.item(0, "frequency") is None


@pytest.mark.parametrize(
    ("asked", "error", "sentence"),
    [
        ({"words": ()}, Invalid, "a search needs at least one word"),
        ({"words": ("  ",)}, Invalid, "only white space; search for such a token with --exact"),
        ({"words": ("univresity",)}, NotFound, "the nearest words are university"),
        ({"words": ("漢字",)}, NotFound, "no word is similar"),
        (
            {"words": ("the dog cat tea bus",), "models": ("tiny-1m",)},
            NotFound,
            "splits into ·the ·dog ·cat ·tea ·bus, which no selected neuron lists together",
        ),
        (
            {"words": (" School",), "exact": True},
            NotFound,
            "similar tokens: ' school', 'School', 'SCHOOL'",
        ),
        ({"words": ("qq",), "exact": True}, NotFound, "leave out --exact"),
        ({"words": ("tea",), "without": ("schoolbus",)}, NotFound, "'schoolbus' is not a token"),
        ({"words": ("tea",), "models": ("tiny1m",)}, NotFound, "nearest: tiny-1m"),
        ({"words": ("tea",), "layers": (7, 9)}, NotFound, "no layer 7: .* layers 0 to 2"),
        (
            {"words": ("tea",), "where": "frequenzy < 1"},
            NotFound,
            "frequenzy in neurons; nearest: frequency",
        ),
        ({"words": ("tea",), "where": "address > 5"}, Invalid, "cannot be evaluated"),
    ],
)
def test_bad_questions(
    full: duckdb.DuckDBPyConnection, asked: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence) as caught:
        search(full, Question(**asked))
    assert "\n" not in str(caught.value)


def test_empty_warehouse_says_what_to_do(empty: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotMeasured, match="neurothek ingest MODEL"):
        search(empty, Question(words=("school",)))


def test_repr_shows_the_table_and_escapes_tokens(full: duckdb.DuckDBPyConnection) -> None:
    result = search(full, Question(words=("<script>",), models=("tiny-1m",)))
    assert "·<script>" in repr(result)
    assert "<script>" not in result._repr_html_()
    assert "&lt;script&gt;" in result._repr_html_()
    none = search(full, Question(words=("school",), models=("tiny-1m",), where="layer > 100"))
    assert "(none)" in repr(none)
    assert none.table().is_empty()


def test_a_tokens_rows_are_found_without_reading_the_others(tmp_path: Path) -> None:
    """Postings lie sorted by token, and a search reads only the row groups that may hold its tokens."""
    path = tmp_path / "many.duckdb"
    n_tokens, per_token = 20_000, 60
    with duckdb.connect(str(path)) as connection:
        from tests.support import warehouse as made  # noqa: PLC0415  (beside the fixture's)

        made.create_schema(connection)
        for name in ("models", "tokenizers"):
            made.insert(connection, name, MADE.rows[name][:1])
        connection.execute(
            "insert into store.tokens select 0, i, ' w' || i, ' w' || i, 'w' || i, false"
            f" from range({n_tokens}) as numbers(i)"
        )
        connection.execute(
            "insert into store.postings select 0, i // $n, 'promoted', 0, i % $n, 1, 1.5, 2.5, 0"
            f" from range({n_tokens * per_token}) as numbers(i)",
            {"n": per_token},
        )
        connection.execute(
            "insert into store.neuron_facts (set_id, layer, neuron, address, depth, top_tokens, bottom_tokens)"
            f" select 0, 0, i, 'tiny-1m/L0N' || i, 0.5, ['a'], ['b'] from range({per_token}) as numbers(i)"
        )
        from neurothek.queries.views import install  # noqa: PLC0415

        install.install(connection)
        connection.execute("checkpoint")
    with Warehouse(path).reader() as connection:
        assert search(connection, Question(words=("w777",), limit=1)).n_found == per_token
        plan = "".join(
            row[1]
            for row in connection.execute("explain analyze select * from promotions where word = 'w777'").fetchall()
        )
    scanned = [(int(one), int(all_)) for one, all_ in re.findall(r"Row Groups Scanned: (\d+) / (\d+)", plan)]
    postings = max(scanned, key=lambda pair: pair[1])
    assert postings[1] >= 8
    assert postings[0] <= 2


def test_a_group_is_any_of_its_words(full: duckdb.DuckDBPyConnection) -> None:
    models = ("tiny-1m", "tiny-2m")
    result = search(full, Question(words=("school, bus", "coffee"), models=models, limit=500))
    single = search(full, Question(words=("school", "bus", "coffee"), models=models, limit=500))
    assert set(result.neurons["address"]) == set(single.neurons["address"])
    sums = {row["address"]: row for row in single.neurons.to_dicts()}
    for row in result.neurons.to_dicts():
        strengths = dict(zip(sums[row["address"]]["matched"], sums[row["address"]]["matched_z_scores"], strict=True))
        best = max((z for token, z in strengths.items() if token != " coffee"), default=None)
        assert row["z_sum"] == pytest.approx((best or 0) + strengths.get(" coffee", 0))
        assert row["n_words"] == (best is not None) + (" coffee" in strengths)
    with pytest.raises(NotFound, match="univresity"):
        search(full, Question(words=("school,univresity",)))


def test_promoted_here_and_suppressed_there(full: duckdb.DuckDBPyConnection) -> None:
    models = ("tiny-1m", "tiny-2m", "tiny-2m-nopos")
    result = search(full, Question(words=("coffee",), suppresses=("school",), models=models, limit=500))
    expected = {}
    for model_id in (0, 1, 2):
        for neuron in neurons_of(model_id):
            meant = [
                {n for n, text in enumerate(TEXTS[0]) if text.strip().casefold() == word}
                for word in ("coffee", "school")
            ]
            promoted = best_hit(neuron, meant[0], ("promoted",))
            suppressed = best_hit(neuron, meant[1], ("suppressed",))
            if promoted and suppressed:
                expected[address(neuron)] = promoted.strength + suppressed.strength
    found = dict(zip(result.neurons["address"], result.neurons["z_sum"], strict=True))
    assert found == pytest.approx(expected, abs=1e-5)
    assert expected
    assert all(sides == ["promoted", "suppressed"] for sides in result.neurons["matched_sides"].to_list())
    assert "that promote coffee and suppress school" in result.title
    both = Question(words=("coffee",), suppresses=("school", "tea"), models=("tiny-1m",))
    assert " and suppresses school and tea" in search(full, both).title.replace("suppress ", "suppresses ")


@pytest.mark.parametrize(
    ("words", "match_all", "title"),
    [
        (("school",), False, "promote school"),
        (("school", "coffee"), False, "promote school or coffee"),
        (("school", "coffee"), True, "promote school and coffee"),
        (("school", "coffee", "tea"), False, "promote school, coffee or tea"),
        (("school, bus", "coffee"), True, "promote school, bus and coffee"),
    ],
)
def test_any_is_said_with_or_and_all_with_and(
    full: duckdb.DuckDBPyConnection, words: tuple[str, ...], match_all: bool, title: str
) -> None:
    found = search(full, Question(words=words, match_all=match_all)).title.replace("promotes", "promote")
    assert found.endswith(title)
    with pytest.raises(Invalid, match="side='suppressed'"):
        Question(words=("a",), suppresses=("b",), side="suppressed")


@pytest.mark.parametrize("match_all", [False, True])
def test_any_promoted_word_will_do_beside_those_that_are_suppressed(
    full: duckdb.DuckDBPyConnection, match_all: bool
) -> None:
    words, suppresses = ("coffee", "bus", "school"), ("tea", "dog")
    asked = Question(words=words, suppresses=suppresses, models=("tiny-1m",), match_all=match_all, limit=500)
    result = search(full, asked)
    expected = {}
    for neuron in neurons_of(0):

        def strength(word: str, side: str, neuron: Neuron = neuron) -> float | None:
            tokens = {n for n, text in enumerate(TEXTS[0]) if text.strip().casefold() == word}
            hit = best_hit(neuron, tokens, (side,))
            return None if hit is None else hit.strength

        promoted = [strength(word, "promoted") for word in words]
        suppressed = [strength(word, "suppressed") for word in suppresses]
        enough = all if match_all else any
        if enough(one is not None for one in promoted) and None not in suppressed:
            expected[address(neuron)] = sum(one for one in [*promoted, *suppressed] if one is not None)
    found = dict(zip(result.neurons["address"], result.neurons["z_sum"], strict=True))
    assert found == pytest.approx(expected, abs=1e-5)
    assert expected or match_all


def test_a_token_spelled_in_two_ways_is_asked_for_once(full: duckdb.DuckDBPyConnection) -> None:
    """White space as it is, and marked as in tables; the title marks it once."""
    once, twice = (
        search(full, Question(words=words, exact=True, match_all=True, limit=500))
        for words in ((" coffee",), (" coffee", "·coffee"))
    )
    assert once.neurons.equals(twice.neurons)
    assert once.n_found == twice.n_found == once.neurons.height > 0
    assert search(full, Question(words=("·coffee",), exact=True)).title.endswith("promote ·coffee")


def test_a_piece_that_a_word_has_twice_counts_once(full: duckdb.DuckDBPyConnection) -> None:
    models = ("tiny-1m", "tiny-2m")
    once, twice = (search(full, Question(words=(word,), models=models, limit=500)) for word in ("sun", "sunun"))
    assert twice.notes[0] == "“sunun” is not a token: split into “·s” “un” “un”, which must all be listed"
    assert once.neurons.equals(twice.neurons)
    assert once.n_found


def test_depth_is_a_range_of_layers_in_each_model(full: duckdb.DuckDBPyConnection) -> None:
    found = search(full, Question(words=("school",), depth=(0.5, 1.0), limit=500)).neurons
    everything = search(full, Question(words=("school",), limit=500)).neurons
    kept = everything.filter(everything["depth"] >= 0.5)
    assert found["address"].to_list() == kept["address"].to_list()
    assert 0 < found.height < everything.height
    with pytest.raises(NotFound):
        search(full, Question(words=("school",), depth=(0.9, 0.91)))


@pytest.fixture(scope="module")
def with_neighbours(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse with nearest tokens of coffee in one model: tea, then bus; the tokens of coffee are near too."""
    path = tmp_path_factory.mktemp("neighbours") / "near.duckdb"
    path.write_bytes(full_path.read_bytes())
    near = [(" tea", 0.9), (" coffee", 0.8), ("</s>", 0.7), (" bus", 0.6), (" cat", 0.5)]
    texts = TEXTS[0]
    with duckdb.connect(str(path)) as connection:
        for rank, (text, cosine) in enumerate(near, start=1):
            row = [0, texts.index(" coffee"), rank, texts.index(text), cosine, 0]
            connection.execute(
                "insert into store.token_neighbours (model_id, token_id, rank, neighbour_id, cosine, run_id)"
                " values (?, ?, ?, ?, ?, ?)",
                row,
            )
    return path


def test_a_concept_is_widened_with_stored_neighbours(with_neighbours: Path) -> None:
    with Warehouse(with_neighbours).reader() as connection:

        def widened(neighbours: int, **conditions: Any) -> SearchResult:
            asked = {"models": ("tiny-1m", "tiny-2m"), "limit": 500, **conditions}
            return search(connection, Question(words=("coffee",), concept=True, neighbours=neighbours, **asked))

        result = widened(2)
        assert result.notes[1:3] == (
            "widened in tiny-1m with tea (0.90), bus (0.60)",
            "widened in tiny-2m with nothing",
        )
        plain = search(connection, Question(words=("coffee", "tea", "bus"), models=("tiny-1m",), limit=500)).neurons
        own = result.neurons.filter(result.neurons["model"] == "tiny-1m")
        assert dict(zip(own["address"], own["z_sum"], strict=True)) == pytest.approx(
            dict(zip(plain["address"], plain["z_sum"], strict=True))
        )
        other = search(connection, Question(words=("coffee",), models=("tiny-2m",), limit=500)).neurons
        assert set(result.neurons.filter(result.neurons["model"] == "tiny-2m")["address"]) == set(other["address"])
        # Only what was asked for is needed by --all; what is unwanted is not added.
        needed = widened(2, match_all=True).neurons
        assert set(needed["address"]) == set(
            search(connection, Question(words=("coffee",), models=("tiny-1m", "tiny-2m"), limit=500)).neurons["address"]
        )
        assert widened(2, without=("bus",)).notes[1].startswith("widened in tiny-1m with tea (0.90), cat (0.50)")
        # A word left out is not replaced by the next, and is still told of.
        fewer = widened(2, left_out=("Tea",))
        assert fewer.notes[1].startswith("widened in tiny-1m with bus (0.60)")
        assert (fewer.near, result.near) == (("tea", "bus"), ("tea", "bus"))
        assert "that promote the concept coffee" in result.title
        assert widened(0).notes[1:2] == ("no near words were added, as asked for",)
