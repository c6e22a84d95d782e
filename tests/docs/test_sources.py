"""What is said of a paper is what the paper says, and what neurothek decides is marked as ours."""

import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.charts.concepts import concepts_by_layer
from neurothek.queries.views.install import view
from tests.support import warehouse as made

DEFINITIONS = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text("utf-8")


def entry(name: str) -> str:
    """One point of the definitions as one line."""
    (found,) = (one for one in re.split(r"\n(?=- |\n)", DEFINITIONS) if one.startswith(f"- {name}"))
    return " ".join(found.split())


def test_every_source_that_is_named_is_listed() -> None:
    listed, _, rest = DEFINITIONS.partition("Three principles")
    named = {mark.split()[0] for mark in re.findall(r"\[((?:G|V|D)(?: [^\]]+)?|code|ours)\]", rest)}
    assert named == {"G", "V", "D", "code", "ours"}
    assert {mark for mark in named if f"**[{mark}]**" in listed} == named


def test_definitions_tell_the_paper_from_ours(subtests: pytest.Subtests) -> None:
    for name, said in [
        ("Agglomerative", "complete linkage [code"),
        ("Agglomerative", "the authors' clusters for early exit were made of is open"),
        ("Agglomerative", "min(200, max(20, N/100)) for early exit [ours]"),
        ("**dead**", "that a prepended BOS is not one of them is ours, and `fires_only_at_bos` marks"),
        ("**norm_overlap**", "LN is the final one [ours]"),
        ("**extreme**", "That the bound serves all sizes of GPT-2 is ours"),
        ("An **example**", "It is cut after a random number of its own ids"),
        ("**top-candidate scores**", "a mean that is not negative until the last layers"),
        ("**token_share** of a class", "Figure 2"),
        ("**concepts_per_vector** [ours]", "concepts, of a class and layer, over judgements"),
    ]:
        with subtests.test(name=name, said=said):
            assert said in entry(name)


def test_headers_of_views_do_too(subtests: pytest.Subtests) -> None:
    for name, said in [
        ("top_candidate_scores", "until the last layers scores lie around a mean that is not negative"),
        ("top_candidate_scores", "section 5.2"),
        ("concepts_by_layer", "the share of top tokens by layer and class: token_share"),
        ("clusters_summary", "complete linkage as the code that they link to has it"),
        ("cluster_members", "complete linkage as the code that they link to has it"),
        ("norm_overlap", "that the final norm is meant"),
        ("extreme_clusters", "the same bound for every size of GPT-2"),
        ("saturation_by_layer", "Sentences are cut at random, as in their code"),
        ("neurons", "that the prepended BOS does not count"),
    ]:
        with subtests.test(name=name, said=said):
            assert said in view(name).purpose


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("norm_overlaps", "that the final norm is meant, random vectors and the norm without its bias are ours"),
        (
            "clusterings",
            "complete linkage as the code that they link to has it; the number of clusters unless it was asked for",
        ),
        (
            "clusterings.n_clusters_asked",
            "(ours; the paper has 10,000, and which vectors its clusters for early exit were made of is open)",
        ),
        ("activity", "that a prepended BOS is not counted is ours"),
        ("examples", "the cut at random and the random order as their code has them; the event sample is ours"),
        ("examples.saturation_by_ffn", "(ours)"),
        ("event_samples.extreme_score", "(ours)"),
        ("sub_updates.kind", "(ours)"),
    ],
)
def test_comments_of_tables_do_too(name: str, said: str, comments: Mapping[str, str]) -> None:
    assert said in comments[name]


@pytest.fixture(scope="module")
def comments(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What a new warehouse says of each table and column of the store."""
    path = tmp_path_factory.mktemp("sources") / "empty.duckdb"
    made.create_empty(path)
    tables = "select table_name as name, comment from duckdb_tables() where schema_name = 'store'"
    columns = "select table_name || '.' || column_name, comment from duckdb_columns() where schema_name = 'store'"
    with Warehouse(path).reader() as connection:
        return dict(connection.execute(f"{tables} union all {columns}").fetchall())


def test_the_readme_does_too(subtests: pytest.Subtests) -> None:
    for asked_by, source in [
        ("`dead_by_tokens`", "Voita et al. 2023; the proof is this project's"),
        ("`neighbours`", "Geva et al. 2022; neighbours: this project"),
        ("`coherence_separation`", "Geva et al. 2022; coherence: this project"),
        ("`annotator_agreement`", "Geva et al. 2022; rules and agreement: this project"),
        ("`counterparts`", "this project"),
    ]:
        with subtests.test(asked_by=asked_by, source=source):
            readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
            (row,) = (line for line in readme.splitlines() if line.startswith("| ") and asked_by in line)
            assert row.endswith(f"| {source} |")


def test_nothing_is_said_to_be_promoted_towards_the_last_layers() -> None:
    assert "towards the last" not in view("top_candidate_scores").purpose


def test_figure_2_draws_the_share_of_top_tokens() -> None:
    row = {"layer": 0, "class": "names", "token_share": 0.25, "concepts_per_vector": 0.5, "n_concepts": 5}
    drawn = concepts_by_layer(pl.DataFrame([row | {"n_judgements": 10}])).to_dict()
    assert drawn["encoding"]["y"]["field"] == "token_share"
