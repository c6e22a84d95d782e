"""Signs of a gated FFN are a convention: negated rows of up_proj and columns of down_proj change no answer."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from click.testing import CliRunner

import neurothek
from neurothek import Neurothek, main
from neurothek.catalog.spelling import quoted
from neurothek.queries.neuron.headline import headline
from neurothek.queries.neuron.page import NeuronPage
from tests.support import ingests
from tests.support.models import build, edit_tensors

# One worker measures the warehouse.
pytestmark = pytest.mark.xdist_group("signs")

PROMPT = "the school is near the river"
SENTENCES = "The school is near the river. It has a new roof! Is it old? One two three four five six."
N_LAYERS, D_FFN = 3, 24
SIGNS = np.random.default_rng(4).choice([-1.0, 1.0], size=(N_LAYERS, D_FFN))
CLOSE = 1e-5
"""Float32 sums are the same but for their sign; projections are scaled by powers of two before they are summed."""

Row = dict[str, Any]


def flip(tensors: dict[str, torch.Tensor]) -> None:
    for layer, sign in enumerate(torch.from_numpy(SIGNS).float()):
        tensors[f"model.layers.{layer}.mlp.up_proj.weight"] *= sign[:, None]
        tensors[f"model.layers.{layer}.mlp.down_proj.weight"] *= sign


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    """`plain`, and `flipped`: the same model with the signs of half its neurons the other way round."""
    folder = tmp_path_factory.mktemp("signs")
    (folder / "prose").mkdir()
    for number in range(8):
        (folder / "prose" / f"{number}.txt").write_text(SENTENCES)
    jobs = ("projections", "activity", "contexts", "events")
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for name in ("plain", "flipped"):
        build(folder / name, "llama", n_layers=N_LAYERS, d_ffn=D_FFN, seed=5)
        if name == "flipped":
            edit_tensors(folder / name, flip)
        ingests.measure(warehouse, folder / name, ingests.request((f"prose={folder / 'prose'}",), jobs=jobs))
    return neurothek.open(folder / "w.duckdb")


def sign_of(row: Mapping[str, Any]) -> float:
    return float(SIGNS[row["layer"], row["neuron"]])


def agree(one: Row, other: Row, names: list[str]) -> list[str]:
    """Names of the columns in which two rows differ by more than rounding."""
    return [name for name in names if other[name] != (pytest.approx(one[name], rel=CLOSE, abs=CLOSE))]


def same_but_for_the_pole(plain: pl.DataFrame, flipped: pl.DataFrame, *, coefficient: str) -> list[str]:
    """What differs between two frames of neurons, but for coefficients of the other sign and lists in other places."""
    assert plain.height == flipped.height > 0
    wrong = []
    for one, other in zip(plain.to_dicts(), flipped.to_dicts(), strict=True):
        sign = sign_of(one)
        exempt = {"address", "model", coefficient, "top_tokens", "bottom_tokens", "n_active", "frequency"}
        names = [name for name in one if name not in exempt]
        lists = [name for name in names if isinstance(one[name], str | list) or one[name] is None]
        wrong += [name for name in lists if one[name] != other[name]]
        wrong += agree(one, other, [name for name in names if name not in lists])
        if other[coefficient] != pytest.approx(sign * one[coefficient], rel=CLOSE, abs=CLOSE):
            wrong.append(coefficient)
        if "top_tokens" in one:
            swapped = ("top_tokens", "bottom_tokens") if sign > 0 else ("bottom_tokens", "top_tokens")
            wrong += [] if one["top_tokens"] == other[swapped[0]] else ["top_tokens"]
    return wrong


def test_a_trace_is_the_same_and_names_what_is_written(door: Neurothek) -> None:
    plain, flipped = (door.trace(name, PROMPT, effects=True, raising=20) for name in ("plain", "flipped"))
    assert plain.traced.final_probability == flipped.traced.final_probability
    assert plain.layers.equals(flipped.layers)
    for name in ("neurons", "raising"):
        frames = (getattr(page, name) for page in (plain, flipped))
        assert same_but_for_the_pole(*frames, coefficient="coefficient") == []
    for page in (plain, flipped):
        rows = page.neurons.to_dicts()
        assert {row["coefficient"] < 0 for row in rows} == {True, False}
        for row in rows:
            assert row["writes"] == row["bottom_tokens" if row["coefficient"] < 0 else "top_tokens"]
        shown = {section.title: section.frame.columns for section in page.sections()}
        assert all("top_tokens" not in columns for columns in shown.values())
        assert all("promotes" not in columns for columns in shown.values())
        remarks = " ".join(section.remark for section in page.sections() if "frequency" in section.frame.columns)
        assert "frequency (how often its gate is open), kind: on" in remarks
    assert [section.frame["writes"].to_list() for section in plain.sections()[1:]] == [
        section.frame["writes"].to_list() for section in flipped.sections()[1:]
    ]


def test_pushers_and_events_are_the_same(door: Neurothek) -> None:
    order = "token_id, layer, neuron"
    plain, flipped = (
        door.sql(f"select * from pushers where model = '{name}' order by {order}") for name in ("plain", "flipped")
    )
    wrong = []
    assert plain.height == flipped.height > 0
    for one, other in zip(plain.to_dicts(), flipped.to_dicts(), strict=True):
        same = ["n_pushes", "n_saturations", "push_share", "mean_score", "mean_centred", "mean_share"]
        wrong += agree(one, other, same)
        wrong += [name for name in ("token", "layer", "neuron", "writes") if one[name] != other[name]]
        wrong += agree({"m": one["mean_coefficient"] * sign_of(one)}, {"m": other["mean_coefficient"]}, ["m"])
    assert wrong == []
    assert (plain["mean_centred"] > 0).all()
    assert (plain["mean_coefficient"] < 0).any()
    for view, key in (("event_scores", "event, kind"), ("top_candidate_scores", "layer, kind")):
        pair = (door.sql(f"from {view} where model = '{name}' order by {key}") for name in ("plain", "flipped"))
        for one, other in zip(*(frame.to_dicts() for frame in pair), strict=True):
            assert agree(one, other, [name for name in one if name.startswith(("mean_", "n_"))]) == []


def ends_of(page: NeuronPage) -> dict[float, str]:
    """The smallest and the largest activation as the summary prints them, and the tokens that are promoted there."""
    number, tokens = r"(-?[\d.e-]+)", r"(?:, where it promotes (“.*?”))"
    found = re.search(rf"Its activations range from {number}{tokens}, to {number}{tokens}\.", page.summary)
    assert found is not None, page.summary
    least, written, most, written_above = found.groups()
    lists = [page.facts["bottom_tokens" if float(end) < 0 else "top_tokens"][:3] for end in (least, most)]
    assert [written, written_above] == [" ".join(map(quoted, tokens)) for tokens in lists]
    return {float(least): written, float(most): written_above}


def test_a_neurons_page_is_the_same_up_to_the_named_pole(door: Neurothek) -> None:
    seen = set()
    for neuron in range(D_FFN):
        plain, flipped = (door.neuron(f"{name}/L2N{neuron}") for name in ("plain", "flipped"))
        sign = float(SIGNS[2, neuron])
        sides = ("promoted", "suppressed") if sign > 0 else ("suppressed", "promoted")
        for side, other in zip(("promoted", "suppressed"), sides, strict=True):
            one, two = (page.tokens.filter(side=where) for page, where in ((plain, side), (flipped, other)))
            assert one["token_id"].to_list() == two["token_id"].to_list()
            assert two["z_score"].to_list() == pytest.approx((sign * one["z_score"]).to_list(), rel=1e-4, abs=1e-4)
        places = ("activation", "token", "writes", "sequence_id", "position")
        assert plain.contexts["writes"].to_list() == flipped.contexts["writes"].to_list()
        assert plain.contexts.select(places[1:]).equals(flipped.contexts.select(places[1:]))
        expected = (sign * plain.contexts["activation"]).to_list()
        assert flipped.contexts["activation"].to_list() == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
        assert plain.windows["writes"].to_list() == flipped.windows["writes"].to_list()
        assert plain.pushed.select("token", "n_pushes").equals(flipped.pushed.select("token", "n_pushes"))
        ends = [ends_of(page) for page in (plain, flipped)]
        assert ends[0] == {sign * end: written for end, written in ends[1].items()}
        assert min(ends[0]) < 0
        seen.add((sign, plain.contexts["activation"][0] < 0))
        for page in (plain, flipped):
            titles = [section.title for section in page.sections()]
            assert titles[:2] == ["promotes at positive activations", "promotes at negative activations"]
            assert "at activations above 0 promotes" in headline(page)
    assert len(seen) == 4


def test_the_commands_name_the_pole(door: Neurothek) -> None:
    for asked in (["trace", "plain", PROMPT], ["neuron", "plain/L2N1"]):
        result = CliRunner().invoke(main, [*asked, "--warehouse", str(door.path)])
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        assert not [line for line in lines if line.strip() in ("promotes", "suppresses")]
        assert "positive activations" in result.stdout or "at a coefficient below 0" in result.stdout


def silence(tensors: dict[str, torch.Tensor]) -> None:
    """A neuron of GPT-2's layer 1 that reads nothing and writes a lot, always at GELU(-0.75) = -0.17."""
    tensors["transformer.h.1.mlp.c_fc.weight"][:, 7] = 0
    tensors["transformer.h.1.mlp.c_fc.bias"][7] = -0.75
    tensors["transformer.h.1.mlp.c_proj.weight"][7] *= 40


def test_a_coefficient_of_gelu_below_0_stands_beside_what_it_writes(tmp_path: Path) -> None:
    (tmp_path / "prose").mkdir()
    for number in range(8):
        (tmp_path / "prose" / f"{number}.txt").write_text(SENTENCES)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    edit_tensors(build(tmp_path / "gelu", "gpt2", d_ffn=D_FFN, seed=5), silence)
    jobs = ("projections", "activity", "contexts", "events")
    ingests.measure(warehouse, tmp_path / "gelu", ingests.request((f"prose={tmp_path / 'prose'}",), jobs=jobs))
    door = neurothek.open(tmp_path / "w.duckdb")
    (low,) = door.sql("select bottom_tokens from neurons where address = 'gelu/L1N7'")["bottom_tokens"].to_list()

    page = door.neuron("gelu/L1N7")
    assert [section.title for section in page.sections()][:2] == ["promotes", "suppresses"]
    assert f"Its activations range from -0.17, where it promotes {quoted(low[0])}" in page.summary
    tables = {section.title.partition(" in ")[0]: section.frame for section in page.sections()}
    for title in ("strongest contexts", "sampled contexts"):
        assert (tables[title]["activation"] < 0).all()
        assert set(map(tuple, tables[title]["writes"])) == {tuple(low[:3])}
    # A neuron that is above 0 at all its places is told as before.
    above = next(
        page
        for page in (door.neuron(f"gelu/L1N{neuron}") for neuron in range(D_FFN))
        if (page.contexts["activation"] > 0).all()
    )
    assert "writes" not in next(s.frame for s in above.sections() if s.title.startswith("strongest contexts")).columns

    traced = door.trace("gelu", PROMPT, raising=40)
    for frame in (traced.neurons, traced.raising):
        rows = frame.to_dicts()
        assert {row["coefficient"] < 0 for row in rows} == {True, False}
        for row in rows:
            assert row["writes"] == row["bottom_tokens" if row["coefficient"] < 0 else "top_tokens"]
    shown = {section.title: section.frame.columns for section in traced.sections()}
    assert all("top_tokens" not in columns for columns in shown.values())
