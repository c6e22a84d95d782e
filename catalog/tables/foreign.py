"""Tables of other people's catalogs of a model's neurons: what they say, as they say it, and nothing measured here."""

from collections.abc import Mapping
from typing import Literal, get_args

from neurothek.catalog.tables.table import (
    BIG,
    DOUBLE,
    IDS,
    INTEGER,
    LAYER,
    NEURON,
    SMALL,
    TEXT,
    TEXTS,
    TIME,
    Column,
    Table,
)

SINCE = 41

ForeignKind = Literal["neuronpedia", "gluscope", "openai", "neuron-lens"]
"""Whose form a catalog has; nothing that can be trusted says how that of neuron-lens looks, so it is refused."""

KINDS: tuple[ForeignKind, ...] = get_args(ForeignKind)

ALL_POSITIONS, WITHOUT_FIRST = "all", "without the first"
"""Which positions a frequency counts."""

CATALOG = Column(TEXT, "The catalog: its kind, and the beginning of a fingerprint of its content.")
SET = Column(INTEGER, "The set of units: of the neurons of a model, the model's number.")

FOREIGN_CATALOGS = Table(
    "foreign_catalogs",
    "One row per catalog of other people that was imported: whose it is, and what it says of how it was made.",
    key=("model_id", "catalog"),
    since=SINCE,
    columns={
        "catalog": CATALOG,
        "model_id": Column(INTEGER, "The model here that it was imported for."),
        "kind": Column(TEXT, "Whose form it has: neuronpedia, gluscope or openai."),
        "their_model": Column(TEXT, "The model, as they name it; null where they do not.", nullable=True),
        "source": Column(TEXT, "Where it was read from."),
        "version": Column(TEXT, "The release that it is of, as they name it; null where they do not.", nullable=True),
        "method": Column(TEXT, "What its files, or those who publish them, say of how it was made.", nullable=True),
        "n_tokens": Column(BIG, "Tokens that they measured on; null where they do not say.", nullable=True),
        "active_when": Column(
            TEXT,
            "When a neuron counts as active in their frequency, written as the rule of a model here; null where they "
            "do not say.",
            nullable=True,
        ),
        "positions": Column(
            TEXT,
            "Positions that their frequency counts: all, or without the first; null where they do not say.",
            nullable=True,
        ),
        "n_neurons": Column(BIG, "Neurons that it knows."),
        "sha256": Column(TEXT, "sha256 of what was read of it, uncompressed."),
        "imported_at": Column(TIME, "When it was imported, in UTC."),
    },
)

FOREIGN_NEURONS = Table(
    "foreign_neurons",
    "One row per foreign catalog and neuron: what the catalog says of it.",
    key=("set_id", "catalog", "layer", "neuron"),
    since=SINCE,
    columns={
        "catalog": CATALOG,
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "frequency": Column(
            DOUBLE,
            "Share of positions at which it is active, by their rule; null where they do not say.",
            nullable=True,
        ),
        "max_activation": Column(DOUBLE, "Its largest activation; null where they do not say.", nullable=True),
        "promoted": Column(TEXTS, "Texts of the tokens it promotes most, in their order and spelling."),
        "promoted_token_ids": Column(
            IDS, "Their ids here; null in the place of a text that is no token of the model, or several."
        ),
        "suppressed": Column(TEXTS, "Texts of the tokens it suppresses most, likewise."),
        "suppressed_token_ids": Column(IDS, "Their ids here, likewise."),
        "other_neuron": Column(
            INTEGER,
            "Another neuron of the layer, by a shuffle with a fixed seed: how far these lists agree with that one's is "
            "chance. Null in a layer of one.",
            nullable=True,
        ),
    },
)

FOREIGN_EXPLANATIONS = Table(
    "foreign_explanations",
    "One row per foreign catalog, neuron and explanation that the catalog has of it.",
    key=("set_id", "catalog", "layer", "neuron", "number"),
    since=SINCE,
    columns={
        "catalog": CATALOG,
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "number": Column(SMALL, "Number of the explanation among those of the neuron, from 1, in their order."),
        "explainer": Column(TEXT, "The model or person that wrote it, as they say; null likewise.", nullable=True),
        "method": Column(TEXT, "How it was made, as they name it; null where they do not.", nullable=True),
        "score": Column(DOUBLE, "Their score of it; null where they publish none.", nullable=True),
        "score_name": Column(TEXT, "Name of that score, as they call it; null without one.", nullable=True),
        "text": Column(TEXT, "The explanation, as it was written."),
    },
)

FOREIGN: tuple[Table, ...] = (FOREIGN_CATALOGS, FOREIGN_NEURONS, FOREIGN_EXPLANATIONS)
"""The tables that nothing here fills but an import of somebody else's catalog; a catalog is known by its name, and
imported for one model at a time."""

MOST_TOKENS = 100
"""Tokens that a list of a foreign catalog may have."""

MOST_EXPLANATIONS = 100
"""Explanations that a foreign catalog may have of one neuron."""

COMPARED_TOKENS = 10
"""First tokens of each list that are held against ours [ours]; `compared_tokens` in views."""

REFUSED: Mapping[ForeignKind, str] = {
    "neuron-lens": "no description of its files was found: what is published of it tells what was measured, and not how"
    " the files are laid out",
}
"""Kinds that are named and not read -> why."""
