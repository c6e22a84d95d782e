"""What pages show of interventions: what changing neurons did, always beside random neurons."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import polars as pl
import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.dashboards.charts import effects
from neurothek.dashboards.charts.spread import sample
from neurothek.dashboards.colours import ACCENT, model_colours
from neurothek.dashboards.parts.shortcuts import corpora, numbers
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.figures import data_of_models, data_of_query, show_figure, show_source, title_row
from neurothek.dashboards.widgets.html import plain, texts_html
from neurothek.dashboards.widgets.page import Theme, missing, show_command
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.names.models import choose_model, choose_models, measured_corpora

_CHANGED_MODELS = """\
-- Which of some models had neurons changed, together or one by one.
select model,
from interventions
where list_contains($models::varchar[], model)
union
select model,
from neuron_effects
where list_contains($models::varchar[], model)"""

HAS_KINDS = """\
-- Whether a model has neurons of any kind that can be turned off; those that n-grams alone make one are not looked for.
select
    exists(
        select 1
        from neurons
        where
            model = $model
            and (
                is_dead
                or (is_negligible and is_dead is null)
                or is_token_detector
                or position_strength in ('strong', 'weak')
                or times_dominant > 0
            )
    ) as has_kinds,"""

LOSS_UNTOUCHED = """\
-- The loss of a model with no neuron changed; a row for each text that its kinds were turned off on.
select distinct interventions.loss_untouched
from interventions
inner join worth_of_kinds as worth
    on
        worth.model = interventions.model
        and worth.kind = interventions.kind
        and worth.n_tokens = interventions.n_tokens
where interventions.model = $model"""

STEERED_PLACES = """\
-- What one intervention did to the loss, by domain and range of positions.
select *,
from steering
where model = $model and intervention = $intervention
order by domain, position_from"""

STEERED_SHARES = """\
-- How many continuations have each attribute, by the method that wrote them.
select *,
from attribute_shares
where model = $model and intervention = $intervention
order by scorer, attribute, method"""

STEERED_CONTINUATIONS = """\
-- What is written after each prompt by every method, side by side; of the random sets the first.
select
    prompt_number,
    prompt,
    max(case when method = 'untouched' then continuation end) as untouched,
    max(case when method = 'changed' then continuation end) as changed,
    max(case when method = 'random' and set_number = 1 then continuation end) as random,
    max(case when method = 'word_filter' then continuation end) as word_filter,
    max(case when method = 'self_debiasing' then continuation end) as self_debiasing,
from continuations
where model = $model and intervention = $intervention
group by prompt_number, prompt
order by prompt_number"""

MOST_PROMPTS = 12
MOST_NEURONS = 200
MOST_DRAWN = 2000
"""Neurons beside the random ones."""

SOURCE = "After Geva et al. 2022, section 6.1; random sets: this project."
WORTH_SOURCE = "The kinds are those of Voita et al. 2023 and Geva et al. 2022; the figure is this project's."
ALONE_SOURCE = "Source: this project; turning neurons off: Geva et al. 2022, section 6.1."

EFFECTS = (
    "Dots: increase of the loss when the neurons are changed. Grey: {n_sets} random sets of the same size, matched by "
    "layer and frequency, from the least to the largest effect, and their mean. A dot within the grey says "
    "nothing about these neurons. On {n_tokens} tokens of {corpus}."
)
WORTH = (
    "Increase of the loss when all neurons of a kind are turned off, less the mean of its random sets; bars: from the "
    "least to the largest of {n_sets} random sets. On {n_tokens} tokens of {corpus}."
)
PLACES = (
    "By domain and position in the text. Dots: increase of the loss. Grey: from the least to the largest of {n_sets} "
    "random sets. On {n_tokens} tokens of {corpus}."
)
SHARES = (
    "Share of {n} continuations that score 0.5 or more, with Wilson 95% intervals; of random sets the mean, from the "
    "least to the largest of a set."
)
WRITTEN = "{shown}Random: the first random set. After Geva et al. 2022, section 6.1; random sets: this project."
ALONE = (
    "Increase of the loss when one neuron is turned off; grey: up to 20 random neurons of the layer {fire}. On "
    "{n_tokens} tokens of {corpus}."
)
_ALONE = ("address", "effect_on_loss", "effect_percentile", "random_effect", "random_effect_most", "kl")


def changed(reader: Reading, names: Sequence[str]) -> list[str]:
    """Those of the models some of whose neurons were changed, smallest first; says how to do it where none were."""
    rows = data_of_query(reader, "changed_models", _CHANGED_MODELS, {"models": list(names)}).frame
    models = set(rows.get_column("model"))
    if not models:
        _say_how(reader, names)
    return [name for name in names if name in models]


def _say_how(reader: Reading, names: Sequence[str]) -> None:
    """Which command changes neurons, or what has to be measured before."""
    active = {one.model for one in measured_corpora(reader.shown_connection, names) if one.activation_rule is not None}
    measured = [model for model in choose_models(reader.shown_connection, names) if model.name in active]
    if not measured:
        what = "The activity of these models has not been measured yet; random sets are matched by it."
        missing(reader.shown_connection, what, names, jobs=("activity",), corpus=reader.corpus)
        return
    model = min(measured, key=lambda one: one.size).name
    (has_kinds,) = data_of_query(reader, "has_kinds", HAS_KINDS, {"model": model}).frame.get_column("has_kinds")
    which = ("--each", "kind") if has_kinds else ("--where", "layer = 0")
    on = () if reader.corpus is None else ("--corpus", reader.corpus)
    st.info(
        plain(
            f"No interventions have been run on {names[0] if len(names) == 1 else 'these models'} yet."
            " To turn neurons off and measure the effect on the loss:"
        )
    )
    show_command(command_line("intervene", model, *which, *on))


def worth(reader: Reading, names: Sequence[str]) -> None:
    """Worth of each kind of neurons, model beside model; nothing where no kind was turned off.

    Of one model the sentence says it, and the effects below are drawn beside the same random sets.
    """
    data = data_of_models(reader, "worth_of_kinds", names, "kind")
    if data.frame.is_empty():
        return
    largest = {"model": data.frame.get_column("model")[-1]}
    losses = data_of_query(reader, "loss_untouched", LOSS_UNTOUCHED, largest).frame.get_column("loss_untouched")
    st.markdown(plain(worth_sentence(data.frame, None if losses.len() != 1 else losses[0])))
    if data.frame.n_unique("model") == 1:
        return
    everything = [model.name for model in choose_models(reader.shown_connection)]
    show_figure(
        "Worth of each kind of neuron, by size",
        lambda theme: effects.worth_of_kinds(data.frame, model_colours(everything, theme=theme)),
        WORTH.format(**_caption_values(data.frame)),
        data,
        source=WORTH_SOURCE,
        own_legend=True,
    )


def worth_sentence(rows: pl.DataFrame, loss: float | None = None) -> str:
    """What turning off kinds of neurons costs the largest model, beside its random sets, and which cost no more.

    Args:
        rows: of the view `worth_of_kinds`, smallest model first.
        loss: that of the largest model with no neuron changed, in nats per token; None where it is unknown.
    """
    model = rows.get_column("model")[-1]
    of_model = rows.filter(model=model).sort("worth", descending=True).to_dicts()
    dear = [_beside_random(row) for row in of_model if row["effect"] > row["random_effect_most"]]
    cheap = [row["kind"] for row in of_model if row["effect"] <= row["random_effect_most"]]
    of_sets = f"more than any of {numbers(rows.filter(model=model), 'n_sets')} random sets of the same size"
    costs = f"{of_sets}, in nats per token: {', '.join(dear)}"
    clauses = [f"In {model}, turning off these kinds of neurons costs {costs}"] if dear else []
    if cheap:
        none = "cost no more than random sets do" if dear else f"In {model}, none costs more than random sets do"
        clauses.append(f"{' and '.join(cheap)} {none}" if dear else f"{none}: {', '.join(cheap)}")
    untouched = "" if loss is None else f" Untouched, its loss is {loss:.3f}."
    return f"{'; '.join(clauses)}.{untouched}"


def _beside_random(row: Mapping[str, Any]) -> str:
    """One kind: how many neurons, what turning them off adds to the loss, and what the random sets add."""
    neurons = "1 neuron" if row["n_neurons"] == 1 else f"{row['n_neurons']:,} neurons"
    low, high = row["random_effect_least"], row["random_effect_most"]
    return f"{row['kind']} ({neurons}: {row['effect']:+.3f}, random sets {low:.3f} to {high:.3f})"


def effects_of_model(reader: Reading, model: str) -> list[str]:
    """The effect of each intervention on a model, the largest first; their names in this order."""
    data = data_of_models(reader, "interventions", [model], "effect desc", "intervention")
    if data.frame.is_empty():
        return []
    show_figure(
        f"Effects on {model}",
        partial(_effects, data.frame),
        EFFECTS.format(**_caption_values(data.frame)),
        data,
        source=SOURCE,
        own_legend=True,
    )
    names: list[str] = data.frame.get_column("intervention").to_list()
    return names


def places(reader: Reading, model: str, intervention: str) -> None:
    """Where in the text one intervention matters."""
    data = data_of_query(reader, "steered_places", STEERED_PLACES, {"model": model, "intervention": intervention})
    if data.frame.is_empty():
        return
    n_tokens = f"{data.frame.get_column('n_tokens').sum():,}"
    show_figure(
        "Effect by position and domain",
        lambda theme: effects.by_position(data.frame, ACCENT[theme]),
        PLACES.format(**_caption_values(data.frame) | {"n_tokens": n_tokens}),
        data,
        source=SOURCE,
        own_legend=True,
    )


def shares_of_continuations(reader: Reading, model: str, intervention: str) -> None:
    """How many continuations have each attribute; says how to have them written where none were."""
    data = data_of_query(reader, "steered_shares", STEERED_SHARES, {"model": model, "intervention": intervention})
    if data.frame.is_empty():
        st.caption("No prompts have been continued with these neurons changed; use `intervene --prompts FILE`.")
        return
    untouched = data.frame.filter(method="untouched")
    show_figure(
        "Continuations by method",
        lambda theme: effects.attribute_shares(data.frame, ACCENT[theme]),
        SHARES.format(n=numbers(untouched, "n_continuations")),
        data,
        source=SOURCE,
        own_legend=True,
    )


def written(reader: Reading, model: str, intervention: str) -> None:
    """What is written after the first prompts, the methods side by side."""
    parameters = {"model": model, "intervention": intervention}
    data = data_of_query(reader, "steered_continuations", STEERED_CONTINUATIONS, parameters)
    if data.frame.is_empty():
        return
    with title_row(data.name):
        st.markdown("**Continuations**")
        show_source(data)
    rows = data.frame.head(MOST_PROMPTS).drop("prompt_number")
    st.html(texts_html(rows))
    n = data.frame.height
    extent = f"The first {MOST_PROMPTS} of {n:,} prompts; " if n > MOST_PROMPTS else ""
    st.caption(plain(WRITTEN.format(shown=extent)))


def single_neurons(reader: Reading, model: str) -> None:
    """What single neurons are worth, by layer, and those that the model needs most."""
    data = data_of_models(reader, "neuron_effects", [model], "effect_on_loss desc", "layer", "neuron")
    rows = data.frame
    if rows.is_empty():
        return
    st.header("Neurons turned off one by one", anchor=False)
    others = sample(rows.filter(~pl.col("is_control")), MOST_DRAWN)
    is_gated = choose_model(reader.shown_connection, model).is_signed
    fire = "whose gate opens" if is_gated else "that fire"
    show_figure(
        f"Single neurons of {model}",
        partial(_single, pl.concat([rows.filter("is_control"), others])),
        ALONE.format(fire=fire, n_tokens=numbers(rows, "n_tokens"), corpus=corpora(rows)),
        data,
        source=ALONE_SOURCE,
        own_legend=True,
    )
    tables.link_to_neurons(rows.head(MOST_NEURONS), _ALONE, key="alone", height=420)
    if rows.height > MOST_NEURONS:
        st.caption(f"The {MOST_NEURONS} with the largest effects of {rows.height:,}.")


def _caption_values(rows: pl.DataFrame) -> dict[str, str]:
    """What captions say of the rows."""
    return {"n_sets": numbers(rows, "n_sets"), "n_tokens": numbers(rows, "n_tokens"), "corpus": corpora(rows)}


def _effects(rows: pl.DataFrame, theme: Theme) -> alt.LayerChart:
    return effects.effects(rows, ACCENT[theme])


def _single(rows: pl.DataFrame, theme: Theme) -> alt.LayerChart:
    return effects.neurons_alone(rows, ACCENT[theme])
