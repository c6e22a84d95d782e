"""The page of events: which neurons push a word to the top, in which texts, and how ten neurons score a token."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import duckdb
import streamlit as st

from neurothek.dashboards.colours import model_colours
from neurothek.dashboards.parts import events
from neurothek.dashboards.parts.muted import muted_of
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import address_value, kept_model, own_key, remember
from neurothek.dashboards.widgets.figures import data_of, data_of_models, data_of_query, show_source
from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.page import answer, beside, heading, missing, say_first, show_preview, theme
from neurothek.dashboards.widgets.pickers import pick_corpus, pick_models
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.names.models import choose_models

_SETTLED_WORDS = """\
-- Words of letters that an FFN brought to the top for good most often, those of most models first.
select
    tokens.word,
    count(distinct examples.model_id) as n_models,
    count(*) as n_examples,
from store.examples as examples
inner join measured_corpora
    on measured_corpora.model_id = examples.model_id and measured_corpora.corpus_id = examples.corpus_id
inner join store.models as models on models.model_id = examples.model_id
inner join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = examples.final_token
where
    measured_corpora.is_shown
    and examples.saturation_by_ffn
    and list_contains($models::varchar[], models.name)
    and regexp_full_match(tokens.word, '[a-z]{2,}')
group by tokens.word
order by n_models desc, n_examples desc, tokens.word
limit $limit"""

PUSHED = (
    *("address", "token", "n_pushes", "n_saturations", "push_share", "base_share", "push_gain", "mean_centred"),
    *("mean_score", "mean_coefficient", "mean_share"),
)

_N_EXAMPLES = 8


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Events")
    everything = [model.name for model in choose_models(connection)]
    names = pick_models(connection)
    with Reading(connection, names, pick_corpus(connection, names, width=300)) as reader:
        _show(reader, everything, names)


def _show(reader: Reading, everything: Sequence[str], names: Sequence[str]) -> None:
    settled = data_of_models(reader, "saturation_by_layer", names, "layer").frame
    if settled.is_empty():
        what = "Events have not been measured for these models yet."
        missing(reader.shown_connection, what, names, jobs=("events",), corpus=reader.corpus)
        show_preview("events")
        return
    measured = settled.get_column("model").unique(maintain_order=True).to_list()
    about = _about(measured)
    _pushers(reader, measured, dict(model_colours(everything, theme=theme())))
    subject = about or measured[-1]
    # What one model has fills half of a line.
    left, right = _beside() if len(measured) == 1 else (nullcontext(), nullcontext())
    with left:
        events.show_scores(reader, measured, subject)
    with right:
        events.show_layers(reader, measured, subject)
    with left:
        events.show_extremes(reader, measured)


def _beside() -> tuple[AbstractContextManager[object], AbstractContextManager[object]]:
    with beside("figures"):
        left, right = st.columns(2, gap="large")
        return left, right


def _about(measured: Sequence[str]) -> str | None:
    """The one of these models that the address names, or that the page before was about."""
    model = address_value("model") or kept_model()
    about = model if model in measured else None
    remember(model=about)
    return about


def _pushers(reader: Reading, models: Sequence[str], colours: dict[str, str]) -> None:
    """Neurons that push a word to the top: the word that is asked for, else the one that is pushed most often."""
    words = data_of_query(
        reader, "settled_words", _SETTLED_WORDS, {"models": list(models), "limit": _N_EXAMPLES}
    ).frame.get_column("word")
    st.header("Neurons that push a word to the top", anchor=False)
    typed = st.text_input(
        "Word",
        address_value("word") or "",
        key=own_key("word"),
        placeholder=words[0] if len(words) else "the",
        width=300,
        label_visibility="collapsed",
    )
    word_asked = typed.strip().casefold()
    remember(word=word_asked or None)
    parameters = {name: value for name in ("model", "models", "corpus") if (value := address_value(name))}
    links = "".join(f"<span>{link_html(word, 'events', word=word, **parameters)}</span>" for word in words)
    if links:
        st.html(f'{SHEET}<div class="nt-flow"><span>Often pushed:</span>{links}</div>')
    word = word_asked or (words[0] if len(words) else "")
    if not word:
        st.caption("No FFN of these models brought a word to the top for good in these examples.")
        return
    data = data_of(reader, "pushers", {"models": list(models), "word": word})
    if data.frame.is_empty():
        st.caption(plain(f'No FFN brought "{word}" to the top for good in these examples.'))
        return
    say_first(
        events.pushers_sentence(data.frame, models, word),
        "Bar: how often it pushed the word. Tick and brackets: how often it is dominant at all, its base rate.",
        rule="Bars: the share of the examples in which an FFN brought the token to the top for good where the neuron "
        "pushed it: was dominant in that FFN and added more to it than to the mean token. Base rate: the share of all "
        "examples in which the neuron is dominant in its layer. Ordered by the first less the second; tokens with "
        "fewer than 10 such examples and neurons that pushed it less than 3 times last. Beside them the tokens that it "
        "promotes where it pushes the word: at an activation below 0 those that it suppresses at one above 0. "
        "Source: this project, on the saturation events of Geva et al. 2022, section 5. Pushing requires more "
        "than the base rate does, that the FFN of the neuron's own layer settled the token: a share below it does not "
        "mean that the neuron avoids the word.",
    )
    rows = events.shown_pushers(reader, choose_models(reader.shown_connection, models), data.frame)
    counts = events.saturations(data.frame)
    examples = {model: counts.get(model, 0) for model in models}
    asked_for = {"word": word, "corpus": reader.corpus or ""}
    st.html(events.pushers_html(rows, examples, colours, asked_for, muted_of(models)))
    texts = data_of(reader, "event_texts", {"models": list(models), "word": word})
    if not texts.frame.is_empty():
        st.markdown("**Example texts**")
        st.html(events.traced_texts_html(texts.frame))
    with st.expander("All neurons that pushed it"):
        tables.link_to_neurons(data.frame, PUSHED, key="pushers", height=420)
        show_source(data)


answer(show)
