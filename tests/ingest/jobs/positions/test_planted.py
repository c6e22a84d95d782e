"""Positional neurons written into a model's weights by hand are found again from end to end, and nothing else is."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.ingests import measure, open_warehouse, request
from tests.support.models import build, edit_tensors

WORDS = ("the", "school", "is", "near", "river", "old", "new", "roof", "one", "two", "three", "six")
RANGE, OSCILLATOR, ALWAYS, NEVER = 2, 7, 11, 13
"""Neurons of layer 0: one fires at positions 20 to 39, one for ten positions of every twenty, one always, one never."""

POSITION = torch.arange(64)
ON = {RANGE: (POSITION >= 20) & (POSITION < 40), OSCILLATOR: POSITION // 10 % 2 == 0}


def plant(folder: Path, *, positions: bool) -> Path:
    """A model without attention, whose layer 0 shows patterns of positions to two neurons and tokens to the rest."""
    build(folder, "opt", n_layers=1, d_ffn=40, positions=False)

    def edit(tensors: dict[str, torch.Tensor]) -> None:
        table = tensors["model.decoder.embed_tokens.weight"]
        # Four coordinates are the position's. They come in pairs of opposite sign and constant size, so that the
        # normalisation, which looks at mean and variance, tells the other coordinates nothing.
        table[:, :4] = 0
        prefix = "model.decoder.layers.0"
        for name in ("self_attn.out_proj.weight", "self_attn.out_proj.bias", "final_layer_norm.bias"):
            tensors[f"{prefix}.{name}"].zero_()
        tensors[f"{prefix}.final_layer_norm.weight"].fill_(1)
        keys, bias = tensors[f"{prefix}.fc1.weight"], tensors[f"{prefix}.fc1.bias"]
        keys[:, :4] = 0
        for coordinate, neuron in ((0, RANGE), (2, OSCILLATOR)):
            # OPT's position ids start at 2.
            sign = torch.where(ON[neuron], 1.0, -1.0) if positions else torch.ones(64)
            tensors["model.decoder.embed_positions.weight"][2:, coordinate] = sign
            tensors["model.decoder.embed_positions.weight"][2:, coordinate + 1] = -sign
            keys[neuron], bias[neuron] = 0, 0
            keys[neuron, coordinate] = 1
        keys[[ALWAYS, NEVER]] = 0
        bias[ALWAYS], bias[NEVER] = 1, -1

    return edit_tensors(folder, edit)


def found(folder: Path, *, n_sequences: int, positions: bool = True) -> dict[str, list[dict[str, Any]]]:
    """What the views say after one ingest of some thousand words."""
    draw = random.Random(3)
    (folder / "text.txt").write_text(" " + " ".join(draw.choice(WORDS) for _ in range(63 * n_sequences + 5)))
    warehouse = open_warehouse(folder / "w.duckdb")
    text = {"sequence_length": 64, "tokens_per_domain": 63 * n_sequences}
    asked = request((f"prose={folder / 'text.txt'}",), text=text, jobs=("activity", "positions"))
    measure(warehouse, plant(folder / "planted", positions=positions), asked)
    with warehouse.reader() as connection:
        names = ("neurons", "positional_neurons", "positions_by_layer", "position_teams")
        return {name: connection.sql(f"select * from {name}").pl().to_dicts() for name in names}


@pytest.mark.parametrize("n_sequences", [100, 500])
def test_the_planted_neurons_are_found_and_nothing_else(tmp_path: Path, n_sequences: int) -> None:
    answers = found(tmp_path, n_sequences=n_sequences)
    rows = {row["neuron"]: row for row in answers["positional_neurons"]}
    assert {row["n_sequences"] for row in rows.values()} == {n_sequences}
    assert {neuron: (row["position_kind"], row["position_strength"]) for neuron, row in rows.items()} == {
        RANGE: ("both extremes", "strong"),
        OSCILLATOR: ("oscillatory", "strong"),
    }
    for row in rows.values():
        assert row["why_not"] is None
        assert row["domain_agreement"] == row["mutual_information_corrected"]
    assert (rows[RANGE]["n_switches"], rows[OSCILLATOR]["n_switches"]) == (2, 6)
    others = [row["position_kind"] for row in answers["neurons"] if row["neuron"] not in rows]
    assert others == ["not positional"] * 38
    (layer,) = answers["positions_by_layer"]
    assert (layer["n_positional"], layer["n_strong"], layer["n_oscillatory_strong"]) == (2, 2, 1)
    check_teams({row["team"]: row for row in answers["position_teams"]})


def check_teams(teams: dict[str, dict[str, Any]]) -> None:
    """They cover what the two patterns do."""
    counted = {neuron: on[1:] for neuron, on in ON.items()}
    union = counted[RANGE] | counted[OSCILLATOR]
    assert teams["oscillatory"]["n_covered"] == int(counted[OSCILLATOR].sum())
    assert (teams["both"]["n_neurons"], teams["both"]["n_covered"]) == (2, int(union.sum()))
    assert teams["both"]["n_covered_once"] == int((counted[RANGE] ^ counted[OSCILLATOR]).sum())


@pytest.mark.parametrize("n_sequences", [100, 500])
def test_without_positions_nothing_is_positional(tmp_path: Path, n_sequences: int) -> None:
    answers = found(tmp_path, n_sequences=n_sequences, positions=False)
    assert answers["positional_neurons"] == answers["position_teams"] == []
    assert {row["position_kind"] for row in answers["neurons"]} == {"not positional"}


def test_twenty_sequences_are_too_few(tmp_path: Path) -> None:
    answers = found(tmp_path, n_sequences=20)
    assert {row["position_kind"] for row in answers["neurons"]} == {"too few sequences"}
    assert {row["why_not"] for row in answers["positional_neurons"]} == {
        "20 full-length sequences, at least 100 are needed"
    }
    (layer,) = answers["positions_by_layer"]
    assert (layer["n_positional"], layer["why_not"]) == (None, "too few sequences: the corpus has 20 of full length")
    assert answers["position_teams"] == []
