"""Catalogs that travel: a warehouse published where others read it, and a published one as a file of one's own."""

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.catalog.arguments import expanded, validated
from neurothek.catalog.problems import Invalid, NotFound, NotMeasured
from neurothek.catalog.progress import Progress

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek
    from neurothek.catalog.exchange.manifest import Manifest
    from neurothek.catalog.hub.folders import CatalogPlan
    from neurothek.catalog.hub.published import Published

HEADLINES = (
    *("models", "corpora", "runs", "neurons", "neuron_labels"),
    *("promotions", "dead_by_tokens", "activity_by_domain", "scaling"),
)
"""Views whose rows are published for people to look at, beside those that a warehouse stores."""


@validated
def publish(
    base: "Neurothek",
    name: str | None = None,
    *,
    to: str | Path | None = None,
    models: str | Sequence[str] = (),
    with_texts: bool = False,
    license: str | None = None,  # noqa: A002 - as the hub calls it
    private: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> "Published":
    """Publish the warehouse as a catalog: Parquet files that others open by their address, and look at in a browser.

    Args:
        name: a dataset of the Hugging Face hub, ORG/NAME; it is made if it is not there. The login is the hub's own.
        to: instead, a folder that is new or empty, or an address such as "s3://...".
        models: names of the models to publish; none: all.
        with_texts: whether to publish the texts that were measured on, with contexts, prompts, explanations and
            n-grams; without it nothing is published that could be read as a piece of them.
        license: the licence, as the hub names it, such as "cc-by-4.0".
        private: whether a new dataset is seen by you, or your organisation, alone.
        dry_run: whether all is written, measured and thrown away.
        progress: receives progress reports.

    Returns:
        What was published: every file with its rows, size and fingerprint.

    Raises:
        Invalid: neither a name nor a place is given, or both are.
        NotFound: there is no such model.
        Conflict: something else is there.
        Unavailable: the hub cannot be reached, or does not let you write.

    Example:
        >>> published = warehouse.publish(to="published")
        >>> neurothek.open("published").search("school", limit=1).neurons.height
        1
    """
    from neurothek.catalog.hub.addresses import of_dataset, published_address
    from neurothek.catalog.hub.folders import publish_to

    if (name is None) == (to is None):
        raise Invalid(
            "nothing says where to publish to" if name is None else "both a dataset and --to say where to publish to",
            "name a dataset as ORG/NAME, or a folder or an address with --to",
            option="ORG/NAME",
            value=name,
        )
    address = of_dataset(name) if name is not None else published_address(str(to))
    names = (models,) if isinstance(models, str) else tuple(models)
    plan = _plan(base, names, with_texts=with_texts, license=license)
    return publish_to(base.warehouse, address, plan, private=private, dry_run=dry_run, progress=progress)


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
        >>> neurothek.open("copied.duckdb").check().passed
        True
    """
    from neurothek.catalog.hub.copying import copy_catalog
    from neurothek.queries.views import install as installer

    return copy_catalog(base.address or base.path, expanded(file), installer, progress=progress)


def _plan(base: "Neurothek", models: Sequence[str], *, with_texts: bool, license: str | None) -> "CatalogPlan":  # noqa: A002
    from neurothek.api.warehouse import __version__
    from neurothek.catalog.hub.card import card
    from neurothek.catalog.hub.folders import CatalogPlan, ViewRows
    from neurothek.queries.views.dialects import duckdb_script
    from neurothek.queries.views.install import all_views

    figure = _headline(base, models)
    texts = {} if figure is None else {FIGURE: lambda *_: figure}
    views = [
        ViewRows(one.name, one.key, one.purpose, one.columns, one.query if one.stored else None)
        for one in all_views().values()
        if one.stored or one.name in HEADLINES
    ]
    return CatalogPlan(
        views=views,
        texts={
            **texts,
            "README.md": partial(card, figure=None if figure is None else FIGURE),
            "views.sql": duckdb_script,
        },
        neurothek=__version__,
        models=models,
        with_texts=with_texts,
        license=license,
    )


FIGURE = "figure.svg"


def _headline(base: "Neurothek", models: Sequence[str]) -> str | None:
    """The first figure that compares the models; None where none can be drawn, or nothing is here that draws."""
    if find_spec("altair") is None:
        return None
    try:
        comparison = base.compare(*models)
    except (NotFound, NotMeasured):
        # A model that is not there is told by what publishes.
        return None
    from neurothek.dashboards.charts.pictures import drawn
    from neurothek.dashboards.papers.reproduced import figures_of_comparison

    with base.reader() as connection:
        figures = figures_of_comparison(connection, comparison)
    chart = next((figure.chart for figure in figures if figure.chart is not None), None)
    return None if chart is None else drawn(chart, "svg").decode()
