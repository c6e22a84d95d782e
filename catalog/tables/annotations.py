"""The tables of what people judge: concepts in vectors, and lists of next tokens; the closed sets of their columns."""

from typing import Literal, get_args

from neurothek.catalog.tables.table import FLAG, IDS, INTEGER, SMALL, TEXT, TIME, Column, Table

Condition = Literal["value", "random", "ffn_update"]
ConceptClass = Literal["semantic", "syntactic", "names", "stopwords-punctuation"]

CONDITIONS: tuple[Condition, ...] = get_args(Condition)
CONCEPT_CLASSES: tuple[ConceptClass, ...] = get_args(ConceptClass)

N_SHOWN = 30
"""Tokens of a vector that are judged ([G] 4)."""

LEAST_MARKED = 4
"""Tokens that make a pattern ([G] 4)."""

POOLED = "all"
"""What views call all people together: no annotator may have this name."""

RULES = "rules"
"""The annotator that is a program: no person may have this name, and views do not pool it with people."""

ANNOTATIONS = Table(
    "annotations",
    "One row per annotator, vector and concept that the annotator names in its tokens, or one row that says that "
    "there is none (Geva et al. 2022, section 4).",
    key=("annotation_id",),
    columns={
        "annotation_id": Column(TEXT, "UUID of the annotation, so that those of several people can be merged."),
        "model_id": Column(INTEGER, "The model."),
        "layer": Column(SMALL, "Layer of the vector, 0-based."),
        "condition": Column(
            TEXT,
            "What the vector is: value, a neuron's value vector; random, a random vector; ffn_update, an output "
            "of the layer's FFN.",
        ),
        "neuron": Column(INTEGER, "Neuron within the layer, 0-based; null for a control.", nullable=True),
        "control_id": Column(
            INTEGER, "Number of the control within its layer and kind, 0-based; null for a neuron.", nullable=True
        ),
        "shown_token_ids": Column(IDS, "The tokens that were judged: the 30 highest of the vector then, best first."),
        "concept": Column(
            TEXT,
            "Name of the concept, in the annotator's words; null: the annotator finds no concept in the vector.",
            nullable=True,
        ),
        "class": Column(
            TEXT, "semantic, syntactic, names or stopwords-punctuation; null without a concept.", nullable=True
        ),
        "token_ids": Column(IDS, "The tokens of the concept, at least 4, best first; empty without a concept."),
        "annotator": Column(TEXT, "Who annotated."),
        "created_at": Column(TIME, "When it was published, in UTC; all concepts of one judgement have the same time."),
    },
)

N_LISTED = 5
"""Tokens of a list that are judged ([D] Table 1)."""

PLAUSIBILITY_JUDGEMENTS = Table(
    "plausibility_judgements",
    "One row per annotator, model, sentence and list of tokens: whether at least one of the tokens is a plausible "
    "continuation (after Din et al. 2023). Which shortcut and state gave the list is not kept: several may have "
    "given it.",
    key=("judgement_id",),
    columns={
        "judgement_id": Column(TEXT, "UUID of the judgement, so that those of several people can be merged."),
        "model_id": Column(INTEGER, "The model."),
        "text": Column(TEXT, "The sentence that was shown: what the model had read, or the whole one with a mask."),
        "shown_token_ids": Column(IDS, "The tokens that were shown, at most 5, best first."),
        "is_plausible": Column(FLAG, "Whether the annotator finds at least one of them plausible."),
        "annotator": Column(TEXT, "Who judged."),
        "created_at": Column(TIME, "When it was published, in UTC."),
    },
)
