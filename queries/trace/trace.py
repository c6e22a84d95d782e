"""One prompt, layer by layer: what a model says before and after each FFN, and the neurons that matter most there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import polars as pl

from neurothek.catalog.problems import NotFound
from neurothek.catalog.spelling import one_line, quoted, visible
from neurothek.catalog.store.matrices import StoredMatrix
from neurothek.catalog.tables.table import BIG, DOUBLE, FLAG, FLOAT, INTEGER, SMALL, TEXT
from neurothek.catalog.tables.traces import Traced
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import framed, records
from neurothek.queries.errors.unknown_subjects import unknown_token
from neurothek.queries.names.models import KnownModel
from neurothek.queries.names.words import find_terms, texts_of
from neurothek.queries.trace.shortcut import stored_lens

_TRACED_NEURONS = """\
-- What the catalog says about some neurons of one model, given as layers and neurons side by side.
with asked as (
    select
        unnest($layers::smallint[]) as layer,
        unnest($neurons::integer[]) as neuron,
)
select
    neurons.layer,
    neurons.neuron,
    neurons.address,
    neurons.top_tokens,
    neurons.bottom_tokens,
    neurons.frequency,
    neurons.is_token_detector,
    neurons.position_kind,
    neurons.position_strength,
    neurons.n_tokens_seen,
    neurons.corpus,
from asked
inner join neurons on neurons.layer = asked.layer and neurons.neuron = asked.neuron
where neurons.model = $model
"""

LAYER_COLUMNS: Mapping[str, pl.DataType] = {
    "layer": SMALL,
    "before": pl.List(TEXT),
    "before_probabilities": pl.List(DOUBLE),
    "after": pl.List(TEXT),
    "after_probabilities": pl.List(DOUBLE),
    "final_rank_before": INTEGER,
    "final_rank_after": INTEGER,
    "candidate": TEXT,
    "candidate_rank_after": INTEGER,
    "token_rank_before": INTEGER,
    "token_rank_after": INTEGER,
    "dominant_share": DOUBLE,
    "is_saturation": FLAG,
    "is_elimination": FLAG,
}
NEURON_COLUMNS: Mapping[str, pl.DataType] = {
    "layer": SMALL,
    "rank": SMALL,
    "neuron": INTEGER,
    "address": TEXT,
    "coefficient": FLOAT,
    "contribution": FLOAT,
    "share": DOUBLE,
    "score_candidate": FLOAT,
    "score_final": FLOAT,
    "score_token": FLOAT,
    "centred_candidate": FLOAT,
    "centred_final": FLOAT,
    "centred_token": FLOAT,
    "rank_candidate": INTEGER,
    "rank_final": INTEGER,
    "rank_token": INTEGER,
    "direct_final": FLOAT,
    "direct_token": FLOAT,
    "top_tokens": pl.List(TEXT),
    "bottom_tokens": pl.List(TEXT),
    "writes": pl.List(TEXT),
    "frequency": DOUBLE,
    "kind": TEXT,
    "n_tokens_seen": BIG,
    "corpus": TEXT,
}
RAISING_COLUMNS: Mapping[str, pl.DataType] = {
    "rank": INTEGER,
    "layer": SMALL,
    "neuron": INTEGER,
    "address": TEXT,
    "coefficient": FLOAT,
    "contribution": FLOAT,
    "share": DOUBLE,
    "score": FLOAT,
    "centred": FLOAT,
    "token_rank": INTEGER,
    "probability_off": DOUBLE,
    "logit_off": DOUBLE,
    "change_off": DOUBLE,
    "direct": FLOAT,
    "top_tokens": pl.List(TEXT),
    "bottom_tokens": pl.List(TEXT),
    "writes": pl.List(TEXT),
    "frequency": DOUBLE,
    "kind": TEXT,
    "n_tokens_seen": BIG,
    "corpus": TEXT,
}
STATE_COLUMNS: Mapping[str, pl.DataType] = {
    "state": SMALL,
    "method": TEXT,
    "tokens": pl.List(TEXT),
    "probabilities": pl.List(DOUBLE),
    "final_rank": INTEGER,
    "token_rank": INTEGER,
}
_SHOWN_TOKENS = 5

Lens = Literal["id", "mat"]
"""What states are read through: nothing, or also the matrices that lead to the last one ([D])."""


@dataclass(frozen=True, repr=False)
class TracePage(TabularAnswer):
    """Trace of one model's prediction at one position of a prompt.

    Attributes:
        model: its name.
        traced: what the model predicted.
        final: text of the token it predicts.
        token: text of the token that was asked about; None if none was.
        layers: one row per layer, with the columns of `LAYER_COLUMNS`.
        neurons: the ten dominant neurons of every layer, with the columns of `NEURON_COLUMNS`: `score_` is what a
            neuron adds to a token's raw score, `centred_` that less its mean over the vocabulary, which alone moves the
            token, `direct_` what it adds to the token's logit less the mean over all, through the final norm, whose
            divisor is held: its sign may be another; `rank_` the token's rank in what the neuron writes, and `writes`
            the first tokens of that: at a coefficient below 0 those at the bottom of its list.
        raised: text of the token that `raising` is about: the one that was asked about, else the predicted one.
        raising: the neurons of all layers that raise that token most, with the columns of `RAISING_COLUMNS`:
            `probability_off` and `logit_off` are the token's with that neuron switched off, `change_off` is what that
            changes of its probability; null unless asked for. `direct` is what the neuron adds to the token's logit.
        is_signed: whether coefficients of the model can be below 0.
        is_gated: whether a neuron counts as active where its gate is open.
        states: what is predicted from each state, by id and by mat, with the columns of `STATE_COLUMNS`; no rows unless
            the lens was `mat`.
    """

    model: str
    traced: Traced
    final: str
    token: str | None
    layers: pl.DataFrame
    neurons: pl.DataFrame
    states: pl.DataFrame
    raised: str
    raising: pl.DataFrame
    is_signed: bool
    is_gated: bool = False

    @property
    def summary(self) -> str:
        """What is predicted, and where that was settled."""
        traced = self.traced
        after = quoted_end(traced.tokens[: traced.position + 1])
        place = f"{self.model} at position {traced.position} (0 to {len(traced.tokens) - 1}), after {after}:"
        says = f"it predicts {quoted(self.final)} ({100 * traced.final_probability:.1f}%)"
        by = ", brought to the top by its FFN" if traced.saturation_by_ffn else ""
        settled = f"at the top from layer {traced.saturation_layer} on{by}"
        if traced.elimination_layer is None:
            return f"{place} {says}, {settled}. No FFN pushes its top token down."
        row = self.layers.row(traced.elimination_layer, named=True)
        candidate = f"{quoted(row['candidate'])} to rank {row['candidate_rank_after']:,}"
        return f"{place} {says}, {settled}. The FFN of layer {traced.elimination_layer} pushes {candidate}."

    def sections(self) -> list[Section]:
        """The layers, the states where there are any, and the neurons."""
        remark = (
            "tokens before and after the FFN; rank: of the token predicted in the end; share: of the ten dominant"
            " neurons; elimination: of the first token before the FFN"
        )
        return [
            Section("layers", self._layers_table(), remark),
            *self._states_sections(),
            *self._raising_sections(),
            Section("dominant neurons", self._neurons_table(), self._neurons_remark()),
        ]

    def _raising_sections(self) -> list[Section]:
        if self.raising.is_empty():
            return []
        token, traced = visible(self.raised), self.traced
        has_effects = self.raising["probability_off"].null_count() < self.raising.height
        effects = ["probability_off", "change_off"] if has_effects else []
        # A narrow terminal leaves out the last ones.
        columns = ["layer", "neuron", "coefficient", "centred", *effects, "token_rank", "score", self._listed]
        remark = (
            f"centred: what the neuron adds to the score of {token}, less the mean over all tokens, which moves none;"
            f" score: that mean included; token_rank: of {token} in what the neuron writes"
        )
        remark += f"\n{self._pole_remark()}" if self.is_signed else ""
        if has_effects:
            remark += (
                f"\nprobability_off: of {token} with that neuron alone set to 0 at every position; untouched it is"
                f" {100 * traced.raised_probability:.1f}%"
            )
        table = self.raising.with_columns(pl.col(self._listed).list.head(_SHOWN_TOKENS)).select(columns)
        return [Section(f"neurons of all layers that raise {token} most", table, remark)]

    @property
    def _listed(self) -> str:
        """The column of tokens that is shown: where no coefficient is below 0, all that a neuron writes is its top."""
        return "writes" if self.is_signed else "top_tokens"

    def _pole_remark(self) -> str:
        return "writes: at a coefficient below 0 the bottom of the neuron's list, which it then promotes"

    def _layers_table(self) -> pl.DataFrame:
        rows = [
            {
                "layer": row["layer"],
                "tokens before": row["before"],
                "tokens after": row["after"],
                "rank": f"{row['final_rank_before']:,} > {row['final_rank_after']:,}",
                **self._token_columns(row),
                "share": row["dominant_share"],
                "event": self._event(row),
            }
            for row in self.layers.to_dicts()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _states_sections(self) -> list[Section]:
        if self.states.is_empty():
            return []
        remark = (
            "what the model predicts from a state: id reads it as it is, mat through the kept matrix to the last state;"
            " rank: of the token predicted in the end"
        )
        return [Section("states", self._states_table(), remark)]

    def _states_table(self) -> pl.DataFrame:
        by_id, by_mat = (self.states.filter(method=method).to_dicts() for method in ("id", "mat"))
        rows = [
            {
                "state": one["state"],
                "tokens by id": one["tokens"],
                "tokens by mat": other["tokens"],
                "rank by id": one["final_rank"],
                "rank by mat": other["final_rank"],
                **self._ranks_of_token(one, other),
            }
            for one, other in zip(by_id, by_mat, strict=True)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _ranks_of_token(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, str]:
        if self.token is None:
            return {}
        return {f"rank of {visible(self.token)}": f"id {one['token_rank']:,}, mat {other['token_rank']:,}"}

    def _token_columns(self, row: Mapping[str, Any]) -> dict[str, str]:
        if self.token is None:
            return {}
        return {f"rank of {visible(self.token)}": f"{row['token_rank_before']:,} > {row['token_rank_after']:,}"}

    def _event(self, row: Mapping[str, Any]) -> str:
        events = ["saturation"] if row["is_saturation"] else []
        if row["is_elimination"]:
            events.append(f"elimination (to rank {row['candidate_rank_after']:,})")
        return ", ".join(events)

    def _neurons_table(self) -> pl.DataFrame:
        neurons = self.neurons.with_columns(pl.col(self._listed).list.head(_SHOWN_TOKENS))
        scores = ["centred_final", "rank_final"]
        scores += [] if self.token is None else ["centred_token", "rank_token"]
        return neurons.select("layer", "neuron", "coefficient", "share", *scores, "frequency", "kind", self._listed)

    def _neurons_remark(self) -> str:
        remark = (
            f"centred_final: what the neuron adds to the score of {visible(self.final)}, less the mean over all tokens;"
            " rank_final: its rank in what the neuron writes"
        )
        remark += "" if self.token is None else f"; centred_token, rank_token: those of {visible(self.token)}"
        corpora = self.neurons.get_column("corpus").drop_nulls().unique().to_list()
        if corpora:
            counted = " (how often its gate is open)" if self.is_gated else ""
            remark += f"; frequency{counted}, kind: on {corpora[0]}"
        return f"{remark}\n{self._pole_remark()}" if self.is_signed else remark

    def data(self) -> dict[str, Any]:
        """The trace for programs: `layers`, `neurons`, `raising`, `states` if there are any; `trace` has the rest."""
        traced = self.traced
        facts = {
            "model": self.model,
            "tokens": list(traced.tokens),
            "position": traced.position,
            "final_token": self.final,
            "final_probability": traced.final_probability,
            "saturation_layer": traced.saturation_layer,
            "saturation_by_ffn": traced.saturation_by_ffn,
            "elimination_layer": traced.elimination_layer,
            "token": self.token,
            "raised_token": self.raised,
            "raised_probability": traced.raised_probability,
            "raised_logit": traced.raised_logit,
        }
        states = {} if self.states.is_empty() else {"states": self.states}
        return {"trace": facts, "layers": self.layers, **states, "neurons": self.neurons, "raising": self.raising}


def quoted_end(tokens: Sequence[str]) -> str:
    """The text that tokens make, in quotation marks; of a long one the end."""
    text = one_line("".join(tokens))
    return f"“{text}”" if len(text) <= 60 else f"“...{text[-60:]}”"


def token_of(connection: duckdb.DuckDBPyConnection, model: KnownModel, text: str) -> tuple[int, str]:
    """(id, text) of the token that reads exactly so; a · stands for a space."""
    try:
        (term,) = find_terms(connection, [text], [model.tokenizer_id], exact=True)
    except NotFound as error:
        if error.what != "token":
            raise
        raise unknown_token(
            str(error.name), list(map(str, error.known)), "write one as tables show it, with · for a space"
        ) from error
    token = term.parts[0][0]
    return token.token_id, token.text


def lens_matrices(
    connection: duckdb.DuckDBPyConnection, model: str, lens: Lens, *, corpus: str | None = None
) -> list[StoredMatrix]:
    """The matrices that a lens reads states through; see `stored_lens`."""
    return stored_lens(connection, model, corpus=corpus) if lens == "mat" else []


@with_its_sql
def trace_page(
    connection: duckdb.DuckDBPyConnection, model: KnownModel, traced: Traced, *, token: str | None = None
) -> TracePage:
    """Join what the model predicted with what the warehouse knows about its tokens and neurons."""
    ids = {traced.final_token, traced.raised_token, *traced.layers["candidate_token"], *traced.top_tokens["token_id"]}
    ids.update(*traced.states["token_ids"])
    texts = texts_of(connection, model.tokenizer_id, ids)
    return TracePage(
        model=model.name,
        traced=traced,
        final=texts[traced.final_token],
        token=token,
        layers=_layers(traced, texts),
        neurons=framed(joined_with_facts(connection, model, traced.neurons.to_dicts()), NEURON_COLUMNS),
        states=_states(traced, texts),
        raised=texts[traced.raised_token],
        raising=_raising(connection, model, traced),
        # A smooth non-linearity has coefficients a little below 0.
        is_signed=model.is_signed
        or any(bool((rows["coefficient"] < 0).any()) for rows in (traced.neurons, traced.raising)),
        is_gated=model.is_signed,
    )


def _layers(traced: Traced, texts: Mapping[int, str]) -> pl.DataFrame:
    rows = traced.layers.to_dicts()
    for row in rows:
        for name, moment in (("before", "pre"), ("after", "post")):
            tops = traced.top_tokens.filter(layer=row["layer"], moment=moment).sort("rank")
            row[name] = [texts[token] for token in tops["token_id"]]
            row[f"{name}_probabilities"] = tops["probability"].to_list()
        row["candidate"] = texts[row["candidate_token"]]
    return framed(rows, LAYER_COLUMNS)


def _states(traced: Traced, texts: Mapping[int, str]) -> pl.DataFrame:
    rows = traced.states.to_dicts()
    for row in rows:
        row["tokens"] = [texts[token] for token in row["token_ids"]]
    return framed(rows, STATE_COLUMNS)


def _raising(connection: duckdb.DuckDBPyConnection, model: KnownModel, traced: Traced) -> pl.DataFrame:
    rows = joined_with_facts(connection, model, traced.raising.to_dicts())
    for row in rows:
        off = row["probability_off"]
        row["change_off"] = None if off is None else off - traced.raised_probability
    return framed(rows, RAISING_COLUMNS)


def joined_with_facts(
    connection: duckdb.DuckDBPyConnection, model: KnownModel, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows, with what the catalog says of their neurons, and the list that each writes at its coefficient."""
    places = {"layers": [row["layer"] for row in rows], "neurons": [row["neuron"] for row in rows]}
    facts = {
        (fact["layer"], fact["neuron"]): fact
        for fact in records(connection, _TRACED_NEURONS, {"model": model.name, **places})
    }
    names = ("address", "top_tokens", "bottom_tokens", "frequency", "n_tokens_seen", "corpus")
    for row in rows:
        fact = facts[row["layer"], row["neuron"]]
        row |= {name: fact[name] for name in names}
        written = fact["bottom_tokens" if row["coefficient"] < 0 else "top_tokens"]
        row["writes"] = written if row["coefficient"] else None
        row["kind"] = _kind(fact)
    return rows


def _kind(fact: Mapping[str, Any]) -> str | None:
    """What the catalog calls the neuron; None before anything was measured that could tell."""
    if fact["is_token_detector"] is None and fact["position_kind"] is None:
        return None
    kinds = ["token detector"] if fact["is_token_detector"] else []
    if fact["position_strength"] in ("strong", "weak"):
        kinds.append(f"positional: {fact['position_kind']}, {fact['position_strength']}")
    return "; ".join(kinds)
