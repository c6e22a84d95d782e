"""The corpus that a request asks for: of the warehouse where it lies there, else prepared from its sources."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neurothek.catalog.problems import Unreadable
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.warehouse import Warehouse, first_row
from neurothek.ingest.corpora import corpus
from neurothek.ingest.corpora.asked import require_name, stored_name
from neurothek.ingest.corpora.corpus import Corpus, Recipe
from neurothek.ingest.corpora.sources.builtin import BUILTIN
from neurothek.ingest.corpora.sources.source import Source, parse_sources
from neurothek.ingest.corpora.text_memory import UNBOUNDED, TextMemory
from neurothek.ingest.models.errors import sequence_too_long
from neurothek.ingest.models.tokenizer import Tokenizer, different_parts
from neurothek.ingest.request import DEFAULT_TOKENS, LONGEST_SEQUENCE, TextRequest


def choose_corpus(
    warehouse: Warehouse,
    request: TextRequest,
    tokenizer: Tokenizer,
    *,
    context_length: int,
    progress: Progress,
    memory: TextMemory = UNBOUNDED,
) -> Corpus:
    """The corpus in this tokenizer's ids; text that it tokenized before is not tokenized again."""
    if request.corpus_id is not None:
        return _of_number(warehouse, request.corpus_id, tokenizer, progress=progress, memory=memory)
    if (request.sequence_length or 0) > context_length:
        raise sequence_too_long(request.sequence_length or 0, context_length)
    name = stored_name(warehouse, request)
    if name is None:
        require_name(request.name)
        source = _of_sources(warehouse, request, tokenizer, context_length)
    else:
        source = _of_name(warehouse, name, request, tokenizer, context_length)
    if isinstance(source, Corpus):
        return source
    return corpus.prepare(source, tokenizer, name=name or request.name, progress=progress, memory=memory)


def on_shown(warehouse: Warehouse, request: TextRequest, model: str) -> TextRequest:
    """The same text; where nobody said which, the corpus that views show for the model, if any."""
    if not request.is_left_open or not warehouse.exists():
        return request
    query = """
        select corpus_id
        from store.neuron_facts
        where set_id = (select model_id from store.models where name = $model) and corpus_id is not null
        limit 1
    """
    with warehouse.reader() as connection:
        row = first_row(connection, query, {"model": model})
    return request if row is None else TextRequest(corpus_id=int(row[0]))


def stored_corpus(warehouse: Warehouse, corpus_id: int, tokenizer: Tokenizer) -> Corpus:
    """A corpus of the warehouse by its number, as it stands there."""
    (row,) = (row for row in _rows(warehouse) if row["corpus_id"] == corpus_id)
    return _of_row(warehouse, row, tokenizer)


def tokenized_again(
    warehouse: Warehouse, corpus_id: int, tokenizer: Tokenizer, *, progress: Progress, memory: TextMemory = UNBOUNDED
) -> Corpus:
    """What a tokenizer makes today of the text of a corpus of the warehouse."""
    (row,) = (row for row in _rows(warehouse) if row["corpus_id"] == corpus_id)
    return corpus.prepare(_recipe_of(row), tokenizer, name=row["name"], progress=progress, memory=memory)


@dataclass(frozen=True)
class OtherIds:
    """A text of which a model was measured in other ids than its tokenizer gives it now."""

    corpus_id: int  # the corpus with these ids
    name: str  # its name
    jobs: tuple[str, ...]  # what was measured of the model on it
    # the parts in which the tokenizers differ, for each tokenizer that is recorded; none where an earlier release
    # measured
    differences: tuple[str, ...]


def other_ids(warehouse: Warehouse, model: str, prepared: Corpus, tokenizer: Tokenizer) -> list[OtherIds]:
    """Corpora that a model was measured on, of the same text as one that its tokenizer just made, in other ids."""
    if not warehouse.exists():
        return []
    query = """
        select
            corpora.corpus_id, corpora.name, corpora.recipe,
            list_sort(list(distinct runs.job)) as jobs, list(distinct runs.tokenizer_identity) as identities
        from store.runs as runs
        inner join store.models as models on models.model_id = runs.model_id
        inner join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
        where
            models.name = $model and corpora.text_sha256 = $text_sha256
            and corpora.sequence_length = $sequence_length and corpora.sha256 <> $sha256
        group by all
        order by corpora.corpus_id
    """
    values = {
        "model": model,
        **{name: getattr(prepared, name) for name in ("text_sha256", "sequence_length", "sha256")},
    }
    with warehouse.reader() as connection:
        rows = as_frame(connection.sql(query, params=values)).to_dicts()
    return [
        OtherIds(row["corpus_id"], row["name"], tuple(row["jobs"]), _differences(row["identities"], tokenizer))
        for row in rows
        if _content(row["recipe"]) == _content(prepared.recipe)
    ]


def known_as(warehouse: Warehouse, prepared: Corpus) -> str | None:
    """The name under which a warehouse has the ids of a text; None if it has them not."""
    if not warehouse.exists():
        return None
    query = """
        select corpora.name
        from store.corpora as corpora
        inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = corpora.tokenizer_id
        where
            corpora.sha256 = $sha256 and corpora.sequence_length = $sequence_length
            and tokenizers.sha256 = $tokenizer_sha256
    """
    values = {name: getattr(prepared, name) for name in ("sha256", "sequence_length", "tokenizer_sha256")}
    with warehouse.reader() as connection:
        row = first_row(connection, query, values)
    return None if row is None else str(row[0])


def _differences(identities: Sequence[str | None], tokenizer: Tokenizer) -> tuple[str, ...]:
    recorded = [identity for identity in identities if identity is not None]
    return tuple(dict.fromkeys(part for one in recorded for part in different_parts(one, tokenizer.identity)))


def _of_number(
    warehouse: Warehouse, corpus_id: int, tokenizer: Tokenizer, *, progress: Progress, memory: TextMemory
) -> Corpus:
    """A corpus of the warehouse by its number if this tokenizer made it, else its text in the ids that it has now."""
    (row,) = (row for row in _rows(warehouse) if row["corpus_id"] == corpus_id)
    if _is_of(row, tokenizer):
        return _of_row(warehouse, row, tokenizer)
    return tokenized_again(warehouse, corpus_id, tokenizer, progress=progress, memory=memory)


def _of_sources(
    warehouse: Warehouse, request: TextRequest, tokenizer: Tokenizer, context_length: int
) -> Corpus | Recipe:
    """What the sources make: a corpus of the warehouse, or the recipe of a new one."""
    recipe = corpus.recipe(
        parse_sources(request.sources),
        sequence_length=request.sequence_length or min(context_length, LONGEST_SEQUENCE),
        tokens_per_domain=request.tokens_per_domain or DEFAULT_TOKENS,
        packing=request.packing,
    )
    return _stored(warehouse, recipe, tokenizer) or recipe


def _of_name(
    warehouse: Warehouse, name: str, request: TextRequest, tokenizer: Tokenizer, context_length: int
) -> Corpus | Recipe:
    """A corpus of the warehouse if this tokenizer made it, else the recipe of one, to be carried out again."""
    rows = _rows(warehouse, name)
    for row in rows:
        length = row["sequence_length"]
        fits = length == request.sequence_length if request.sequence_length else length <= context_length
        if _is_of(row, tokenizer) and fits:
            return _of_row(warehouse, row, tokenizer)
    return _recipe_of(
        rows[0], sequence_length=request.sequence_length or min(rows[0]["sequence_length"], context_length)
    )


def _recipe_of(row: dict[str, Any], *, sequence_length: int | None = None) -> Recipe:
    """The recipe of a corpus of the warehouse, to be carried out again."""
    document = json.loads(row["recipe"])
    recipe = corpus.recipe(
        [Source(source["domain"], source["location"]) for source in document["sources"]],
        sequence_length=sequence_length or document["sequence_length"],
        tokens_per_domain=document["tokens_per_domain"],
        packing=document["packing"],
        split=document.get("split", "measure"),
    )
    for source, sha256 in zip(document["sources"], recipe.hashes, strict=True):
        if source["sha256"] != sha256:
            domain, location = source["domain"], source["location"]
            raise Unreadable(
                f"the corpus {row['name']} must be read again for this model, but the text of its domain {domain}"
                f" at {location} has changed: restore it, or give the new text as NAME=PATH",
                path=location,
                why="changed",
            )
    return recipe


def _stored(warehouse: Warehouse, recipe: Recipe, tokenizer: Tokenizer) -> Corpus | None:
    """The corpus made of the same text in the same way with the same tokenizer, if the warehouse holds it."""
    if not warehouse.exists():
        return None
    content = _content(recipe.json())
    for row in _rows(warehouse):
        if _is_of(row, tokenizer) and _content(row["recipe"]) == content:
            # The text that was asked for is at hand, where that of a catalog may have stayed at home.
            return None if lacks_text(warehouse, row["corpus_id"]) else _as_stored(warehouse, row, tokenizer)
    return None


def _content(recipe: str) -> dict[str, Any]:
    """A recipe without the places of its files: the hashes say what stands in them."""
    document: dict[str, Any] = json.loads(recipe)
    for source in document["sources"]:
        if not source["location"].startswith(f"{BUILTIN}:"):
            del source["location"]
    return document


def _rows(warehouse: Warehouse, name: str | None = None) -> list[dict[str, Any]]:
    """Rows of `corpora`, those of one name if it is given, with the tokenizers of their ids; the newest first."""
    query = """
        select
            corpora.*,
            tokenizers.sha256 as tokenizer_sha256,
            tokenizers.bos_token_id,
            (
                select list(distinct runs.tokenizer_identity) from store.runs as runs
                where runs.corpus_id = corpora.corpus_id
            ) as identities
        from store.corpora as corpora
        inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = corpora.tokenizer_id
        where $name is null or corpora.name = $name
        order by corpora.corpus_id desc
    """
    with warehouse.current_reader() as connection:
        return as_frame(connection.sql(query, params={"name": name})).to_dicts()


def _is_of(row: dict[str, Any], tokenizer: Tokenizer) -> bool:
    """Whether the tokenizer is known to give the text these ids: the same pieces, split in the same way."""
    is_vocabulary = row["tokenizer_sha256"] == tokenizer.sha256 and row["bos_token_id"] == tokenizer.bos_id
    return is_vocabulary and tokenizer.identity in (row["identities"] or ())


def _of_row(warehouse: Warehouse, row: dict[str, Any], tokenizer: Tokenizer) -> Corpus:
    """A corpus as it stands in the warehouse; one whose text stayed at home is read again from its sources."""
    if not lacks_text(warehouse, row["corpus_id"]):
        return _as_stored(warehouse, row, tokenizer)
    again = corpus.prepare(_recipe_of(row), tokenizer, name=row["name"], progress=Silent())
    if again.sha256 != row["sha256"]:
        raise Unreadable(
            f"the corpus {row['name']} was published without its text, and what its sources hold here is another one",
            "measure on a text of your own with NAME=PATH",
            path=row["name"],
            why="published without texts",
        )
    return again


def lacks_text(warehouse: Warehouse, corpus_id: int) -> bool:
    """Whether a corpus has sequences without their ids: it comes from a catalog that was published without texts."""
    query = "select sum(len(tokens)) from store.sequences where corpus_id = $corpus_id"
    with warehouse.current_reader() as connection:
        counted = first_row(connection, query, {"corpus_id": corpus_id})
    # Without any sequence the sum is null.
    return counted is not None and counted[0] == 0


def _as_stored(warehouse: Warehouse, row: dict[str, Any], tokenizer: Tokenizer) -> Corpus:
    query = """
        select sequence_id, domain, tokens, starts_document
        from store.sequences
        where corpus_id = $corpus_id
    """
    with warehouse.current_reader() as connection:
        sequences = as_frame(connection.sql(query, params={"corpus_id": row["corpus_id"]}))
    return Corpus.from_frames(row, sequences, has_bos=tokenizer.bos_id is not None)
