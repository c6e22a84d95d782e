"""Every published number against loops over transformers' own forward pass, and planted neurons found again."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora import corpus as corpora
from tests.support import ingests, planted
from tests.support.anatomy import Floats
from tests.support.models import CAUSAL_KINDS, Kind
from tests.support.plain import PlainModel, Seen, preactivation_bound

# One worker measures each model once.
pytestmark = pytest.mark.xdist_group("pipeline")

CONTEXT_LENGTH = 64
ABOVE = (0.1, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Measured:
    """A planted model, what transformers makes of it, and the warehouse."""

    kind: Kind
    name: str
    plain: PlainModel
    warehouse: Warehouse
    domains: list[str]
    sequences: list[list[int]]
    seen: list[list[Seen]]

    @property
    def first_counted(self) -> int:
        return len(self.plain.bos)

    def rows(self, table: str, **key: object) -> list[dict[str, Any]]:
        frame = ingests.table(self.warehouse, table)
        for column, value in key.items():
            frame = frame.filter(pl.col(column) == value)
        return frame.to_dicts()


@pytest.fixture(scope="module", params=CAUSAL_KINDS)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("measured")
    model = planted.build_planted(folder / f"planted-{request.param}", request.param)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    with pytest.MonkeyPatch.context() as patch:
        # Several chunks of several batches each.
        patch.setattr(corpora, "CHUNK_TOKENS", 300)
        report = ingests.measure(warehouse, model, ingests.request(ingests.write_corpus(folder)))
    assert report.jobs == ingests.JOBS
    plain = PlainModel(model)
    by_domain = {"long": [ingests.long_document()], "short": ingests.short_documents()}
    cut = {domain: plain.sequences(documents, CONTEXT_LENGTH) for domain, documents in by_domain.items()}
    sequences = [ids for pieces in cut.values() for ids in pieces]
    return Measured(
        kind=request.param,
        name=model.name,
        plain=plain,
        warehouse=warehouse,
        domains=[domain for domain, pieces in cut.items() for _ in pieces],
        sequences=sequences,
        seen=plain.seen(sequences),
    )


def test_the_text_is_cut_as_the_definitions_say(measured: Measured) -> None:
    rows = measured.rows("sequences")
    assert [row["sequence_id"] for row in rows] == list(range(len(measured.sequences)))
    assert [row["tokens"] for row in rows] == measured.sequences
    assert [row["domain"] for row in rows] == measured.domains
    # Several chunks, and lengths that differ within a batch.
    assert len({len(ids) for ids in measured.sequences}) > 1
    assert sum(map(len, measured.sequences)) > 600
    (corpus,) = measured.rows("corpora")
    n_counted = sum(len(ids) - measured.first_counted for ids in measured.sequences)
    assert (corpus["name"], corpus["n_tokens"]) == ("long+short", n_counted)


def test_tokens_are_counted_without_the_prepended_bos(measured: Measured) -> None:
    counted: Counter[tuple[str, int]] = Counter()
    for domain, ids in zip(measured.domains, measured.sequences, strict=True):
        counted.update((domain, token) for token in ids[measured.first_counted :])
    rows = measured.rows("token_counts")
    assert {(row["domain"], row["token_id"]): row["n_occurrences"] for row in rows} == dict(counted)


def test_projections_are_the_scores_of_every_neuron(measured: Measured) -> None:
    rows = measured.rows("projections")
    assert [(row["layer"], row["neuron"]) for row in rows] == [(layer, n) for layer in range(2) for n in range(128)]
    ids = np.array(sorted(measured.plain.tokenizer.get_vocab().values()))
    unembedding = measured.plain.unembedding()
    assert len(ids) < len(unembedding)
    lengths = np.linalg.norm(unembedding[ids], axis=1)
    for layer in range(2):
        neurons = measured.plain.neurons(layer)
        for row in (row for row in rows if row["layer"] == layer):
            value = neurons.values[row["neuron"]]
            scores = unembedding[ids] @ value
            # Each score is a float32 sum of 32 products.
            errors = 1e-6 * lengths * np.linalg.norm(value)
            check_moments(row, scores, errors)
            check_extremes(row["top_token_ids"], row["top_scores"], ids, scores, errors, sign=1)
            check_extremes(row["bottom_token_ids"], row["bottom_scores"], ids, scores, errors, sign=-1)
            assert row["value_norm"] == pytest.approx(np.linalg.norm(value), rel=1e-12)
            bound = preactivation_bound(neurons, row["neuron"])
            assert row["preactivation_bound"] == (None if bound is None else pytest.approx(bound, rel=1e-9, abs=1e-9))


def check_moments(row: dict[str, Any], scores: Floats, errors: Floats) -> None:
    mean, sd = scores.mean(), scores.std()
    assert row["score_mean"] == pytest.approx(mean, abs=errors.max())
    assert row["score_sd"] == pytest.approx(sd, rel=1e-5)
    # A power of z has a derivative of at most 4 |z|^3; the largest |z| among 392 scores is below 20.
    slack = 4 * 20**3 * errors.max() / sd
    standardized = (scores - mean) / sd
    assert row["score_skewness"] == pytest.approx((standardized**3).mean(), abs=slack)
    assert row["score_kurtosis"] == pytest.approx((standardized**4).mean() - 3, abs=slack)
    n_negative, unsure = (scores < 0).sum(), (np.abs(scores) <= errors).sum()
    assert abs(row["score_negative_share"] * len(scores) - n_negative) <= unsure + 1e-9


def check_extremes(
    tokens: Sequence[int], stored: Sequence[float], ids: np.ndarray, scores: Floats, errors: Floats, *, sign: int
) -> None:
    """The list holds the best tokens: another order only where two scores are equal within float32."""
    assert len(tokens) == len(set(tokens)) == 50
    places = np.searchsorted(ids, tokens)
    assert (ids[places] == tokens).all()
    best = np.sort(sign * scores)[::-1][:50]
    assert np.abs(sign * np.array(stored) - best).max() <= errors.max()
    assert (np.abs(np.array(stored) - scores[places]) <= errors[places]).all()


def test_postings_are_the_same_lists_with_z_scores(measured: Measured) -> None:
    expected = {}
    for row in measured.rows("projections"):
        for side, end in (("promoted", "top"), ("suppressed", "bottom")):
            for rank, (token, score) in enumerate(zip(row[f"{end}_token_ids"], row[f"{end}_scores"], strict=True), 1):
                z = (score - row["score_mean"]) / row["score_sd"]
                expected[token, side, row["layer"], row["neuron"]] = (rank, score, np.float32(z))
    rows = measured.rows("postings")
    found = {
        (row["token_id"], row["side"], row["layer"], row["neuron"]): (row["rank"], row["score"], row["z_score"])
        for row in rows
    }
    assert found.keys() == expected.keys()
    for key, (rank, score, z) in expected.items():
        assert found[key][:2] == (rank, score)
        assert found[key][2] == pytest.approx(z, rel=1e-6)
    order = [(row["side"], row["token_id"], row["rank"], row["layer"], row["neuron"]) for row in rows]
    assert order == sorted(order)


def test_token_neighbours_have_the_largest_cosines(measured: Measured) -> None:
    ids = np.array(sorted(measured.plain.tokenizer.get_vocab().values()))
    rows = measured.plain.unembedding()[ids]
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    found = pl.DataFrame(measured.rows("token_neighbours")).sort("token_id", "rank").partition_by("token_id")
    assert len(found) == len(ids)
    for place, frame in enumerate(found):
        assert frame["token_id"].unique().to_list() == [ids[place]]
        cosines = unit @ unit[place]
        cosines[place] = -2
        # 1e-6: unit vectors in float32.
        assert np.abs(frame["cosine"].to_numpy() - np.sort(cosines)[::-1][:20]).max() <= 1e-6
        assert np.abs(cosines[np.searchsorted(ids, frame["neighbour_id"])] - frame["cosine"].to_numpy()).max() <= 1e-6
        assert frame["rank"].to_list() == list(range(1, 21))


@dataclass(frozen=True)
class Column:
    """All that one neuron did at the counted positions of one domain, in the order of the corpus."""

    values: Floats
    active: np.ndarray
    errors: Floats
    unsure: np.ndarray


def column(measured: Measured, layer: int, neuron: int, domain: str) -> Column:
    chosen = [sequence[layer] for name, sequence in zip(measured.domains, measured.seen, strict=True) if name == domain]
    first = measured.first_counted
    values = np.concatenate([seen.coefficients[first:, neuron] for seen in chosen])
    # The slopes of GELU and SiLU are below 1.2; the coefficient itself has float32's own error.
    errors = np.concatenate([1.2 * seen.errors[first:, neuron] for seen in chosen]) + 1e-6 * np.abs(values)
    active, unsure = (
        np.concatenate([part[first:, neuron] for part in parts])
        for parts in ([seen.active for seen in chosen], [seen.unsure for seen in chosen])
    )
    return Column(values, active, errors, unsure)


def test_activity_counts_and_sums_every_counted_position(measured: Measured) -> None:
    rows = measured.rows("activity")
    assert [(row["layer"], row["neuron"], row["domain"]) for row in rows] == [
        (layer, neuron, domain) for layer in range(2) for neuron in range(128) for domain in ("long", "short")
    ]
    n_unsure, n_positions = 0, 0
    for row in rows:
        here = column(measured, row["layer"], row["neuron"], row["domain"])
        check_counts(row, here)
        check_sums(row, here)
        n_unsure += int(here.unsure.sum())
        n_positions += len(here.values)
    # The allowance is for honest flips of signs, not for mistakes.
    assert n_unsure < 1e-3 * n_positions


def check_counts(row: dict[str, Any], here: Column) -> None:
    active = here.active
    assert row["n_positions"] == len(here.values)
    assert abs(row["n_active"] - active.sum()) <= here.unsure.sum()
    for stored, threshold in zip(row["n_above"], ABOVE, strict=True):
        near = np.abs(np.abs(here.values) - threshold) <= here.errors
        assert abs(stored - (np.abs(here.values) > threshold).sum()) <= near.sum()
    certain, possible = np.flatnonzero(active & ~here.unsure), np.flatnonzero(active | here.unsure)
    if row["first_active"] is None:
        assert len(certain) == 0
    else:
        assert row["first_active"] in possible
        assert len(certain) == 0 or row["first_active"] <= certain[0]


def check_sums(row: dict[str, Any], here: Column) -> None:
    sizes = np.abs(here.values)
    # Within a block of rows numbers are added in float32: 1e-5 of the sum of sizes.
    slack = here.errors.sum() + 1e-5 * sizes.sum()
    assert row["activation_sum"] == pytest.approx(here.values.sum(), abs=slack)
    assert row["activation_abs_sum"] == pytest.approx(sizes.sum(), abs=slack)
    squares = (2 * sizes * here.errors + here.errors**2).sum() + 1e-5 * (sizes**2).sum()
    assert row["activation_square_sum"] == pytest.approx((sizes**2).sum(), abs=squares)
    assert row["activation_min"] == pytest.approx(here.values.min(), abs=here.errors.max())
    assert row["activation_max"] == pytest.approx(here.values.max(), abs=here.errors.max())


def test_the_prepended_bos_is_seen_by_its_own_columns_alone(measured: Measured) -> None:
    for row in measured.rows("activity"):
        if not measured.first_counted:
            assert (row["n_active_bos"], row["activation_bos"]) == (0, None)
            continue
        chosen = [
            seen[row["layer"]]
            for domain, seen in zip(measured.domains, measured.seen, strict=True)
            if domain == row["domain"]
        ]
        values = np.array([seen.coefficients[0, row["neuron"]] for seen in chosen])
        unsure = sum(int(seen.unsure[0, row["neuron"]]) for seen in chosen)
        errors = max(1.2 * seen.errors[0, row["neuron"]] for seen in chosen)
        assert abs(row["n_active_bos"] - sum(int(seen.active[0, row["neuron"]]) for seen in chosen)) <= unsure
        assert row["activation_bos"] == pytest.approx(values.mean(), abs=errors + 1e-6 * np.abs(values).max())


def test_contexts_are_the_strongest_places_one_a_sequence(measured: Measured) -> None:
    first = measured.first_counted
    stored = pl.DataFrame(measured.rows("contexts"))
    by_neuron = {(key[0], key[1]): frame for key, frame in stored.group_by("layer", "neuron")}
    for layer in range(2):
        for neuron in range(128):
            values = [seen[layer].coefficients[:, neuron] for seen in measured.seen]
            errors = [
                1.2 * seen[layer].errors[:, neuron] + 1e-6 * np.abs(m)
                for seen, m in zip(measured.seen, values, strict=True)
            ]
            best = np.sort([np.abs(m[first:]).max(initial=0) for m in values])[::-1][:10]
            slack = max(error.max() for error in errors)
            frame = by_neuron.get((layer, neuron), stored.clear()).sort("rank")
            assert frame["rank"].to_list() == list(range(1, frame.height + 1))
            # A maximum within the error of 0 may or may not be one.
            assert (best > slack).sum() <= frame.height <= (best > 0).sum()
            assert frame["sequence_id"].n_unique() == frame.height
            for rank, row in enumerate(frame.iter_rows(named=True)):
                place = row["sequence_id"], row["position"]
                assert row["position"] >= first
                assert row["activation"] != 0
                assert row["activation"] == pytest.approx(values[place[0]][place[1]], abs=errors[place[0]][place[1]])
                assert abs(row["activation"]) == pytest.approx(best[rank], abs=slack)


def run(measured: Measured, *arguments: str) -> Any:  # noqa: ANN401 - what JSON holds
    asked = [*arguments, "--warehouse", str(measured.warehouse.path), "--format", "json"]
    result = CliRunner().invoke(neurothek.main, asked, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def address(measured: Measured, neuron: int) -> str:
    return f"{measured.name}/L{planted.LAYER}N{neuron}"


def test_the_planted_promoter_is_found_by_its_word(measured: Measured) -> None:
    first, *_ = run(measured, "search", "--exact", planted.WORD)
    assert first["address"] == address(measured, planted.PROMOTES)
    assert (first["matched"], first["matched_ranks"]) == ([planted.WORD], [1])
    page = run(measured, "neuron", address(measured, planted.PROMOTES))
    assert page["neuron"]["top_tokens"][0] == planted.WORD


def test_the_planted_silent_and_constant_neurons_are_labelled(measured: Measured) -> None:
    columns = "neuron, frequency, never_active, is_dead, is_provably_dead, n_active, n_tokens_seen"
    rows = run(measured, "sql", f"select {columns} from neurons where layer = {planted.LAYER}")
    by_neuron = {row["neuron"]: row for row in rows}
    has_exact_zeros = measured.plain.anatomy.has_exact_zeros
    has_bound = has_exact_zeros and not measured.plain.anatomy.is_post_norm
    for neuron in (planted.SILENT, planted.PROVABLY_DEAD):
        assert by_neuron[neuron]["never_active"]
        assert by_neuron[neuron]["is_dead"] is (True if has_exact_zeros else None)
    assert by_neuron[planted.SILENT]["is_provably_dead"] is (False if has_bound else None)
    assert by_neuron[planted.PROVABLY_DEAD]["is_provably_dead"] is (True if has_bound else None)
    always = by_neuron[planted.ALWAYS]
    assert (always["frequency"], always["never_active"]) == (1, False)
    assert (
        always["n_active"]
        == always["n_tokens_seen"]
        == sum(map(len, measured.sequences)) - (measured.first_counted * len(measured.sequences))
    )
    # The control: of the neurons that nothing was planted in, most fire now and then.
    others = [row["frequency"] for number, row in by_neuron.items() if number not in (17, 40, 77)]
    assert 0.1 < float(np.median(others)) < 0.9


def test_the_pages_of_planted_neurons_say_so(measured: Measured) -> None:
    dead = run(measured, "neuron", address(measured, planted.PROVABLY_DEAD))
    assert sum(domain["n_active"] for domain in dead["domains"]) == 0
    if not measured.plain.anatomy.is_post_norm:
        assert dead["neuron"]["preactivation_bound"] < 0
    always = run(measured, "neuron", address(measured, planted.ALWAYS))
    assert [domain["frequency"] for domain in always["domains"]] == [1, 1]
    assert len(always["contexts"]) == 10
