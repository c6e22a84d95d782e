"""Claims judged on two made-up families, one of which all is true and one of which nothing is; and their page."""

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from docs.generators.claims import claims, table
from docs.generators.family import Claim
from docs.generators.findings import with_block
from neurothek import Neurothek

SIZES = (("0.7m", 10, 4), ("2m", 20, 6), ("5m", 30, 8))
VARIANTS = (
    ("0.7m-seed1", "seed 1"),
    ("2m-nopos", "no-position"),
    ("2m-step250", "step 250"),
    ("2m-step1000", "step 1000"),
)
PER_LAYER = 400


class Family(Neurothek):
    """A warehouse that knows only a made-up family."""

    def sql(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        limits: object = None,
        corpus: str | None = None,
    ) -> pl.DataFrame:
        is_true = self.path.name == "true"
        if "from suppression" in query:
            rows: list[dict[str, Any]] = [
                {"suppresses": i % 10 != 0, "expected": 0.5} for i in range(40 if is_true else 3)
            ]
            return pl.DataFrame(rows)
        if "from detected_by_layer" in query:
            return pl.DataFrame({"n_detected": [30, 30], "n_new": [30, 20] if is_true else [15, 0]})
        if "from detectors_by_layer" in query:
            status = "labelled" if is_true else "cannot be labelled"
            return pl.DataFrame(
                {"n": [2, 3], "status": [status] * 2, "n_detectors": [40, 20] if is_true else [None] * 2}
            )
        if "from position_teams" in query:
            return pl.DataFrame({"is_one": [True, False]})
        return pl.DataFrame(neurons(is_true), infer_schema_length=None)


def neurons(is_true: bool) -> list[dict[str, Any]]:
    """Neurons by the share of each label that a layer of a model gets."""
    draw = random.Random(1)
    models: list[tuple[str, str | None, int, int]] = [(name, None, size, n) for name, size, n in SIZES]
    models += [(name, variant, 10 if "0.7m" in name else 20, 4 if "0.7m" in name else 6) for name, variant in VARIANTS]
    rows = []
    for name, variant, size, n_layers in models:
        for layer in range(n_layers):
            of = shares(is_true, size=size, layer=layer, n_layers=n_layers, variant=variant)
            rows += [
                {"model": f"mini-opt-{name}", "variant": variant, "size": size, "layer": layer, "n_layers": n_layers}
                | neuron(of, draw)
                for _ in range(PER_LAYER)
            ]
    return rows


def shares(is_true: bool, *, size: int, layer: int, n_layers: int, variant: str | None) -> dict[str, float]:
    early, third = 2 * layer + 1 <= n_layers, 3 * layer < n_layers
    if not is_true:
        return {"dead": 0.0 if early else 0.4 - size / 100, "rare": 0.5, "covered": 0.0, "detector": 0.0} | {
            "positional": 0.01 if third else 0.2,
            "oscillatory": 0.0,
            "strong": 0.0,
        }
    oscillates = 0.0 if variant in ("no-position", "step 250", "step 1000") else 0.8
    return {"dead": size / 100 if early else 0.0, "rare": 0.02 if early else 0.3, "covered": size / 100} | {
        "detector": size / 400,
        "positional": 0.5 - size / 100 if third else 0.02,
        "oscillatory": oscillates,
        "strong": 0.9,
    }


def neuron(of: Mapping[str, float], draw: random.Random) -> dict[str, Any]:
    kind = "oscillatory" if draw.random() < of["oscillatory"] else "one extreme"
    if draw.random() >= of["positional"]:
        kind = "not positional"
    return {
        "is_dead": draw.random() < of["dead"],
        "frequency": of["rare"] * (1 - of["covered"]) * draw.uniform(0.8, 1.2),
        "n_active": 500,
        "unigrams_95": 3 if draw.random() < of["covered"] else 900,
        "is_token_detector": draw.random() < of["detector"],
        "position_kind": kind,
        "position_strength": kind if kind == "not positional" else "strong" if draw.random() < of["strong"] else "weak",
    }


@pytest.fixture(scope="module")
def true() -> list[Claim]:
    return claims(Family(Path("true")))


@pytest.fixture(scope="module")
def untrue() -> list[Claim]:
    return claims(Family(Path("untrue")))


def test_what_is_true_holds(true: list[Claim]) -> None:
    # Nothing orders bigram detectors of three sizes here, and layers without dead neurons differ by nothing but chance.
    open_ones = {"Larger models have more detectors of bigrams and trigrams."}
    others = {one.text: one.verdict for one in true if one.text not in open_ones and one.verdict != "holds"}
    assert others.keys() <= {"The layers with most dead neurons are those whose other neurons fire most rarely."}


def test_what_is_untrue_does_not_hold_or_cannot_be_told(untrue: list[Claim]) -> None:
    verdicts = {one.text: one.verdict for one in untrue}
    for text in (
        "Larger models have a larger share of dead neurons.",
        "Dead neurons are in the first half of the network.",
        "The second half is fully alive.",
        "In small models most positional neurons are oscillatory.",
        "Positional patterns are stronger in the first third of the network than later.",
    ):
        assert verdicts[text] == "does not hold"
    for text in (
        "There are many token detectors, and more in larger models.",
        "Token detectors suppress the tokens that trigger them (over 80%).",
        "Oscillatory neurons appear only with long training.",
        "Strong oscillatory neurons of a layer share all positions among themselves.",
    ):
        assert verdicts[text] == "needs larger models"
    assert [one.text for one in untrue if one.verdict == "holds"] == [
        "Some neurons fire by position rather than by content.",
        "A model without position embeddings has positional neurons too.",
    ]


def test_every_claim_has_a_rule_and_numbers(true: list[Claim]) -> None:
    assert len({one.text for one in true}) == len(true)
    for one in true:
        assert one.section[0] in "345"
        assert one.rule
        assert re.search(r"\d", one.numbers)
        assert "|" not in one.text + one.rule + one.numbers


def test_the_table_counts_what_it_shows() -> None:
    shown = table(Family(Path("untrue")))
    verdicts = re.findall(r"\*\*(.*?)\*\* \|$", shown, flags=re.MULTILINE)
    assert shown.startswith(f"Of {len(verdicts)} claims: ")
    for words, start in (("hold", "holds"), ("do not hold", "does not hold"), ("need larger models", "needs")):
        number = sum(one.startswith(start) for one in verdicts)
        assert f" {number} {words}" in shown.splitlines()[0]


def test_the_page_has_its_block() -> None:
    assert "<!-- claims -->\nnew\n<!-- end -->" in with_block(
        "a\n<!-- claims -->\nold\n<!-- end -->\n", "claims", "new"
    )
    page = (Path(__file__).parents[3] / "docs" / "findings.md").read_text("utf-8")
    assert "<!-- claims -->\nOf 20 claims: " in page
