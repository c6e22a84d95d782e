"""The job from end to end: every number against a model edited by hand; planted neurons; refusals; going on."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import Busy, Conflict, Invalid, NeurothekError, Unsupported
from neurothek.catalog.publishing.staging import adding
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.interventions.plan import Operation, interventions
from neurothek.ingest.interventions.shared import Shared
from neurothek.ingest.jobs.interventions.job import InterventionsJob
from neurothek.ingest.request import Intervention
from tests.support import ingests
from tests.support.anatomy import PLACES, loaded
from tests.support.models import Kind, build

pytestmark = pytest.mark.xdist_group("interventions")

D_FFN = 24
FROM = (0, 1, 8, 64, 512)
KINDS: tuple[Kind, ...] = ("opt", "gpt2", "llama")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of three families, measured on one text."""
    folder = tmp_path_factory.mktemp("interventions")
    ingests.measured_models(folder, KINDS)
    return folder


@pytest.fixture(scope="module")
def door(folder: Path) -> Neurothek:
    return neurothek.open(folder / "w.duckdb")


def rows(warehouse: Warehouse, name: str, model: str, intervention: str) -> pl.DataFrame:
    query = f"""
        select rows.* from store.{name} as rows inner join store.models as models on models.model_id = rows.model_id
        where models.name = '{model}' and rows.intervention = '{intervention}'
    """
    with warehouse.reader() as connection:
        found: pl.DataFrame = connection.sql(query).pl()
    return found


def sequences(door: Neurothek, model: str) -> list[tuple[str, list[int]]]:
    query = """
        select sequences.domain, sequences.tokens
        from store.sequences as sequences
        inner join store.runs as runs on runs.corpus_id = sequences.corpus_id and runs.job = 'activity'
        inner join store.models as models on models.model_id = runs.model_id and models.name = $model
        order by sequences.sequence_id
    """
    return [(str(row["domain"]), list(row["tokens"])) for row in door.sql(query, {"model": model}).to_dicts()]


def log_p(folder: Path, ids: list[int], neurons: Mapping[int, list[int]], factor: float) -> np.ndarray:
    """[positions vocab] of transformers' own model, the columns of some value vectors multiplied."""
    model = loaded(folder)
    places = PLACES[model.config.model_type]
    for layer, some in neurons.items():
        weight: Any = model.get_submodule(f"{places.blocks}.{layer}.{places.values}").weight
        with torch.no_grad():
            if places.is_transposed:
                weight[some] *= factor
            else:
                weight[:, some] *= factor
    with torch.no_grad():
        logits = model(torch.tensor(ids)[None]).logits[0].double().numpy()
    shifted = logits - logits.max(axis=1, keepdims=True)
    found: np.ndarray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found


@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[1:])])
def test_every_sum_is_that_of_an_edited_model(door: Neurothek, folder: Path, kind: Kind) -> None:
    """Sets are read from the warehouse; all that is measured of them is measured again, a sequence at a time."""
    planned = door.plan_intervention(
        kind,
        where="layer = 1 and neuron in (3, 5) or layer = 0 and neuron = 7",
        set="x0.25",
        tokens=90,
        sets=2,
        watch=["school", "the"],
    )
    answer = door.run_intervention(planned)
    (name,) = planned.names
    chosen = rows(door.warehouse, "intervention_neurons", kind, name)
    effects = rows(door.warehouse, "intervention_effects", kind, name)
    watched = door.sql(
        "select token_id from store.tokens inner join store.models using (tokenizer_id)"
        f" where name = '{kind}' and word in ('school', 'the')"
    )["token_id"].to_list()
    assert len(json.loads(answer.interventions["watched"].item())) == len(watched) >= 2
    assert set(chosen.filter(set_number=0).select("layer", "neuron").iter_rows()) == {(0, 7), (1, 3), (1, 5)}
    read = {"long": 0, "short": 0}
    sums: dict[tuple[int, str, int], list[float]] = {}
    for domain, ids in sequences(door, kind):
        if read[domain] >= 90:
            continue
        read[domain] += len(ids)
        before = log_p(folder / kind, ids, {}, 1.0)
        for number in range(3):
            some: dict[int, list[int]] = {}
            for layer, neuron in chosen.filter(set_number=number).select("layer", "neuron").iter_rows():
                some.setdefault(layer, []).append(neuron)
            after = log_p(folder / kind, ids, some, 0.25)
            for position in range(len(ids) - 1):
                begins = max(start for start in FROM if start <= position)
                entry = sums.setdefault((number, domain, begins), [0.0] * 9)
                target = ids[position + 1]
                kl = float((np.exp(before[position]) * (before[position] - after[position])).sum())
                nll, weight = (-after[position, target], -before[position, target]), len(ids) / (len(ids) - 1)
                masses = (float(np.exp(one[position, watched]).sum()) for one in (after, before))
                for place, value in enumerate((1, *nll, kl, weight, *(weight * one for one in nll), *masses)):
                    entry[place] += value
    found = {
        (row["set_number"], row["domain"], row["position_from"]): [
            row["n_tokens"],
            row["nll"],
            row["nll_untouched"],
            row["kl"],
            row["window_weight"],
            row["nll_windows"],
            row["nll_windows_untouched"],
            row["mass_watched"],
            row["mass_watched_untouched"],
        ]
        for row in effects.to_dicts()
    }
    assert found.keys() == sums.keys()
    for key, expected in sums.items():
        assert found[key][0] == expected[0]
        assert found[key][1:3] == pytest.approx(expected[1:3], rel=1e-4)
        assert found[key][3] == pytest.approx(expected[3], rel=2e-2, abs=1e-4)
        assert found[key][4:] == pytest.approx(expected[4:], rel=1e-4, abs=1e-5)
    (row,) = answer.interventions.to_dicts()
    n = sum(entry[0] for (number, *_), entry in sums.items() if number == 0)
    by_set = [sum(entry[1] - entry[2] for (one, *_), entry in sums.items() if one == number) / n for number in range(3)]
    assert row["effect"] == pytest.approx(by_set[0], abs=1e-5)
    assert row["random_effect"] == pytest.approx(sum(by_set[1:]) / 2, abs=1e-5)
    assert (row["random_effect_least"], row["random_effect_most"]) == pytest.approx(sorted(by_set[1:]), abs=1e-5)
    # Two sets are too few for one.
    assert row["percentile"] is None
    assert row["perplexity"] == pytest.approx(math.exp(row["loss"]))
    assert row["neuron_share"] == 3 / (2 * D_FFN)


def test_tokens_are_those_that_the_sum_of_value_vectors_scores(door: Neurothek, folder: Path) -> None:
    planned = door.plan_intervention("opt", where="layer = 1 and neuron < 3", set=0, tokens=90, sets=2, name="masses")
    door.run_intervention(planned)
    model = loaded(folder / "opt")
    values: Any = model.get_submodule("model.decoder.layers.1.fc2").weight
    scores = (model.get_output_embeddings().weight @ values[:, :3].sum(1)).detach().numpy()
    ids_of = "select token_id from store.tokens inner join store.models using (tokenizer_id) where name = 'opt'"
    known = np.sort(door.sql(ids_of)["token_id"].to_numpy())
    order = known[np.argsort(-scores[known], kind="stable")]
    untouched = {"mass_promoted_untouched": 0.0, "mass_suppressed_untouched": 0.0}
    read = {"long": 0, "short": 0}
    for domain, ids in sequences(door, "opt"):
        if read[domain] >= 90:
            continue
        read[domain] += len(ids)
        p = np.exp(log_p(folder / "opt", ids, {}, 1.0)[:-1])
        untouched["mass_promoted_untouched"] += p[:, order[:50]].sum()
        untouched["mass_suppressed_untouched"] += p[:, order[-50:]].sum()
    found = rows(door.warehouse, "intervention_effects", "opt", "masses").filter(set_number=0)
    for name, expected in untouched.items():
        assert found[name].sum() == pytest.approx(expected, rel=1e-3)


def test_neurons_of_a_gated_model_are_turned_on_at_the_pole_that_promotes_the_word(
    door: Neurothek, folder: Path
) -> None:
    """The value vectors of the file say which pole that is; random neurons are turned on where they are strongest."""
    planned = door.plan_intervention("llama", words="school", limit=8, set=3, tokens=90, sets=2)
    door.run_intervention(planned)
    (name,) = planned.names
    assert name == "promote school at either pole set to 3"
    chosen = rows(door.warehouse, "intervention_neurons", "llama", name)
    effects = rows(door.warehouse, "intervention_effects", "llama", name)
    strongest = door.sql("select layer, neuron, pole = 'negative' as turned from neurons where model = 'llama'")
    signs = {(layer, neuron): -1 if turned else 1 for layer, neuron, turned in strongest.iter_rows()}
    query = "select token_id, word from store.tokens inner join store.models using (tokenizer_id) where name = 'llama'"
    tokens = door.sql(query)
    spellings = tokens.filter(word="school")["token_id"].to_list()
    model = loaded(folder / "llama")
    unembedding = model.get_output_embeddings().weight.detach()
    neurons = chosen.filter(set_number=0).select("layer", "neuron").rows()
    for layer, neuron in neurons:
        down: Any = model.get_submodule(f"model.layers.{layer}.mlp.down_proj").weight
        scores = unembedding @ down[:, neuron].detach()
        centred = (scores[spellings] - scores[tokens["token_id"].to_list()].mean()).tolist()
        signs[layer, neuron] = 1 if max(centred, key=abs) > 0 else -1
    n_negative = sum(signs[one] < 0 for one in neurons)
    assert 0 < n_negative < len(neurons)
    assert f", {n_negative} of them set to -3: they promote the words at their negative pole" in planned.sentences()[0]
    for number in range(3):
        nll, read = 0.0, {"long": 0, "short": 0}
        some = chosen.filter(set_number=number).select("layer", "neuron").rows()
        hooks = [
            model.get_submodule(f"model.layers.{layer}.mlp.down_proj").register_forward_pre_hook(
                partial(with_set, neuron, 3.0 * signs[layer, neuron])
            )
            for layer, neuron in some
        ]
        for domain, ids in sequences(door, "llama"):
            if read[domain] < 90:
                read[domain] += len(ids)
                with torch.no_grad():
                    nll += float(model(torch.tensor([ids]), labels=torch.tensor([ids])).loss) * (len(ids) - 1)
        for hook in hooks:
            hook.remove()
        assert effects.filter(set_number=number)["nll"].sum() == pytest.approx(nll, rel=1e-4), number


def with_set(neuron: int, value: float, _: object, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Coefficients with one of them set, before the down projection reads them."""
    changed = inputs[0].clone()
    changed[..., neuron] = value
    return (changed,)


def test_neurons_that_never_fire_change_nothing_to_the_bit(folder: Path, tmp_path: Path) -> None:
    """A bias of -1000 keeps them silent, whatever they read."""
    import safetensors.torch  # noqa: PLC0415 - of one test

    build(tmp_path / "opt", "opt", d_ffn=D_FFN)
    weights = safetensors.torch.load_file(tmp_path / "opt" / "model.safetensors")
    weights["model.decoder.layers.0.fc1.bias"][:4] = -1000
    safetensors.torch.save_file(weights, tmp_path / "opt" / "model.safetensors", {"format": "pt"})
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    corpora = (f"long={folder / 'long.txt'}",)
    ingests.measure(warehouse, tmp_path / "opt", ingests.request(corpora, jobs=("projections", "activity")))
    door = neurothek.open(tmp_path / "w.duckdb")
    (row,) = door.run_intervention(
        door.plan_intervention("opt", where="is_dead", tokens=100, sets=3)
    ).interventions.to_dicts()
    assert row["n_neurons"] >= 4
    assert (row["effect"], row["kl"]) == (0.0, 0.0)
    assert row["mass_promoted"] == row["mass_promoted_untouched"]
    set_on = door.run_intervention(
        door.plan_intervention("opt", where="is_dead", set=3, tokens=100, sets=3)
    ).interventions
    assert set_on["kl"].item() > 0


def test_interventions_stay_side_by_side_and_are_not_measured_again(
    door: Neurothek, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {"tokens": 90, "sets": 2}
    first = door.plan_intervention("gpt2", where="neuron = 1", **asked)
    before = door.run_intervention(first).interventions
    measured: list[str] = []
    real = InterventionsJob._effects

    def watched(self: InterventionsJob, shared: Shared, one: Intervention) -> pl.DataFrame:
        measured.append(one.name)
        return real(self, shared, one)

    monkeypatch.setattr(InterventionsJob, "_effects", watched)
    door.run_intervention(door.plan_intervention("gpt2", neurons=["gpt2/L0N2", "gpt2/L1N2"], name="mine", **asked))
    assert measured == ["mine"]
    door.run_intervention(first)
    assert measured == ["mine"]
    again = door.sql("select * from interventions where intervention = $name", {"name": first.names[0]})
    assert again.equals(before.select(again.columns))
    spelt_otherwise = door.plan_intervention("gpt2", where="neuron = 2", name="mine", **asked)
    door.run_intervention(spelt_otherwise)
    assert measured == ["mine"]
    with pytest.raises(Conflict, match="another --name, or replace that one with --force"):
        door.run_intervention(door.plan_intervention("gpt2", where="neuron = 5", name="mine", **asked))
    door.run_intervention(door.plan_intervention("gpt2", where="neuron = 5", name="mine", force=True, **asked))
    assert door.sql("select asked from interventions where intervention = 'mine'")["asked"].to_list() == [
        "where neuron = 5"
    ]
    for force in (False, True):
        with pytest.raises(Conflict, match=r"with --tokens 90 --sets 2; repeat these, or remove them first with"):
            door.run_intervention(door.plan_intervention("gpt2", where="neuron = 1", tokens=90, sets=3, force=force))
    ((parameters,),) = door.sql(
        "select parameters from store.runs where job = 'interventions' and model_id = (select model_id from"
        " store.models where name = 'gpt2')"
    ).rows()
    assert set(json.loads(parameters)["interventions"]) >= {first.names[0], "mine"}


def test_interventions_of_an_earlier_version_are_measured_anew_beside_the_new(door: Neurothek) -> None:
    asked: dict[str, Any] = {"tokens": 90, "sets": 2}
    before = door.run_intervention(
        door.plan_intervention("opt", where="neuron = 11", name="old", **asked)
    ).interventions
    with door.warehouse.writer() as connection:
        connection.execute(
            """
            update store.runs set
                job_version = 1,
                run_key = 'older',
                parameters = replace(replace(parameters, ', "watched": []', ''), '"positions": null, ', '')
            where job = 'interventions' and model_id = (select model_id from store.models where name = 'opt')
            """
        )
        connection.execute("update store.intervention_effects set window_weight = null where intervention = 'old'")
    door.run_intervention(door.plan_intervention("opt", where="neuron = 12", name="new", **asked))
    after = door.sql("select * from interventions where model = 'opt' and intervention in ('old', 'new')")
    assert sorted(after["intervention"].to_list()) == ["new", "old"]
    old = after.filter(intervention="old").select(before.columns)
    assert old.equals(before)
    assert old["window_perplexity"].item() is not None


@pytest.mark.long
def test_on_another_corpus_the_answer_is_of_that_corpus(door: Neurothek, folder: Path) -> None:
    (folder / "own.txt").write_text("the school is near river and old has a new roof " * 4)
    own = ingests.request((f"own={folder / 'own.txt'}",), jobs=("activity",), text={"name": "own"})
    ingests.measure(door.warehouse, folder / "gpt2", own)
    asked: dict[str, Any] = {"where": "layer = 0 and neuron < 2", "name": "namesake", "tokens": 90, "sets": 2}
    shown = door.run_intervention(door.plan_intervention("gpt2", **asked))
    other = door.run_intervention(door.plan_intervention("gpt2", corpus="own", **asked))
    assert shown.interventions["corpus"].to_list() == ["long+short"]
    assert other.interventions["corpus"].to_list() == ["own"]
    assert other.interventions["n_tokens"].item() < shown.interventions["n_tokens"].item()
    assert other.interventions["effect"].item() != shown.interventions["effect"].item()
    assert set(other.steering["domain"]) == {"own"}
    told = door.sql("select effect from interventions where intervention = 'namesake'", corpus="own")
    assert told["effect"].to_list() == other.interventions["effect"].to_list()


def test_nobody_adds_while_somebody_else_adds(door: Neurothek) -> None:
    """Each would publish what it found and what was there before it began, without what the other found."""
    with (
        adding(door.warehouse.staging, "opt"),
        pytest.raises(Busy, match="of opt is being measured by another process; wait for it"),
    ):
        door.run_intervention(door.plan_intervention("opt", where="neuron = 1", tokens=90, sets=2))
    (one,) = door.plan_intervention("gpt2", where="neuron = 1", tokens=90, sets=2).request.interventions
    with adding(door.warehouse.staging, "opt"):
        door.run_intervention(door.plan_intervention("gpt2", where="neuron = 1", tokens=90, sets=2))
    assert one.neurons == ((0, 1), (1, 1))


def test_what_was_measured_before_an_interruption_is_kept(door: Neurothek, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = door.plan_intervention("llama", where="neuron = 1", tokens=90, sets=2)
    made = interventions({"first": ((0, 1),), "second": ((0, 2),)}, Operation.parse("0"), name=None, of_kinds=False)
    planned = replace(planned, request=replace(planned.request, interventions=tuple(made)))
    before = door.sql("select intervention from interventions where model = 'llama'").height
    measured: list[str] = []
    real = InterventionsJob._effects

    def stopped(self: InterventionsJob, shared: Shared, one: Intervention) -> pl.DataFrame:
        if one.asked == "second" and measured == ["first"]:
            raise KeyboardInterrupt
        measured.append(one.asked)
        return real(self, shared, one)

    monkeypatch.setattr(InterventionsJob, "_effects", stopped)
    with pytest.raises(KeyboardInterrupt):
        door.run_intervention(planned)
    assert measured == ["first"]
    assert door.sql("select intervention from interventions where model = 'llama'").height == before
    measured.append("stopped")
    answer = door.run_intervention(planned)
    assert measured == ["first", "stopped", "second"]
    assert answer.interventions["n_sets"].to_list() == [2, 2]


def test_one_address_and_one_word_may_stand_alone(door: Neurothek) -> None:
    (one,) = door.plan_intervention("opt", neurons="opt/L0N3").request.interventions
    assert one.neurons == ((0, 3),)
    alone, listed = (door.plan_intervention("opt", words=words, limit=2) for words in ("the", ["the"]))
    assert alone == listed
    assert alone.request.interventions[0].asked == "promote the"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "the neurons must be chosen in exactly one way, but none was given: give where, search"),
        ({"where": "is_dead", "words": ["school"]}, r"not in several \(where and words\)"),
        ({"where": "neuron = 99"}, "opt has no neurons where neuron = 99; try the condition first"),
        ({"where": "nonsense > 3"}, "nonsense"),
        ({"where": "(select 1)"}, "is not one expression"),
        ({"words": ["zzzzqq"]}, "zzzzqq"),
        ({"neurons": ["opt/L9N0"]}, "L9N0"),
        ({"neurons": ["gpt2/L0N0"]}, "gpt2/L0N0 is not a neuron of opt"),
        ({"neurons": "no-such-file"}, "that file cannot be read"),
        ({"where": "neuron = 1", "set": "off"}, "give a number such as 0 or 3"),
        ({"where": "neuron = 1", "set": "mean", "pre": True}, "after the non-linearity"),
        ({"where": "neuron = 1", "corpus": "none"}, "none"),
        ({"where": "neuron = 1", "sets": 0}, "sets=0 is not valid; give 1 to 1,000"),
        ({"where": "neuron = 1", "tokens": 1}, "tokens=1 is not valid; give 2 to"),
        ({"where": "neuron = 1", "at": "7-3"}, "give a position as 3, several as 0-7"),
        ({"where": "neuron = 1", "watch": "zzzzqq"}, "zzzzqq"),
        ({"where": "neuron = 1", "score": "domains"}, "it is about what is written after prompts; leave it out"),
        ({"where": "neuron = 1", "described": "code"}, "it is about what is written after prompts; leave it out"),
        ({"where": "neuron = 1", "temperature": 1e-9}, "give 0, or 0.001 or more"),
        ({"where": "neuron = 1", "temperature": float("nan")}, "temperature=nan is not valid"),
        ({"where": "neuron = 1", "seed": -1}, "seed=-1 is not valid"),
        ({"where": "neuron = 1", "seed": 1}, "it is about what is written after prompts; leave it out"),
        ({"where": "neuron = 1", "continuation": 0}, "continuation=0 is not valid"),
        ({"where": "neuron = 1", "limit": 1}, "it is about neurons that promote words; leave it out"),
        ({"where": "neuron = 1", "one_by_one": True, "sets": 3}, "single neurons are kept under their addresses"),
        ({"where": "neuron = 1", "set": "1e30"}, "activations are at most 1,000,000 here"),
        ({"where": "neuron = 1", "prompts": "no-such-file", "unwanted": "code"}, "that file cannot be read"),
        ({"where": "neuron = 1", "one_by_one": True, "name": "mine"}, "single neurons are kept under their addresses"),
        ({"where": "neuron = 1", "name": ""}, "give one line of 1 to 120 printable characters"),
        ({"where": "neuron = 1", "name": "a\nb"}, "give one line of 1 to 120 printable characters"),
        ({"each": "kind", "name": "mine"}, "each kind has a name of its own"),
        ({"each": "layer"}, "give 'kind' or None"),
    ],
)
def test_what_cannot_be_chosen_is_one_sentence(door: Neurothek, asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(NeurothekError, match=sentence) as caught:
        door.plan_intervention("opt", **asked)
    assert "\n" not in str(caught.value)


def test_gates_have_no_value_before_the_non_linearity(door: Neurothek) -> None:
    planned = door.plan_intervention("llama", where="neuron = 1", set=3, pre=True, tokens=90, sets=2)
    with pytest.raises(Unsupported, match="leave out --pre"):
        door.run_intervention(planned)


def test_a_masked_model_is_refused_by_name(folder: Path, tmp_path: Path) -> None:
    build(tmp_path / "bert", "bert", d_ffn=D_FFN)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    corpora = (f"long={folder / 'long.txt'}",)
    ingests.measure(warehouse, tmp_path / "bert", ingests.request(corpora, jobs=("projections",)))
    door = neurothek.open(tmp_path / "w.duckdb")
    with pytest.raises(Unsupported, match="bert is a masked model, and the job interventions needs one that predicts"):
        door.plan_intervention("bert", where="neuron = 1")


def test_ingest_alone_cannot_ask_for_it(door: Neurothek, folder: Path) -> None:
    with pytest.raises(Invalid, match=r"`neurothek intervene MODEL --where 'frequency > 0\.1'`"):
        door.ingest(str(folder / "opt"), job="interventions")
