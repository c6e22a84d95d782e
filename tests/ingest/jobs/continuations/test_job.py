"""The job from end to end: texts against models edited by hand, a planted attribute, refusals, going on."""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from torch import Tensor

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import Conflict, LimitExceeded, NeurothekError, Refused
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.interventions.prompt_ids import continue_prompts
from neurothek.ingest.jobs.continuations import job as continuations_job
from neurothek.ingest.models import tokenizer as tokenization
from tests.support import ingests
from tests.support.anatomy import PLACES, loaded
from tests.support.models import Kind, build

pytestmark = pytest.mark.xdist_group("continuations")

D_FFN, LENGTH, N_SETS = 24, 5, 2
KINDS: tuple[Kind, ...] = ("opt", "llama")
PROMPTS = ("the school is near", "one two", "river")
SMALL: dict[str, Any] = {"tokens": 60, "sets": N_SETS, "continuation": LENGTH}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("continuations")
    ingests.measured_models(folder, KINDS, context_length=128)
    (folder / "words.txt").write_text("school\nnew roof\n")
    return folder


@pytest.fixture(scope="module")
def door(folder: Path) -> Neurothek:
    return neurothek.open(folder / "w.duckdb")


def words(folder: Path) -> str:
    return f"words:{folder / 'words.txt'}"


def continued_by_hand(folder: Path, kind: Kind, neurons: Mapping[int, Sequence[int]]) -> list[str]:
    """Transformers' own model, some value vectors zero, a token at a time."""
    model, tokenizer = loaded(folder / kind), tokenization.load(folder / kind)
    places = PLACES[model.config.model_type]
    for layer, some in neurons.items():
        weight = model.get_submodule(f"{places.blocks}.{layer}.{places.values}").weight
        assert isinstance(weight, Tensor)
        with torch.no_grad():
            for neuron in some:
                (weight[neuron] if places.is_transposed else weight[:, neuron]).zero_()
    texts = []
    for prompt in PROMPTS:
        own = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
        own += tokenizer.encode([prompt])[0].tolist()
        ids = list(own)
        while len(ids) < len(own) + LENGTH:
            with torch.no_grad():
                logits = model(torch.tensor(ids)[None]).logits[0, -1]
            said = tokenizer.ids[int(logits[torch.from_numpy(tokenizer.ids).long()].argmax())]
            if said == tokenizer.eos_id:
                break
            ids.append(int(said))
        whole, before = tokenizer.decode(np.array(ids)), tokenizer.decode(np.array(own))
        texts.append(whole[len(before) :])
    return texts


@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[1:])])
def test_every_text_is_that_of_an_edited_model(door: Neurothek, folder: Path, kind: Kind) -> None:
    planned = door.plan_intervention(
        kind, where="layer = 1 and neuron < 8", prompts=PROMPTS, score=words(folder), name="off", **SMALL
    )
    answer = door.run_intervention(planned)
    found = answer.continuations
    assert found.height == len(PROMPTS) * (4 + N_SETS)

    def texts(method: str, number: int = 0) -> list[str]:
        rows = found.filter(method=method, set_number=number).sort("prompt_number")
        assert rows["prompt"].to_list() == list(PROMPTS)
        return rows["continuation"].to_list()

    assert texts("untouched") == continued_by_hand(folder, kind, {})
    assert texts("changed") == continued_by_hand(folder, kind, {1: range(8)})
    sets = door.sql(
        f"select * from store.intervention_neurons where intervention = 'off' and model_id = (select model_id from"
        f" store.models where name = '{kind}')"
    )
    for number in range(1, N_SETS + 1):
        some = sets.filter(set_number=number)
        assert texts("random", number) == continued_by_hand(folder, kind, {1: some["neuron"].to_list()})
    scores = door.sql("select * from store.attribute_scores order by all").filter(intervention="off")
    assert set(scores["attribute"]) == {"words"}
    by_hand = {
        (row["method"], row["set_number"], row["prompt_number"]): float(
            any(f" {word} " in f" {row['continuation'].lower().replace('.', ' ')} " for word in ("school", "new roof"))
        )
        for row in found.to_dicts()
        if row["continuation"].strip()
    }
    mine = scores.filter(pl.col("model_id") == sets["model_id"][0])
    assert {
        (row["method"], row["set_number"], row["prompt_number"]): row["score"] for row in mine.to_dicts()
    } == by_hand


def test_neurons_of_a_planted_attribute_move_the_scorer_and_random_ones_do_not(tmp_path: Path) -> None:
    """Four neurons write the unembedding of one word; set to 3 they make the model say it, and no random set does."""
    import safetensors.torch  # noqa: PLC0415 - of one test

    folder = build(tmp_path / "opt", "opt", d_ffn=D_FFN, seed=5, context_length=128)
    tokenizer = tokenization.load(folder)
    (token,) = tokenizer.encode([" school"])[0].tolist()
    file = folder / "model.safetensors"
    weights = safetensors.torch.load_file(file)
    row = weights["model.decoder.embed_tokens.weight"][token]
    for neuron in (3, 7, 11, 19):
        # Silent, whatever they read, until they are set.
        weights["model.decoder.layers.1.fc1.bias"][neuron] = -1000
        weights["model.decoder.layers.1.fc2.weight"][:, neuron] = 30 * row
    safetensors.torch.save_file(weights, file, {"format": "pt"})
    corpora = ingests.write_corpus(tmp_path)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, folder, ingests.request(corpora, jobs=("projections", "activity")))
    door = neurothek.open(tmp_path / "w.duckdb")
    (tmp_path / "words.txt").write_text("school\n")
    chosen = [f"opt/L1N{neuron}" for neuron in (3, 7, 11, 19)]
    prompts = [f"{word} is" for word in ("one", "two", "three", "the river", "seven", "a new roof")]
    answer = door.run_intervention(
        door.plan_intervention(
            "opt",
            neurons=chosen,
            set=3,
            prompts=prompts,
            score=f"words:{tmp_path / 'words.txt'}",
            watch="school",
            tokens=60,
            sets=20,
            continuation=3,
        )
    )
    share = {row["method"]: row for row in answer.shares.to_dicts()}
    assert share["changed"]["share"] == 1
    assert share["changed"]["percentile"] > 90
    assert share["random"]["share_most"] < 1
    assert share["word_filter"]["share"] == 0
    (row_of,) = answer.interventions.to_dicts()
    assert json.loads(row_of["watched"])
    assert row_of["mass_watched"] > 0.4
    assert row_of["mass_watched_untouched"] < 0.1
    assert row_of["random_mass_watched"] < 0.1


@pytest.mark.long
def test_others_stay_and_are_not_written_again(door: Neurothek, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {**SMALL, "score": words(folder), "prompts": PROMPTS}
    first = door.plan_intervention("opt", where="neuron = 1", **asked)
    before = door.run_intervention(first)
    calls: list[int] = []
    real = continue_prompts

    def counted(*arguments: Any, **named: Any) -> object:
        calls.append(1)
        return real(*arguments, **named)

    monkeypatch.setattr(continuations_job, "continue_prompts", counted)
    door.run_intervention(door.plan_intervention("opt", where="neuron = 2", name="second", **asked))
    assert len(calls) == 4 + N_SETS
    again = door.run_intervention(first)
    assert len(calls) == 4 + N_SETS
    assert again.continuations.equals(before.continuations)
    assert again.shares.equals(before.shares)
    other = {**asked, "prompts": ["another river"]}
    with pytest.raises(Conflict, match="another --name, or replace those with --force"):
        door.run_intervention(door.plan_intervention("opt", where="neuron = 2", name="second", **other))
    replaced = door.run_intervention(
        door.plan_intervention("opt", where="neuron = 2", name="second", force=True, **other)
    )
    assert set(replaced.continuations["prompt"]) == {"another river"}


def test_texts_follow_the_neurons_of_their_name(door: Neurothek, folder: Path) -> None:
    """Replaced without prompts, an intervention has its prompts continued again: no text stays of other neurons."""
    asked: dict[str, Any] = {"tokens": 60, "sets": N_SETS, "name": "renewed"}
    written: dict[str, Any] = {"prompts": PROMPTS, "score": words(folder), "continuation": LENGTH}
    door.run_intervention(door.plan_intervention("opt", where="layer = 1 and neuron < 8", **asked, **written))
    others = door.sql("select * from continuations where model = 'opt' and intervention <> 'renewed'")
    door.run_intervention(door.plan_intervention("opt", where="layer = 0 and neuron < 12", force=True, **asked))
    texts = door.sql(
        "select continuation from continuations where model = 'opt' and intervention = 'renewed'"
        " and method = 'changed' order by prompt_number"
    )
    assert texts["continuation"].to_list() == continued_by_hand(folder, "opt", {0: range(12)})
    assert texts["continuation"].to_list() != continued_by_hand(folder, "opt", {1: range(8)})
    assert door.sql("select * from attribute_shares where model = 'opt' and intervention = 'renewed'").height == 5
    after = door.sql("select * from continuations where model = 'opt' and intervention <> 'renewed'")
    assert after.sort(after.columns).equals(others.sort(others.columns))


def test_other_settings_need_what_rests_on_the_old_ones_removed_too(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "w.duckdb", tmp_path / "w.duckdb")
    door = neurothek.open(tmp_path / "w.duckdb")
    asked: dict[str, Any] = {"where": "layer = 1 and neuron < 8", "name": "first"}
    written: dict[str, Any] = {"prompts": PROMPTS, "score": words(folder), "continuation": LENGTH}
    door.run_intervention(door.plan_intervention("opt", tokens=60, sets=N_SETS, **asked, **written))
    with pytest.raises(Conflict) as refused:
        door.run_intervention(door.plan_intervention("opt", tokens=80, sets=N_SETS + 1, **asked))
    jobs = re.findall(r"`neurothek remove opt --job (\w+)[^`]*`", str(refused.value))
    assert jobs == ["interventions", "continuations"]
    for job in jobs:
        door.remove("opt", job=job)
    door.run_intervention(door.plan_intervention("opt", tokens=80, sets=N_SETS + 1, **asked))


def test_going_on_begins_where_it_was_interrupted(
    door: Neurothek, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = door.plan_intervention(
        "llama", where="neuron = 3", prompts=PROMPTS, score=words(folder), name="cut", **SMALL
    )
    calls: list[int] = []
    real = continue_prompts

    def stopped(*arguments: Any, **named: Any) -> object:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(continuations_job, "continue_prompts", stopped)
    with pytest.raises(KeyboardInterrupt):
        door.run_intervention(planned)
    assert door.sql("select * from continuations where intervention = 'cut'").is_empty()
    answer = door.run_intervention(planned)
    # Three methods were written before; the fourth was asked for twice.
    assert len(calls) == 4 + N_SETS + 1
    assert answer.continuations.height == len(PROMPTS) * (4 + N_SETS)


@pytest.mark.long
def test_draws_depend_on_the_seed_and_on_the_prompt_alone(door: Neurothek, folder: Path) -> None:
    asked: dict[str, Any] = {**SMALL, "score": words(folder), "temperature": 1.0, "where": "neuron = 5"}

    def texts(prompts: Sequence[str], seed: int, name: str) -> list[str]:
        planned = door.plan_intervention("opt", prompts=prompts, seed=seed, name=name, **asked)
        rows = door.run_intervention(planned).continuations.filter(method="untouched").sort("prompt_number")
        return rows["continuation"].to_list()

    first = texts(PROMPTS, 1, "one")
    assert texts(PROMPTS[:2], 1, "two") == first[:2]
    assert texts(PROMPTS, 2, "three") != first


@pytest.mark.long
def test_verify_writes_them_again_and_starts_no_program(
    door: Neurothek, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of a command are left alone: a warehouse may come from a stranger."""
    import sys  # noqa: PLC0415 - of one test

    program = folder / "score.py"
    program.write_text(
        "import json, sys\nopen(sys.argv[1], 'a').write('run')\n"
        "for line in sys.stdin: print(json.dumps({'long': min(1.0, len(json.loads(line)['text']) / 100)}))\n"
    )
    trace = folder / "started"
    command = f"command:{sys.executable} {program} {trace}"
    planned = door.plan_intervention(
        "llama", where="neuron = 7", prompts=PROMPTS, score=command, banned=["school"], name="foreign", **SMALL
    )
    door.run_intervention(planned)
    assert door.sql("select * from attribute_shares where intervention = 'foreign'").height == 5
    before = trace.read_text()
    parts = [part for part in door.verify("llama", sample=99) if isinstance(part, Agreement)]
    by_table = {part.table: part for part in parts}
    assert by_table["continuations"].n_different == 0
    assert (
        by_table["continuations"].n_rows
        == door.sql(
            "select * from store.continuations"
            " where model_id = (select model_id from store.models where name = 'llama')"
        ).height
    )
    assert trace.read_text() == before


@pytest.mark.long
def test_what_rests_on_a_replaced_run_is_written_again_from_its_own_prompts(door: Neurothek, folder: Path) -> None:
    """Activity measured anew draws other sets; no program that a warehouse names is started for it."""
    import sys  # noqa: PLC0415 - of one test

    own = neurothek.open(folder / "own.duckdb")
    corpora = (f"long={folder / 'long.txt'}",)
    ingests.measure(own.warehouse, folder / "opt", ingests.request(corpora, jobs=("projections", "activity")))
    asked: dict[str, Any] = {**SMALL, "prompts": PROMPTS}
    first = own.run_intervention(
        own.plan_intervention("opt", where="neuron = 1", name="one", score=words(folder), **asked)
    )
    again = ingests.request(corpora, jobs=("activity",), active_above=0.5, force=True)
    ingests.measure(own.warehouse, folder / "opt", again)
    own.run_intervention(own.plan_intervention("opt", where="neuron = 2", name="two", score=words(folder), **asked))
    after = own.sql("select * from continuations where intervention = 'one'")
    assert set(after["prompt"]) == set(PROMPTS)
    methods = ("untouched", "changed", "word_filter", "self_debiasing")
    for method in methods:
        texts = [
            rows.filter(method=method).sort("prompt_number")["continuation"].to_list()
            for rows in (after, first.continuations)
        ]
        assert texts[0] == texts[1]
    program, started = folder / "counted.py", folder / "counted"
    program.write_text(
        f"import json, sys\nopen({str(started)!r}, 'a').write('run')\n"
        "for line in sys.stdin: print(json.dumps({'long': 0.5}))\n"
    )
    command = f"command:{sys.executable} {program}"
    own.run_intervention(
        own.plan_intervention("opt", where="neuron = 3", name="three", score=command, banned=["school"], **asked)
    )
    before = started.read_text()
    ingests.measure(own.warehouse, folder / "opt", ingests.request(corpora, jobs=("activity",), force=True))
    with pytest.raises(Refused, match=r"'three' in the warehouse rest on .*`neurothek remove opt --job continuations`"):
        own.run_intervention(
            own.plan_intervention("opt", where="neuron = 4", name="four", score=words(folder), **asked)
        )
    assert started.read_text() == before


def test_a_scorer_that_fails_is_a_failure_and_what_was_written_stays(
    door: Neurothek, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys  # noqa: PLC0415 - of one test

    program = folder / "fails.py"
    flag = folder / "mend"
    program.write_text(
        "import json, os, sys\nlines = list(sys.stdin)\n"
        "for n, line in enumerate(lines):\n"
        f"    print(json.dumps({{'long': 2.5 if len(lines) > 1 and not os.path.exists({str(flag)!r}) else 0.5}}))\n"
    )
    asked: dict[str, Any] = {**SMALL, "score": f"command:{sys.executable} {program}", "banned": ["school"]}
    planned = door.plan_intervention("opt", where="neuron = 9", prompts=PROMPTS, name="failing", **asked)
    with pytest.raises(NeurothekError, match=r"2\.5"):
        door.run_intervention(planned)
    assert door.sql("select * from continuations where intervention = 'failing'").is_empty()
    flag.touch()
    monkeypatch.setattr(continuations_job, "continue_prompts", None)
    # Everything was written by then: only the scores are missing.
    assert door.run_intervention(planned).shares.height == 5


def test_a_prompt_that_is_too_long_is_refused_before_anything_is_measured(door: Neurothek, folder: Path) -> None:
    before = door.sql("select * from interventions").height
    planned = door.plan_intervention(
        "opt", where="neuron = 1", prompts=["river", "river " * 200], score=words(folder), name="long", **SMALL
    )
    with pytest.raises(LimitExceeded, match="prompt 2 cannot be continued"):
        door.run_intervention(planned)
    assert door.sql("select * from interventions").height == before
