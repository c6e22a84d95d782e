"""Linear shortcuts against plain loops over transformers' own forward pass, planted models, and their laws."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from jaxtyping import Float
from safetensors.numpy import load_file
from torch import Tensor

from neurothek.catalog.problems import LimitExceeded, NotFound, Unreadable
from neurothek.catalog.store.matrices import file_name
from neurothek.catalog.store.matrix_files import TENSOR
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.prompts import LEAST_SENTENCES
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.jobs.shortcuts import fitting
from neurothek.ingest.jobs.shortcuts.fitting import MAPS
from neurothek.ingest.jobs.shortcuts.job import ShortcutsJob
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Block, BlockOutput, Transformer, open_transformer
from neurothek.ingest.request import IngestRequest
from tests.support import jobs
from tests.support import shortcuts as plain
from tests.support.anatomy import Floats
from tests.support.models import CAUSAL_KINDS, KINDS, build
from tests.support.shortcuts import PlainShortcuts, write_sentences

# Each model is measured once, by one worker.
pytestmark = pytest.mark.xdist_group("shortcuts")

N_LAYERS, WIDTH = 3, 16
N_SENTENCES, N_FIT, N_VALIDATION = 200, 150, 50
BATCH_TOKENS = 120

# Streams are float32 of batches of another shape than the reference's; their errors of about 1e-6 are doubled or
# tripled by conditions of some hundred at most, over 150 sentences.
TOLERANCE = 2e-4


@dataclass(frozen=True)
class Measured:
    """One model's shortcuts, measured and as the reference sees them."""

    reference: PlainShortcuts
    job: ShortcutsJob
    folder: Path
    tables: Mapping[str, pl.DataFrame]
    states: Floats
    """[sentences states d_model] of the reference."""


def prepare(spec: str, tokenizer: Tokenizer) -> Corpus:
    domain, location = spec.split("=")
    recipe = corpora.recipe([Source(domain, location)], sequence_length=64, packing=True)
    return corpora.prepare(recipe, tokenizer)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_sentences(tmp_path_factory.mktemp("text"))


def opened(folder: Path) -> tuple[Transformer, Tokenizer]:
    return open_transformer(find(str(folder))), tokenization.load(folder)


@pytest.fixture(scope="module", params=KINDS)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, text: str) -> Measured:
    folder = tmp_path_factory.mktemp("models")
    build(folder / request.param, request.param, n_layers=N_LAYERS, d_model=WIDTH)
    transformer, tokenizer = opened(folder / request.param)
    (folder / "files").mkdir()
    context = JobContext(transformer, tokenizer, prepare(text, tokenizer), batch_tokens=BATCH_TOKENS)
    asked = ShortcutsJob.from_options(context, IngestRequest(keep="all"))
    job = replace(asked, n_sentences=N_SENTENCES, seed=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "SENTENCES_AT_ONCE", 20)
        tables = jobs.measure_all(job, folder=folder / "files")
    reference = PlainShortcuts(folder / request.param)
    rows = tables["shortcut_sentences"].to_dicts()
    states = np.stack([reference.states(row["tokens"], row["position"]) for row in rows])
    return Measured(reference, job, folder / "files", tables, states)


def test_a_sentence_in_four_is_to_validate_on(measured: Measured) -> None:
    rows = measured.tables["shortcut_sentences"].to_dicts()
    assert [row["sentence_id"] for row in rows] == list(range(N_SENTENCES))
    assert [row["is_validation"] for row in rows] == [False] * N_FIT + [True] * N_VALIDATION
    tokenizer = measured.job.context.tokenizer
    n_bos = int(tokenizer.bos_id is not None)
    is_masked = tokenizer.mask_id is not None
    for row in rows:
        assert row["own_position"] == row["position"] - n_bos >= 0
        assert row["tokens"][:n_bos] == [tokenizer.bos_id] * n_bos
        if is_masked:
            assert row["position"] < len(row["tokens"]) - 1
        else:
            assert row["position"] == len(row["tokens"]) - 1
            assert row["text"] == tokenizer.decode(np.array(row["tokens"][n_bos:]))


@pytest.mark.parametrize("measured", ["bert"], indirect=True)
def test_a_masked_model_reads_whole_sentences_with_one_token_masked(measured: Measured, text: str) -> None:
    """As transformers' own tokenizer encodes them, but for that token."""
    encode = measured.reference.streams.plain.tokenizer
    known = set()
    for file in Path(text.partition("=")[2]).iterdir():
        written = file.read_text().removesuffix(".").split(". ")
        # What looks like an abbreviation does not end a sentence.
        runs = [written[start : start + length] for start in range(len(written)) for length in (1, 2, 3)]
        known |= {tuple(encode(f"{'. '.join(run)}.").input_ids) for run in runs}
    hidden = set()
    for row in measured.tables["shortcut_sentences"].to_dicts():
        ids, place = row["tokens"], row["position"]
        assert ids[place] == encode.mask_token_id
        fitting = [one for one in known if without(one, place) == without(ids, place)]
        assert fitting, row
        hidden |= {one[place] for one in fitting}
        pieces = encode.convert_ids_to_tokens(ids)[1:-1]
        assert "".join(row["text"].split()).replace("##", "") == "".join(pieces).replace("##", "")
    # Words and full stops alike, but nothing that the tokenizer itself puts around.
    assert len(hidden) > 15
    assert not hidden & set(encode.all_special_ids)


def without(ids: Sequence[int], place: int) -> list[int]:
    """All but one."""
    return [*ids[:place], *ids[place + 1 :]]


def test_r2_is_that_of_the_definition(measured: Measured) -> None:
    fit, validation = measured.states[:N_FIT], measured.states[N_FIT:]
    found = {
        (row["method"], row["source_state"], row["target_state"]): row
        for row in measured.tables["shortcuts"].to_dicts()
    }
    n_pairs = N_LAYERS * (N_LAYERS + 1) // 2
    assert len(found) == 2 * n_pairs
    for source in range(N_LAYERS):
        values = np.linalg.svd(fit[:, source], compute_uv=False)
        for target in range(source + 1, N_LAYERS + 1):
            x, y = validation[:, source], validation[:, target]
            by_id, by_mat = found["id", source, target], found["mat", source, target]
            assert by_id["r2"] == pytest.approx(plain.r2(y, x), rel=TOLERANCE, abs=TOLERANCE)
            matrix = plain.least_squares(fit[:, source], fit[:, target])
            assert by_mat["r2"] == pytest.approx(plain.r2(y, x @ matrix.T), rel=TOLERANCE, abs=TOLERANCE)
            # Of a masked model every first state is a mask's: only positions tell them apart.
            rank = int((values > values[0] * 2**-23).sum())
            assert (rank < WIDTH) == (source == 0 and measured.job.context.transformer.shape.is_masked)
            assert by_mat["condition"] == pytest.approx(values[0] / values[rank - 1], rel=1e-3)
            assert (by_mat["rank"], by_id["rank"], by_id["condition"]) == (rank, None, None)
            assert {by_id["n_fit"], by_mat["n_fit"]} == {N_FIT}
            assert {by_id["n_validation"], by_mat["n_validation"]} == {N_VALIDATION}


def test_kept_matrices_are_those_of_the_definition(measured: Measured) -> None:
    rows = measured.tables["shortcut_maps"].to_dicts()
    files = sorted(path.name for path in (measured.folder / MAPS).iterdir())
    assert files == sorted(file_name(row["source_state"], row["target_state"]) for row in rows)
    assert len(files) == N_LAYERS * (N_LAYERS + 1) // 2
    for row in rows:
        path = measured.folder / MAPS / file_name(row["source_state"], row["target_state"])
        assert path.stat().st_size == row["n_bytes"]
        ours = load_file(path)[TENSOR]
        fit = measured.states[:N_FIT]
        theirs = plain.least_squares(fit[:, row["source_state"]], fit[:, row["target_state"]])
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE * np.abs(theirs).max() * 10)


def substitute(measured: Measured, method: str, state: int, sentence: int) -> Floats:
    """What stands in for the last state of a validation sentence, by the reference."""
    own: Floats = measured.states[sentence, state]
    if method == "id" or state == N_LAYERS:
        return own
    fit = measured.states[:N_FIT]
    found: Floats = plain.least_squares(fit[:, state], fit[:, N_LAYERS]) @ own
    return found


def test_readings_are_those_of_the_definition(measured: Measured) -> None:
    rows = measured.tables["shortcut_readings"].to_dicts()
    assert len(rows) == len(measured.job.methods) * (N_LAYERS + 1) * N_VALIDATION
    unsure = 0
    for row in rows:
        if row["method"] not in ("id", "mat"):
            continue
        last = measured.states[row["sentence_id"], N_LAYERS]
        expected = measured.reference.reading(
            last, substitute(measured, row["method"], row["state"], row["sentence_id"])
        )
        if expected.pop("margin") < TOLERANCE:
            # Two tokens are so near each other that rounding decides.
            unsure += 1
            continue
        assert row["top_token"] == expected.pop("top_token")
        for name, value in expected.items():
            assert row[name] == pytest.approx(value, rel=TOLERANCE * 5, abs=TOLERANCE), (name, row)
    assert unsure < 5


def test_from_the_last_state_every_method_is_the_model(measured: Measured) -> None:
    last = measured.tables["shortcut_readings"].filter(state=N_LAYERS)
    assert last["rank_in_model"].unique().to_list() == [1]
    for row in last.to_dicts():
        # Both are taken of the same logits, each rounded to single precision once.
        assert row["surprisal"] == pytest.approx(-math.log(row["top_probability"]), abs=1e-6)
    for row in measured.tables["shortcut_predictions"].filter(state=N_LAYERS).to_dicts():
        assert {row[f"precision_{k}"] for k in (1, 5, 10)} == {1.0}
        mine = last.filter(method=row["method"])
        assert row["surprisal"] == pytest.approx(-np.log(mine["top_probability"].to_numpy()).mean(), abs=1e-6)


def test_predictions_are_summed_up(measured: Measured) -> None:
    rows = measured.tables["shortcut_predictions"].to_dicts()
    assert len(rows) == len(measured.job.methods) * (N_LAYERS + 1)
    for row in rows:
        mine = measured.tables["shortcut_readings"].filter(method=row["method"], state=row["state"])
        assert row["n"] == N_VALIDATION
        for k in (1, 5, 10):
            count = sum(1 for rank in mine["rank_in_model"] if rank <= k)
            assert row[f"precision_{k}"] == count / N_VALIDATION
            low, high = plain.wilson(count, N_VALIDATION)
            assert row[f"precision_{k}_low"] == pytest.approx(low, abs=1e-9)
            assert row[f"precision_{k}_high"] == pytest.approx(high, abs=1e-9)
        values = mine["surprisal"].to_list()
        mean = sum(values) / len(values)
        half = 1.959963984540054 * np.std(values, ddof=1) / len(values) ** 0.5
        assert row["surprisal"] == pytest.approx(mean)
        assert (row["surprisal_low"], row["surprisal_high"]) == pytest.approx((mean - half, mean + half))


def test_the_first_tokens_of_the_first_sentences_are_listed(measured: Measured) -> None:
    tops = measured.tables["shortcut_tops"]
    assert tops.height == 2 * (N_LAYERS + 1) * min(50, N_VALIDATION) * 5
    for row in tops.filter(pl.col("sentence_id") < N_FIT + 8).to_dicts():
        logits = measured.reference.streams.logits(
            substitute(measured, row["method"], row["state"], row["sentence_id"])
        )
        ordered = np.sort(logits)[::-1]
        # The token may be its neighbour where both are as likely; its probability is not another.
        assert logits[row["token_id"]] == pytest.approx(ordered[row["rank"] - 1], abs=10 * TOLERANCE)
        expected = np.exp(logits[row["token_id"]] - logits.max()) / np.exp(logits - logits.max()).sum()
        assert row["probability"] == pytest.approx(expected, rel=10 * TOLERANCE, abs=TOLERANCE)


PARTS = {"mat_attn": ("attention",), "mat_ffn": ("ffn",), "mat_ln1_ln2": ("norm_1", "norm_2")}


@pytest.fixture(scope="module")
def maps(measured: Measured) -> dict[tuple[int, str], Floats]:
    """(layer, part) -> A, by the reference: at the positions chosen, of the sentences to fit on."""
    passed = [
        measured.reference.parts(row["tokens"], row["position"])
        for row in measured.tables["shortcut_sentences"].to_dicts()
    ]
    found = {}
    fits = {(row["layer"], row["sub_module"]): row for row in measured.tables["sub_module_fits"].to_dicts()}
    assert len(fits) == 4 * N_LAYERS
    for (layer, part), row in fits.items():
        x, y = (np.stack([one[layer, part][side] for one in passed]) for side in range(2))
        found[layer, part] = plain.least_squares(x[:N_FIT], y[:N_FIT])
        expected = plain.r2(y[N_FIT:], x[N_FIT:] @ found[layer, part].T)
        assert row["r2"] == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)
        values = np.linalg.svd(x[:N_FIT], compute_uv=False)
        rank = int((values > values[0] * 2**-23).sum())
        assert row["rank"] == rank
        # The least of the singular values is the first to feel rounding.
        assert row["condition"] == pytest.approx(values[0] / values[rank - 1], rel=1e-2)
    return found


@pytest.mark.parametrize("measured", [*CAUSAL_KINDS, "phi3", "granite"], indirect=True)
def test_sub_modules_are_replaced_in_every_block_above(measured: Measured, maps: dict[tuple[int, str], Floats]) -> None:
    sentences = measured.tables["shortcut_sentences"].filter(is_validation=True).to_dicts()[:12]
    unsure = 0
    for method, parts in PARTS.items():
        for state in range(N_LAYERS):
            chosen = {(layer, part): maps[layer, part] for layer in range(state, N_LAYERS) for part in parts}
            for sentence in sentences:
                place = {"sentence_id": sentence["sentence_id"], "method": method, "state": state}
                (row,) = measured.tables["shortcut_readings"].filter(**place).to_dicts()
                last = measured.reference.replaced(sentence["tokens"], sentence["position"], chosen)
                expected = measured.reference.reading(measured.states[sentence["sentence_id"], N_LAYERS], last)
                if expected.pop("margin") < 10 * TOLERANCE:
                    unsure += 1
                    continue
                assert row["top_token"] == expected.pop("top_token")
                for name, value in expected.items():
                    # Errors of the maps pass through all blocks above.
                    assert row[name] == pytest.approx(value, rel=TOLERANCE * 20, abs=TOLERANCE * 5), (name, row)
    assert unsure < 10


@pytest.mark.parametrize("measured", [*CAUSAL_KINDS, "phi3", "granite"], indirect=True)
def test_the_reference_is_the_model_where_nothing_is_replaced(measured: Measured) -> None:
    for sentence in measured.tables["shortcut_sentences"].head(5).to_dicts():
        found = measured.reference.replaced(sentence["tokens"], sentence["position"], {})
        # Float32 in another order of operations.
        np.testing.assert_allclose(found, measured.states[sentence["sentence_id"], N_LAYERS], rtol=1e-4, atol=1e-5)


@pytest.fixture
def small(tmp_path: Path, text: str) -> tuple[ShortcutsJob, Path]:
    transformer, tokenizer = opened(build(tmp_path / "tiny", "opt", n_layers=N_LAYERS, d_model=WIDTH))
    (tmp_path / "files").mkdir()
    context = JobContext(transformer, tokenizer, prepare(text, tokenizer), batch_tokens=BATCH_TOKENS)
    return ShortcutsJob(context, methods=("id", "mat"), n_sentences=N_SENTENCES), tmp_path / "files"


def replace_blocks(patch: pytest.MonkeyPatch, made: Mapping[int, Tensor], *, noise: bool = False) -> None:
    """Blocks that multiply the stream by a matrix, or make a new one of chance."""
    layers = iter(made)
    generator = torch.Generator().manual_seed(7)

    def call(
        self: Block, stream: Float[Tensor, "batch time d_model"], lengths: Sequence[int] | None = None
    ) -> BlockOutput:
        if not hasattr(self, "planted"):
            # Each layer is opened once, in order.
            self.planted = next(layers)  # type: ignore[attr-defined]
        layer = self.planted  # type: ignore[attr-defined]
        after = torch.randn(stream.shape, generator=generator) if noise else stream @ made[layer].T
        return BlockOutput(after, stream, stream, stream)

    patch.setattr(Block, "__call__", call)


def test_linear_blocks_are_found(small: tuple[ShortcutsJob, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    job, files = small
    generator = torch.Generator().manual_seed(1)
    planted = {layer: torch.randn(WIDTH, WIDTH, generator=generator) for layer in range(N_LAYERS)}
    replace_blocks(monkeypatch, planted)
    tables = jobs.measure_all(job, folder=files)
    for row in tables["shortcuts"].filter(method="mat").to_dicts():
        assert row["r2"] == pytest.approx(1, abs=1e-6)
    for row in tables["shortcuts"].filter(method="id").to_dicts():
        assert row["r2"] < 0.5
    assert tables["shortcut_predictions"].filter(method="mat")["precision_1"].to_list() == [1.0] * (N_LAYERS + 1)
    product = torch.eye(WIDTH)
    for source in reversed(range(N_LAYERS)):
        product = product @ planted[source]
        ours = load_file(files / MAPS / f"{source:04d}-{N_LAYERS:04d}.safetensors")[TENSOR]
        np.testing.assert_allclose(ours, product.numpy(), atol=1e-4 * float(product.abs().max()))


def test_in_blocks_of_chance_nothing_is_found(
    small: tuple[ShortcutsJob, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    job, files = small
    replace_blocks(monkeypatch, dict.fromkeys(range(N_LAYERS), torch.zeros(0)), noise=True)
    tables = jobs.measure_all(job, folder=files)
    assert (tables["shortcuts"]["r2"] <= 0).all()
    below = tables["shortcut_predictions"].filter(pl.col("state") < N_LAYERS)
    # One token in 392 by chance, a little more where the model prefers some.
    assert (below["precision_1"] < 0.2).all()


def test_states_do_not_hang_on_how_they_are_run(small: tuple[ShortcutsJob, Path], tmp_path: Path) -> None:
    """Another order of shards makes what is missing, and weights read layer by layer are the same weights."""
    job, files = small
    whole = jobs.measure_all(job, folder=files)
    (tmp_path / "again").mkdir()
    job.context.transformer.stream()
    with job.open(tmp_path / "again", lambda table: whole[table].lazy()) as measure:
        for shard, filled in reversed(job.shards().items()):
            found = measure(shard)
            for name in filled:
                keys = list(next(table for table in job.tables if table.name == name).key)
                assert found[name].join(whole[name], on=keys, how="anti").is_empty()
                assert found[name].equals(whole[name].join(found[name], on=keys, how="semi", maintain_order="left"))


def test_fewer_sentences_than_coordinates_give_the_map_of_least_norm(tmp_path: Path, text: str) -> None:
    transformer, tokenizer = opened(build(tmp_path / "tiny", "gpt2", n_layers=1, d_model=32))
    (tmp_path / "files").mkdir()
    files = tmp_path / "files"
    context = JobContext(transformer, tokenizer, prepare(text, tokenizer), batch_tokens=BATCH_TOKENS)
    job = ShortcutsJob(context, n_sentences=20)
    tables = jobs.measure_all(job, folder=files)
    (row,) = tables["shortcuts"].filter(method="mat").to_dicts()
    assert (row["rank"], row["n_fit"], row["n_validation"]) == (15, 15, 5)
    states = [np.load(files / f"state-000{number}.npy")[:15].astype(np.float64) for number in range(2)]
    ours = load_file(files / MAPS / "0000-0001.safetensors")[TENSOR]
    least = (np.linalg.pinv(states[0]) @ states[1]).T
    np.testing.assert_allclose(ours, least, atol=1e-5 * np.abs(least).max())
    (remark,) = job.remarks(lambda table: tables[table].lazy())
    assert "1 of 1 states span fewer directions" in remark
    assert "15, with condition" in remark


def test_fewer_sentences_than_usual_are_said(small: tuple[ShortcutsJob, Path]) -> None:
    job, files = small
    usual = replace(job, n_sentences=12_000)
    tables = jobs.measure_all(usual, folder=files)
    remarks = usual.remarks(lambda table: tables[table].lazy())
    n = len(tables["shortcut_sentences"])
    assert tables["shortcut_sentences"]["is_validation"].sum() == n // 4
    assert f"fitted on {n - n // 4} sentences of prose and validated on {n // 4}" in remarks[0]


def test_what_cannot_be_measured_is_said(tmp_path: Path, text: str) -> None:
    transformer, tokenizer = opened(build(tmp_path / "tiny", "opt", n_layers=1, d_model=WIDTH))
    (tmp_path / "few.txt").write_text("The school is near. " * (LEAST_SENTENCES - 1))
    context = JobContext(transformer, tokenizer, prepare(f"prose={tmp_path / 'few.txt'}", tokenizer))
    with pytest.raises(LimitExceeded, match="takes at least 8, but prose of the corpus prose has 7"):
        ShortcutsJob(context).shards()
    with pytest.raises(NotFound, match=r"there is no shortcut mta for opt models; did you mean mat\?"):
        ShortcutsJob.from_options(context, IngestRequest(methods=("id", "mta")))


def test_of_a_masked_model_it_is_said_too(tmp_path: Path, text: str) -> None:
    transformer, tokenizer = opened(build(tmp_path / "tiny", "bert", n_layers=1, d_model=WIDTH))
    with pytest.raises(NotFound, match="there is no shortcut mat_ffn for bert models; did you mean mat"):
        ShortcutsJob.from_options(JobContext(transformer, tokenizer), IngestRequest(methods=("mat_ffn",)))
    maskless = replace(tokenizer, mask_id=None)
    context = JobContext(transformer, maskless, prepare(text, maskless))
    with pytest.raises(Unreadable, match="the tokenizer of tiny has no mask token; put the tokenizer"):
        ShortcutsJob.from_options(context, IngestRequest()).shards()
