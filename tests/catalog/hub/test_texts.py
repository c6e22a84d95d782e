"""Texts stay at home: a marker in every place that holds text is nowhere in what is published without texts."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import polars as pl
import pytest

import neurothek
from neurothek import Neurothek
from neurothek.catalog.hub.layout import BLANKED, WITHHELD
from neurothek.catalog.tables.registry import ALL
from neurothek.catalog.tables.table import IDS, TEXT, TEXTS

pytestmark = pytest.mark.long

MARKER = "zqxmarker"
IDS_IN_A_ROW = (7, 3, 7, 5)
"""The same as token ids."""

PLANTED = {
    "shortcut_sentences": ("text",),
    "contrast_prompts": ("prompt",),
    "plausibility_judgements": ("text",),
    "explanations": ("text",),
    "foreign_explanations": ("text", "explainer"),
    "continuations": ("prompt", "continuation"),
}

HARMLESS = frozenset(
    {
        # Names and kinds, of ours or of people's choosing.
        *("name", "family", "variant", "architecture", "activation", "activation_rule", "norm_position", "domain"),
        *("position_encoding", "kind", "job", "dtype", "method", "moment", "side", "band", "pole", "reader", "corpus"),
        *("intervention", "contrast", "condition", "concept", "class", "annotator", "explainer", "judge", "subject"),
        *(
            "linkage",
            "reads",
            "writes",
            "nonlinearity",
            "rule",
            "sub_module",
            "scorer",
            "attribute",
            "part",
            "gate_case",
        ),
        # Fingerprints, and settings of runs.
        *("sha256", "text_sha256", "weights_sha256", "run_key", "revision", "settings", "versions", "parameters"),
        *("tokenizer_identity", "prompt_sha256", "corpus_sha256", "annotation_id", "judgement_id", "explanation_id"),
        # Of other people's catalogs: what they are called, and what is said of how they were made.
        *("catalog", "their_model", "version", "active_when", "promoted_token_ids", "suppressed_token_ids"),
        *("recipe", "source", "asked", "prompts_a", "prompts_b", "address"),
        # Tokens of the vocabulary, one by one, or a list that weights or single activations order.
        *("piece", "text", "word", "top_tokens", "bottom_tokens", "detected_tokens", "trigger_tokens", "read_tokens"),
        *("top_token_ids", "bottom_token_ids", "shown_token_ids", "selective_domain", "token_ids"),
        # Numbers, and how something was asked for.
        *("counts", "positions", "how", "watched"),
    }
)
"""Columns of text and ids that hold no piece of a corpus: whoever adds another decides here, or withholds it."""


def test_every_column_of_texts_is_withheld_or_harmless() -> None:
    undecided = [
        f"{table.name}.{name}"
        for table in ALL
        for name, column in table.columns.items()
        if column.dtype in (TEXT, TEXTS, IDS)
        and WITHHELD.get(table.name) is None
        and name not in BLANKED.get(table.name, {})
        and not column.values
        and (name not in HARMLESS or (name == "text" and table.name != "tokens"))
    ]
    assert undecided == []


@pytest.fixture(scope="module")
def marked(local: Neurothek, tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    path = tmp_path_factory.mktemp("marked") / "marked.duckdb"
    shutil.copyfile(local.path, path)
    with duckdb.connect(str(path)) as connection:
        for table, columns in PLANTED.items():
            plant(connection, table, columns)
        plant(connection, "foreign_neurons", ())
        connection.execute("update store.foreign_neurons set promoted = ?, suppressed = ?", [[MARKER]] * 2)
        for table in ("sequences", "examples", "shortcut_sentences"):
            connection.execute(f"update store.{table} set tokens = ?", [list(IDS_IN_A_ROW) * 3])
        connection.execute("update store.triggers set token_ids = ? where n > 1", [list(IDS_IN_A_ROW)])
        connection.execute("update store.models set source = ?", [f"/home/{MARKER}/models/tiny"])
        recipe = f'{{"sources": {{"a": "/home/{MARKER}/a.txt", "b": "news=/data/{MARKER}/b.jsonl:body"}}}}'
        connection.execute("update store.corpora set recipe = ?", [recipe])
        connection.execute("update store.runs set parameters = ?", [f'{{"file": "/home/{MARKER}/prompts.txt"}}'])
    return neurothek.open(path)


def plant(connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str]) -> None:
    """The marker in columns of every row, of which there is one at least."""
    described = connection.execute(f"describe store.{table}").fetchall()
    if not connection.execute(f"from store.{table}").fetchall():
        values = ", ".join(
            f"cast({_ANY.get(kind, 'null' if 'ENUM' in kind else 0)} as {kind})" for _, kind, *_ in described
        )
        connection.execute(f"insert into store.{table} values ({values})")
    for column in columns:
        connection.execute(f"update store.{table} set {column} = ?", [f"a {MARKER} in it"])


_ANY = {
    "VARCHAR": "'x'",
    "TIMESTAMP": "'2026-01-01'",
    "BOOLEAN": "true",
    "INTEGER[]": "[1]",
    "FLOAT[]": "[1]",
    "VARCHAR[]": "[]",
}


def everything(folder: Path) -> Iterator[tuple[str, object]]:
    """Every value of every file, uncompressed, and the bytes of all files."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            for column in pl.read_parquet(path).iter_columns():
                for value in column.to_list():
                    yield f"{path.parent.name}.{column.name}", value


def leaks(folder: Path) -> set[str]:
    return {name for name, value in everything(folder) if holds(value)}


def holds(value: object) -> bool:
    if isinstance(value, str):
        return MARKER in value
    if isinstance(value, list):
        return any(map(holds, value)) or tuple(value[: len(IDS_IN_A_ROW)]) == IDS_IN_A_ROW
    return False


def test_nothing_of_a_text_is_in_what_is_published_without_texts(marked: Neurothek, tmp_path: Path) -> None:
    marked.publish(to=tmp_path / "bare")
    assert leaks(tmp_path / "bare") == set()
    there = neurothek.open(tmp_path / "bare")
    assert there.models()["source"].unique().to_list() == ["tiny"]
    assert there.sql("select * from contexts_text").is_empty()


def test_the_marker_is_found_with_texts(marked: Neurothek, tmp_path: Path) -> None:
    """The control: whoever looks would see it; of paths, no more than the end is published here, either."""
    marked.publish(to=tmp_path / "whole", with_texts=True)
    found = leaks(tmp_path / "whole")
    planted = {f"{table}.{column}" for table, columns in PLANTED.items() for column in columns}
    assert {
        "sequences.tokens",
        "examples.tokens",
        "shortcut_sentences.tokens",
        "foreign_neurons.promoted",
        *planted,
    } <= found
    assert not {"models.source", "corpora.recipe", "runs.parameters"} & found


def test_a_page_says_that_contexts_stayed_at_home(local: Neurothek, bare: Path) -> None:
    """Nothing in their place would be another answer; how large its activations are is no text, and is there."""
    there = neurothek.open(bare)
    told = []
    for address in local.sql("select address from neurons where frequency > 0 order by address")["address"]:
        ours, theirs = local.neuron(address), there.neuron(address)
        assert theirs.activation_histogram.equals(ours.activation_histogram)
        assert "published without texts" not in ours.summary
        has_contexts = not (ours.contexts.is_empty() and ours.windows.is_empty() and ours.poles.contexts.is_empty())
        if has_contexts and not ours.activation_histogram.is_empty():
            assert "published without texts" in theirs.summary
            told.append(address)
    assert told
