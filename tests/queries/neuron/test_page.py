"""A neuron's page, and addresses."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek.catalog.problems import Invalid, NotFound
from neurothek.catalog.publishing import summaries
from neurothek.catalog.spelling import quoted
from neurothek.queries.neuron.logits import POSITION_COLUMNS
from neurothek.queries.neuron.page import (
    ANNOTATION_COLUMNS,
    CONTEXT_COLUMNS,
    DOMAIN_COLUMNS,
    TOKEN_COLUMNS,
    neuron_page,
)
from neurothek.queries.views.on_corpus import on_corpus
from tests.support.tiny import POSITION_SEQUENCES, address, neurons_of
from tests.support.warehouse import hand_made

MADE = hand_made()
TEXTS = ("builtin", "long")


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("tiny-1m", Invalid, "as in opt-125m/L3N1702"),
        ("tiny-1m/L0N", Invalid, "is not the address of a neuron"),
        ("tiny-1m/L-1N0", Invalid, "is not the address of a neuron"),
        ("tiny 1m/L0N0", Invalid, "is not the address of a neuron"),
        ("tiny/L0N0", NotFound, "nearest: tiny-"),
        ("tiny-1m/L2N0", NotFound, "layers 0 to 1 and neurons 0 to 4"),
        ("tiny-1m/L0N5", NotFound, "layers 0 to 1 and neurons 0 to 4"),
    ],
)
def test_bad_addresses(full: duckdb.DuckDBPyConnection, text: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        neuron_page(full, text)


def test_a_page_shows_what_people_see_in_the_neuron(full: duckdb.DuckDBPyConnection) -> None:
    counts = []
    for neuron in neurons_of(0):
        own = [row for row in MADE.rows["annotations"] if (row["model_id"], row["layer"], row["neuron"]) == neuron]
        latest = {
            who: max(r["created_at"] for r in own if r["annotator"] == who) for who in {r["annotator"] for r in own}
        }
        said = {(r["annotator"], r["concept"], r["class"]) for r in own if r["created_at"] == latest[r["annotator"]]}
        page = neuron_page(full, address(neuron))
        found = page.annotations.select("annotator", "concept", "class").rows()
        assert (set(found), len(found)) == (said, len(said))
        assert dict(page.annotations.schema) == dict(ANNOTATION_COLUMNS)
        shown = [section for section in page.sections() if section.title.startswith("concepts that people name")]
        assert len(shown) == bool(said)
        counts.append(len(said))
    assert max(counts) > 2


def test_page_of_a_planted_neuron(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, "tiny-1m/L0N0")
    assert dict(page.tokens.schema) == dict(TOKEN_COLUMNS)
    assert dict(page.domains.schema) == dict(DOMAIN_COLUMNS)
    assert dict(page.contexts.schema) == dict(CONTEXT_COLUMNS)
    assert page.corpus == "builtin"
    promoted = page.tokens.filter(side="promoted")
    assert promoted.get_column("token").to_list()[:4] == [" school", "School", "SCHOOL", " university"]
    assert promoted.get_column("score").to_list()[:4] == [12, 11, 10, 9]
    assert page.domains.get_column("domain").to_list() == ["code", "prose"]
    kept = [
        row
        for row in MADE.rows["contexts"]
        if (row["model_id"], row["corpus_id"], row["layer"], row["neuron"]) == (0, 0, 0, 0)
    ]
    assert page.contexts.get_column("activation").to_list() == [row["activation"] for row in kept]
    fired = sum(m > 0 for line in MADE.coefficients[0, (0, 0, 0)].values() for m in line[1:])
    assert f"Active at {fired} of the 41 tokens of the built-in text" in page.summary


def test_the_smallest_and_the_largest_activation_stand_with_what_is_promoted_there(
    full: duckdb.DuckDBPyConnection,
) -> None:
    """Where none is below 0 nothing is said; the position of a prepended BOS does not count."""
    wrong, n_below = [], 0
    # A ReLU whose tokenizer prepends a BOS, and a GELU whose does not.
    for model_id, corpus_id, first in ((0, 0, 1), (3, 2, 0)):
        for neuron in neurons_of(model_id):
            page = neuron_page(full, address(neuron), corpus="builtin")
            seen = [m for line in MADE.coefficients[corpus_id, neuron].values() for m in line[first:]]
            ends = []
            for end in (min(seen), max(seen)):
                tokens = (page.facts["bottom_tokens" if end < 0 else "top_tokens"] or []) if end else []
                ends.append(
                    f"{end:.3g}" + (f", where it promotes {' '.join(map(quoted, tokens[:3]))}," if tokens else "")
                )
            told = f"Its activations range from {ends[0]} to {ends[1].removesuffix(',')}." if min(seen) < 0 else ""
            n_below += min(seen) < 0
            stored = (page.domains["activation_min"].min(), page.domains["activation_max"].max())
            if (page.extremes, stored) != (told, (min(seen), max(seen))) or told not in page.summary:
                wrong.append((address(neuron), told, page.extremes, stored))
    assert (wrong, n_below > 0) == ([], True)


def test_page_on_another_corpus(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, "tiny-1m/L0N0", corpus="long")
    assert (page.corpus, page.domains.get_column("n_tokens_seen").sum()) == ("long", 84)
    with pytest.raises(NotFound, match="on a corpus lang; nearest: long"):
        neuron_page(full, "tiny-1m/L0N0", corpus="lang")
    with pytest.raises(NotFound, match="there are none"):
        neuron_page(full, "weights-only/L0N0", corpus="long")


def test_facts_of_the_shown_corpus_are_not_told_of_another_of_its_name(full_path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "same.duckdb"
    copy.write_bytes(full_path.read_bytes())
    with duckdb.connect(str(copy)) as connection:
        named = {page.corpus: page for page in (neuron_page(connection, "tiny-1m/L0N0", corpus=name) for name in TEXTS)}
        connection.execute("update store.corpora set name = 'builtin'")
        summaries.refresh(connection, 0)
        query = "select n_tokens from measured_corpora where model = 'tiny-1m' and not is_shown"
        ((n_tokens,),) = connection.execute(query).fetchall()
        other = neuron_page(connection, "tiny-1m/L0N0", corpus=f"builtin@{n_tokens}")
        shown = neuron_page(connection, "tiny-1m/L0N0", corpus="builtin")
    assert (shown.is_shown, other.is_shown, other.corpus) == (True, False, "builtin")
    assert shown.summary == named["builtin"].summary
    alike, lacking = named["long"].summary.split(" Not measured on long: ")
    assert other.summary.startswith(
        f"{alike.replace('of long', 'of the built-in text')} Not measured on builtin@{n_tokens}: "
    )
    assert lacking.startswith("ngrams, events of tiny-1m; measure with `neurothek ingest")
    for page, corpus_id in ((shown, 0), (other, 1)):
        assert page.facts["n_position_sequences"] == sum(POSITION_SEQUENCES[corpus_id].values())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tiny-1m/L0N3", "Dead: never active on the 41 tokens of the built-in text."),
        ("tiny-1m/L0N3", "It fires at the prepended BOS, which is not counted."),
        ("tiny-1m/L1N4", "No input can activate it: its pre-activation is at most -0.5."),
        ("weights-only/L0N0", "It has not been measured on text yet."),
        ("gelu-1m/L0N0", "tokens of the built-in text ("),
        ("tiny-1m/L0N0", "Positional: oscillatory, strong, 0.69 nats."),
        ("gelu-1m/L0N0", "19 full-length sequences are too few to tell whether it is positional."),
    ],
)
def test_summary_says_what_is_known(full: duckdb.DuckDBPyConnection, text: str, sentence: str) -> None:
    assert sentence in neuron_page(full, text).summary


def test_page_without_text(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, "weights-only/L0N3")
    assert page.domains.is_empty()
    assert page.contexts.is_empty()
    assert page.positions.is_empty()
    assert page.tokens.get_column("z_score").null_count() == page.tokens.height
    titles = [section.title for section in page.sections()]
    assert titles[:2] == ["promotes", "suppresses"]
    assert set(titles[2:]) <= {"other neurons of its cluster", "nearest value vectors", "counterparts in other models"}


def test_repr_marks_the_token_and_escapes(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, "tiny-1m/L0N0", limit=12)
    assert "·school" in repr(page)
    assert "<script>" not in page._repr_html_()
    assert "&lt;script&gt;" in page._repr_html_()


def test_data_is_everything(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, "tiny-1m/L0N0", limit=1)
    data: dict[str, Any] = page.data()
    assert data["tokens"].height == 24
    assert data["neuron"]["address"] == "tiny-1m/L0N0"
    assert page.sections()[0].frame.height == 1


def test_position_profile(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, "tiny-1m/L0N0")
    assert dict(page.positions.schema) == dict(POSITION_COLUMNS)
    assert page.positions.get_column("domain").to_list() == ["all", "code", "prose"]
    row = page.positions.row(0, named=True)
    # 48 positions: on for eight, off for eight; a character holds one and a half of them.
    assert row["frequencies"] == [float(position // 8 % 2 == 0) for position in range(48)]
    assert (row["first_position"], row["last_position"], len(row["profile"])) == (1, 48, 32)
    assert set(row["profile"]) <= {"▁", "▅", "█"}
    assert row["profile"].startswith("█████▁▁▁▁▁")
    assert row["profile"] in repr(page)
    silent = neuron_page(full, "tiny-1m/L0N3")
    assert silent.positions.get_column("profile").to_list() == ["▁" * 32]
    assert "Positional" not in silent.summary


@pytest.mark.long
@pytest.mark.parametrize("corpus", [None, "long"])
def test_the_page_says_what_the_views_say(full: duckdb.DuckDBPyConnection, corpus: str | None) -> None:
    """The page reads tables at the neuron's place; the views, which are quick for no single neuron, are the oracle."""
    places = [name for name in CONTEXT_COLUMNS if name != "writes"]
    with on_corpus(full, ["tiny-1m"], corpus) as shown:
        views = ("neuron_tokens", "activity_by_domain", "contexts_by_corpus", "neurons")
        said = {view: shown.sql(f"from {view} where model = 'tiny-1m'").pl() for view in views}
        for neuron in neurons_of(0):
            page = neuron_page(full, address(neuron), corpus=corpus)
            here = {view: frame.filter(address=address(neuron)) for view, frame in said.items()}
            for frame, view, order, columns in (
                (page.tokens, "neuron_tokens", ["side", "rank"], TOKEN_COLUMNS),
                (page.domains, "activity_by_domain", ["domain"], DOMAIN_COLUMNS),
                (page.contexts.drop("writes"), "contexts_by_corpus", ["rank"], places),
            ):
                expected = here[view] if view == "neuron_tokens" else here[view].filter(corpus=page.corpus)
                assert frame.rows() == expected.sort(order).select(list(columns)).rows()
            assert tuple(page.facts.values()) == here["neurons"].row(0)
            assert here["neurons"].height == 1
