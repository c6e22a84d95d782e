"""One model's part of a view: the same query over the rows of that model alone, whatever else the warehouse holds."""

import re
from collections.abc import Collection, Mapping

from neurothek.catalog.publishing.summaries import PREFIX

_READ = re.compile(r"\b(from|join) (store\.)?([a-z_0-9]+)\b(?![.(])( as [a-z_0-9]+)?")
_CTE = re.compile(r"^(?:with )?([a-z_0-9]+) as \($", re.MULTILINE)


def narrowed(name: str, queries: Mapping[str, str], *, kept: Collection[str], of_models: Collection[str]) -> str:
    """The query of the view `name` for the model `$model_id` called `$model`.

    DuckDB carries a condition on the final `model` down through few of the joins, windows and unions of a view that
    sums up; here every table is narrowed where it is read.

    Args:
        name: a view.
        queries: name -> query of every view, without comments.
        kept: names of the views whose rows are kept, which are read where they lie.
        of_models: names of the store's tables that have a `model_id`.
    """
    ctes = set(_CTE.findall(queries[name]))

    def narrow(match: re.Match[str]) -> str:
        word, store, read, alias = match[1], match[2], match[3], match[4] or f" as {match[3]}"
        if store:
            return f"{word} (from store.{read} where model_id = $model_id){alias}" if read in of_models else match[0]
        if read in ctes or read not in queries:
            return match[0]
        if read in kept:
            return f"{word} (from store.{PREFIX}{read} where model = $model){alias}"
        return f"{word} (\n{narrowed(read, queries, kept=kept, of_models=of_models)}){alias}"

    return _READ.sub(narrow, queries[name])
