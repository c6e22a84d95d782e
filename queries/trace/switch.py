"""One neuron's switch: what becomes of a prompt's next token when it is set to a value, beside random neurons."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import quoted, visible
from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.catalog.tables.table import DOUBLE, FLAG, FLOAT, INTEGER, SMALL, TEXT
from neurothek.catalog.tables.traces import Switched, SwitchedTogether
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import framed, records
from neurothek.queries.errors.unfit_options import neuron_of_another
from neurothek.queries.names.models import KnownModel, NeuronAddress, choose_model, find_neuron
from neurothek.queries.names.words import texts_of
from neurothek.queries.trace.trace import quoted_end

_NEURONS_THAT_FIRE = """\
-- The neurons of one layer that fire on the shown corpus of their model; none where activity was not measured.
select neuron,
from store.neuron_facts
where set_id = $model_id and layer = $layer and n_active > 0
order by neuron
"""

SWITCHED_COLUMNS: Mapping[str, pl.DataType] = {
    "address": TEXT,
    "is_random": FLAG,
    "coefficient": FLOAT,
    "kl": DOUBLE,
    "token": TEXT,
    "probability": DOUBLE,
}
CHANGE_COLUMNS: Mapping[str, pl.DataType] = {
    "address": TEXT,
    "is_random": FLAG,
    "rank": SMALL,
    "token": TEXT,
    "probability_before": DOUBLE,
    "probability_after": DOUBLE,
    "change": DOUBLE,
}
SET_COLUMNS: Mapping[str, pl.DataType] = {
    "kind": TEXT,
    "address": TEXT,
    "coefficient": FLOAT,
    "kl": DOUBLE,
    "token": TEXT,
    "probability": DOUBLE,
    "probability_of_token": DOUBLE,
}
TEXT_COLUMNS: Mapping[str, pl.DataType] = {"changed": TEXT, "text": TEXT, "n_tokens": INTEGER}
_NOTHING, _ALL, _RANDOM_SET = "(nothing)", "all of them", "random set of median divergence"
_CHANGES = ("token", "probability_before", "probability_after", "change")


@dataclass(frozen=True, repr=False)
class SwitchPage(TabularAnswer):
    """Effect of setting one neuron to a value on the next token of a prompt.

    Attributes:
        model: its name.
        address: the neuron's address.
        switched: what was measured: the position, the divergence's percentile among the random neurons, and so on.
        token: text of the token that the untouched model predicts.
        neurons: the neuron, then the random ones by their divergence, with the columns of `SWITCHED_COLUMNS`:
            `coefficient` is a neuron's own activation at the position, `kl` the divergence KL(untouched || changed) of
            the next token, nats, `token` what is predicted then.
        changes: the tokens whose probability changes most, of the neuron and of the random one of median divergence,
            with the columns of `CHANGE_COLUMNS`.
        texts: what the model writes after the position, untouched, with the neuron and with that random one, with the
            columns of `TEXT_COLUMNS`; empty where no continuation was asked for.
    """

    model: str
    address: str
    switched: Switched
    token: str
    neurons: pl.DataFrame
    changes: pl.DataFrame
    texts: pl.DataFrame

    @property
    def median_address(self) -> str:
        """Address of the random neuron of median divergence."""
        return f"{self.model}/L{self.switched.layer}N{self.switched.median_neuron}"

    @property
    def summary(self) -> str:
        """What is predicted then, and how that compares with random neurons."""
        done = self.switched
        row, median = self._row(self.address), self._row(self.median_address)
        n_random = self.neurons.height - 1
        others = "one random neuron" if n_random == 1 else f"{n_random} random neurons"
        after = quoted_end(done.tokens[: done.position + 1])
        place = f"position {done.position} (0 to {len(done.tokens) - 1})"
        diverges = f"The next token diverges by {row['kl']:.3g} nats" if row["kl"] else "Nothing changes"
        return (
            f"{self.address} {self.setting}; its own activation at {place}, after {after}, is {row['coefficient']:.3g}."
            f" {self._next_token(row)} {diverges}"
            f"{_among(done.percentile, f'{others} of its layer set to the same value', median['kl'])}."
        )

    def _next_token(self, row: Mapping[str, Any]) -> str:
        """What is predicted before and after."""
        before = f"{quoted(self.token)} ({100 * self.switched.probability:.1f}%)"
        now = f"{100 * row['probability']:.1f}%"
        if row["token"] == self.token:
            return f"{before} remains the prediction ({now})."
        return f"The prediction changes from {before} to {quoted(row['token'])} ({now})."

    @property
    def setting(self) -> str:
        """What was done, in words."""
        when = ", before the non-linearity" if self.switched.is_before else ""
        return f"set to {self.switched.value:g} at every position{when}"

    @property
    def drawn_from(self) -> str:
        """How many random neurons there are, and which ones of the layer they were drawn from, in words."""
        done, n = self.switched, self.neurons.height - 1
        drawn = "1 neuron" if n == 1 else f"{n} neurons"
        if n <= done.n_active:
            return (
                f"{drawn} drawn from the {done.n_active:,} others of layer {done.layer} that are active on the prompt"
            )
        n_others, n_more = done.n_candidates - done.n_active, n - done.n_active
        if not done.n_active:
            return f"{drawn} drawn from {n_others:,} of layer {done.layer}, of which none is active on the prompt"
        few = "the other one" if done.n_active == 1 else f"all {done.n_active:,} others"
        active = f"{few} of layer {done.layer} active on the prompt"
        return f"{drawn}: {active}, and {n_more:,} drawn from {n_others:,} that are not"

    def sections(self) -> list[Section]:
        """What is predicted, then what changes most: the neuron, and the random one of median divergence."""
        title = f"random neuron of median divergence, {self.median_address}"
        return [
            Section("next token", self._predicted(), self._remark()),
            Section(f"what changes most with {self.address}", self._changes(self.address)),
            Section(f"what changes most with the {title}", self._changes(self.median_address)),
            *_written(self.texts, self.switched),
        ]

    def _predicted(self) -> pl.DataFrame:
        done = self.switched
        row, median = self._row(self.address), self._row(self.median_address)
        rows = [
            (_NOTHING, self.token, done.probability, None, None),
            (self.address, row["token"], row["probability"], row["kl"], done.percentile),
            (_random(self.median_address), median["token"], median["probability"], median["kl"], None),
        ]
        return pl.DataFrame(rows, schema=["changed", "token", "probability", "kl", "percentile"], orient="row")

    def _remark(self) -> str:
        return (
            f"random: the one of median divergence among {self.drawn_from}; percentile: percent of them"
            " whose divergence is smaller,"
            f" equal ones counting half, empty for fewer than {LEAST_SETS}; kl: nats"
        )

    def _changes(self, address: str) -> pl.DataFrame:
        return self.changes.filter(address=address).select(_CHANGES)

    def _row(self, address: str) -> Mapping[str, Any]:
        return self.neurons.row(by_predicate=pl.col("address") == address, named=True)

    def data(self) -> dict[str, Any]:
        """The switch for programs: `neurons`, `changes`, `texts`, and `switch` with the rest."""
        done = self.switched
        facts = {
            "model": self.model,
            "address": self.address,
            "set_to": done.value,
            "before_the_non_linearity": done.is_before,
            "tokens": list(done.tokens),
            "position": done.position,
            "token": self.token,
            "probability": done.probability,
            "percentile": done.percentile,
            "median_address": self.median_address,
            "n_candidates": done.n_candidates,
            "n_active": done.n_active,
        }
        return {"switch": facts, "neurons": self.neurons, "changes": self.changes, "texts": self.texts}


@dataclass(frozen=True, repr=False)
class TogetherPage(TabularAnswer):
    """Effect of setting several neurons to a value on the next token of a prompt: each alone, and all together.

    Attributes:
        model: its name.
        switched: what was measured: the position, the percentile of all together among random sets, and so on.
        token: text of the token that the untouched model predicts.
        sets: of kind `alone` each neuron, `together` all of them, `random` sets of as many neurons of each layer, with
            the columns of `SET_COLUMNS`: `coefficient` is a neuron's own activation at the position, `kl` the
            divergence KL(untouched || changed) of the next token, nats, `token` what is predicted then,
            `probability_of_token` that of the untouched model's token.
        changes: the tokens whose probability changes most with all together.
        texts: what the model writes after the position, untouched, with all together and with the random set of median
            divergence, with the columns of `TEXT_COLUMNS`; empty where no continuation was asked for.
    """

    model: str
    switched: SwitchedTogether
    token: str
    sets: pl.DataFrame
    changes: pl.DataFrame
    texts: pl.DataFrame

    @property
    def summary(self) -> str:
        """What is predicted with all of them changed, and how that compares with random sets."""
        done = self.switched
        together = self.sets.row(by_predicate=pl.col("kind") == "together", named=True)
        n, random = self.sets.filter(kind="alone").height, self.sets.filter(kind="random")
        median = statistics.median(random["kl"].to_list())
        sets = f"{random.height} random sets of as many neurons of these layers"
        after = quoted_end(done.tokens[: done.position + 1])
        when = ", before the non-linearity" if done.is_before else ""
        predicted = f"{quoted(together['token'])} ({100 * together['probability']:.1f}%)"
        return (
            f"{self.model} at position {done.position} (0 to {len(done.tokens) - 1}), after {after}: it predicts"
            f" {quoted(self.token)} ({100 * done.probability:.1f}%); with all {n} neurons set to {done.value:g} at"
            f" every position{when} it predicts {predicted}. The next token diverges by {together['kl']:.3g} nats"
            f"{_among(done.percentile, sets, median)}."
        )

    def sections(self) -> list[Section]:
        """What is predicted with each, with all and with the random set of median divergence; what changes most."""
        n_random = self.sets.filter(kind="random").height
        single = self.sets.head(self.sets.height - n_random)
        median = self.sets.filter(kind="random").row((n_random - 1) // 2, named=True)
        rows = [(_NOTHING, None, self.token, self.switched.probability, self.switched.probability, 0.0)]
        rows += [
            (
                row["address"] or (_ALL if row["kind"] == "together" else _RANDOM_SET),
                *(row[name] for name in ("coefficient", "token", "probability", "probability_of_token", "kl")),
            )
            for row in (*single.to_dicts(), median)
        ]
        token = f"of {visible(self.token)}"
        columns = ["changed", "coefficient", "token", "probability", token, "kl"]
        schema = dict(zip(columns, (TEXT, DOUBLE, TEXT, DOUBLE, DOUBLE, DOUBLE), strict=True))
        remark = (
            f"token, probability: what is predicted then; {token}: its probability then; coefficient: the neuron's own"
            " activation at the position; kl: nats"
        )
        return [
            Section("next token", pl.DataFrame(rows, schema=schema, orient="row"), remark),
            Section("what changes most with all of them", self.changes.select(_CHANGES)),
            *_written(self.texts, self.switched),
        ]

    def data(self) -> dict[str, Any]:
        """The switches for programs: `sets`, `changes`, `texts`, and `switch` with the rest."""
        done = self.switched
        facts = {
            "model": self.model,
            "set_to": done.value,
            "before_the_non_linearity": done.is_before,
            "tokens": list(done.tokens),
            "position": done.position,
            "token": self.token,
            "probability": done.probability,
            "percentile": done.percentile,
        }
        return {"switch": facts, "sets": self.sets, "changes": self.changes, "texts": self.texts}


def _written(texts: pl.DataFrame, switched: Switched | SwitchedTogether) -> list[Section]:
    """What the model writes, if that was asked for."""
    if texts.is_empty():
        return []
    after = quoted_end(switched.tokens[: switched.position + 1])
    remark = "the most probable token at each step; n_tokens: fewer than asked for where the model ends the text"
    return [Section(f"what the model writes after {after}", texts, remark)]


def _random(address: str) -> str:
    return f"{address} (random)"


def _among(percentile: float | None, others: str, median: float) -> str:
    """How a divergence stands among others, as the end of a sentence."""
    if percentile is None:
        return f"; the median of {others} is {median:.3g} (a percentile takes {LEAST_SETS})"
    return f": percentile {percentile:.3g} among {others}, whose median is {median:.3g}"


def neuron_of(connection: duckdb.DuckDBPyConnection, model: str, neuron: str) -> NeuronAddress:
    """The neuron of a model at a whole address, or at one without the model's name, such as L3N17."""
    choose_model(connection, model)
    address = find_neuron(connection, neuron if "/" in neuron else f"{model}/{neuron.strip()}")
    if address.model != model:
        raise neuron_of_another(str(address), model)
    return address


def firing_beside(connection: duckdb.DuckDBPyConnection, neuron: NeuronAddress) -> list[int]:
    """Neurons of its layer that fire on the shown corpus of its model; none where activity was not measured."""
    parameters = {"model_id": neuron.model_id, "layer": neuron.layer}
    return [row["neuron"] for row in records(connection, _NEURONS_THAT_FIRE, parameters)]


@with_its_sql
def switch_page(connection: duckdb.DuckDBPyConnection, model: KnownModel, switched: Switched) -> SwitchPage:
    """Join what the model predicted with the texts of its tokens."""
    ids = {switched.token, *switched.neurons["token_id"], *switched.changes["token_id"]}
    texts = texts_of(connection, model.tokenizer_id, ids)
    address, median = (f"{model.name}/L{switched.layer}N{n}" for n in (switched.neuron, switched.median_neuron))
    return SwitchPage(
        model=model.name,
        address=address,
        switched=switched,
        token=texts[switched.token],
        neurons=_switched_frame(switched.neurons.to_dicts(), model, switched, texts, SWITCHED_COLUMNS),
        changes=_switched_frame(switched.changes.to_dicts(), model, switched, texts, CHANGE_COLUMNS),
        texts=_text_frame(switched.texts, {"untouched": _NOTHING, "changed": address, "random": _random(median)}),
    )


@with_its_sql
def together_page(connection: duckdb.DuckDBPyConnection, model: KnownModel, switched: SwitchedTogether) -> TogetherPage:
    """Join what the model predicted with the texts of its tokens."""
    ids = {switched.token, *switched.sets["token_id"], *switched.changes["token_id"]}
    texts = texts_of(connection, model.tokenizer_id, ids)
    sets, changes = switched.sets.to_dicts(), switched.changes.to_dicts()
    for row in sets:
        row["address"] = None if row["neuron"] is None else f"{model.name}/L{row['layer']}N{row['neuron']}"
        row["token"] = texts[row["token_id"]]
    for row in changes:
        row |= {"address": None, "is_random": False, "token": texts[row["token_id"]]}
        row["change"] = row["probability_after"] - row["probability_before"]
    return TogetherPage(
        model=model.name,
        switched=switched,
        token=texts[switched.token],
        sets=framed(sets, SET_COLUMNS),
        changes=framed(changes, CHANGE_COLUMNS).drop("address", "is_random"),
        texts=_text_frame(switched.texts, {"untouched": _NOTHING, "changed": _ALL, "random": _RANDOM_SET}),
    )


def _text_frame(texts: pl.DataFrame, changed: Mapping[str, str]) -> pl.DataFrame:
    """What was written, with what was changed in the place of its kind."""
    named = texts.with_columns(changed=pl.col("kind").replace_strict(changed, return_dtype=TEXT))
    return named.select(pl.col(name).cast(dtype) for name, dtype in TEXT_COLUMNS.items())


def _switched_frame(
    rows: Sequence[dict[str, Any]],
    model: KnownModel,
    switched: Switched,
    texts: Mapping[int, str],
    columns: Mapping[str, pl.DataType],
) -> pl.DataFrame:
    """Rows with addresses and texts in the place of numbers."""
    for row in rows:
        row["address"] = f"{model.name}/L{switched.layer}N{row['neuron']}"
        row["is_random"] = row["neuron"] != switched.neuron
        row["token"] = texts[row["token_id"]]
        if "probability_after" in row:
            row["change"] = row["probability_after"] - row["probability_before"]
    return framed(rows, columns)
