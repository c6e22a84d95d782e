"""Texts on which one neuron fires: its strongest windows, and the n-grams that it detects, suppresses or fires on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import polars as pl

from neurothek.catalog.tables.poles import STRONG
from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import Section, first_of
from neurothek.queries.ask.statements import framed, records
from neurothek.queries.names.models import NeuronAddress
from neurothek.queries.names.words import Row
from neurothek.queries.neuron.page_rows import NeuronRows
from neurothek.queries.views.contents import thresholds

WINDOW_COLUMNS: Mapping[str, pl.DataType] = {
    "band": TEXT,
    "part": TEXT,
    "rank": SMALL,
    "activation": DOUBLE,
    "domain": TEXT,
    "tokens": pl.List(TEXT),
    "activations": pl.List(DOUBLE),
    "place": INTEGER,
    "writes": pl.List(TEXT),
    "sequence_id": INTEGER,
    "position": INTEGER,
}
HISTOGRAM_COLUMNS: Mapping[str, pl.DataType] = {
    "bin": SMALL,
    "low": DOUBLE,
    "high": DOUBLE,
    "n_tokens": BIG,
    "n_tokens_counted": BIG,
}

BANDS = ("strongest", "quantile", "random")
PARTS = ("upper", "middle", "lower")
"""Thirds of the sample in the band quantile, by the sequences' largest |m|."""

_STEPS = 127
_LAST_BIN = 34
_N_LINES = 3
_BEFORE, _AFTER = 12, 6


def written_at(activation: float, facts: Mapping[str, Any]) -> list[str] | None:
    """The first tokens that a neuron promotes at an activation: below 0 those at the bottom of its list, at 0 none.

    Args:
        activation: its coefficient.
        facts: what is known of it, with `top_tokens` and `bottom_tokens`.
    """
    tokens: list[str] | None = facts["bottom_tokens" if activation < 0 else "top_tokens"]
    return tokens if activation else None


def windows_frame(rows: Sequence[Row], texts: Mapping[int, str], facts: Mapping[str, Any]) -> pl.DataFrame:
    """The windows in the order of bands and ranks, with the columns of `WINDOW_COLUMNS`.

    Args:
        rows: those of the statement `neuron_contexts` that have a band, with the ids around their places.
        texts: texts of these ids.
        facts: what is known of the neuron, with the tokens of its lists.
    """
    ordered = sorted(rows, key=lambda row: (BANDS.index(row["band"]), row["rank"]))
    n_sampled = sum(row["band"] == "quantile" for row in ordered)
    windows = [_window(row, texts, n_sampled) for row in ordered]
    return framed([row | {"writes": written_at(row["activation"], facts)} for row in windows], WINDOW_COLUMNS)


def histogram_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """The bins that have any, the lowest first, with the columns of `HISTOGRAM_COLUMNS`.

    Args:
        rows: the neuron's row of `store.activation_histograms`, or none.
    """
    bins = [
        _bin(number, n, row["n_positions"])
        for row in rows
        for number, n in enumerate(row["counts"], start=row["first_bin"])
        if n
    ]
    return framed(bins, HISTOGRAM_COLUMNS)


def sections(
    windows: pl.DataFrame, corpus: str, *, is_signed: bool = False, has_exact_zeros: bool = True
) -> list[Section]:
    """A few lines of the sampled and of the random places; the strongest are told as contexts."""
    lines = [_line(row) | ({"writes": (row["writes"] or [])[:_N_LINES]} if is_signed else {}) for row in _few(windows)]
    if not lines:
        return []
    sample = "the sequences in which it fires" if has_exact_zeros else "all sequences"
    remark = (
        f"upper, middle, lower: thirds of a random sample of {sample}, by their largest"
        " activation; random: places drawn from all tokens"
    )
    return [Section(f"sampled contexts in {corpus}", pl.DataFrame(lines), remark)]


def _window(row: Row, texts: Mapping[int, str], n_sampled: int) -> Row:
    ids = [*row["ids_before"], row["token_id"], *row["ids_after"]]
    integers, place = iter(row["activations"]), len(row["ids_before"])
    activations = [
        (next(integers) if row["nonzero"] >> at & 1 else 0) * row["activation"] / _STEPS for at in range(len(ids))
    ]
    return {
        **row,
        "part": PARTS[3 * (row["rank"] - 1) // n_sampled] if row["band"] == "quantile" else None,
        "activation": activations[place],
        "tokens": [texts.get(token_id, "") for token_id in ids],
        "activations": activations,
        "place": place,
    }


def _bin(number: int, n: int, n_counted: int) -> Row:
    size = abs(number)
    edges = (_edge(size), 0.0 if not size else None if size == _LAST_BIN else _edge(size + 1))
    low, high = edges if number >= 0 else (None if edges[1] is None else -edges[1], -edges[0])
    return {"bin": number, "low": low, "high": high, "n_tokens": n, "n_tokens_counted": n_counted}


def _edge(size: int) -> float:
    """The least |m| of a bin, or what it comes next to."""
    half_steps, is_half = divmod(size, 2)
    return float(2.0 ** (half_steps - 9) * (1.5 if is_half else 1.0)) if size > 1 else 0.0


def _few(windows: pl.DataFrame) -> list[Row]:
    """Of the sample the first of each third, and the first random ones."""
    rows = windows.to_dicts()
    sampled = [next((row for row in rows if row["part"] == part), None) for part in PARTS]
    return [row for row in sampled if row] + [row for row in rows if row["band"] == "random"][:_N_LINES]


def _line(row: Row) -> Row:
    place, tokens = row["place"], row["tokens"]
    return {
        "part": row["part"] or row["band"],
        "activation": row["activation"],
        "domain": row["domain"],
        "before": "".join(tokens[max(0, place - _BEFORE) : place]),
        "token": tokens[place],
        "after": "".join(tokens[place + 1 : place + 1 + _AFTER]),
    }


_NEURON_SUPPRESSION = """\
-- Whether one token detector suppresses what triggers it, and whether chance would; no row for other neurons.
select
    suppression.n_detected,
    suppression.mean_score,
    suppression.suppresses,
    suppression.expected,
    suppression.mean_rank_from_bottom,
    suppression.corpus,
from suppression
where suppression.model = $model and suppression.layer = $layer and suppression.neuron = $neuron
"""

_NEURON_DETECTED = """\
-- How many n-grams of each length one neuron detects in its model's shown corpus.
select n, count(*) as n_detected, bool_and(is_strict) as is_strict,
from detected_ngrams
where model_id = $model_id and layer = $layer and neuron = $neuron
group by n
"""

_N_TOKENS = "select count(*) as n_tokens from store.tokens where tokenizer_id = $tokenizer_id"

Status = Literal["detector", "strict detector", "not", "too few activations", "cannot be labelled", "not judged"]

TRIGGER_COLUMNS: Mapping[str, pl.DataType] = {
    "n": SMALL,
    "rank": SMALL,
    "text": TEXT,
    "token_ids": pl.List(INTEGER),
    "recall": DOUBLE,
    "share": DOUBLE,
    "n_active": BIG,
    "n_occurrences": BIG,
    "score": DOUBLE,
    "z_score": DOUBLE,
    "rank_from_bottom": INTEGER,
}
DETECTION_COLUMNS: Mapping[str, pl.DataType] = {
    "n": SMALL,
    "status": TEXT,
    "coverage": BIG,
    "corpus_coverage": BIG,
    "n_active": BIG,
    "n_distinct": BIG,
    "n_detected": BIG,
    "why": TEXT,
}
_NAMES = {1: "tokens", 2: "bigrams", 3: "trigrams"}
MOST_SHOWN = 5
"""Triggers of a length that the page shows, as many as every alive neuron has."""


@dataclass(frozen=True)
class Triggers:
    """What one neuron fires on in one corpus; empty where n-grams were not counted."""

    # its most frequent n-grams, with the columns of `TRIGGER_COLUMNS`; scores are those at `strong_pole`
    ngrams: pl.DataFrame
    detection: pl.DataFrame  # a row for each length, with the columns of `DETECTION_COLUMNS`
    suppression: Mapping[str, Any] | None  # the row of the view `suppression`, or None unless it detects tokens
    # the pole whose strong activations are counted; None where every activation is
    strong_pole: str | None = None

    def sentence(self) -> str:
        """Whether it detects tokens, and whether it suppresses them; nothing where there is nothing to say."""
        if self.suppression is None:
            return ""
        row = self.suppression
        tokens = "1 token" if row["n_detected"] == 1 else f"{row['n_detected']} tokens"
        verb = "suppresses" if row["suppresses"] else "does not suppress"
        return (
            f"Token detector: it detects {tokens} and {verb} them (mean score {row['mean_score']:.3g};"
            f" {100 * row['expected']:.0f}% of equally frequent tokens would be suppressed too)."
        )

    def by_length(self) -> dict[int, pl.DataFrame]:
        """Length of n-grams -> those that trigger the neuron, by rank; without lengths that have none."""
        triggers = {}
        for n in _NAMES:
            rows = self.ngrams.filter(pl.col("n") == n)
            columns = ["rank", "text", "recall", "share", "n_active", "n_occurrences"]
            columns += ["score", "z_score"] if n == 1 else []
            if not rows.is_empty():
                triggers[n] = rows.select(columns)
        return triggers

    def _meaning(self, n: int) -> str:
        """What the columns of the n-grams of a length are, where it is not plain."""
        if n > 1:
            return ""
        written = (
            "its value vector" if self.strong_pole is None else f"what it promotes at {self.strong_pole} activations"
        )
        return f"recall: of the token's occurrences; share: of its activations; score: of the token in {written}"

    def verdicts(self) -> pl.DataFrame:
        """How the neuron is labelled by its triggers, a row per length."""
        return self.detection.select("n", "status", "n_detected", "coverage", "corpus_coverage", "n_active")

    def reasons(self) -> list[str]:
        """Why it is not a detector of n-grams of a length: a phrase for each length that has a reason."""
        return [f"n = {row['n']}: {row['why']}" for row in self.detection.to_dicts() if row["why"]]

    def counted(self) -> list[str]:
        """Which activations are counted, where not all are."""
        if self.strong_pole is None:
            return []
        return [
            f"activations: the strong ones, |m| above {STRONG:g} root mean squares, at {self.strong_pole} activations"
        ]

    def sections(self, corpus: str, limit: int) -> list[Section]:
        """The triggers of each length, and how they label the neuron."""
        if self.detection.is_empty():
            return []
        parts = [
            first_of(f"{called(n)} that trigger it in {corpus}", rows, min(limit, MOST_SHOWN), self._meaning(n))
            for n, rows in self.by_length().items()
        ]
        remark = "\n".join([*self.reasons(), *rule(), *self.counted()])
        return [*parts, Section(f"detector of n-grams in {corpus}", self.verdicts(), remark)]


def called(n: int) -> str:
    """What n-grams of a length are called."""
    return _NAMES[n]


def rule() -> tuple[str, str]:
    """When a neuron is called a detector, with the thresholds of the views: a sentence of two lines."""
    of = thresholds("detected_ngrams")
    least = thresholds("corpus_ngrams")["min_occurrences"]
    return (
        f"detector: at least {of['min_activations']:.0f} activations, 95% of them on at most {of['most_tokens']:.0f}"
        f" tokens ({of['most_ngrams']:.0f} n-grams),",
        f"and {100 * of['least_share']:g}% of them on n-grams that occur at least {least:.0f} times and activate"
        f" it {100 * of['least_recall']:g}% of the time",
    )


def neuron_triggers(
    connection: duckdb.DuckDBPyConnection, neuron: NeuronAddress, rows: NeuronRows, has: Collection[str]
) -> Triggers:
    """What a neuron fires on in the corpus of its page.

    Labels are those of the views.

    Args:
        connection: a connection on which views tell of that corpus.
        neuron: which one.
        rows: its rows on that corpus.
        has: tables that hold any of the neuron, as the statement `neuron_has` says.
    """
    place = {"layer": neuron.layer, "neuron": neuron.neuron}
    parameters = {**place, "model_id": neuron.model_id}
    detected = records(connection, _NEURON_DETECTED, parameters) if "detected_ngrams" in has else []
    lengths = _lengths(rows, {row["n"]: row for row in detected})
    n_active = {row["n"]: row["n_active"] for row in lengths}
    spelled = [
        {
            **row,
            "text": "".join(rows.texts.get(token_id, "") for token_id in row["token_ids"]),
            "recall": _share(row["n_active"], row["n_occurrences"]),
            "share": _share(row["n_active"], n_active[row["n"]]),
        }
        for row in sorted(rows.of["triggers"], key=lambda row: (row["n"], row["rank"]))
        if row["n"] in n_active and row["token_ids"][0] in rows.texts
    ]
    strong_pole = (rows.facts["pole"] or "positive") if any(row["counts_strong"] for row in lengths) else None
    if strong_pole == "negative":
        n_tokens = records(connection, _N_TOKENS, {"tokenizer_id": neuron.of.tokenizer_id})[0]["n_tokens"]
        spelled = [_at_negative_pole(row, n_tokens) for row in spelled]
    for row in lengths:
        row["status"], row["why"] = _status(row, [one for one in spelled if one["n"] == row["n"]])
    is_detector = any(row["n"] == 1 and row["n_detected"] for row in lengths)
    suppression = records(connection, _NEURON_SUPPRESSION, {**place, "model": neuron.model}) if is_detector else []
    return Triggers(
        framed(spelled, TRIGGER_COLUMNS),
        framed(lengths, DETECTION_COLUMNS),
        suppression[0] if suppression else None,
        strong_pole=strong_pole,
    )


def _at_negative_pole(row: Row, n_tokens: int) -> Row:
    """A trigger with the scores of what a coefficient below 0 writes."""
    if row["score"] is None:
        return row
    rank = n_tokens + 1 - row["rank_from_bottom"]
    return {**row, "score": -row["score"], "z_score": -row["z_score"], "rank_from_bottom": rank}


def _lengths(rows: NeuronRows, detected: Mapping[int, Row]) -> list[Row]:
    """A row for each length of n-grams; what the corpus allows is None where it is not known."""
    none = {"n_detected": 0, "is_strict": None}
    return [
        {**row, **(none if row["can_be_labelled"] is None else detected.get(row["n"], none))}
        for row in sorted(rows.of["ngrams"], key=lambda row: int(row["n"]))
    ]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _status(row: Mapping[str, Any], triggers: Sequence[Mapping[str, Any]]) -> tuple[Status, str]:
    """A length's label and, where it is not a detector, the reason in numbers."""
    of = thresholds("detected_ngrams")
    what = _NAMES[row["n"]]
    most = of["most_tokens"] if row["n"] == 1 else of["most_ngrams"]
    if row["can_be_labelled"] is None:
        return "not judged", "how often n-grams occur in the corpus is unknown"
    if not row["can_be_labelled"]:
        least = thresholds("corpus_ngrams")["least_frequent_share"]
        held = f"hold {100 * row['frequent_share']:.0f}% of the positions, less than {100 * least:.0f}%"
        return "cannot be labelled", f"{what} that occur at least {row['min_occurrences']} times {held}"
    if row["n_active"] < of["min_activations"]:
        return "too few activations", f"{row['n_active']} activations, but {of['min_activations']:.0f} are needed"
    if row["n_detected"]:
        return ("strict detector" if row["is_strict"] else "detector"), ""
    if row["coverage"] > most:
        return "not", f"{row['coverage']:,} {what} cover its activations, more than {most:.0f}"
    answered = [
        one["n_active"]
        for one in triggers
        if one["n_occurrences"] >= row["min_occurrences"] and one["recall"] >= of["least_recall"]
    ]
    held = sum(answered) / row["n_active"]
    often = f"{100 * of['least_recall']:g}%"
    return "not", f"{what} that activate it {often} of the time hold {100 * held:.0f}% of its activations"
