"""What a paper lacks of which models, with the words of `ingest` that measure it on the same text."""

import duckdb
import pytest

from neurothek.catalog.problems import NotFound
from neurothek.queries.names.models import choose_models
from neurothek.queries.papers.exhibit import Paper
from neurothek.queries.papers.prerequisites import (
    N_PROMPTS,
    PROMPT_TOKENS,
    known_as,
    missing_jobs,
    of_new,
    text_options,
    unsteered,
    without_rules,
)
from neurothek.queries.papers.registry import PAPERS
from neurothek.queries.papers.voita import VOITA


@pytest.mark.parametrize("paper", PAPERS.values())
def test_jobs_lack_that_were_not_run_on_the_shown_text(full: duckdb.DuckDBPyConnection, paper: Paper) -> None:
    names = [model.name for model in choose_models(full)]
    found = {one.model: one for one in missing_jobs(full, paper, names)}
    shown = dict(full.execute("select model, corpus from neurons where corpus is not null group by all").fetchall())
    for name in names:
        runs = full.execute("select job, corpus from runs where model = ?", [name]).fetchall()
        done = {job for job, corpus in runs if corpus is None or corpus == shown.get(name)}
        expected = tuple(job for job in paper.jobs if job not in done)
        assert (found[name].jobs if name in found else ()) == expected
        if expected:
            options = found[name].options
            assert options["jobs"] == expected
            assert options["named"] == ()
            assert options.get("corpus") == shown.get(name)


def test_of_another_corpus(full: duckdb.DuckDBPyConnection) -> None:
    (one,) = missing_jobs(full, VOITA, ["tiny-1m"], corpus="builtin")
    assert one.options["corpus"] == "builtin"
    with pytest.raises(NotFound):
        missing_jobs(full, VOITA, ["tiny-1m"], corpus="nowhere")


def test_builtin_is_asked_for_with_its_limit() -> None:
    recipe = '{"tokens_per_domain": 40000}'
    builtin = {"name": "builtin", "sequence_length": 256, "recipe": recipe}
    assert text_options(builtin) == {"corpus": "builtin", "sequence_length": 256, "tokens": 40000}
    # Another name stands for the ids that were read.
    assert text_options(builtin | {"name": "news"}) == {"corpus": "news", "sequence_length": 256}


def test_models_are_unjudged_while_rules_have_not_judged_every_random_vector(full: duckdb.DuckDBPyConnection) -> None:
    names = [model.name for model in choose_models(full)]
    query = "select model, layer, control_id from annotations where annotator = 'rules' and condition = 'random'"
    judged = set(full.execute(query).fetchall())
    query = "select distinct model, layer, control_id from control_tokens where kind = 'random'"
    having = set(full.execute(query).fetchall())
    assert having
    assert without_rules(full, names) == sorted({model for model, *_ in having - judged})


def test_texts_without_code_and_prose_are_not_steered(full: duckdb.DuckDBPyConnection) -> None:
    names = [model.name for model in choose_models(full)]
    domains: dict[str, set[str]] = {}
    shown = full.execute(
        "select model, domain from measured_corpora inner join store.sequences using (corpus_id) where is_shown"
    )
    for model, domain in shown.fetchall():
        domains.setdefault(model, set()).add(domain)
    wrote = {row[0] for row in full.execute("select distinct model from continuations").fetchall()}
    plain = {model.name for model in choose_models(full) if model.variant is None}
    expected = {model for model in plain - wrote if {"code", "prose"} <= domains.get(model, set())}
    found = unsteered(full, names)
    assert {one.model for one in found} == expected
    for one in found:
        assert 0 < len(one.prompts) <= N_PROMPTS
        assert all(prompt.strip() for prompt in one.prompts)
        tokens = full.execute(
            "select list(text) from (select unnest(tokens[:?]) as token_id from store.sequences where domain = 'code')"
            " inner join store.tokens using (token_id)",
            [PROMPT_TOKENS],
        ).fetchall()[0][0]
        assert all(any(prompt.startswith(token) for token in tokens) for prompt in one.prompts)


def test_models_are_known_by_the_name_that_ingest_gives_them(full: duckdb.DuckDBPyConnection) -> None:
    asked = ["tiny-1m", "org/tiny-2m", "tiny-1m=/some/folder", "/models/tiny-1m/", "new", "x=tiny-1m"]
    assert known_as(full, asked) == {
        "tiny-1m": "tiny-1m",
        "org/tiny-2m": "tiny-2m",
        "tiny-1m=/some/folder": "tiny-1m",
        "/models/tiny-1m/": "tiny-1m",
        "new": None,
        "x=tiny-1m": None,
    }


def test_a_new_model_reads_the_text_of_those_beside_it(full: duckdb.DuckDBPyConnection) -> None:
    (shown,) = full.execute("select corpus from measured_corpora where model = 'tiny-2m' and is_shown").fetchall()[0]
    assert of_new(full, VOITA, "new", ["tiny-2m"], None).options["corpus"] == shown
    assert of_new(full, VOITA, "new", ["tiny-2m"], "builtin").options["corpus"] == "builtin"
    assert of_new(full, VOITA, "new", [], "own").options["corpus"] == "own"
    assert "corpus" not in of_new(full, VOITA, "new", [], None).options
