"""How often random tokens follow a pattern: what a rule may find in them by chance, and no more."""

from functools import cache
from math import comb

from neurothek.catalog.tables.annotations import LEAST_MARKED

LEVEL = 0.05
"""Most random lists that are given any concept, as a share [ours]."""

FAMILIES = ("stop words", "punctuation", "numbers", "names", "word forms", "affixes", "neighbourhoods")
"""Each may find something in LEVEL / 7 of the random lists: Bonferroni's bound, so that together they keep to LEVEL."""


@cache
def tail(n_found: int, n_shown: int, n_members: int, n_tokens: int) -> float:
    """Probability that random tokens hold so many members of a property or more: the hypergeometric tail.

    Args:
        n_found: members among the tokens shown.
        n_shown: tokens shown, drawn from the vocabulary without replacement.
        n_members: tokens of the vocabulary that have the property.
        n_tokens: tokens of the vocabulary.
    """
    most = min(n_shown, n_members)
    ways = sum(comb(n_members, n) * comb(n_tokens - n_members, n_shown - n) for n in range(n_found, most + 1))
    return ways / comb(n_tokens, n_shown)


@cache
def least_found(n_shown: int, n_members: int, n_tokens: int, *, n_properties: int) -> int:
    """The fewest members among the tokens shown that make a pattern; more than are shown where no number does.

    At least 4 ([G] 4), and so many that random tokens have them with a probability of at most the family's share of
    LEVEL, divided by the number of properties that the family tests.
    """
    allowed = LEVEL / len(FAMILIES) / n_properties
    return next(
        (n for n in range(LEAST_MARKED, n_shown + 1) if tail(n, n_shown, n_members, n_tokens) <= allowed), n_shown + 1
    )
