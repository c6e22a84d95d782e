"""The tiny models of the hand-made warehouse, their texts and neurons, and what is planted in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.relatives import Plane

Row = dict[str, Any]
Neuron = tuple[int, int, int]
"""model_id, layer, neuron."""

ENGLISH = (
    *("</s>", "\n", " school", "School", "SCHOOL", " university", " bus", "bus", " coffee", " tea", "ing", " cat"),
    *(" dog", " the", "\\xe2\\x80", " <script>", "[bold]", " Café", "·", " teach", " s", "un", " schools", "er"),
)
OTHER = ("<end>", " the", "er", " dog", "School", " school", " coffee", " tea", " s", "un")
TEXTS = (ENGLISH, OTHER)
SPECIAL = frozenset({"</s>", "<end>"})


@dataclass(frozen=True)
class ModelPlan:
    """What one model of the warehouse is like."""

    name: str
    n_layers: int
    d_ffn: int
    size: int
    tokenizer_id: int = 0
    activation: str = "relu"
    variant: str | None = None
    norm_position: str = "pre"
    corpora: tuple[int, ...] = ()
    pinned: int | None = None

    @property
    def is_relu(self) -> bool:
        """Whether the coefficients are exact zeros or positive."""
        return self.activation == "relu"


MODELS = (
    ModelPlan("tiny-1m", 2, 5, 1_000_000, corpora=(0, 1), pinned=0),
    ModelPlan("tiny-2m", 3, 6, 2_000_000, corpora=(0, 1)),
    ModelPlan("tiny-2m-nopos", 3, 6, 2_000_000, variant="no-position", corpora=(0,)),
    ModelPlan("gelu-1m", 2, 4, 1_500_000, 1, "gelu_new", norm_position="post", corpora=(2,)),
    ModelPlan("weights-only", 1, 4, 500_000),
)

BYTE_TOKEN, UNDERTRAINED_TOKEN = 4, 5
"""Tokens of every vocabulary that are said to be a byte, and near the unused rows."""

WITHOUT_HISTOGRAMS = 2
"""Number of the model whose projections are those of a release before histograms."""

# name, text, tokenizer, lengths of the sequences (BOS included where there is one) by domain
CORPORA: tuple[tuple[str, str, int, dict[str, tuple[int, ...]]], ...] = (
    ("builtin", "text-one", 0, {"prose": (8, 8, 5), "code": (8, 8, 8, 3)}),
    ("long", "text-two", 0, {"prose": (8,) * 12}),
    ("builtin", "text-one", 1, {"prose": (8, 8, 4), "code": (8, 8, 8)}),
)

LENGTH = 49
"""Ids of the made-up full-length sequences behind the profiles, BOS included."""

POSITION_SEQUENCES: tuple[dict[str, int], ...] = ({"prose": 150, "code": 110}, {"prose": 120}, {"prose": 10, "code": 9})
"""How many such sequences each corpus has by domain; the last has too few."""

COMPARED = ((0, 1), (0, 4))
"""Pairs of models whose counterparts were found."""

BOS: tuple[int | None, int | None] = (0, None)
DEAD: frozenset[Neuron] = frozenset({(0, 0, 3), (0, 1, 4), (1, 0, 5), (1, 2, 1), (2, 0, 5)})
PROVABLY_DEAD: frozenset[Neuron] = frozenset({(0, 1, 4), (1, 2, 1)})
ONLY_AT_BOS: frozenset[Neuron] = frozenset({(0, 0, 3), (1, 0, 5)})
"""Of the dead ones those that fire at the BOS of every sequence."""

FLAT: Neuron = (4, 0, 3)
"""A neuron with a zero value vector: all its scores are 0."""

PLANTED: dict[Neuron, dict[str, float]] = {
    (0, 0, 0): {" school": 12, "School": 11, "SCHOOL": 10, " university": 9},
    (0, 1, 2): {" school": -12, " university": -11, " cat": 9},
    (0, 0, 1): {" coffee": 12, " tea": 11},
    (1, 2, 3): {" coffee": 10, " tea": 11, " school": 9},
    (1, 0, 2): {" s": 12, "un": 11},
    (3, 1, 1): {" school": 12, " coffee": 11, " tea": 10},
    (4, 0, 0): {" school": 9},
}


def neurons_of(model_id: int) -> Iterator[Neuron]:
    """Every neuron of a model in order."""
    plan = MODELS[model_id]
    return ((model_id, layer, neuron) for layer in range(plan.n_layers) for neuron in range(plan.d_ffn))


def address(neuron: Neuron) -> str:
    """Address of a neuron."""
    model_id, layer, index = neuron
    return f"{MODELS[model_id].name}/L{layer}N{index}"


def plane(model_id: int) -> Plane:
    """The value vectors of a model as directions in a plane."""
    plan = MODELS[model_id]
    flat = frozenset(key[1:] for key in (FLAT,) if key[0] == model_id)
    return Plane(model_id, plan.n_layers, plan.d_ffn, flat)


def made_up_null(model_id: int, layer: int) -> float:
    """What random vectors of a layer are said to reach: a number that some overlaps exceed."""
    return 0.25 + layer / 16 + model_id / 64
