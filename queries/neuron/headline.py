"""One neuron in one sentence, made from its rows: how often it fires, on what, and which tokens it moves."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import polars as pl

from neurothek.catalog.spelling import quoted
from neurothek.catalog.terminal.cells import percent
from neurothek.queries.neuron.page import NeuronPage

_MOST_NAMED = 3


def headline(page: NeuronPage, passed_over: Collection[str] = ()) -> str:
    """How often it fires, on which token most, and the tokens that it promotes and suppresses first.

    Args:
        page: the neuron's page.
        passed_over: tokens that are named only where the lists hold no others: bytes, undertrained ones.
    """
    clauses = [*_firing(page), *_moving(page, passed_over)]
    return f"{'; '.join(clauses)}." if clauses else ""


def labels_of(facts: Mapping[str, Any]) -> list[str]:
    """What kind of neuron it is, in the words of the columns: a label for each kind that it is of.

    Args:
        facts: its row of the view `neurons`.
    """
    has = {
        "dead": facts["is_dead"],
        "never active": facts["never_active"] and not facts["is_dead"],
        "provably dead": facts["is_provably_dead"],
        "fires only at BOS": facts["fires_only_at_bos"],
        f"token {facts['token_status']}": facts["is_token_detector"],
        "suppresses its triggers": facts["suppresses_triggers"],
        f"positional: {facts['position_kind']}, {facts['position_strength']}": facts["position_strength"]
        in ("strong", "weak"),
    }
    return [name for name, is_so in has.items() if is_so]


def _firing(page: NeuronPage) -> list[str]:
    if page.corpus is None:
        return []
    n_seen, n_active = (int(page.domains.get_column(name).sum()) for name in ("n_tokens_seen", "n_active"))
    if not n_seen:
        return []
    if not n_active:
        return [f"Never fires on the {n_seen:,} tokens of {page.corpus}"]
    first = page.triggers.ngrams.filter((pl.col("n") == 1) & (pl.col("rank") == 1)).to_dicts()
    if page.activation_rule == "gate > 0":
        strong = page.poles.strong_frequency
        at = [f" at {quoted(row['text'])} ({percent(row['share'])} of these)" for row in first]
        often = [] if strong is None else [f"strong at {percent(strong)}{', most often' if at else ''}{''.join(at)}"]
        return [f"Gate open at {percent(n_active / n_seen)} of the {n_seen:,} tokens of {page.corpus}", *often]
    most = [f", most often at {quoted(row['text'])} ({percent(row['share'])} of its activations)" for row in first]
    return [f"Fires at {percent(n_active / n_seen)} of the {n_seen:,} tokens of {page.corpus}{''.join(most)}"]


def _moving(page: NeuronPage, passed_over: Collection[str]) -> Iterator[str]:
    signed = ("at activations above 0 promotes", "at those below 0")
    verbs = signed if page.is_signed else ("promotes", "suppresses")
    for side, verb in zip(("promoted", "suppressed"), verbs, strict=True):
        tokens = page.tokens.filter(pl.col("side") == side).sort("rank").get_column("token").to_list()
        named = [token for token in tokens if token not in passed_over] or tokens
        if named:
            yield f"{verb} {' '.join(map(quoted, named[:_MOST_NAMED]))}"
