"""Contrasts that are kept: the same numbers as without, added one by one, verified, refused, and turned off."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import Conflict, Invalid, LimitExceeded, NotFound, NotMeasured
from neurothek.catalog.tables.contrasts import Contrasted
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.jobs.contrasts import differences
from neurothek.ingest.jobs.contrasts import job as contrasts_job
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.request import Contrast
from tests.support import ingests
from tests.support.models import Kind, build

pytestmark = pytest.mark.xdist_group("contrasts")

KINDS: tuple[Kind, ...] = ("opt", "llama")
PLACES = [(one, other) for one in ("river", "bus", "sea", "old roof", "new bus") for other in ("school", "sea", "roof")]
A = [f"the {one} is near the {other}" for one, other in PLACES]
B = [f"is the {one} near the {other}" for one, other in PLACES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contrasts")
    ingests.measured_models(folder, KINDS)
    (folder / "a.txt").write_text("\n".join(A))
    (folder / "b.jsonl").write_text("\n".join(f'{{"prompt": "{one}"}}' for one in B))
    return folder


@pytest.fixture(scope="module")
def door(folder: Path) -> Neurothek:
    return neurothek.open(folder / "w.duckdb")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_is_what_is_printed(door: Neurothek, folder: Path, kind: Kind) -> None:
    printed = door.contrast(kind, folder / "a.txt", folder / "b.jsonl", at="all")
    stored = door.contrast(kind, A, B, at="all", keep="statements - questions")
    assert_frame_equal(stored.neurons, printed.neurons)
    labels = {"prompts_a": "a.txt", "prompts_b": "b.jsonl"}
    assert {**stored.contrast, **labels} == printed.contrast
    assert (stored.contrast["prompts_a"], stored.name) == ("texts", "statements - questions")
    assert printed.neurons.height == 2 * 24
    size = printed.neurons["z"].abs().drop_nulls()
    assert size.is_sorted(descending=True)
    assert_frame_equal(door.contrast(kind, keep="statements - questions").neurons, printed.neurons)
    query = """
        select prompts.prompt
        from store.contrast_prompts as prompts
        inner join store.models as models on models.model_id = prompts.model_id and models.name = $model
        where prompts.contrast = 'statements - questions' and prompts.side = $side
        order by prompts.prompt_number
    """
    for side, prompts in (("a", A), ("b", B)):
        assert door.sql(query, {"model": kind, "side": side})["prompt"].to_list() == prompts


def test_another_contrast_leaves_the_first_as_it_is(door: Neurothek, monkeypatch: pytest.MonkeyPatch) -> None:
    first = door.contrast("opt", A, B, keep="first")
    measured = contrasts_job.measured_contrast
    names: list[str] = []

    def noted(transformer: Transformer, tokenizer: Tokenizer, contrast: Contrast) -> Contrasted:
        names.append(contrast.name)
        return measured(transformer, tokenizer, contrast)

    monkeypatch.setattr(contrasts_job, "measured_contrast", noted)
    door.contrast("opt", B, A, keep="second")
    assert names == ["second"]
    assert_frame_equal(door.contrast("opt", keep="first").neurons, first.neurons)
    turned = door.contrast("opt", keep="second").neurons
    assert turned["difference"].sum() == pytest.approx(-first.neurons["difference"].sum(), abs=1e-6)
    # Asked for again, nothing is measured.
    door.contrast("opt", A, B, keep="first")
    assert names == ["second"]


def test_a_name_is_not_taken_by_other_prompts_unless_forced(door: Neurothek) -> None:
    door.contrast("opt", A, B, keep="taken")
    with pytest.raises(Conflict, match="contrast 'taken' of other prompts"):
        door.contrast("opt", A[:4], B, keep="taken")
    with pytest.raises(Conflict, match="other prompts, positions or seed"):
        door.contrast("opt", A, B, at="all", keep="taken")
    with pytest.raises(Conflict, match="other prompts, positions or seed"):
        door.contrast("opt", A, B, seed=1, keep="taken")
    assert door.contrast("opt", A[:4], B, keep="taken", force=True).contrast["n_a"] == 4


def test_the_seed_changes_shuffles_and_nothing_else(door: Neurothek, monkeypatch: pytest.MonkeyPatch) -> None:
    """p of each neuron is counted over the labelings of the seed alone; means and z know none."""
    first = door.contrast("opt", A, B, at="all")
    assert first.contrast["seed"] == 0
    assert_frame_equal(door.contrast("opt", A, B, at="all", seed=0).neurons, first.neurons)
    seeds: list[int] = []
    shuffled = differences.shuffled_labels

    def noted(n_a: int, n_b: int, n_shuffles: int, *, seed: int) -> np.ndarray:
        seeds.append(seed)
        return shuffled(n_a, n_b, n_shuffles, seed=seed)

    monkeypatch.setattr(differences, "shuffled_labels", noted)
    printed = door.contrast("opt", A, B, at="all", seed=7)
    stored = door.contrast("opt", A, B, at="all", seed=7, keep="seven")
    assert seeds == [7, 7]
    assert_frame_equal(stored.neurons, printed.neurons)
    assert stored.contrast == printed.contrast
    assert "(seed 7)" in stored.summary
    by_place = [page.neurons.sort("layer", "neuron") for page in (first, stored)]
    without_chance = [frame.drop("p", "q", "is_significant") for frame in by_place]
    assert_frame_equal(*without_chance)
    assert by_place[0]["p"].to_list() != by_place[1]["p"].to_list()
    # A contrast that is added later leaves the seed and the rows of this one, and asked for again it is not measured.
    door.contrast("opt", B, A, seed=2**31 - 1, keep="largest seed")
    door.contrast("opt", A, B, at="all", seed=7, keep="seven")
    assert seeds == [7, 7, 2**31 - 1]
    assert_frame_equal(door.contrast("opt", keep="seven").neurons, stored.neurons)
    kept = door.sql("select contrast, seed from contrasts_summary where model = 'opt'").rows()
    assert {("seven", 7), ("largest seed", 2**31 - 1)} <= set(kept)


def test_kept_contrasts_are_verified_from_the_weights(door: Neurothek) -> None:
    door.contrast("llama", A, B, keep="verified")
    door.contrast("llama", A, B, seed=3, keep="verified with another seed")
    by_table = {part.table: part for part in door.verify("llama", sample=99) if isinstance(part, Agreement)}
    for table in ("contrasts", "contrast_prompts", "contrast_neurons"):
        stored = door.sql(
            f"select 1 from store.{table} as stored inner join store.runs as runs on runs.run_id = stored.run_id"
            " inner join store.models as models on models.model_id = runs.model_id and models.name = 'llama'"
        )
        assert (by_table[table].n_rows, by_table[table].n_different) == (stored.height, 0), table
        assert stored.height > 0


def test_the_views_show_what_is_kept(door: Neurothek) -> None:
    page = door.contrast("llama", A, B, keep="viewed")
    rows = door.sql("from contrasts where model = 'llama' and contrast = 'viewed' order by layer, neuron")
    by_place = page.neurons.sort("layer", "neuron")
    assert_frame_equal(rows.select(by_place.columns), by_place)
    facts = door.sql(
        "select layer, neuron, top_tokens, bottom_tokens, effective_frequency from neurons where model = 'llama'"
    )
    for row in rows.join(facts, on=["layer", "neuron"], how="left").to_dicts():
        larger = row["mean_a"] if abs(row["mean_a"]) >= abs(row["mean_b"]) else row["mean_b"]
        assert row["promotes"] == (row["bottom_tokens"] if larger < 0 else row["top_tokens"])
        assert row["is_always_on"] == (row["effective_frequency_right"] > 0.5)
        assert row["is_significant"] == (row["q"] is not None and row["q"] <= 0.05)
    (summary,) = door.sql("from contrasts_summary where model = 'llama' and contrast = 'viewed'").to_dicts()
    assert summary["significant_share"] == summary["n_significant"] / summary["n_tested"]
    assert {name: summary[name] for name in page.contrast} == page.contrast


def test_the_neurons_of_a_contrast_are_turned_off(door: Neurothek) -> None:
    page = door.contrast("llama", A, B, at="all", keep="off")
    changeable = page.neurons.filter("is_significant", ~pl.col("is_always_on").fill_null(value=False))
    planned = door.plan_intervention("llama", contrast="off", top=3, tokens=60, sets=2)
    expected = sorted(changeable.head(3).select("layer", "neuron").rows())
    assert planned.request.interventions[0].neurons == tuple(expected)
    assert planned.names == ("contrast off, first 3 set to 0",)
    effects = door.run_intervention(planned).interventions
    assert effects["n_neurons"].to_list() == [len(expected)]
    with pytest.raises(NotFound, match="no contrast"):
        door.plan_intervention("llama", contrast="of nobody")
    with pytest.raises(Invalid, match="top"):
        door.plan_intervention("llama", where="layer = 0", top=3)


def test_prompts_that_are_repeated_are_said_to_be(door: Neurothek) -> None:
    once = door.contrast("opt", A, B)
    assert once.contrast["n_distinct"] == len(A) + len(B)
    assert "distinct" not in once.summary
    twice = door.contrast("opt", [*A, *A], [*B, A[0]])
    assert twice.contrast["n_distinct"] == len(A) + len(B)
    assert f"Only {len(A) + len(B)} of the {3 * len(A) + 1} prompts are distinct" in twice.summary


def test_so_many_prompts_that_nobody_counts_their_labelings(door: Neurothek) -> None:
    page = door.contrast("opt", ["one", "two"] * 4_000, ["the river", "a bus"] * 4_000)
    assert "labelled in only" not in repr(page)


def test_what_cannot_be_compared_is_refused(door: Neurothek, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="give prompts of both"):
        door.contrast("opt", A)
    with pytest.raises(Invalid, match="two sets of prompts"):
        door.contrast("opt")
    with pytest.raises(Invalid, match="was measured already"):
        door.contrast("opt", at="all", keep="first")
    with pytest.raises(Invalid, match="was measured already"):
        door.contrast("opt", seed=1, keep="first")
    for seed in (-1, 2**31):
        with pytest.raises(Invalid, match="give 0 to 2,147,483,647"):
            door.contrast("opt", A, B, seed=seed)
    with pytest.raises(Invalid, match="leave it out"):
        door.contrast("opt", A, B, force=True)
    with pytest.raises(Invalid, match="give 2 or more"):
        door.contrast("opt", A[:1], B)
    with pytest.raises(NotFound, match="no contrast nobody"):
        door.contrast("opt", keep="nobody")
    with pytest.raises(Invalid, match="builtin:questions"):
        door.contrast("opt", "builtin:question", B)
    with pytest.raises(LimitExceeded, match="prompt 2 of a has"):
        door.contrast("opt", ["river", "river " * 400], B)
    with pytest.raises(Invalid, match="printable"):
        door.contrast("opt", A, B, keep="two\nlines")
    ingests.measure(
        ingests.open_warehouse(folder / "w.duckdb"),
        build(tmp_path / "untold", "opt", d_ffn=24, seed=5),
        ingests.request((), jobs=("projections",)),
    )
    assert door.contrast("untold", A, B).neurons["is_always_on"].null_count() == 48
    with pytest.raises(NotMeasured, match="always on"):
        door.contrast("untold", A, B, keep="unknown")
