"""How many sentences shortcuts are fitted on and judged by: as asked for, as always unless asked, or refused."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from neurothek import main
from neurothek.ingest.corpora.split import SentenceSplit
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.jobs.shortcuts.job import ShortcutsJob
from neurothek.ingest.request import IngestRequest
from tests.ingest.jobs.shortcuts.test_job import opened, prepare
from tests.support import jobs
from tests.support.models import build
from tests.support.shortcuts import PlainShortcuts, least_squares, r2, write_sentences

N_LAYERS, WIDTH = 1, 8
N_FIT, N_VALIDATION = 40, 12
N_FOUND = 90
"""Of 96 that are written: a text's sentences are cut where sequences end."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("split")
    build(folder / "tiny", "opt", n_layers=N_LAYERS, d_model=WIDTH)
    write_sentences(folder, n=96)
    return folder


@given(
    fit=st.none() | st.integers(6, 20_000),
    validate=st.none() | st.integers(2, 20_000),
    n_found=st.integers(8, 50_000),
)
def test_sizes_are_those_asked_for_and_the_other_gives_way(fit: int | None, validate: int | None, n_found: int) -> None:
    split = SentenceSplit.of(fit, validate)
    if n_found < (fit or 6) + (validate or 2):
        assert n_found < split.least
        return
    n_fit, n_validation = split.sizes(n_found)
    assert n_fit >= 6
    assert n_validation >= 2
    assert n_fit + n_validation <= n_found
    if fit is None and validate is None:
        n = min(n_found, 12_000)
        assert (n_fit, n_validation) == (n - n // 4, n // 4)
    else:
        assert n_fit == (fit or min(9_000, n_found - n_validation))
        assert n_validation == (validate or min(3_000, n_found - n_fit))


def test_a_run_without_sizes_keeps_its_key(folder: Path) -> None:
    transformer, tokenizer = opened(folder / "tiny")
    context = JobContext(transformer, tokenizer)
    usual = ShortcutsJob.from_options(context, IngestRequest()).parameters()
    assert usual.keys() == {"methods", "keep", "domains", "n_sentences", "seed", "sentences", "least_singular"}
    assert usual["n_sentences"] == 12_000
    same = ShortcutsJob.from_options(context, IngestRequest(fit=9_000, validate=3_000))
    assert same.parameters() == usual
    other = ShortcutsJob.from_options(context, IngestRequest(fit=9_000))
    assert other.parameters() == usual | {"n_fit": 9_000, "n_validation": None}


def test_maps_are_those_of_the_sentences_asked_for(folder: Path, tmp_path: Path) -> None:
    transformer, tokenizer = opened(folder / "tiny")
    context = JobContext(transformer, tokenizer, prepare(f"prose={folder / 'prose'}", tokenizer))
    asked = IngestRequest(methods=("id", "mat"), fit=N_FIT, validate=N_VALIDATION)
    tables = jobs.measure_all(ShortcutsJob.from_options(context, asked), folder=tmp_path)
    rows = tables["shortcut_sentences"].to_dicts()
    assert [row["is_validation"] for row in rows] == [False] * N_FIT + [True] * N_VALIDATION
    reference = PlainShortcuts(folder / "tiny")
    states = np.stack([reference.states(row["tokens"], row["position"]) for row in rows])
    (fitted,) = tables["shortcuts"].filter(method="mat").to_dicts()
    assert (fitted["n_fit"], fitted["n_validation"]) == (N_FIT, N_VALIDATION)
    source, target = states[:, 0], states[:, 1]
    found = least_squares(source[:N_FIT], target[:N_FIT])
    expected = r2(target[N_FIT:], source[N_FIT:] @ found.T)
    # As in the tests of the job: float32 streams of batches of another shape, through maps of some condition.
    assert fitted["r2"] == pytest.approx(expected, abs=2e-4)
    assert set(tables["shortcut_predictions"]["n"]) == {N_VALIDATION}


def ingest(folder: Path, *options: str) -> Result:
    base = ["ingest", str(folder / "tiny"), "--job", "shortcuts", "--corpus", f"prose={folder / 'prose'}"]
    return CliRunner().invoke(main, [*base, *options, "--warehouse", str(folder / "w.duckdb")])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--fit", "5"), "--fit 5 is too few; the job shortcuts fits on at least 6 sentences"),
        (("--validate", "0"), "--validate 0 is too few; the job shortcuts validates on at least 2 sentences"),
        (("--fit", "-3"), "--fit -3 is too few"),
        (
            ("--fit", "90", "--validate", "10"),
            f"--fit 90 --validate 10 needs 100 sentences, but prose of the corpus prose has {N_FOUND}; use fewer",
        ),
        (("--fit", "95"), f"--fit 95 needs 97 sentences, but prose of the corpus prose has {N_FOUND}"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, options: tuple[str, ...], sentence: str) -> None:
    result = ingest(folder, *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (folder / "w.duckdb").exists()


def test_the_plan_says_how_many(folder: Path) -> None:
    asked = ingest(folder, "--fit", str(N_FIT), "--validate", str(N_VALIDATION), "--plan")
    assert asked.exit_code == 0
    said = " ".join(asked.stdout.split())
    assert f"shortcuts: {N_FIT} sentences to fit on and {N_VALIDATION} to validate on, of {N_FOUND} in prose" in said
    usual = " ".join(ingest(folder, "--plan").stdout.split())
    assert f"shortcuts: 68 sentences to fit on and 22 to validate on, of {N_FOUND} in prose" in usual
