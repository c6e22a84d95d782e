"""The first page: one field for a word, a prompt or an address, examples to begin with, and what was asked last."""

import shlex

import duckdb
import streamlit as st

from neurothek.catalog.variants import weights_told
from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.colours import ACCENT
from neurothek.dashboards.live.answers import grid_of
from neurothek.dashboards.live.instrument import say_legend, show_instrument
from neurothek.dashboards.live.try_neuron import EXAMPLES
from neurothek.dashboards.parts.explore.striking import show_striking, striking
from neurothek.dashboards.parts.found_rows import search_rows_html, with_most_of_ffn
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets.address import address_value, last_asked
from neurothek.dashboards.widgets.box import draw_box
from neurothek.dashboards.widgets.figures import data_of_query
from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.page import answer, heading, show_errors, theme
from neurothek.dashboards.widgets.pickers import usual_model
from neurothek.dashboards.widgets.reading import Reading
from neurothek.dashboards.widgets.shelf import fill_from_address, show_shelf
from neurothek.queries.ask.statements import records
from neurothek.queries.names.models import KnownModel, choose_models
from neurothek.queries.search.question import Question

WORDS = """\
-- Words that the neurons of one model promote first, those of the largest measured effect on the loss first; where no
-- effect was measured, first those that promote one word in two spellings, by the largest share that they had of
-- their FFN's output, then those that most often bring a token to the top. Tokens that the text seldom has are often
-- pieces of words, which no model spells in two ways.
with written as (
    select
        case when pole = 'negative' then bottom_tokens else top_tokens end as tokens,
        coalesce(lower(trim(tokens[1])) = lower(trim(tokens[2])), false) as is_word,
        effect_on_loss,
        case when is_word then contribution_max end as share_of_word,
        times_saturating,
        times_dominant,
        kurtosis,
        layer,
        neuron,
        top_token_log_frequency >= 3 or corpus is null or is_word as is_readable,
    from neurons
    where model = $model
),
strongest as (
    select *,
    from written
    where is_readable
    order by
        effect_on_loss desc nulls last,
        is_word desc,
        share_of_word desc nulls last,
        times_saturating desc nulls last,
        times_dominant desc nulls last,
        kurtosis desc nulls last,
        layer,
        neuron
    limit 500
),
placed as (
    select
        unnest(tokens[1:3]) as token,
        row_number() over (
            order by
                effect_on_loss desc nulls last,
                is_word desc,
                share_of_word desc nulls last,
                times_saturating desc nulls last,
                times_dominant desc nulls last,
                kurtosis desc nulls last,
                layer,
                neuron
        ) as place,
    from strongest
)
select lower(trim(token)) as word,
from placed
where regexp_full_match(token, ' [A-Za-z]{5,}')
group by word
order by min(place), word
limit 6"""

N_EXAMPLES = """\
-- How many examples of a model were analysed for dominant neurons; no row: none were.
select n_examples,
from saturation_by_layer
where model = $model
limit 1"""

KEYS = "Keys: / goes to the field, j and k to the next and the previous row, neuron or layer, Enter opens the row."

FIRST_NEURONS = 5
"""Neurons of the last search that are shown."""


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """What can be asked, and what stands out in the largest model."""
    models = {model.name: model for model in choose_models(connection)}
    model = models[usual_model(list(models.values()))]
    st.caption(plain(described(list(models.values()))))
    _examples(connection, model)
    show_shelf(connection)
    if not (last_asked("prompt") or last_asked("words")):
        with Reading(connection, [model.name], None) as reader:
            counted = data_of_query(reader, "n_examples", N_EXAMPLES, {"model": model.name}).frame.get_column(
                "n_examples"
            )
            examples = None if counted.is_empty() else int(counted[0])
            show_striking(striking(reader, model), examples=examples, where=model.name)


def described(models: list[KnownModel]) -> str:
    """What the warehouse has, in a sentence.

    Args:
        models: its models, at least one.
    """
    n_neurons = sum(model.n_layers * model.d_ffn for model in models)
    first = models[0]
    weights = weights_told(first.name, first.variant, first.source)
    several = f"{len(models)} models" if len(models) > 1 else f"{first.name}{f' ({weights})' if weights else ''}"
    return f"{several}: {n_neurons:,} neurons. A word finds neurons; a prompt is run through a model, layer by layer."


def _examples(connection: duckdb.DuckDBPyConnection, model: KnownModel) -> None:
    words = [row["word"] for row in records(connection, WORDS, {"model": model.name})]
    links = [link_html(word, "search", words=shlex.quote(word)) for word in words]
    prompts = [link_html(prompt, "trace", model=model.name, prompt=prompt) for prompt in EXAMPLES]
    lines = "".join(
        f"<span>{label}</span><div>{''.join(examples)}</div>"
        for label, examples in (("Words", links), ("Prompts", prompts))
        if examples
    )
    st.html(f'{SHEET}<div class="nt-examples">{lines}</div>')


def _last_prompt() -> None:
    """The grid of the prompt that was traced last; a click on a cell leads to it."""
    parameters = last_asked("prompt")
    if parameters is None:
        return
    if address_value("layer") is not None and address_value("position") is not None:
        cell = {name: str(address_value(name)) for name in ("layer", "position")}
        st.switch_page(script_of("trace"), query_params={**parameters, **cell})
    st.header("Last prompt", anchor=False)
    with show_errors():
        grid = grid_of(parameters["model"], parameters["prompt"], lens="id", corpus=None)
        link = link_html(f"{parameters['model']}: {parameters['prompt']}", "trace", **parameters)
        st.html(f"{SHEET}{link}")
        show_instrument(grid, (-1, -1))
        say_legend(grid)


def _last_words() -> None:
    """The first neurons of the last search."""
    parameters = last_asked("words")
    if parameters is None:
        return
    st.header("Last search", anchor=False)
    with show_errors():
        question = Question(words=tuple(shlex.split(parameters["words"])), limit=FIRST_NEURONS)
        result = backend().answer(question)
        st.html(f"{SHEET}{link_html(result.title, 'search', **parameters)}")
        if not result.neurons.is_empty():
            with backend().warehouse.reader() as connection:
                neurons = with_most_of_ffn(connection, result.neurons, None)
            st.html(search_rows_html(neurons, {"word": parameters["words"]}, colour=ACCENT[theme()]))


if address_value("models") is not None:
    # Where sizes stood before this page.
    st.switch_page(script_of("compare"), query_params=st.query_params.to_dict())
heading("Ask")
draw_box(is_wide=True)
fill_from_address()
answer(show)
_last_prompt()
_last_words()
st.caption(KEYS)
