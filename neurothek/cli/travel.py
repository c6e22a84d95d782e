"""The commands by which catalogs travel: to the hub or any other place, and from there into a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import console_progress, note
from neurothek.cli.options import UserPath, common_options, pass_warehouse

if TYPE_CHECKING:
    from neurothek.catalog.hub.published import Published


@click.command()
@click.argument("name", metavar="ORG/NAME", required=False)
@click.option(
    "--to", metavar="PLACE", help="Publish to a new folder or an address of a store (s3://...) instead of the hub."
)
@click.option("--model", "models", multiple=True, metavar="MODEL", help="Publish this model, and not all (repeatable).")
@click.option(
    "--with-texts", is_flag=True, help="Also publish the texts that were measured on: contexts, prompts, explanations."
)
@click.option("--license", metavar="NAME", help="The licence, as the hub names it, e.g. cc-by-4.0.")
@click.option("--private", is_flag=True, help="Make a dataset that only you, or your organisation, can see.")
@click.option("--dry-run", is_flag=True, help="List the files and their sizes; upload nothing.")
@common_options
@pass_warehouse
def publish(warehouse: Neurothek, /, name: str | None, **options: Any) -> None:
    """Publish the warehouse as a catalog, which others open by its address and the hub shows in a browser.

    ORG/NAME is a dataset of the Hugging Face hub, made if it is not there, with the hub's own login (`hf auth login`).
    An upload that stopped continues when the command is repeated.
    """
    with console_progress() as progress:
        published = warehouse.publish(name, **options, progress=progress)
    if options["dry_run"]:
        for path, file in sorted(published.files.items()):
            click.echo(f"{file.n_bytes:>15,}  {path}")
    note(_summary(published, options["to"] or f"hf://datasets/{name}", dry_run=options["dry_run"]))


def _summary(published: Published, place: str, *, dry_run: bool) -> str:
    megabytes = f"{published.n_bytes / 1e6:,.1f} MB in {len(published.files):,} files"
    texts = "with texts" if published.has_texts else "without texts"
    maps = f", {len(published.manifest.maps):,} kept matrices" if published.manifest.maps else ""
    missing = len(published.manifest.missing_maps)
    lost = f" ({missing:,} more kept matrices were missing beside the warehouse, or changed)" if missing else ""
    done = "would be published to" if dry_run else "published to"
    return f"{', '.join(published.models) or 'no model'}, {texts}{maps}, {done} {place}: {megabytes}{lost}"


@click.command()
@click.argument("address", metavar="ADDRESS")
@click.argument("file", type=UserPath(dir_okay=False))
@common_options
@pass_warehouse
def copy(warehouse: Neurothek, address: str, file: Path) -> None:
    """Copy the published catalog at ADDRESS into a new warehouse FILE, which can be measured into and merged."""
    from neurothek.catalog.hub.addresses import place_of

    with console_progress() as progress:
        manifest = warehouse.at(place_of(address)).copy(file, progress=progress)
    maps = f" and {len(manifest.maps):,} kept matrices" if manifest.maps else ""
    note(f"copied {manifest.n_rows:,} rows of {len(manifest.tables)} tables{maps} into {file}")
