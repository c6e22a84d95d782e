"""Whether a text that was asked for can be one, known without reading it."""

from neurothek.catalog.problems import Invalid
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora.sources.builtin import BUILTIN
from neurothek.ingest.corpora.sources.source import Source, parse_sources
from neurothek.ingest.errors import unknown_corpus
from neurothek.ingest.models.finding import NAME
from neurothek.ingest.request import TextRequest


def asked_sources(warehouse: Warehouse, request: TextRequest) -> list[Source] | None:
    """The sources of the text; None for a corpus of the warehouse."""
    if stored_name(warehouse, request) is not None:
        return None
    require_name(request.name)
    return parse_sources(request.sources)


def require_name(name: str | None) -> None:
    """Refuse a name that no corpus of a person's own can have."""
    if name is not None and (name == BUILTIN or not NAME.fullmatch(name)):
        raise Invalid(
            f"a corpus cannot be named {name!r}: letters, digits and . _ @ + - are allowed,"
            " and builtin means the built-in text",
            option="--corpus",
            value=name,
        )


def stored_name(warehouse: Warehouse, request: TextRequest) -> str | None:
    """The name of the corpus of the warehouse that is asked for; None when sources are given."""
    bare = [spec for spec in request.corpora if "=" not in spec and spec.split(":")[0] != BUILTIN]
    if not bare:
        return None
    names = _names(warehouse)
    if len(request.corpora) > 1 or bare[0] not in names:
        raise unknown_corpus(bare[0], names)
    return bare[0]


def _names(warehouse: Warehouse) -> list[str]:
    if not warehouse.exists():
        return []
    with warehouse.current_reader() as connection:
        rows = connection.execute("select distinct name from store.corpora order by name").fetchall()
    return [str(row[0]) for row in rows]
