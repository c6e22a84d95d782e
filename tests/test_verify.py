"""Measuring a sample again: what was measured agrees in every bit, and whatever was changed since is found."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import Conflict, NotFound, NotMeasured, Unavailable
from neurothek.catalog.tables.registry import FACTS, JOB_TABLES, OWNERS
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.jobs.registry import NAMES, OF_SIGNS, PAIR_NAMES, QUERY_NAMES
from neurothek.ingest.pipeline.verify import Skipped
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS
from tests.support import ingests
from tests.support.models import build

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("verify")]

# What would be found if a person, a disk or a defect had changed one number of each table.
TAMPERING = {
    "projections": "score_mean = score_mean + 0.01",
    "postings": "z_score = z_score + 0.01",
    "token_neighbours": "cosine = cosine - 0.01",
    "logit_histograms": "counts = list_transform(counts, lambda count: count + 50)",
    "token_indicators": "row_norm = row_norm * 1.01",
    "activity": "n_active = n_active + 50",
    "contexts": "activation = activation * 1.01",
    "context_windows": "largest = largest * 1.01",
    "activation_histograms": "n_positions = n_positions + 50",
    "ngrams": "n_covering_95 = n_covering_95 + 30",
    "triggers": "n_occurrences = n_occurrences + 30",
    "shuffled_ngrams": "n_distinct = n_distinct + 30",
    "input_output": "key_value = key_value + 0.01",
    "input_output_controls": "key_value = key_value + 0.01",
    "pole_activity": "n_strong = n_strong + 50",
    "gate_cases": "n_positions = n_positions + 50",
    "pole_contexts": "activation = activation * 1.01",
    "contributions": "contribution_max = contribution_max * 1.01",
    "ngram_spectrum": "n_distinct = n_distinct + 30",
    "positions": "mutual_information = mutual_information + 0.01",
    "examples": "final_token = final_token + 1",
    "streams": "norm = norm * 1.01",
    "sub_updates": "coefficient = coefficient + 0.1",
    "events": "layer = layer + 1",
    "event_samples": "extreme_score = extreme_score * 1.1",
    "exits": "accuracy = accuracy - 0.1",
    "shortcut_sentences": "position = position + 1",
    "shortcuts": "r2 = r2 - 0.01",
    "sub_module_fits": "r2 = r2 - 0.01",
    "shortcut_readings": "surprisal = surprisal + 0.01",
    "shortcut_tops": "probability = probability + 0.01",
    "shortcut_predictions": "precision_1 = precision_1 - 0.1",
    "clusterings": "n_clusters = n_clusters + 50",
    "key_projections": "score_mean = score_mean + 0.01",
    "key_postings": "z_score = z_score + 0.01",
    "key_controls": "reading_norm = reading_norm * 1.01",
    "clusters": "cluster_id = cluster_id + 1",
    "cluster_controls": "median_cohesion = median_cohesion - 0.01",
    "neighbours": "other_neuron = other_neuron + 1",
    "counterparts": "overlap = overlap * 0.99",
    "output_scores": "output_score = output_score + 0.01",
    "universality": "null_correlation = null_correlation + 0.01",
    "controls": "score_mean = score_mean + 0.01",
    "norm_overlaps": "n = n + 50",
    "coherences": "coherence = coherence + 0.01",
    "interventions": "n_neurons = n_neurons + 50",
    "intervention_neurons": "neuron = neuron + 1000",
    "intervention_effects": "nll = nll * 1.1",
    "continuations": "continuation = continuation || '!'",
    "attribute_scores": "score = 1 - score",
    "neuron_effects": "nll = nll * 1.1",
    "neuron_effects_by_domain": "nll = nll * 1.1",
    "entropy": "logit_variance = logit_variance * 1.1",
    "selectivity": "n_active = n_active + 50",
    "massive_activations": "output_mean = output_mean * 0.9",
    "contrasts": "n_significant_shuffled = n_significant_shuffled + 0.5",
    "contrast_prompts": "n_tokens = n_tokens + 50",
    "contrast_neurons": "mean_a = mean_a + 0.1",
    "control_coherences": "coherence = coherence + 0.01",
}
OF_POLES = [table.name for job in OF_SIGNS for table in JOB_TABLES[job]]
FILLED = [
    table.name
    for job in (*NAMES, *PAIR_NAMES, *QUERY_NAMES)
    for table in JOB_TABLES[job]
    if table.is_repeatable and table.name not in OF_POLES
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify")
    corpora = ingests.write_corpus(folder)
    model = build(folder / "tiny", "opt", d_ffn=24)
    other = build(folder / "other", "opt", d_ffn=24, seed=7)
    asked = ingests.request(corpora, jobs=tuple(NAMES), batch_tokens=DEFAULT_BATCH_TOKENS)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    ingests.measure(warehouse, model, asked)
    ingests.measure(warehouse, other, replace(asked, jobs=("projections", "activity")))
    for job in PAIR_NAMES:
        ingests.compare(warehouse, "tiny", "other", jobs=(job,))
    door = neurothek.open(warehouse.path)
    (folder / "words.txt").write_text("the\nriver\n")
    written: dict[str, Any] = {
        "prompts": ["the school", "one two"],
        "score": f"words:{folder / 'words.txt'}",
        "continuation": 5,
    }
    door.run_intervention(
        door.plan_intervention("tiny", where="layer = 0 and neuron < 5", tokens=100, sets=2, **written)
    )
    door.run_intervention(door.plan_intervention("tiny", where="neuron < 2", tokens=100, one_by_one=True))
    door.contrast("tiny", ["the school", "one two", "river bus"], ["a roof", "seven", "the sea"], keep="mine")
    return folder


@pytest.fixture
def door(folder: Path, tmp_path: Path) -> Neurothek:
    """A copy of the warehouse that a test may damage."""
    shutil.copy(folder / "w.duckdb", tmp_path)
    return neurothek.open(tmp_path / "w.duckdb")


def test_there_is_tampering_for_every_table() -> None:
    assert TAMPERING.keys() == {table.name for table in FACTS if table.is_repeatable}


def test_what_was_measured_agrees_in_every_bit(door: Neurothek) -> None:
    found = door.verify("tiny", sample=99)
    assert all(isinstance(part, Agreement) for part in found)
    agreements = [part for part in found if isinstance(part, Agreement)]
    assert [part.table for part in agreements if part.n_equal != part.n_rows or part.n_different] == []
    with door.reader() as connection:
        query = "select count(*) from store.{} where {} = 0"
        counts = {name: connection.execute(query.format(name, OWNERS[name])).fetchall()[0][0] for name in FILLED}
    # Every layer was asked for, so every row was measured again; the text's ids are no rows of a job.
    assert {part.table: part.n_rows for part in agreements if part.job != "tokenizer"} == counts
    assert [part.table for part in agreements if part.job == "tokenizer"] == ["sequences"]


def test_every_changed_number_is_found(door: Neurothek) -> None:
    with door.warehouse.writer() as connection:
        for name in FILLED:
            connection.execute(f"update store.{name} set {TAMPERING[name]} where rowid = 0")
    found = [part for part in door.verify("tiny", sample=99) if isinstance(part, Agreement)]
    assert {part.table for part in found if part.n_different} == set(FILLED)
    by_table = {part.table: part for part in found}
    assert by_table["projections"].n_different == 1
    assert by_table["projections"].first_difference == "layer 0, neuron 0: score_mean"


def test_so_it_is_of_gated_models(tmp_path: Path) -> None:
    corpora, model = ingests.write_corpus(tmp_path), build(tmp_path / "gated", "llama", d_ffn=24)
    jobs = ("activity", "poles", "ngrams", "positions")
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, model, ingests.request(corpora, jobs=jobs, batch_tokens=DEFAULT_BATCH_TOKENS))
    door = neurothek.open(warehouse.path)
    sound = [part for part in door.verify("gated", sample=99) if isinstance(part, Agreement)]
    assert {part.table for part in sound} >= {*OF_POLES, "ngrams", "shuffled_ngrams", "positions"}
    assert [part.table for part in sound if part.n_equal != part.n_rows] == []
    with warehouse.writer() as connection:
        for name in OF_POLES:
            connection.execute(f"update store.{name} set {TAMPERING[name]} where rowid = 0")
    found = [part for part in door.verify("gated", sample=99) if isinstance(part, Agreement)]
    assert {part.table for part in found if part.n_different} == set(OF_POLES)


def test_missing_and_added_rows_are_found(door: Neurothek) -> None:
    with door.warehouse.writer() as connection:
        connection.execute("delete from store.activity where rowid = 0")
        connection.execute("update store.contexts set rank = 99 where rowid = 0")
    by_table = {part.table: part for part in door.verify("tiny", sample=99) if isinstance(part, Agreement)}
    assert by_table["activity"].n_different == 1
    assert "not in the warehouse" in by_table["activity"].first_difference
    assert by_table["contexts"].n_different == 2


def test_rounding_of_another_processor_is_close_and_no_difference(door: Neurothek) -> None:
    with door.warehouse.writer() as connection:
        connection.execute("update store.projections set value_norm = value_norm * (1 + 1e-6)")
        connection.execute("update store.activity set n_active = n_active + 1 where rowid = 0")
    found = {part.table: part for part in door.verify("tiny", sample=99) if isinstance(part, Agreement)}
    assert (found["projections"].n_equal, found["projections"].n_different) == (0, 0)
    assert (found["activity"].n_close, found["activity"].n_different) == (1, 0)
    assert 0 < found["projections"].largest_difference < 1e-5


def test_a_sample_of_one_layer_is_the_same_whoever_asks(door: Neurothek) -> None:
    first, second = (door.verify("tiny") for _ in range(2))
    assert first == second
    rows = {part.table: part.n_rows for part in first if isinstance(part, Agreement)}
    assert rows["projections"] == 24


def test_a_run_of_another_version_is_named_and_not_judged(door: Neurothek) -> None:
    with door.warehouse.writer() as connection:
        connection.execute("update store.runs set job_version = 0 where job = 'contexts'")
        connection.execute("""update store.runs set parameters = '{"k": 7}' where job = 'projections'""")
        # Another version may have written down what this one does not know, and not what it looks for.
        connection.execute("""update store.runs set job_version = 0, parameters = '{"x": 1}' where job = 'activity'""")
    skipped = {part.job: part.reason for part in door.verify("tiny") if isinstance(part, Skipped)}
    for job, version in (("contexts", 2), ("activity", 1)):
        assert skipped[job] == f"it was measured by version 0 of the job, this is version {version}"
    assert "it was measured with another k, neighbours" in skipped["projections"]


def test_wrong_weights_and_names_are_one_sentence(door: Neurothek, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="did you mean tiny"):
        door.verify("tinny")
    with pytest.raises(Conflict, match="are not the ones that were measured"):
        door.verify("tiny", weights=str(folder / "other"))
    with pytest.raises(Unavailable, match="needs the weights of tiny"):
        door.verify("tiny", weights=str(tmp_path / "nowhere"))
    with door.warehouse.writer() as connection:
        connection.execute("delete from store.runs")
    with pytest.raises(NotMeasured, match="tiny has not been measured yet; measure it with `neurothek ingest tiny`"):
        door.verify("tiny")


def test_what_was_published_without_texts_is_named_and_not_judged(
    door: Neurothek, folder: Path, tmp_path: Path
) -> None:
    """Of such a catalog, and of a copy of it, what follows from the weights is measured again."""
    door.publish(to=tmp_path / "bare")
    found = neurothek.open(tmp_path / "bare").verify("tiny", weights=folder / "tiny")
    skipped = {part.job for part in found if isinstance(part, Skipped) and "published without texts" in part.reason}
    agreements = [part for part in found if isinstance(part, Agreement)]
    assert {"tokenizer", "activity", "contexts"} <= skipped
    assert "projections" in {part.job for part in agreements}
    assert [part.table for part in agreements if part.n_equal != part.n_rows or part.n_different] == []


def test_the_command_exits_with_0_or_1(door: Neurothek) -> None:
    arguments = ["verify", "tiny", "--warehouse", str(door.path)]
    sound = CliRunner().invoke(neurothek.main, arguments)
    assert sound.exit_code == 0
    assert "measured again, all agree" in sound.stderr
    with door.warehouse.writer() as connection:
        connection.execute("update store.projections set value_norm = 2 * value_norm")
    damaged = CliRunner().invoke(neurothek.main, [*arguments, "--format", "csv"])
    assert damaged.exit_code == 1
    assert "rows of projections disagree" in damaged.stderr
    assert "value_norm" in damaged.stdout
