"""Claims on events judged on made-up scores, of which all hold, none does, or nothing can be told; and their page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from docs.generators.claims_events import Events, claims, table
from neurothek import Neurothek

MODELS = ("mini-opt-a", "mini-opt-b")


class Made(Neurothek):
    """A warehouse that knows only made-up events; its name says what is true there."""

    def sql(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limits: object = None,
        corpus: str | None = None,
    ) -> pl.DataFrame:
        kind = self.path.name
        n = 2 if kind == "few" else 60
        if "from saturation_by_layer" in query:
            upper = {"true": 55, "false": 5, "few": 1}[kind]
            return pl.DataFrame([{"model": model, "n": n, "n_upper": upper} for model in MODELS])
        sign = {"true": 1.0, "false": -1.0, "few": 0.0}[kind]
        # The second of each pair is on the other side where nothing can be told.
        noise = [0.01 * (-1) ** number for number in range(n)]
        if "as smallest" in query:
            return pl.DataFrame(
                [
                    {"model": model, "example_id": number, "layer": layer}
                    | candidate(layer, sign, noise[number] * (1 if layer else -1))
                    for model in MODELS
                    for layer in range(3)
                    for number in range(n)
                ]
            )
        return pl.DataFrame(
            [row for model in MODELS for number in range(n) for row in events(model, number, sign, noise[number])]
        )


def candidate(layer: int, sign: float, noise: float) -> dict[str, float]:
    """Scores of one example in one of three layers: where the claims hold the last one is wider and lower."""
    width = 1.0 + (sign if layer == 2 else 0.0)
    return {"largest": width + noise, "mean": 0.25 * sign + noise, "smallest": -width - noise}


def events(model: str, number: int, sign: float, noise: float) -> list[dict[str, Any]]:
    """Scores of one example: at saturation of three kinds of sub-updates, and at its elimination."""
    place = {"model": model, "example_id": number}
    weak = 0.05 if sign > 0 else 0.9 if sign < 0 else 0.2 + noise
    largest = 1.0 if sign > 0 else 0.2 if sign < 0 else 0.5
    own = noise if sign >= 0 else 3.0
    return [
        place | {"event": "saturation", "kind": "dominant", "max": largest, "mean": 0.5 * sign + noise, "size": 1.0},
        place | {"event": "saturation", "kind": "random", "max": weak, "mean": 0.0, "size": weak},
        place | {"event": "saturation", "kind": "random_active", "max": weak, "mean": 0.0, "size": weak},
        place | {"event": "elimination", "kind": "dominant", "max": 0.5 + noise, "mean": own, "size": 1.0},
    ]


@pytest.mark.parametrize(("kind", "verdict"), [("true", "holds"), ("false", "does not hold")])
def test_orderings_are_judged_by_the_interval(kind: str, verdict: str) -> None:
    judged = claims(Events(Made(Path(kind))))
    assert len(judged) == 8
    assert {one.text: one.verdict for one in judged} == {one.text: verdict for one in judged}


def test_what_the_paper_does_not_claim_is_not_given_to_it() -> None:
    sections = {one.text: one.section for one in claims(Events(Made(Path("true"))))}
    assert {text for text, section in sections.items() if section == "ours"} == {
        "Random sub-updates of active neurons promote the token far less than dominant ones."
    }
    page = (Path(__file__).parents[3] / "docs" / "findings.md").read_text("utf-8")
    assert all(f"| {section} | {text} |" in page for text, section in sections.items())


def test_what_cannot_be_told_says_of_how_many() -> None:
    verdicts = [one.verdict for one in claims(Events(Made(Path("few")))) if "near 0" not in one.text]
    assert set(verdicts) == {"undecided, n = 4"}


def test_the_page_has_the_table() -> None:
    lines = table(Made(Path("true"))).splitlines()
    assert len(lines) == 2 + 8
    assert all(line.count(" | ") == 4 for line in lines if not line.startswith("|---"))
    page = (Path(__file__).parents[3] / "docs" / "findings.md").read_text("utf-8")
    assert "<!-- events -->\n| section | claim |" in page
