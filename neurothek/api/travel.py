"""Catalogs that travel: a warehouse published where others read it, and a published one as a file of one's own."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.catalog.arguments import expanded, validated
from neurothek.catalog.progress import Progress

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek
    from neurothek.catalog.exchange.manifest import Manifest
    from neurothek.catalog.hub.publish import Publication
    from neurothek.catalog.hub.published import Published

HEADLINES = (
    *("models", "corpora", "runs", "neurons", "neuron_labels"),
    *("promotions", "dead_by_tokens", "activity_by_domain", "scaling"),
)
"""Views whose rows are published for people to look at, beside those that a warehouse stores."""


@validated
def publish(
    base: "Neurothek",
    to: str | Path,
    *,
    models: str | Sequence[str] = (),
    with_texts: bool = False,
    license: str | None = None,  # noqa: A002 - as the hub calls it
    progress: Progress | None = None,
) -> "Published":
    """Publish the warehouse as a catalog: Parquet files that others open by their address, and look at in a browser.

    Args:
        to: a folder that is new or empty.
        models: names of the models to publish; none: all.
        with_texts: whether to publish the texts that were measured on, with contexts, prompts, explanations and
            n-grams; without it nothing is published that could be read as a piece of them.
        license: the licence, as the hub names it, such as "cc-by-4.0".
        progress: receives progress reports.

    Returns:
        What was published: every file with its rows, size and fingerprint.

    Raises:
        NeurothekError: the folder is not empty, or there is no such model or warehouse.

    Example:
        >>> published = warehouse.publish("published")
        >>> neurothek.open("published").search("school", limit=1).neurons.height
        1
    """
    from neurothek.catalog.hub.publish import publish_folder

    names = (models,) if isinstance(models, str) else tuple(models)
    publication = _publication(names, with_texts=with_texts, license=license)
    return publish_folder(base.warehouse, expanded(to), publication, progress=progress)


@validated
def copy(base: "Neurothek", file: str | Path, *, progress: Progress | None = None) -> "Manifest":
    """Bring a published catalog into a new warehouse file, which can be measured into, merged and checked.

    Args:
        file: the new DuckDB file.
        progress: receives progress reports.

    Returns:
        The manifest of what was copied.

    Raises:
        NeurothekError: this is no catalog, one of its files is not what its manifest says, or the file has rows.

    Example:
        >>> manifest = neurothek.open("published").copy("copied.duckdb")
        >>> neurothek.open("copied.duckdb").check().n_findings
        0
    """
    from neurothek.catalog.hub.copying import copy_catalog
    from neurothek.queries.views import install as installer

    return copy_catalog(base.address or base.path, expanded(file), installer, progress=progress)


def _publication(models: Sequence[str], *, with_texts: bool, license: str | None) -> "Publication":  # noqa: A002
    from neurothek.api.warehouse import __version__
    from neurothek.catalog.hub.card import card
    from neurothek.catalog.hub.publish import Publication, ViewRows
    from neurothek.queries.views.install import all_views

    views = [
        ViewRows(one.name, one.key, one.purpose, one.columns, one.query if one.stored else None)
        for one in all_views().values()
        if one.stored or one.name in HEADLINES
    ]
    return Publication(
        views=views,
        texts={"README.md": card},
        neurothek=__version__,
        models=models,
        with_texts=with_texts,
        license=license,
    )
