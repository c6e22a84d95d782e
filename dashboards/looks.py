"""How models look in every figure that compares them: colour by size, dashed where they may not be compared."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt

Place = Literal["top", "right"]

DASHED = (5, 3)
_SHORT_NAME = 14
"""Three names of so many letters stand side by side in half a narrow window."""


@dataclass(frozen=True)
class Look:
    """Colours and dashes of the models of a figure.

    Attributes:
        colours: model -> colour, smallest first.
        why_not: model -> why it may not be compared with the others; such models are dashed.
    """

    colours: Mapping[str, str]
    why_not: Mapping[str, str]

    def colour(self, models: Collection[str], orient: Place = "top") -> alt.Color:
        """The scale of colours with a legend of the models that are drawn."""
        shown = [model for model in self.colours if model in set(models)]
        n_columns = 3 if max(map(len, shown), default=0) <= _SHORT_NAME else 2
        return alt.Color(
            "model:N",
            scale=alt.Scale(domain=shown, range=[self.colours[model] for model in shown]),
            sort=shown,
            legend=alt.Legend(
                title=None,
                orient=orient,
                columns=n_columns if orient == "top" else 1,
                labelLimit=180,
                offset=6,
                padding=0,
            ),
        )

    def dash(self) -> alt.StrokeDashValue:
        """Dashes for the lines of models that may not be compared."""
        is_other = {"field": "model", "oneOf": sorted(self.why_not)}
        return alt.StrokeDashValue([1, 0], condition={"test": is_other, "value": list(DASHED)})

    def caption(self, models: Sequence[str]) -> list[str]:
        """Which of the models are dashed, and why; nothing where all may be compared."""
        told = [f"{model} ({self.why_not[model]})" for model in models if model in self.why_not]
        return [f"Dashed, not comparable: {', '.join(told)}."] if told else []
