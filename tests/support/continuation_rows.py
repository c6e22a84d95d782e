"""Rows of continuations, their scores and single neurons made by hand; some scores and some shares are equal."""

import random
from collections.abc import Sequence

from tests.support.intervention_rows import N_SETS
from tests.support.tiny import MODELS, Row

PROMPTS = ("one two", "the school", "12 +", "def f")
NAMES = ("mine", "dead set to 0")
METHODS = (
    ("untouched", 0),
    ("changed", 0),
    *(("random", n) for n in range(1, N_SETS + 1)),
    ("word_filter", 0),
    ("self_debiasing", 0),
)
SCORED = (("words:bad.txt", "bad"), ("domains", "code"), ("domains", "prose"))
N_CONTROLS = 3
TEXTS = (" red", " blue", " green blue", "")
"""What is written; without a text nothing is scored."""


def rows(measured: Sequence[tuple[int, int]]) -> dict[str, list[Row]]:
    """Rows of some (model, corpus), by table."""
    draw = random.Random(62)
    made: dict[str, list[Row]] = {"continuations": [], "attribute_scores": []}
    made |= {"neuron_effects": [], "neuron_effects_by_domain": []}
    for number, (model_id, corpus_id) in enumerate(measured):
        ids = {"model_id": model_id, "corpus_id": corpus_id, "run_id": 970 + number}
        for name in NAMES:
            for method, set_number in METHODS:
                for prompt_number, prompt in enumerate(PROMPTS, start=1):
                    key = ids | {"intervention": name, "method": method, "set_number": set_number}
                    key |= {"prompt_number": prompt_number}
                    text = draw.choice(TEXTS) if prompt_number > 1 else " red"
                    made["continuations"].append(
                        key | {"prompt": prompt, "continuation": text, "n_tokens": len(text.split())}
                    )
                    if text:
                        made["attribute_scores"] += [
                            key | {"scorer": scorer, "attribute": attribute, "score": draw.randint(0, 4) / 4}
                            for scorer, attribute in SCORED
                        ]
        effects = _effects(ids, MODELS[model_id].n_layers, draw)
        made["neuron_effects"] += effects
        made["neuron_effects_by_domain"] += _parts(effects)
    for table in made.values():
        draw.shuffle(table)
    return made


def _effects(ids: Row, n_layers: int, draw: random.Random) -> list[Row]:
    """Five neurons of every layer, three of them random ones."""
    return [
        ids
        | {"layer": layer, "neuron": neuron, "is_control": neuron < N_CONTROLS, "n_tokens": 64}
        | {"nll": 96 + draw.randint(-2, 3) / 4, "nll_untouched": 96.0, "kl": draw.randint(0, 8) / 8}
        for layer in range(n_layers)
        for neuron in range(5)
    ]


def _parts(effects: Sequence[Row]) -> list[Row]:
    """What each does on two domains: a quarter of the tokens are code, and have most of what odd neurons do."""
    parts = []
    for row in effects:
        done, share = row["nll"] - row["nll_untouched"], 0.75 if row["neuron"] % 2 else 0.25
        for domain, of_tokens, of_effect in (("code", 0.25, share), ("prose", 0.75, 1 - share)):
            untouched = row["nll_untouched"] * of_tokens
            part = {name: value for name, value in row.items() if name != "is_control"}
            part |= {"domain": domain, "n_tokens": int(row["n_tokens"] * of_tokens), "nll_untouched": untouched}
            parts.append(part | {"nll": untouched + done * of_effect, "kl": row["kl"] * of_effect})
    return parts
