"""The corpus that a request asks for: of the warehouse where it lies there, else prepared from its sources."""

import json
from typing import Any

from catalog.progress import Progress
from catalog.warehouse import Warehouse
from ingest import corpora
from ingest.corpora import Corpus, Recipe
from ingest.errors import CorpusUnknown, SequenceTooLong
from ingest.request import LONGEST_SEQUENCE, TextRequest
from ingest.sources import BUILTIN, Source, parse_sources
from ingest.tokenization import Tokenizer


def choose_corpus(
    warehouse: Warehouse, request: TextRequest, tokenizer: Tokenizer, *, context_length: int, progress: Progress
) -> Corpus:
    """The corpus in this tokenizer's ids; text that was tokenized before is not tokenized again.

    Raises:
        SequenceTooLong: longer sequences were asked for than the model takes.
        CorpusUnknown: a corpus was asked for by name and the warehouse has none of that name.
        SourceMissing, ...: see `corpora`.
    """
    length = request.sequence_length or min(context_length, LONGEST_SEQUENCE)
    if length > context_length:
        raise SequenceTooLong(length, context_length)
    recipe = _recipe(warehouse, request, length)
    name = request.name or _stored_name(warehouse, request)
    stored = _stored(warehouse, recipe, tokenizer)
    return stored or corpora.prepare(recipe, tokenizer, name=name, progress=progress)


def _recipe(warehouse: Warehouse, request: TextRequest, length: int) -> Recipe:
    name = _stored_name(warehouse, request)
    if name is None:
        sources = parse_sources(request.corpora)
        limit, packing = request.tokens_per_domain, request.packing
    else:
        said = _stored_recipe(warehouse, name)
        sources = [Source(source["domain"], source["location"]) for source in said["sources"]]
        limit, packing = said["tokens_per_domain"], said["packing"]
    return corpora.recipe(sources, sequence_length=length, tokens_per_domain=limit, packing=packing)


def _stored_name(warehouse: Warehouse, request: TextRequest) -> str | None:
    """The name of the corpus of the warehouse that is asked for; None when sources are given."""
    bare = [spec for spec in request.corpora if "=" not in spec and spec.split(":")[0] != BUILTIN]
    if not bare:
        return None
    known = _names(warehouse)
    if len(request.corpora) > 1 or bare[0] not in known:
        raise CorpusUnknown(bare[0], known)
    return bare[0]


def _names(warehouse: Warehouse) -> list[str]:
    if not warehouse.exists():
        return []
    with warehouse.reader() as connection:
        rows = connection.execute("select distinct name from store.corpora order by name").fetchall()
    return [str(row[0]) for row in rows]


def _stored_recipe(warehouse: Warehouse, name: str) -> dict[str, Any]:
    with warehouse.reader() as connection:
        rows = connection.execute(
            "select recipe from store.corpora where name = ? order by corpus_id desc limit 1", [name]
        ).fetchall()
    said: dict[str, Any] = json.loads(rows[0][0])
    return said


def _stored(warehouse: Warehouse, recipe: Recipe, tokenizer: Tokenizer) -> Corpus | None:
    """The corpus made by the same recipe with the same tokenizer, if the warehouse holds it."""
    if not warehouse.exists():
        return None
    query = """
        select corpora.*, tokenizers.sha256 as tokenizer_sha256
        from store.corpora as corpora
        inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = corpora.tokenizer_id
        where corpora.recipe = $recipe and tokenizers.sha256 = $sha256
        order by corpora.corpus_id desc limit 1
    """
    with warehouse.reader() as connection:
        rows = connection.sql(query, params={"recipe": recipe.json(), "sha256": tokenizer.sha256}).pl()
        if rows.is_empty():
            return None
        row = rows.row(0, named=True)
        sequences = connection.sql(
            "select sequence_id, domain, tokens, starts_document from store.sequences where corpus_id = $corpus_id",
            params={"corpus_id": row["corpus_id"]},
        ).pl()
    return Corpus.from_frames(row, sequences, has_bos=tokenizer.bos_id is not None)
