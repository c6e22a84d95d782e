"""One model's part of a query: which names are narrowed, written out or left alone."""

import pytest

from neurothek.queries.views import install
from neurothek.queries.views.install import narrowed

QUERIES = {
    "outer": "with tokens as (\n    select 1\n)\nfrom inner as a\njoin summed on true\njoin tokens on true",
    "inner": "select * from store.postings\njoin store.examples as shown on true\njoin store.tokens as tokens on true",
    "summed": "select 1",
    "tokens": "select 2",
}


def one_model(name: str) -> str:
    return narrowed(name, QUERIES, stored={"summed"}, owners={"postings": "set_id", "examples": "model_id"})


def test_tables_of_models_are_narrowed_and_others_are_not() -> None:
    assert one_model("inner") == (
        "select * from (from store.postings where set_id = $model_id) as postings\n"
        "join (from store.examples where model_id = $model_id) as shown on true\n"
        "join store.tokens as tokens on true"
    )


def test_views_are_written_out_unless_their_rows_are_kept_and_own_names_win() -> None:
    text = one_model("outer")
    assert f"from (\n{one_model('inner')}) as a" in text
    assert "join (from store.kept_summed where model = $model) as summed on true" in text
    assert text.endswith("join tokens on true")


def test_what_is_kept_is_of_models(subtests: pytest.Subtests) -> None:
    for name in [name for name, view in install.all_views().items() if view.stored]:
        with subtests.test(name=name):
            view = install.view(name)
            assert "model" in view.key
            assert next(iter(view.columns)) == "model"
