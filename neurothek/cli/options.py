"""The options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.arguments import expanded, parse_size
from neurothek.catalog.hub.addresses import Address, Place, place_of
from neurothek.catalog.terminal.console import QUIET, VERBOSE, WAREHOUSE

Format = Literal["table", "csv", "json", "parquet"]

Command = Callable[..., Any]


pass_warehouse = click.make_pass_decorator(Neurothek)
"""Hands the warehouse that a person named to a command, as its first argument."""


def chosen_warehouse(context: click.Context) -> Neurothek:
    """The warehouse that the commands of a context are about."""
    warehouse = context.find_object(Neurothek)
    assert warehouse is not None, "the root command opens it"
    return warehouse


class Size(click.ParamType[int]):
    """A size in bytes such as 4GB, 500MB or 1073741824."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes; what is not a size is refused."""
        size = value if isinstance(value, int) else parse_size(str(value))
        if size is None:
            self.fail(f"{value!r} is not a size; write for example 4GB", param, ctx)
        return size


class UserPath(click.Path):
    """A path, in which `~` is a home folder: shells leave it alone in `--option=~/file`."""

    def __init__(self, *, exists: bool = False, file_okay: bool = True, dir_okay: bool = True) -> None:
        """As click's, whose values are of `pathlib`."""
        super().__init__(exists=exists, file_okay=file_okay, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click's
        """The path that is meant."""
        return super().convert(expanded(value), param, ctx)


class WarehousePlace(UserPath):
    """A warehouse file, or the address of a published catalog."""

    def __init__(self) -> None:
        """A folder that is no catalog is refused."""
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as click's
        """The path or address that is meant."""
        place = place_of(value)
        return place if isinstance(place, Address) else super().convert(value, param, ctx)


def common_options(command: Command) -> Command:
    """Add `--warehouse`, `--quiet` and `--verbose`; they act on the context and are not passed on."""
    for option in (
        click.option(
            "--warehouse",
            type=WarehousePlace(),
            expose_value=False,
            callback=_use_warehouse,
            help="The DuckDB file, or a published catalog: a folder, hf://datasets/ORG/NAME, s3://, https://."
            "  [default: neurothek.duckdb, or NEUROTHEK_WAREHOUSE]",
        ),
        click.option(
            "-q", "--quiet", is_flag=True, expose_value=False, callback=_use_quiet, help="Print only data and errors."
        ),
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_use_verbose,
            help="Also print decisions and how long each step took.",
        ),
    ):
        command = option(command)
    return command


def format_option(command: Command) -> Command:
    """Add `--format`, passed on as `output_format`."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(get_args(Format)),
        default="table",
        show_default=True,
        help="Output format; csv and parquet contain only the first table of an answer.",
    )(command)


def _use_warehouse(context: click.Context, parameter: click.Parameter, value: Place | None) -> None:
    if value is not None:
        context.obj = chosen_warehouse(context).at(value)
        context.meta[WAREHOUSE] = value


def _use_verbose(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[VERBOSE] = True


def _use_quiet(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[QUIET] = True
