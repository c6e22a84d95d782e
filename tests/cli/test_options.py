"""What commands share: options on the context, formats on stdout."""

import io
import json
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.terminal.console import note
from neurothek.cli.options import Format, common_options, format_option, pass_warehouse
from neurothek.cli.printing import show_frame


@click.group()
@click.pass_context
def root(ctx: click.Context) -> None:
    ctx.obj = neurothek.open("default.duckdb")


@root.command()
@format_option
@common_options
@pass_warehouse
def show(warehouse: neurothek.Neurothek, output_format: Format) -> None:
    note(f"reading {warehouse.path}")
    show_frame(pl.DataFrame({"token": [" a"], "n": [[1, 2]]}), output_format, title="rows", columns=("token",))


def test_options_act_on_the_context() -> None:
    assert CliRunner().invoke(root, ["show"]).stderr == "reading default.duckdb\n"
    assert CliRunner().invoke(root, ["show", "--warehouse", "x.duckdb"]).stderr == "reading x.duckdb\n"
    quiet = CliRunner().invoke(root, ["show", "-q"])
    assert (quiet.stdout, quiet.stderr) == ("rows\ntoken\n·a\n", "")


def test_a_home_folder_is_expanded_in_every_path_of_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/anna")
    paths = {
        (name, parameter.name): parameter.type.convert("~/x", parameter, None)
        for name, command in neurothek.main.commands.items()
        for parameter in command.params
        if isinstance(parameter.type, click.Path) and not parameter.type.exists
    }
    assert len(paths) > len(neurothek.main.commands)
    assert {found: path for found, path in paths.items() if path != Path("/home/anna/x")} == {}


def test_formats_other_than_table_are_whole_and_exact() -> None:
    def run(output_format: str) -> bytes:
        return CliRunner().invoke(root, ["show", "-q", "--format", output_format], catch_exceptions=False).stdout_bytes

    assert json.loads(run("json")) == [{"token": " a", "n": [1, 2]}]
    assert run("csv") == b'token,n\n a,"[1, 2]"\n'
    assert pl.read_parquet(io.BytesIO(run("parquet"))).to_dicts() == [{"token": " a", "n": [1, 2]}]
