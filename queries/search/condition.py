"""The models, layers and neurons that a search is about; a person's condition is checked before it joins a query."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from neurothek.catalog.problems import Failed, LimitExceeded
from neurothek.catalog.store.connections import time_limit
from neurothek.queries.ask.one_query import PartUnknown, repeated, with_parts
from neurothek.queries.ask.parse_tree import objection
from neurothek.queries.ask.statements import parsed, records
from neurothek.queries.errors.unfit_options import invalid_condition, no_layers_left, no_such_layer
from neurothek.queries.errors.unknown_subjects import unknown_column
from neurothek.queries.names.models import KnownModel, choose_models, sizes_of
from neurothek.queries.search.question import NEURON_FLAGS, Question
from neurothek.queries.views.install import view


def layers_of(question: Question, models: Sequence[KnownModel]) -> dict[int, tuple[int, int]]:
    """model_id -> first and last layer, for the models that have any in the range of layers and depths."""
    deepest = max(model.n_layers for model in models) - 1
    first, last = question.layers or (0, deepest)
    if first > deepest:
        raise no_such_layer(first, deepest)
    shallow, deep = question.depth or (0.0, 1.0)
    layers_by_model: dict[int, tuple[int, int]] = {}
    for model in models:
        depths = {layer: (layer + 0.5) / model.n_layers for layer in range(model.n_layers)}
        layers = [layer for layer, depth in depths.items() if first <= layer <= last and shallow <= depth <= deep]
        if layers:
            layers_by_model[model.model_id] = (layers[0], layers[-1])
    if not layers_by_model:
        raise no_layers_left()
    return layers_by_model


@dataclass(frozen=True)
class AskedModels:
    """The models that a search is about."""

    models: list[KnownModel]  # those asked, smallest first
    left_out: tuple[str, ...] = ()  # names of the variants that were not asked for


def models_asked(
    connection: duckdb.DuckDBPyConnection, question: Question, *, reference: str | None = None
) -> AskedModels:
    """The models that a question names, else the plain sizes, or all with `variants` and where all are variants.

    Args:
        connection: a reader.
        question: what is asked.
        reference: a model that is asked whatever it is, since the question is about one of its neurons.
    """
    models = choose_models(connection, question.models)
    sizes = sizes_of(models)
    if question.models or question.variants or not sizes:
        return AskedModels(models)
    chosen = [model for model in models if model in sizes or model.name == reference]
    return AskedModels(chosen, tuple(model.name for model in models if model not in chosen))


IN_PYTHON = "use variants=True to include them"


def variants_hint(left_out: Sequence[str], how: str) -> list[str]:
    """What to say where variants were not asked, and how a person asks them: a sentence, or none."""
    if not left_out:
        return []
    what = f"the variant {left_out[0]}" if len(left_out) == 1 else f"{len(left_out)} variants ({', '.join(left_out)})"
    return [f"left out {what}; {how}"]


FUNCTIONS = frozenset(
    {
        *("abs", "cbrt", "ceil", "ceiling", "exp", "floor", "greatest", "hash", "isfinite", "isinf", "isnan"),
        *("least", "ln", "log", "log10", "log2", "mod", "pow", "power", "round", "sign", "sqrt", "trunc"),
        *("ascii", "concat", "concat_ws", "contains", "damerau_levenshtein", "editdist3", "ends_with"),
        *("hamming", "ifnull", "instr", "isnull", "jaccard", "lcase", "left", "len", "length", "levenshtein"),
        *("like_escape", "lower", "ltrim", "not_like_escape", "nullif", "ord", "position", "prefix"),
        *("regexp_extract", "regexp_full_match", "regexp_matches", "reverse", "right", "rtrim", "split_part"),
        *("starts_with", "string_split", "strip_accents", "strlen", "strpos", "substr", "substring", "suffix"),
        *("trim", "ucase", "unicode", "unnest", "upper"),
        *("array_contains", "array_extract", "array_filter", "array_has", "array_has_all", "array_has_any"),
        *("array_indexof", "array_length", "array_position", "array_slice", "array_transform", "array_unique"),
        *("list_any_value", "list_apply", "list_avg", "list_bool_and", "list_bool_or", "list_concat"),
        *("list_contains", "list_count", "list_distinct", "list_element", "list_extract", "list_filter"),
        *("list_has", "list_has_all", "list_has_any", "list_indexof", "list_intersect", "list_max", "list_min"),
        *("list_position", "list_reverse", "list_slice", "list_sort", "list_sum", "list_transform"),
        *("list_unique", "list_value"),
    }
)
"""What a condition may call: none of it returns much more than it is given, as `repeat` and `range` do.

A condition is evaluated in this process, where nothing bounds the memory that one call takes.
"""

MOST_CHARACTERS = 1_000
"""Of a condition; it may have one lambda, as each makes values as many times longer as its text has room to name them.

Both together keep what is computed for the rows of one step, of which there are 2,048, under a gigabyte.
"""

_ONLY_SQL = "which only the command `sql` allows, within its limits"

_CHOOSING = "/* where neurons are chosen */"

PLACE = "/* the conditions on neurons */ true"
"""Where a statement takes the conditions, in brackets."""


def insert_conditions(text: str, question: Question, columns: Sequence[str]) -> str:
    """The statement with the question's conditions on neurons in their place; without any it keeps every neuron."""
    conditions = [NEURON_FLAGS[name] for name in question.flags]
    if question.where is not None:
        check_predicate(question.where, columns)
        # The line break ends a comment that the condition may close with.
        conditions.append(f"{question.where}\n")
    if not conditions:
        return text
    if PLACE not in text:
        raise PartUnknown([PLACE])
    return text.replace(PLACE, ") and (".join(conditions))


def check_predicate(predicate: str, columns: Sequence[str]) -> None:
    """Raise unless `predicate` is one expression over `columns` without a query inside, that calls `FUNCTIONS` only."""
    # sqlglot takes a tenth of a second to import, and most searches have no condition.
    import sqlglot  # noqa: PLC0415  (see above)
    from sqlglot import exp  # noqa: PLC0415  (see above)

    if len(predicate) > MOST_CHARACTERS:
        raise invalid_condition(
            f"{predicate[:40]} ...", f"has {len(predicate):,} characters, more than {MOST_CHARACTERS:,}"
        )
    try:
        trees = [tree for tree in sqlglot.parse(predicate, read="duckdb") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        raise invalid_condition(predicate, "cannot be read") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Condition):
        raise invalid_condition(predicate, "is not one expression")
    if trees[0].find(exp.Query, exp.Command, exp.Placeholder, exp.Parameter):
        raise invalid_condition(predicate, "holds more than an expression")
    if trees[0].find(exp.Comprehension):
        raise invalid_condition(predicate, "holds a list comprehension; use list_filter with a lambda instead")
    _check_functions(predicate)
    names = {column.casefold() for column in columns}
    for column in trees[0].find_all(exp.Column):
        if column.table.casefold() not in ("", "neurons") or column.name.casefold() not in names:
            raise unknown_column(column.sql(dialect="duckdb"), columns, relation="neurons")


def _check_functions(predicate: str) -> None:
    """Raise if the condition calls what may take any amount of memory."""
    from neurothek.queries.ask.parse_tree import LAMBDA, called_functions  # noqa: PLC0415  (most searches have no condition)

    try:
        called = called_functions(predicate)
    except Failed as error:
        raise invalid_condition(predicate, "cannot be read") from error
    if called.pop(LAMBDA) > 1:
        raise invalid_condition(predicate, f"has several lambdas, {_ONLY_SQL}")
    others = sorted(called.keys() - FUNCTIONS)
    if others:
        raise invalid_condition(predicate, f"calls {', '.join(others)}, {_ONLY_SQL}")


_OF_EXACT_ZEROS = ("is_dead", "is_provably_dead")
"""Labels of the view `neurons` that models without exact zeros do not have."""


def condition_notes(where: str | None, models: Sequence[KnownModel]) -> list[str]:
    """What a condition's columns are for these models: labels that are null for some, frequencies of open gates."""
    names = [model.name for model in models if not model.has_exact_zeros]
    whose = "its activation has" if len(names) == 1 else "their activations have"
    notes = [
        f"{label} is null for {', '.join(names)}: {whose} no exact zeros; see is_negligible"
        for label in _OF_EXACT_ZEROS
        if names and _names_column(where, label)
    ]
    others = [model.name for model in models if model.has_exact_zeros]
    if others and _names_column(where, "is_negligible"):
        notes.append(f"is_negligible is null for {', '.join(others)}: see is_dead")
    gated = [model.name for model in models if model.is_signed]
    if gated and _names_column(where, "frequency"):
        notes.append(f"frequency is how often the gate is open in {', '.join(gated)}; see effective_frequency")
    return notes


def _names_column(where: str | None, column: str) -> bool:
    return re.search(rf"\b{column}\b", where or "", re.IGNORECASE) is not None


SECONDS = 30.0
"""How long a question with a person's condition in it may hold its lease."""


def filtered_records(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    question: Question,
    parameters: Mapping[str, object],
    *,
    each: Mapping[str, Sequence[object]] | None = None,
    holding: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Rows of a query, for the neurons that the question's condition and its flags keep.

    Args:
        connection: a reader.
        query: the text of the statement.
        question: whose condition on neurons, and whose flags.
        parameters: its values, of which it takes those that it names.
        each: values for its repeated parts, see `repeated`.
        holding: what else holds, see `with_parts`.
    """
    where = question.where
    if question.is_filtered and _CHOOSING in query:
        holding = {*holding, "neurons are chosen"}
    text, more = repeated(with_parts(query, holding), each or {})
    text = insert_conditions(text, question, list(view("neurons").columns))
    try:
        one = parsed(connection, text)
        values = {key: value for key, value in {**parameters, **more}.items() if key in one.named_parameters}
        if where is None:
            return records(connection, text, values)
        with time_limit(connection, SECONDS) as expired:
            return records(connection, text, values)
    except duckdb.InterruptException as error:
        if where is None or not expired.is_set():
            raise
        raise LimitExceeded(
            f"the search with the condition {where!r} took more than {SECONDS:g} s and was stopped",
            "write a simpler condition, or search fewer models with --model",
            what="seconds",
            limit=SECONDS,
        ) from error
    except duckdb.Error as error:
        if where is None:
            raise
        complaint = objection(connection, error)
        reason = complaint.why if isinstance(complaint, Failed) else complaint
        raise invalid_condition(where, f"cannot be evaluated ({reason})") from error
