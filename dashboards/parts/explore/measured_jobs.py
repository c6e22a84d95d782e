"""What was measured of a model, in a line; of what was not, the command and how long it took for others."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb
import polars as pl
import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.parts.token_cards import STYLE
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import show_command
from neurothek.queries.names.models import choose_model, models_alike
from neurothek.queries.names.unmeasured import ingest_commands
from neurothek.queries.views.contents import runs

JOBS: Mapping[str, str] = {
    "projections": "which tokens each neuron promotes and suppresses",
    "activity": "how often each neuron fires, and which are dead",
    "contexts": "the texts at which each neuron is most active",
    "poles": "what neurons of gated models do at activations above and below 0",
    "ngrams": "token detectors, and the tokens that trigger each neuron",
    "positions": "positional neurons",
    "selectivity": "neurons of one domain of the text",
    "entropy": "neurons that move no logit, or follow token frequency",
    "massive": "massive activations and super weights",
    "keys": "which tokens each neuron reads",
    "clusters": "neurons whose value vectors point the same way",
    "controls": "random vectors to compare with",
    "counterparts": "the nearest neurons in other models",
    "universality": "the neurons of other models that are active where each neuron is",
    "output_scores": "whether the model says what neurons promote once they are turned up",
    "events": "which neurons decide predictions, and where these settle",
    "shortcuts": "accuracy of a linear map in place of the later layers",
    "exits": "the earliest layer at which a prediction can be read",
    "interventions": "the effect of turning neurons off",
    "neuron_effects": "the effect of turning off each neuron alone",
}
"""Jobs in the order in which a person reads about them, each with what it tells."""

_OF_SMOOTH: Mapping[str, str] = {**JOBS, "activity": "how active each neuron is, by domain"}
"""The same where no activation is exactly 0, so that no neuron is dead."""

_INTERVENING = ("interventions", "neuron_effects")
"""Measured by a command of their own, which the page on interventions tells."""

_OF_LISTS, _LISTS = "counterparts", "projections"
_OF_PAIRS = (_OF_LISTS, "universality")
_OF_SIGNS = "poles"
"""Only for models whose activations can be below 0."""

_MINUTES = 100
"""From so many seconds on, a time is told in minutes."""


@dataclass(frozen=True)
class Measured:
    """A job and what is known of it."""

    name: str  # of the job
    finished: datetime | None  # when it was last measured for the model; None: never
    seconds: float | None = None  # how long its run took for another model of the warehouse, if one has it
    of: str | None = None  # that model


def measured(runs_frame: pl.DataFrame, model: str) -> list[Measured]:
    """What is known of every job for a model, in the order of `JOBS`.

    Args:
        runs_frame: rows of the view `runs`.
        model: name of the model.
    """
    result = []
    for job in JOBS:
        rows = runs_frame.filter(pl.col("job") == job)
        of_model = rows.filter(pl.col("model") == model)
        if not of_model.is_empty():
            latest = of_model.sort("finished_at").get_column("finished_at").to_list()[-1]
            result.append(Measured(job, latest))
            continue
        others = rows.with_columns(took=pl.col("finished_at") - pl.col("started_at")).sort("took", "model")
        if others.is_empty():
            result.append(Measured(job, None))
            continue
        longest = others.row(-1, named=True)
        result.append(Measured(job, None, longest["took"].total_seconds(), longest["model"]))
    return result


def show_measured(connection: duckdb.DuckDBPyConnection, model: str, corpus: str | None) -> None:
    """The line, and behind a button what is missing, with the command for it and how long it took for others."""
    ran = cached_answer(connection, runs)
    of_model = choose_model(connection, model)
    has_signs = of_model.is_signed or not of_model.has_exact_zeros
    jobs = [job for job in measured(ran, model) if has_signs or job.name != _OF_SIGNS]
    missing = [job for job in jobs if job.finished is None]
    meanings = JOBS if of_model.has_exact_zeros else _OF_SMOOTH
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(line_html(jobs, meanings), width="content")
        if missing:
            with st.popover(f"{len(missing)} not measured", type="tertiary"):
                _say_missing(connection, missing, model, corpus, meanings)
                _say_pair(ran, missing, model, models_alike(connection, model))


def line_html(jobs: Sequence[Measured], meanings: Mapping[str, str] = JOBS) -> str:
    """The names of the jobs that were measured, and of those that were not; hovering over one tells what it is."""
    parts = (
        ("Measured", [job for job in jobs if job.finished]),
        ("Not measured", [job for job in jobs if not job.finished]),
    )
    sentences = [f"{what}: {', '.join(_name(job, meanings) for job in ones)}." for what, ones in parts if ones]
    return f'{STYLE}<div class="nt-jobs">{" ".join(sentences)}</div>'


def _name(job: Measured, meanings: Mapping[str, str]) -> str:
    state = f"; measured {job.finished:%Y-%m-%d}" if job.finished else ""
    return f'<span title="{html.escape(meanings[job.name] + state)}">{html.escape(job.name.replace("_", " "))}</span>'


def took(job: Measured) -> str:
    """How long the job takes, as far as the warehouse tells; empty where it was never run."""
    if job.seconds is None:
        return ""
    seconds = job.seconds
    length = f"{seconds:.0f} s" if seconds < _MINUTES else f"{seconds / 60:.0f} min"
    return f" (took {length} for {job.of})"


def _say_missing(
    connection: duckdb.DuckDBPyConnection,
    missing: Sequence[Measured],
    model: str,
    corpus: str | None,
    meanings: Mapping[str, str],
) -> None:
    st.markdown(
        "\n".join(
            f"- **{plain(job.name.replace('_', ' '))}**: {plain(meanings[job.name] + took(job))}" for job in missing
        )
    )
    ingested = [job.name for job in missing if job.name not in (*_INTERVENING, *_OF_PAIRS)]
    if ingested:
        show_command(*ingest_commands(connection, [model], ingested, corpus))
    if any(job.name in _INTERVENING for job in missing):
        st.page_link(script_of("interventions"), label="Turn neurons off", query_params={"models": model})


def _say_pair(ran: pl.DataFrame, missing: Sequence[Measured], model: str, others: Sequence[str]) -> None:
    other = to_pair_with(ran, model, others)
    if other is None:
        return
    # Activations are compared on a text that both read.
    texts = [set(ran.filter(model=one).get_column("corpus").drop_nulls()) for one in (model, other)]
    jobs = [job.name for job in missing if job.name in _OF_PAIRS and (job.name == _OF_LISTS or texts[0] & texts[1])]
    if jobs:
        show_command(*(command_line("ingest", model, other, "--job", job) for job in jobs))


def to_pair_with(ran: pl.DataFrame, model: str, others: Sequence[str]) -> str | None:
    """The largest of the other models whose lists can be compared with the model's; None where there are no lists.

    Args:
        ran: rows of the view `runs`.
        model: name of the model.
        others: names of the models with its tokenizer, smallest first.
    """
    listed = set(ran.filter(pl.col("job") == _LISTS).get_column("model"))
    comparable = [other for other in others if other in listed]
    return comparable[-1] if comparable and model in listed else None
