"""What rules look for, and what they find: a property of tokens, and the pattern of a list that has it."""

from dataclasses import dataclass

from neurothek.catalog.tables.annotations import ConceptClass


@dataclass(frozen=True)
class Property:
    """Something that tokens have or lack whatever list they are in.

    Attributes:
        concept: what it is, in plain English.
        concept_class: its class ([G] 4).
        token_ids: the tokens of the vocabulary that have it.
    """

    concept: str
    concept_class: ConceptClass
    token_ids: frozenset[int]


@dataclass(frozen=True)
class Pattern:
    """A property that a list has more often than chance gives.

    Attributes:
        concept: what it is, in plain English.
        concept_class: its class ([G] 4).
        token_ids: the tokens of the list that follow it, in the list's order.
    """

    concept: str
    concept_class: ConceptClass
    token_ids: tuple[int, ...]
