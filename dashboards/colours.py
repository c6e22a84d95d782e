"""One scale of model colours for every chart: ordered by size, told apart with any colour vision."""

from collections.abc import Mapping, Sequence

# Five points of viridis (Smith and van der Walt 2015), whose lightness rises evenly in every colour vision.
_ANCHORS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))

# The stretch of the scale that can be seen on the background (contrast 3 at least, as WCAG 2.1 asks of lines and bars),
# from the smallest model to the largest: the larger a model, the further its colour is from the background.
_STRETCH = {"light": (0.58, 0.0), "dark": (0.42, 1.0)}

ACCENT = {"light": "#2f5d8a", "dark": "#4a86c2"}
"""The one colour of what belongs to no model."""

FILLED = {"light": ACCENT["light"], "dark": "#3f77b1"}
"""The same behind white words."""

CONTRAST = {"light": "#b5532a", "dark": "#cf7a45"}
"""Against the accent: what is suppressed, and the neuron one looks at."""

KINDS: Mapping[str, Mapping[str, str]] = {
    "light": {"oscillatory": "#332288", "both extremes": "#cc6677", "one extreme": "#117733", "other": "#c9a227"},
    "dark": {"oscillatory": "#9d8cf0", "both extremes": "#e08a98", "one extreme": "#3fae68", "other": "#d9b53c"},
}
"""Kinds of positional neurons: the paper's purple, red, green and yellow, in shades that any colour vision tells apart
(after Tol 2021), and the same lighter, to be read on black."""

_APART = ("needs another model", "does not apply")
"""Outcomes of claims that are not about these models alone."""

_VERDICTS: Mapping[str, Mapping[str, str]] = {
    "light": {"holds": "#1a7f4b", "does not hold": "#c0392b", **dict.fromkeys(_APART, "#666666"), "open": "#8a6d1a"},
    "dark": {"holds": "#57c98c", "does not hold": "#ef8a80", **dict.fromkeys(_APART, "#a0a0a0"), "open": "#d8b655"},
}

DOMAINS = ("#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#a0a0a0")
"""Thin lines beside the accent, told apart with any colour vision (Okabe and Ito 2008)."""


def verdict_colour(outcome: str, *, theme: str = "light") -> str:
    """The colour of the words that say what was found of a claim, read on either background.

    Args:
        outcome: one of `neurothek.queries.papers.findings.OUTCOMES`; what says neither yes nor no has one colour.
        theme: "light" or "dark".
    """
    colours = _VERDICTS[theme]
    return colours.get(outcome, colours["open"])


def model_colours(models: Sequence[str], *, theme: str = "light") -> Mapping[str, str]:
    """A colour for each model of the warehouse.

    Args:
        models: all models, smallest first, so that a model keeps its colour whichever are shown.
        theme: "light" or "dark".
    """
    first, last = _STRETCH[theme]
    steps = max(1, len(models) - 1)
    # A single model stands where the largest would.
    places = [last] if len(models) == 1 else [first + (last - first) * step / steps for step in range(len(models))]
    return {model: _colour(place) for model, place in zip(models, places, strict=True)}


def _colour(place: float) -> str:
    """The scale at a place from 0 to 1 as a hex colour."""
    position = place * (len(_ANCHORS) - 1)
    index = min(int(position), len(_ANCHORS) - 2)
    share = position - index
    mixed = (round(low + (high - low) * share) for low, high in zip(_ANCHORS[index], _ANCHORS[index + 1], strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
