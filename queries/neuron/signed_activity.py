"""One neuron at coefficients above and below 0: how often, how strongly, where, and what it writes there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from neurothek.catalog.tables.poles import POLE_NAMES, STRONG
from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import Section
from neurothek.queries.ask.statements import framed
from neurothek.queries.names.words import Row
from neurothek.queries.views.contents import thresholds

POLE_COLUMNS: Mapping[str, pl.DataType] = {
    "pole": TEXT,
    "promotes": pl.List(TEXT),
    "n_tokens_seen": BIG,
    "n_active": BIG,
    "frequency": DOUBLE,
    "n_strong": BIG,
    "strong_frequency": DOUBLE,
    "abs_share": DOUBLE,
    "mean_magnitude": DOUBLE,
    "largest": DOUBLE,
}
CASE_COLUMNS: Mapping[str, pl.DataType] = {
    "gate_case": TEXT,
    "n_positions": BIG,
    "frequency": DOUBLE,
    "mean_magnitude": DOUBLE,
    "abs_share": DOUBLE,
}
POLE_CONTEXT_COLUMNS: Mapping[str, pl.DataType] = {
    "pole": TEXT,
    "rank": SMALL,
    "activation": DOUBLE,
    "domain": TEXT,
    "before": TEXT,
    "token": TEXT,
    "after": TEXT,
    "sequence_id": INTEGER,
    "position": INTEGER,
}

_WRITTEN = 3
_MOST_CONTEXTS = 5


@dataclass(frozen=True)
class SignedActivity:
    """What the job `poles` measured of one neuron; empty frames where it did not run.

    Attributes:
        poles: a row a sign, with the columns of `POLE_COLUMNS`.
        cases: a row a case of a gated FFN, with the columns of `CASE_COLUMNS`.
        contexts: the strongest places of each sign, with the columns of `POLE_CONTEXT_COLUMNS`.
        strength: `effective_frequency`, `root_mean_square`, `contribution_mean`, `contribution_max` and
            `contribution_max_later` of the views' definitions; None what was not measured.
    """

    poles: pl.DataFrame
    cases: pl.DataFrame
    contexts: pl.DataFrame
    strength: Mapping[str, float | None]

    @property
    def strong_frequency(self) -> float | None:
        """Share of the counted positions at which it is strong, at either sign; None if that was not measured."""
        if self.poles.is_empty():
            return None
        return float(self.poles.get_column("strong_frequency").sum())

    def sentence(self) -> str:
        """How sparse it is, and how much of its FFN's output is its own."""
        effective = self.strength.get("effective_frequency")
        parts = [] if effective is None else [f"effective frequency {100 * effective:.3g}%"]
        if self.strong_frequency is not None:
            parts.append(f"strong at {100 * self.strong_frequency:.2g}% of the tokens")
        most = self.strength.get("contribution_max")
        if most is not None:
            share = f"at most {most:.2g} of the length of its FFN's output"
            parts.append(
                f"negligible: {share}" if most < thresholds("neuron_activity")["negligible_contribution"] else share
            )
        text = ", ".join(parts)
        return f"{text[:1].upper()}{text[1:]}." if text else ""

    def sections(self, corpus: str) -> list[Section]:
        """Both signs side by side, the strongest places of each, and the cases of its gate."""
        if self.poles.is_empty():
            return []
        table = self.poles.select(
            "pole",
            pl.col("promotes").list.head(_WRITTEN),
            "frequency",
            "abs_share",
            "strong_frequency",
            "mean_magnitude",
            "largest",
        )
        rms = self.strength.get("root_mean_square")
        bound = "" if rms is None else f" ({STRONG * rms:.3g})"
        remark = (
            f"abs_share: of the sum of |m|; strong: |m| above {STRONG:g} root mean squares{bound};"
            " mean_magnitude, largest: |m| at coefficients of that sign"
        )
        sections = [Section(f"poles in {corpus}", table, remark), *self._context_sections(corpus)]
        if not self.cases.is_empty():
            cases = self.cases.select("gate_case", "frequency", "abs_share", "mean_magnitude")
            sections.append(
                Section(
                    f"cases of its gate in {corpus}",
                    cases,
                    "gate_case: signs of the gate's pre-activation and of up; their product is the coefficient's",
                )
            )
        return sections

    @property
    def has_contexts(self) -> bool:
        """Whether the strongest places of either sign are known."""
        return not self.poles.is_empty() and not self.contexts.is_empty()

    def _context_sections(self, corpus: str) -> list[Section]:
        sections = []
        for pole in POLE_NAMES:
            rows = self.contexts.filter(pl.col("pole") == pole)
            if not rows.is_empty():
                table = rows.select("activation", "domain", "before", "token", "after").head(_MOST_CONTEXTS)
                sections.append(Section(f"strongest contexts at {pole} activations in {corpus}", table))
        return sections


def neuron_signed_activity(
    of: Mapping[str, Sequence[Row]], contexts: Sequence[Row], facts: Mapping[str, Any], n_seen: int
) -> SignedActivity:
    """What was measured of one neuron by the sign of its coefficient.

    Args:
        of: its rows of `poles` and `strength` in `NeuronRows.of`.
        contexts: those of `pole_contexts`, with their texts.
        facts: what is known of it, with the tokens of its lists.
        n_seen: counted positions.
    """
    rows = {row["name"]: row for row in of["poles"]}
    total = sum(rows[pole]["abs_sum"] for pole in POLE_NAMES if pole in rows)
    poles = [
        _shares(rows[pole], total, n_seen)
        | {
            "pole": pole,
            "promotes": facts["bottom_tokens" if pole == "negative" else "top_tokens"],
            "n_tokens_seen": n_seen,
            "strong_frequency": rows[pole]["n_strong"] / n_seen if n_seen else None,
        }
        for pole in POLE_NAMES
        if pole in rows
    ]
    cases = [
        _shares(row, total, n_seen) | {"gate_case": name, "n_positions": row["n_active"]}
        for name, row in sorted(rows.items())
        if name not in POLE_NAMES
    ]
    ordered = sorted(contexts, key=lambda row: (POLE_NAMES.index(row["pole"]), row["rank"]))
    return SignedActivity(
        poles=framed(poles, POLE_COLUMNS),
        cases=framed(cases, CASE_COLUMNS),
        contexts=framed(ordered, POLE_CONTEXT_COLUMNS),
        strength=of["strength"][0] if of["strength"] else {},
    )


def _shares(row: Row, total: float, n_seen: int) -> Row:
    n_active = row["n_active"]
    return {
        **row,
        "frequency": n_active / n_seen if n_seen else None,
        "abs_share": row["abs_sum"] / total if total else None,
        "mean_magnitude": row["abs_sum"] / n_active if n_active else None,
    }
