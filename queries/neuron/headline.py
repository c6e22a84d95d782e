"""One neuron in one sentence, made from its rows: how often it fires, on what, and which tokens it moves."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import polars as pl

from neurothek.catalog.spelling import quoted, quoted_list, spoken_corpus
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
    # A gate that never opens lets a little through all the same, of which much may be made.
    is_gated = facts["is_dead"] is None and facts["pole"] is not None
    has = {
        "dead": facts["is_dead"],
        "gate never open" if is_gated else "never active": facts["never_active"] and not facts["is_dead"],
        "provably dead": facts["is_provably_dead"],
        f"{'active' if facts['is_dead'] is None else 'fires'} only at BOS": facts["fires_only_at_bos"],
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
    if page.activation_rule == "gate > 0":
        return _of_gate(page, n_active, n_seen)
    is_named = page.has_exact_zeros or page.activation_rule is None
    never, fires = ("Never fires", "Fires") if is_named else (f"Never {_active(page)}", _active(page).capitalize())
    if not n_active:
        return [f"{never} on the {n_seen:,} tokens of {spoken_corpus(page.corpus)}"]
    strong = "" if page.triggers.strong_pole is None else "strong "
    most = _first_trigger(page, f", {strong}most often", f"its {strong}activations")
    return [f"{fires} at {percent(n_active / n_seen)} of the {n_seen:,} tokens of {spoken_corpus(page.corpus)}{most}"]


def _active(page: NeuronPage) -> str:
    return f"active ({page.activation_rule})"


def _of_gate(page: NeuronPage, n_open: int, n_seen: int) -> list[str]:
    """Its triggers are those of strong activations at one pole, or where these were not counted of the open gate."""
    pole, strong = page.triggers.strong_pole, page.poles.strong_frequency
    often = f" at {percent(n_open / n_seen)} of" if n_open else " at none of"
    opened = f"Gate open{often} the {n_seen:,} tokens of {spoken_corpus(page.corpus)}"
    if pole is None:
        opened += _first_trigger(page, ", most often", "these")
    share = "" if strong is None else f"strong at {percent(strong)}"
    if pole is not None and (trigger := _first_trigger(page, f"at {pole} activations most often", "these")):
        share = f"{share}, {trigger}" if share else f"strong {trigger}"
    return [opened, *([share] if share else [])]


def _first_trigger(page: NeuronPage, often: str, activations: str) -> str:
    """The token that triggers it most, with its share of the activations that were counted; nothing without any."""
    first = page.triggers.ngrams.filter((pl.col("n") == 1) & (pl.col("rank") == 1)).to_dicts()
    return "".join(f"{often} at {quoted(row['text'])} ({percent(row['share'])} of {activations})" for row in first)


def _moving(page: NeuronPage, passed_over: Collection[str]) -> Iterator[str]:
    signed = ("at activations above 0 promotes", "at those below 0")
    verbs = signed if page.is_signed else ("promotes", "suppresses")
    for side, verb in zip(("promoted", "suppressed"), verbs, strict=True):
        tokens = page.tokens.filter(pl.col("side") == side).sort("rank").get_column("token").to_list()
        named = [token for token in tokens if token not in passed_over] or tokens
        if named:
            yield f"{verb} {quoted_list(named[:_MOST_NAMED])}"
