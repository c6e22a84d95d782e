"""What a person chooses on most pages: models and a corpus."""

from collections.abc import Mapping, Sequence
from typing import Literal

import duckdb
import streamlit as st

from neurothek.dashboards.widgets.address import address_value, asked_among, asked_models, kept_model, own_key, remember
from neurothek.dashboards.widgets.html import plain
from neurothek.queries.names.models import KnownModel, MeasuredCorpus, choose_models, measured_corpora, sizes_of

_FEWEST_CORPORA = 2
"""Of one there is nothing to choose."""

ALONE = 420
"""Pixels of a field that has a line for itself: a name needs no more."""


def corpora_of(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[str]:
    """Names of the corpora that any of the models was measured on."""
    return sorted({one.corpus for one in measured_corpora(connection, models)})


def pick_corpus(
    connection: duckdb.DuckDBPyConnection,
    models: Sequence[str],
    *,
    width: int | Literal["stretch"] = "stretch",
    is_labelled: bool = False,
    measured: Sequence[MeasuredCorpus] | None = None,
) -> str | None:
    """Let the person choose a corpus where the models have several; None: the one that each model shows.

    Args:
        connection: a reader.
        models: names of the models that the page is about.
        width: of the field, in pixels.
        is_labelled: whether the field has its name above it.
        measured: the corpora that the models were measured on, where the page asked for them before.
    """
    names = corpora_of(connection, models) if measured is None else sorted({one.corpus for one in measured})
    chosen = asked_among("corpus", names)
    if len(names) < _FEWEST_CORPORA:
        return None
    picked = st.selectbox(
        "Corpus",
        names,
        index=None if chosen is None else names.index(chosen),
        key=own_key("corpus"),
        placeholder="shown corpus",
        label_visibility="visible" if is_labelled else "collapsed",
        width=width,
    )
    remember(corpus=picked)
    return picked


def usual_model(models: Sequence[KnownModel]) -> str:
    """The model that a page is about before anybody chose one: the largest plain size that read text.

    Args:
        models: at least one, smallest first.
    """
    of_text = [model for model in models if model.is_measured_on_text] or models
    return (sizes_of(of_text) or of_text)[-1].name


def pick_model(
    connection: duckdb.DuckDBPyConnection,
    *,
    is_labelled: bool = False,
    width: int | Literal["stretch"] = "stretch",
    is_said: bool = False,
) -> KnownModel:
    """Let the person choose one model, that of the page before unless the address names another.

    Args:
        connection: a reader.
        is_labelled: whether the word stands above, as beside other fields that have one.
        width: of the field, in pixels.
        is_said: whether the page has said that the address names an unknown model, see `say_unknown_model`.
    """
    models = {model.name: model for model in choose_models(connection)}
    names = list(models)
    index = names.index(asked_among("model", names, is_silent=is_said) or _model_of_before(models))
    label: Literal["visible", "collapsed"] = "visible" if is_labelled else "collapsed"
    name = st.selectbox("Model", names, index=index, key=own_key("model"), label_visibility=label, width=width)
    remember(model=name)
    return models[name]


def say_unknown_model(connection: duckdb.DuckDBPyConnection) -> None:
    """Say, above the fields of a page, that the address names a model that there is none of, and whose page this is."""
    models = {model.name: model for model in choose_models(connection)}
    name = address_value("model")
    if name is not None and name not in models:
        st.warning(plain(f"No model “{name}”; this is {_model_of_before(models)}."))


def _model_of_before(models: Mapping[str, KnownModel]) -> str:
    """The model that the page before was about, or the usual one."""
    before = kept_model()
    return before if before is not None and before in models else usual_model(list(models.values()))


def pick_models(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Let the person choose models, the plain sizes unless the address names others."""
    everything = choose_models(connection)
    names = [model.name for model in everything]
    sizes = [model.name for model in sizes_of(everything)]
    usual = sizes if len(sizes) > 1 else names
    default = asked_models(names)
    picked = st.multiselect(
        "Models",
        names,
        default=default or usual,
        key=own_key("models"),
        placeholder="sizes",
        label_visibility="collapsed",
    )
    chosen = [name for name in names if name in picked] or usual
    remember(models=None if chosen == usual else ",".join(chosen))
    return chosen
