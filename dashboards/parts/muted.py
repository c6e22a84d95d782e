"""Byte and undertrained tokens in lists of tokens: pale, counted, and one switch that shows them as any other."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import duckdb
import streamlit as st

from neurothek.dashboards.widgets.address import address_value, remember
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.memory import warehouse_answer
from neurothek.queries.ask.statements import records

_MUTED_TOKENS = """\
-- Tokens that lists show pale, by model, and why.
select model, token, reason,
from token_quality
where reason is not null
order by model, token_id"""

LABEL = "Mute byte and undertrained tokens"
HELP = (
    "Pale: tokens that are bytes, not whole characters, and tokens whose row of the unembedding lies near the unused"
    " rows (Land and Bartolo 2024, Fishing for Magikarp; limit: this project; view token_quality)."
)
CSS = "nt-muted"
_SWITCH, _UNMUTED = "muted", "unmuted"


@dataclass(frozen=True)
class Muted:
    """The tokens of one model that lists show pale; none where the switch is off."""

    reasons: Mapping[str, str] = field(default_factory=dict)  # exact text of a token -> byte or undertrained

    def css(self, token: str) -> str:
        """The class of a token in HTML."""
        return CSS if token in self.reasons else ""

    def caption(self, tokens: Iterable[str]) -> str:
        """How many of these are muted, and why; nothing where none is."""
        return reasons_caption(self.reasons[token] for token in tokens if token in self.reasons)


def reasons_caption(reasons: Iterable[str]) -> str:
    """How many tokens are muted for which reason, in words."""
    counts = Counter(reasons)
    if not counts:
        return ""
    parts = [f"{counts[reason]:,} {reason}" for reason in ("byte", "undertrained") if counts[reason]]
    return f"{' and '.join(parts)} {'token' if counts.total() == 1 else 'tokens'} muted"


def pick_muted(models: Iterable[str]) -> Mapping[str, Muted]:
    """The switch, kept from page to page and in the address; what it mutes, by model.

    Models without muted tokens have none; where no model has any, there is no switch.
    """
    reasons = warehouse_answer(muted_tokens)
    of_models = {model: reasons.get(model, {}) for model in models}
    if not any(of_models.values()):
        return {model: Muted() for model in of_models}
    is_on = st.toggle(LABEL, value=_is_on(), key=_SWITCH, help=plain(HELP), on_change=_keep)
    _keep()
    return {model: Muted(reasons_of_model if is_on else {}) for model, reasons_of_model in of_models.items()}


def muted_of(models: Iterable[str]) -> Mapping[str, Muted]:
    """What is muted, by model, as the switch was left: for what has no switch of its own beside it."""
    reasons = warehouse_answer(muted_tokens) if _is_on() else {}
    return {model: Muted(reasons.get(model, {})) for model in models}


def muted_at(address: str, muted: Mapping[str, Muted] | None) -> Muted:
    """What is muted of the model of a neuron; nothing where that is not told.

    Args:
        address: such as opt-125m/L3N1702.
        muted: by model.
    """
    return (muted or {}).get(address.rpartition("/")[0], Muted())


def _is_on() -> bool:
    return not (address_value("muted") == "no" or st.session_state.get(_UNMUTED, False))


def _keep() -> None:
    """Keep what the switch says: before the page runs again, as parts of it stand above the switch."""
    is_on = st.session_state[_SWITCH]
    st.session_state[_UNMUTED] = not is_on
    remember(muted=None if is_on else "no")


def muted_tokens(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Of every model, its muted tokens and why."""
    reasons: dict[str, dict[str, str]] = {}
    for row in records(connection, _MUTED_TOKENS):
        reasons.setdefault(row["model"], {})[row["token"]] = row["reason"]
    return reasons
