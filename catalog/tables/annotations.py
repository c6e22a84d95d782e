"""The tables of what people judge: concepts in vectors, and lists of next tokens; the closed sets of their columns."""

from typing import Literal, get_args

from neurothek.catalog.tables.table import FLAG, IDS, INTEGER, SMALL, TEXT, TIME, Table

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
    name="annotations",
    scope="none",
    is_fact=False,
    key=("annotation_id",),
    columns={
        "annotation_id": TEXT,
        "model_id": INTEGER,
        "layer": SMALL,
        "condition": TEXT,
        "neuron": INTEGER,
        "control_id": INTEGER,
        "shown_token_ids": IDS,
        "concept": TEXT,
        "class": TEXT,
        "token_ids": IDS,
        "annotator": TEXT,
        "created_at": TIME,
    },
    # A vector is a neuron or a control, and an annotation may say that there is no concept.
    nullable=frozenset({"neuron", "control_id", "concept", "class"}),
)

N_LISTED = 5
"""Tokens of a list that are judged ([D] Table 1)."""

PLAUSIBILITY_JUDGEMENTS = Table(
    name="plausibility_judgements",
    scope="none",
    is_fact=False,
    key=("judgement_id",),
    columns={
        "judgement_id": TEXT,
        "model_id": INTEGER,
        "text": TEXT,
        "shown_token_ids": IDS,
        "is_plausible": FLAG,
        "annotator": TEXT,
        "created_at": TIME,
    },
)
