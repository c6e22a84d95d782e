"""Similar neurons: by how far their lists of promoted and suppressed tokens overlap, also across models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, FLAG, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import with_its_sql
from neurothek.queries.ask.statements import ask_records, framed, records, statement
from neurothek.queries.errors.unfit_options import other_tokenizers
from neurothek.queries.names.models import KnownModel, choose_model, choose_models, find_neuron, which_corpora
from neurothek.queries.names.words import listed_tokens
from neurothek.queries.search.condition import condition_notes, filtered_records, layers_of, models_asked
from neurothek.queries.search.poles import FoundNeurons, at_pole, listed_side, poles_shown, strongest_pole
from neurothek.queries.search.question import Question
from neurothek.queries.views.on_corpus import on_corpus
from neurothek.queries.views.rows import with_facts

_NEURON_POLES = """\
-- To which pole a neuron leans: that of its largest coefficient on the shown corpus, else that of the longer tail of
-- its scores.
select coalesce(nullif(activation_max + activation_min, 0), score_skewness) as leaning,
from store.neuron_facts
where set_id = $model_id and layer = $layer and neuron = $neuron
"""

_ALIKE_NULLS = """\
-- What random vectors like a layer's value vectors reach with their best neuron of each model they were compared with.
select other_set_id as other_model_id, max(null_99) as null_99
from store.counterparts
where set_id = $model_id and layer = $layer
group by other_set_id
"""

COLUMNS: Mapping[str, pl.DataType] = {
    "place": BIG,
    "address": TEXT,
    "model": TEXT,
    "layer": SMALL,
    "neuron": INTEGER,
    "depth": DOUBLE,
    "overlap": DOUBLE,
    "null_99": DOUBLE,
    "is_beyond_null": FLAG,
    "n_promoted": BIG,
    "n_suppressed": BIG,
    "top_tokens": pl.List(TEXT),
    "frequency": DOUBLE,
    "pole": TEXT,
    "label": TEXT,
}

FACTS = ("address", "depth", "top_tokens", "bottom_tokens", "frequency", "label")
"""What is said of a neuron beside its overlap."""


@dataclass(frozen=True, repr=False, kw_only=True)
class AlikeResult(FoundNeurons):
    """The neurons most similar to one, best first.

    Attributes:
        address: of that one.
        neurons: one row per neuron, with the columns of `COLUMNS`. A token at rank r of a list weighs 1 / log2(1 + r);
            `overlap` is the weight that both neurons give to the tokens of both lists (the smaller of the two), over
            the weight that either gives (the larger): 1 for equal lists, 0 for disjoint ones (ours). `null_99` is what
            99% of random vectors like those of the neuron's layer do not exceed with their best in the other model, and
            `is_beyond_null` whether the overlap does: both null in the neuron's own model, and in models that it was
            not compared with by the job counterparts. Where one of two models is gated, neurons are compared at equal
            and at opposite signs, and the better counts: `pole` is the sign of the coefficient at which a neuron does
            what the asked one does at its own `pole`; null where neither is gated.
        pole: of the asked neuron, if its model is gated: the one at which it is strongest; None otherwise.
        n_found: how many share at least one token on a side, including those beyond the limit.
    """

    address: str
    pole: str | None = None

    @property
    def title(self) -> str:
        """One line over the table."""
        at = f" at its {self.pole} pole" if self.pole else ""
        return f"{self.first}{self.n_found:,} neurons that share tokens (promoted + suppressed) with {self.address}{at}"

    def table(self) -> pl.DataFrame:
        """The columns that people read."""
        is_known = self.neurons.get_column("null_99").null_count() < self.neurons.height
        return self.neurons.select(
            pl.col("place").alias("#"),
            "address",
            *poles_shown(self.neurons),
            "overlap",
            *(["null_99"] if is_known else []),
            pl.format("{} + {}", "n_promoted", "n_suppressed").alias("shared"),
            pl.col("top_tokens").alias("promotes"),
        )


@with_its_sql
def alike(connection: duckdb.DuckDBPyConnection, address: str, question: Question | None = None) -> AlikeResult:
    """Find the neurons whose lists overlap most with those of the neuron at `address`.

    The question's models, variants, layers, depth, where, alive and limit hold; without models the plain sizes that
    share its tokenizer, and its own.
    """
    question = question or Question(words=())
    question.require_only("neurons like one", "models", "layers", "depth", "where", "corpus", "limit", "variants")
    with on_corpus(connection, question.models, question.corpus) as prepared:
        return _alike(prepared, address, question, is_elsewhere=prepared is not connection)


def _alike(
    connection: duckdb.DuckDBPyConnection, address: str, question: Question, *, is_elsewhere: bool
) -> AlikeResult:
    neuron = find_neuron(connection, address)
    own_model = choose_model(connection, neuron.model)
    scope = models_asked(connection, question, reference=own_model.name)
    models = _comparable(own_model, scope.models, by_name=bool(question.models))
    layers = layers_of(question, models)
    own_layer = {"model_id": neuron.model_id, "layer": neuron.layer}
    place = {**own_layer, "neuron": neuron.neuron}
    own_pole = strongest_pole(records(connection, _NEURON_POLES, place), own_model)
    mine = _values(listed_tokens(ask_records(connection, "neuron_lists", place)), own_pole)
    parameters = {
        **place,
        **mine,
        "model_ids": list(layers),
        "model_first_layers": [first for first, _ in layers.values()],
        "model_last_layers": [last for _, last in layers.values()],
        "models_by_name": [model.model_id for model in sorted(models, key=lambda model: model.name)],
        "is_signed": own_model.is_signed,
        "signed_models": [model.model_id for model in models if model.is_signed],
        # The neuron itself comes first.
        "n_rows": question.limit + 1,
    }
    rows = filtered_records(
        connection,
        statement("alike"),
        question,
        parameters,
        holding=_holding(connection, question, models),
    )
    by_id = {model.model_id: model for model in models}
    others = [row for row in rows if any(row[name] != own_value for name, own_value in place.items())]
    nulls = {row["other_model_id"]: row["null_99"] for row in records(connection, _ALIKE_NULLS, own_layer)}
    rows_shown = [
        {
            **row,
            "place": number,
            "model": by_id[row["model_id"]].name,
            **_against(row, nulls),
            **_pole(row, own_model, by_id),
        }
        for number, row in enumerate(others[: question.limit], start=1)
    ]
    facts = with_facts(connection, rows_shown, FACTS, is_elsewhere=is_elsewhere)
    return AlikeResult(
        address=str(neuron),
        pole=own_pole,
        # A model without signs writes its first list, whatever the asked neuron's sign.
        neurons=framed([at_pole(row) if by_id[row["model_id"]].is_signed else row for row in facts], COLUMNS),
        n_found=rows_shown[0]["n_found"] if rows_shown else 0,
        notes=(
            f"searched in {', '.join(model.name for model in models)}",
            *_above_chance(rows_shown, nulls, models),
            *_without_chance(nulls, models),
            *condition_notes(question.where, models),
            *(which_corpora(connection, [model.name for model in models]) if question.hangs_on_text else ()),
        ),
        left_out=_alike_in_tokens(connection, own_model, scope.left_out),
    )


def _pole(row: Mapping[str, Any], own_model: KnownModel, models: Mapping[int, KnownModel]) -> dict[str, Any]:
    is_signed = own_model.is_signed or models[row["model_id"]].is_signed
    return {"pole": ("positive" if row["pole"] == 1 else "negative") if is_signed else None}


def _against(row: Mapping[str, Any], nulls: Mapping[int, float]) -> dict[str, Any]:
    null = nulls.get(row["model_id"])
    return {"null_99": null, "is_beyond_null": None if null is None else row["overlap"] > null}


def _above_chance(
    rows: Sequence[Mapping[str, Any]], nulls: Mapping[int, float], models: Sequence[KnownModel]
) -> list[str]:
    """For each other model that random vectors were compared with: how many neurons overlap more than these."""
    sentences = []
    for model in models:
        null = nulls.get(model.model_id)
        if null is None:
            continue
        n = sum(row["model_id"] == model.model_id and row["is_beyond_null"] for row in rows)
        # The rows are in order: where the last one is not above the null, no neuron after it is.
        is_cut = bool(rows) and rows[-1]["place"] < rows[-1]["n_found"] and rows[-1]["overlap"] > null
        how_many = f"{n:,}" if n else "none"
        of_these = " of these" if is_cut else ""
        sentences.append(
            f"{how_many}{of_these} above chance in {model.name}: 99% of random vectors overlap by up to {null:.3f}"
        )
    return sentences


def _without_chance(nulls: Mapping[int, float], models: Sequence[KnownModel]) -> list[str]:
    """In which models nobody knows what chance makes: an overlap there says which is nearest, not that one is near."""
    names = [model.name for model in models if model.model_id not in nulls]
    return [f"how much random vectors overlap in {', '.join(names)} was not measured"] if names else []


def _values(lists: Sequence[Mapping[str, Any]], pole: str | None) -> dict[str, list[Any]]:
    """The neuron's own lists, as values: what it does at its pole."""
    sides = {"own_sides": [listed_side({**row, "pole": pole}) for row in lists]}
    return sides | {f"own_{name}s": [row[name] for row in lists] for name in ("token_id", "rank")}


def _holding(
    connection: duckdb.DuckDBPyConnection, question: Question, models: Sequence[KnownModel]
) -> tuple[str, ...]:
    """Which models and layers are asked for; nothing where all are, so that a million rows need no comparison."""
    signs = ("signs are two",) if any(model.is_signed for model in models) else ()
    if question.layers is not None or question.depth is not None:
        return ("layers are chosen", *signs)
    return signs if len(models) == len(choose_models(connection)) else ("models are chosen", *signs)


def _alike_in_tokens(
    connection: duckdb.DuckDBPyConnection, own_model: KnownModel, names: Sequence[str]
) -> tuple[str, ...]:
    """Those of the models that could have been asked."""
    models = choose_models(connection, names) if names else []
    return tuple(model.name for model in _comparable(own_model, models, by_name=False))


def _comparable(own_model: KnownModel, models: Sequence[KnownModel], *, by_name: bool) -> list[KnownModel]:
    others = [model.name for model in models if model.tokenizer_id != own_model.tokenizer_id]
    if by_name and others:
        raise other_tokenizers(own_model.name, others)
    return [model for model in models if model.tokenizer_id == own_model.tokenizer_id]
