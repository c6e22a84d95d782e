"""A job that is named, without a word about the text: it measures on the corpus that views show for the model."""

import json
from pathlib import Path

import pytest

from neurothek.catalog.problems import Conflict, NotFound
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.changes import pin
from neurothek.ingest.options import ingest_request
from neurothek.ingest.pipeline.up_to_date import model_inputs, recall, remember
from neurothek.ingest.planning.agenda import prepare_model
from neurothek.ingest.planning.first_look import check_text
from neurothek.ingest.request import IngestRequest, ModelSource, TextRequest
from tests.support import ingests
from tests.support.models import build

TOKENS = {"tokens_per_domain": 300}


@pytest.fixture
def measured(tmp_path: Path) -> tuple[Warehouse, Path, tuple[str, ...]]:
    """A model that was measured on two texts, of which the first has more tokens."""
    texts = ingests.write_corpus(tmp_path)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    model = build(tmp_path / "opt", "opt", d_ffn=16)
    for name, tokens in (("long", 300), ("short", 100)):
        text = {"tokens_per_domain": tokens, "name": name}
        ingests.measure(warehouse, model, ingests.request(texts, jobs=("activity", "projections"), text=text))
    return warehouse, model, texts


def corpora_of(warehouse: Warehouse, job: str) -> list[str]:
    query = "select corpora.name from store.runs join store.corpora using (corpus_id) where job = ? order by all"
    with warehouse.reader() as connection:
        return [name for (name,) in connection.execute(query, [job]).fetchall()]


def test_a_named_job_takes_the_text_that_is_shown(measured: tuple[Warehouse, Path, tuple[str, ...]]) -> None:
    warehouse, model, texts = measured
    ingests.measure(warehouse, model, ingest_request(job="entropy", device="cpu"))
    assert corpora_of(warehouse, "entropy") == ["long"]
    with warehouse.reader() as connection:
        assert connection.execute("select count(*) from store.corpora").fetchall() == [(2,)]
    pin(warehouse, "opt", corpus="short")
    ingests.measure(warehouse, model, ingest_request(job="entropy", device="cpu"))
    assert corpora_of(warehouse, "entropy") == ["long", "short"]
    # A word about the text decides.
    ingests.measure(warehouse, model, ingest_request(job="entropy", device="cpu", corpus=texts, tokens=200))
    assert len(corpora_of(warehouse, "entropy")) == 3


def test_what_is_finished_is_so_of_the_text_that_was_shown(measured: tuple[Warehouse, Path, tuple[str, ...]]) -> None:
    warehouse, model, _ = measured
    request, source = ingest_request(job="entropy", device="cpu"), ModelSource(str(model))
    ingests.measure(warehouse, model, request)
    again = ingests.measure(warehouse, model, request)
    assert again.finished
    remember(warehouse, "what is asked", again)
    assert recall(warehouse, "what is asked") is not None
    pin(warehouse, "opt", corpus="short")
    assert recall(warehouse, "what is asked") is None
    assert model_inputs(warehouse, request, source) != model_inputs(warehouse, ingest_request(job="activity"), source)


def test_only_what_nobody_said_is_left_open() -> None:
    assert ingest_request(job="entropy").text.is_left_open
    assert ingest_request(job="entropy").text.sources == ("builtin",)
    for word in ({"corpus": "builtin"}, {"tokens": 200_000}, {"sequence_length": 64}, {"packing": False}):
        assert not ingest_request(job="entropy", **word).text.is_left_open
    assert TextRequest(corpus_id=0) != TextRequest()


def test_a_changed_tokenizer_is_followed_by_force(measured: tuple[Warehouse, Path, tuple[str, ...]]) -> None:
    warehouse, model, _ = measured
    path = model / "tokenizer.json"
    settings = json.loads(path.read_text("utf-8"))
    normalizer = {"type": "Replace", "pattern": {"String": "e"}, "content": "a"}
    path.write_text(json.dumps(settings | {"normalizer": normalizer}), "utf-8")
    with pytest.raises(Conflict, match="--force"):
        ingests.measure(warehouse, model, ingest_request(job="activity", device="cpu"))
    ingests.measure(warehouse, model, ingest_request(job="activity", device="cpu", force=True))
    assert corpora_of(warehouse, "activity") == ["long", "short"]


def test_domains_are_those_of_the_text_that_is_shown(measured: tuple[Warehouse, Path, tuple[str, ...]]) -> None:
    warehouse, model, _ = measured
    with warehouse.reader() as connection:
        domains = connection.execute("select distinct domain from store.sequences order by all").fetchall()
    own = str(domains[0][0])

    def asked(domain: str) -> IngestRequest:
        return ingest_request(job="shortcuts", domains=(domain,), methods=("id",), baselines=False, device="cpu")

    assert check_text(warehouse, asked(own)) == []
    assert prepare_model(warehouse, asked(own), ModelSource(str(model)), progress=Silent()).corpus is not None
    with pytest.raises(NotFound, match="has no domain elsewhere; it has"):
        ingests.measure(warehouse, model, asked("elsewhere"))
