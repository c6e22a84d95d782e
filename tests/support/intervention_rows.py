"""Rows of the tables of interventions made by hand: sums are multiples of 1/8, and some sets equal what was asked."""

import random
from collections.abc import Sequence

from tests.support.tiny import MODELS, Row

N_SETS = 20
DOMAINS, POSITIONS = ("code", "prose"), (0, 1, 8)
INTERVENTIONS = (
    {"intervention": "dead set to 0", "asked": "dead", "kind": "dead", "how": "set", "value": 0.0},
    {"intervention": "positional set to 0", "asked": "positional", "kind": "positional", "how": "set", "value": 0.0},
    {"intervention": "mine", "asked": "where neuron < 2", "kind": None, "how": "mean", "value": None},
)

WATCHING = "mine"
"""The one that asks for the probability of tokens."""


def rows(measured: Sequence[tuple[int, int]]) -> dict[str, list[Row]]:
    """Rows of some (model, corpus), by table."""
    draw = random.Random(61)
    made: dict[str, list[Row]] = {
        name: [] for name in ("interventions", "intervention_neurons", "intervention_effects")
    }
    for number, (model_id, corpus_id) in enumerate(measured):
        ids = {"model_id": model_id, "corpus_id": corpus_id, "run_id": 980 + number}
        layers = range(MODELS[model_id].n_layers)
        for one in INTERVENTIONS:
            watched = '[" a", "b"]' if one["intervention"] == WATCHING else None
            settings = {
                "moment": "after",
                "n_neurons": 2 * len(layers),
                "n_sets": N_SETS,
                "seed": 0,
                "watched": watched,
                "positions": "0-7" if watched else None,
            }
            made["interventions"].append(ids | one | settings)
            named = ids | {"intervention": one["intervention"]}
            for set_number in range(N_SETS + 1):
                made["intervention_neurons"] += [
                    named | {"set_number": set_number, "layer": layer, "neuron": neuron}
                    for layer in layers
                    for neuron in (0, 1)
                ]
            made["intervention_effects"] += _effects(named, draw)
    for table in made.values():
        draw.shuffle(table)
    return made


def _effects(named: Row, draw: random.Random) -> list[Row]:
    found = []
    is_watching = named["intervention"] == WATCHING
    for domain in DOMAINS:
        for position in POSITIONS:
            n_tokens, nll_untouched = draw.randint(4, 40), draw.randint(8, 80) / 8
            untouched: Row = {
                "nll_untouched": nll_untouched,
                "mass_promoted_untouched": n_tokens / 8,
                "mass_suppressed_untouched": n_tokens / 16,
                "mass_watched_untouched": n_tokens / 32 if is_watching else None,
                "window_weight": n_tokens * 1.125,
                "nll_windows_untouched": nll_untouched * 1.125,
            }
            place = {"domain": domain, "position_from": position, "n_tokens": n_tokens}
            for set_number in range(N_SETS + 1):
                # Few steps, so that some effects are equal.
                nll = nll_untouched + draw.randint(0, 3) / 8
                changed: Row = {
                    "nll": nll,
                    "kl": draw.randint(0, 16) / 8,
                    "mass_promoted": n_tokens * draw.randint(0, 8) / 16,
                    "mass_suppressed": n_tokens * draw.randint(0, 8) / 32,
                    "nll_windows": nll * 1.25 + draw.randint(0, 3) / 16,
                    "mass_watched": n_tokens * draw.randint(0, 8) / 64 if is_watching else None,
                }
                found.append(named | place | untouched | changed | {"set_number": set_number})
    return found
