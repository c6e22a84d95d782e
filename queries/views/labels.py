"""A neuron's row of the view `neurons`, made from the flat row that the view reads, and its label from that row.

DuckDB takes longer to plan the view than to read a neuron's page. The constants are the view's own, and the tests
compare every label with it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neurothek.queries.names.models import KnownModel
from neurothek.queries.views.contents import thresholds
from neurothek.queries.views.install import view

FlatRow = Mapping[str, Any]

_TAKEN = {"skewness": "score_skewness", "kurtosis": "score_kurtosis"}
"""Columns of the view that the flat table has under other names."""


def labelled(flat: FlatRow, model: KnownModel, corpus: str | None) -> dict[str, Any]:
    """The row of the view `neurons`, with its columns in their order.

    Args:
        flat: the neuron's row of the table neuron_facts.
        model: its model.
        corpus: name of the corpus that the row is about; None before any text was measured.
    """
    labels = {
        "model": model.name,
        "family": model.family,
        "variant": model.variant,
        "size": model.size,
        "corpus": corpus,
        **activity(flat),
        **_death(flat, model),
        **_position(flat),
        **_detection(flat),
        "is_negligible": _is_negligible(flat),
        "pole": _pole(flat) if model.is_signed else None,
    }
    return {name: labels[name] if name in labels else flat[_TAKEN.get(name, name)] for name in view("neurons").columns}


LABEL_COLUMNS = (
    *("is_dead", "n_tokens_seen", "is_negligible", "contribution_max", "effective_frequency"),
    *("is_token_detector", "detected_tokens", "suppresses_triggers", "trigger_tokens", "trigger_share"),
    *("position_strength", "position_kind", "mutual_information_corrected", "selective_domain", "domain_entropy"),
    *("is_entropy_neuron", "null_share", "is_frequency_neuron", "count_correlation", "read_tokens", "pole"),
    *("massive_ratio", "has_super_weight", "read_z", "promoted_z"),
    *("input_score", "input_other_score", "n_strongest_contexts"),
    *("top_tokens", "bottom_tokens", "coherence_percentile", "cluster_id", "cluster_size"),
)
"""Columns of `neurons` that a label is made of."""


def label_of(row: Mapping[str, Any]) -> str | None:
    """What was measured of a neuron in one line, as in the view `neuron_labels`; None where nothing was.

    Args:
        row: its row of the view `neurons`, with `LABEL_COLUMNS`.
    """
    clauses = (_idleness(row), _triggering(row), *_traits(row), _writing(row), *_extent(row))
    return "; ".join(clause for clause in clauses if clause) or None


def _idleness(row: Mapping[str, Any]) -> str | None:
    if row["is_dead"]:
        return _clause("never active at {} tokens", row["n_tokens_seen"])
    share = _percent(row["contribution_max"], 2)
    return _clause("negligible: at most {} of its FFN's output", share) if row["is_negligible"] else None


def _triggering(row: Mapping[str, Any]) -> str | None:
    is_detector = row["is_token_detector"]
    tokens = row["detected_tokens"] if is_detector else row["trigger_tokens"]
    if not tokens:
        return None
    doing = f" and {'suppresses' if row['suppresses_triggers'] else 'promotes'} them" if is_detector else ""
    share = _clause(" (five tokens hold {})", _percent(row["trigger_share"], 1)) or ""
    return f"{'detects' if is_detector else 'often at'} {_first_three(tokens)}{doing}{share}"


def _traits(row: Mapping[str, Any]) -> Iterator[str | None]:
    if row["position_strength"] in ("strong", "weak"):
        nats = _rounded(row["mutual_information_corrected"], 2)
        yield _clause("depends on position: {}, {} ({} nats)", row["position_kind"], row["position_strength"], nats)
    entropy = row["domain_entropy"]
    if entropy is not None and entropy <= thresholds("neuron_labels")["uneven_entropy"]:
        yield _clause("for {} (entropy over domains {})", row["selective_domain"], _rounded(entropy, 2))
    if row["is_entropy_neuron"]:
        yield _clause("moves no logit with {} of what it writes", _percent(row["null_share"], 1))
    if row["is_frequency_neuron"]:
        correlation = _rounded(row["count_correlation"], 2)
        at_pole = -correlation if correlation is not None and row["pole"] == "negative" else correlation
        yield _clause("follows token counts (correlation {})", at_pole)
    if row["has_super_weight"]:
        ratio = _rounded(row["massive_ratio"], 0)
        yield _clause(
            "has a super weight (coefficient {} times its layer's mean)", None if ratio is None else int(ratio)
        )
    if row["read_tokens"]:
        z = _clause(" (z {})", _rounded(row["read_z"], 1)) or ""
        yield f"reads {_first_three(row['read_tokens'])}{z}"


def _writing(row: Mapping[str, Any]) -> str | None:
    tokens = row["bottom_tokens"] if row["pole"] == "negative" else row["top_tokens"]
    if not tokens:
        return None
    score, others, n_contexts = row["input_score"], row["input_other_score"], row["n_strongest_contexts"]
    is_reader = None not in (score, others, n_contexts) and score > others
    numbers = (
        _clause("z {}", _rounded(row["promoted_z"], 1)),
        _clause("more coherent than {}% of random vectors", _rounded(row["coherence_percentile"], 1)),
        f"at {round(score * n_contexts)} of its {n_contexts} strongest contexts" if is_reader else None,
    )
    behind = ", ".join(number for number in numbers if number)
    return f"promotes {_first_three(tokens)}" + (f" ({behind})" if behind else "")


def _extent(row: Mapping[str, Any]) -> Iterator[str | None]:
    frequency, size = row["effective_frequency"], row["cluster_size"]
    if frequency is not None:
        is_rare = frequency < thresholds("neuron_labels")["smallest_frequency"]
        yield (
            "effective frequency under 0.01%" if is_rare else _clause("effective frequency {}", _percent(frequency, 2))
        )
    if size is not None and size > 1:
        yield _clause("in cluster {} ({} neurons)", row["cluster_id"], size)


def _clause(template: str, *values: object) -> str | None:
    """The clause, as far as all that it says was measured."""
    return None if None in values else template.format(*values)


def _first_three(tokens: Sequence[str | None]) -> str:
    return " ".join(f"“{token}”" for token in tokens[:3] if token is not None)


def _percent(share: float | None, digits: int) -> str | None:
    return _clause("{}%", None if share is None else _rounded(100 * share, digits))


def _rounded(number: float | None, digits: int) -> float | None:
    """As in SQL: halves away from 0."""
    if number is None or not math.isfinite(number):
        return number
    scale = 10.0**digits
    return math.copysign(math.floor(abs(number) * scale + 0.5) / scale, number)


def activity(flat: FlatRow) -> dict[str, Any]:
    """`frequency`, `never_active`, `n_tokens_seen`: None as far as they were not measured.

    Args:
        flat: n_active and n_positions of the neuron.
    """
    n_active, n_seen = flat["n_active"], flat["n_positions"]
    return {
        "frequency": _ratio(n_active, n_seen),
        "never_active": None if n_active is None else n_active == thresholds("neurons")["dead_active_positions"],
        "n_tokens_seen": n_seen,
    }


def _death(flat: FlatRow, model: KnownModel) -> dict[str, Any]:
    bound = flat["preactivation_bound"]
    is_below = None if bound is None else bound < thresholds("neurons")["dead_bound"]
    return {
        "fires_only_at_bos": _only_at_bos(flat),
        "is_dead": activity(flat)["never_active"] if model.has_exact_zeros else None,
        "is_provably_dead": is_below if model.has_exact_zeros else None,
        "mean_activation": _ratio(flat["activation_sum"], flat["n_positions"]),
    }


def _only_at_bos(flat: FlatRow) -> bool | None:
    is_silent, n_at_bos = activity(flat)["never_active"], flat["n_active_bos"]
    # As in SQL, where a part that is false decides whatever the other is.
    if is_silent is False or (n_at_bos is not None and n_at_bos <= 0):
        return False
    return None if is_silent is None or n_at_bos is None else True


def _position(flat: FlatRow) -> dict[str, Any]:
    kind = _position_kind(flat)
    if kind in (None, "too few sequences", "not positional"):
        return {"position_kind": kind, "position_strength": kind}
    of = thresholds("neurons")
    weakest_on, weakest_off, roughness = flat["weakest_on"], flat["weakest_off"], flat["roughness"]
    has_strong_runs = (weakest_on is None or weakest_on >= of["strong_on"]) and (
        weakest_off is None or weakest_off <= of["strong_off"]
    )
    is_smooth = roughness is not None and roughness <= of["strong_roughness"]
    is_strong = is_smooth if kind == "other" else has_strong_runs
    return {"position_kind": kind, "position_strength": "strong" if is_strong else "weak"}


def _position_kind(flat: FlatRow) -> str | None:
    of = thresholds("neurons")
    n_sequences, information = flat["n_position_sequences"], flat["mutual_information_corrected"]
    if n_sequences is None:
        return None
    if n_sequences < of["least_sequences"]:
        return "too few sequences"
    if information is not None and information <= of["positional_information"]:
        return "not positional"
    if flat["n_switches"] >= of["oscillating_switches"]:
        return "oscillatory"
    if flat["n_switches"] > 0:
        return "both extremes"
    return "one extreme" if flat["n_on_runs"] + flat["n_off_runs"] > 0 else "other"


def _detection(flat: FlatRow) -> dict[str, Any]:
    status = _token_status(flat)
    is_detector = None if status is None else status == "detector"
    return {
        "token_status": status,
        "is_token_detector": is_detector,
        "detected_tokens": flat["detected_tokens"] if is_detector else None,
        "suppresses_triggers": _suppresses(flat) if is_detector else is_detector,
    }


def _token_status(flat: FlatRow) -> str | None:
    of = thresholds("neurons")
    n_active, coverage = flat["unigram_active"], flat["unigrams_95"]
    if n_active is None:
        return None
    if n_active < of["min_activations"]:
        return "too few activations"
    is_few = coverage is not None and coverage <= of["most_tokens"]
    share = _ratio(flat["detected_active"], n_active)
    return "detector" if is_few and share is not None and share >= of["least_share"] else "not"


def _suppresses(flat: FlatRow) -> bool | None:
    score = flat["detected_score"]
    return None if score is None else bool(score < thresholds("neurons")["suppression_bound"])


def _is_negligible(flat: FlatRow) -> bool | None:
    contribution = flat["contribution_max"]
    return None if contribution is None else bool(contribution < thresholds("neurons")["negligible_contribution"])


def _pole(flat: FlatRow) -> str:
    """The sign of its largest coefficient; without any, of the longer tail of its scores."""
    least, most = flat["activation_min"], flat["activation_max"]
    leaning = 0.0 if least is None or most is None else least + most
    return "negative" if (leaning or flat["score_skewness"] or 0.0) < 0 else "positive"


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if whole and part is not None else None
