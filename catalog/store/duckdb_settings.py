"""How DuckDB is set: what a new file is like, what a connection may reach, what readers may use."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

STORAGE_VERSION = "v1.5.0"
"""Format of the file, so that DuckDB 1.5 and later open it."""

BLOCK_BYTES = 65_536
"""What a new file is read and written by. A question about one token or one neuron reads a few rows out of many
columns, each from a block of its own: DuckDB's 256 kB take up to twice as long, and the file is no smaller."""

MOST_SOUGHT = 200
"""Values of a small join that DuckDB looks for one by one in a large table, here and not only between the least and the
largest: twice the tokens that a neuron lists. Its own 50 made a question of 100 tokens five times as slow."""


_FOLDERS = ("temp_directory", "secret_directory", "extension_directory", "home_directory")
"""Settings that name folders: a connection that reaches no files takes them as it is opened, and not later."""


def settings_of(
    *, read_only: bool, settings: Sequence[tuple[str, str]] = ()
) -> dict[str, str | bool | int | float | list[str]]:
    """What a connection is opened with; of `settings`, as (name, value), those that name folders."""
    opened_with: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        # From the start: a log that is replayed binds what the file defines.
        "enable_external_access": "false",
        # The process number keeps the spill files of two processes apart.
        "temp_directory": str(Path(tempfile.gettempdir()) / f"neurothek-{os.getpid()}"),
    }
    opened_with.update((name, value) for name, value in settings if name in _FOLDERS)
    if read_only:
        return opened_with
    # Both are only asked of a file that is made.
    return {**opened_with, "storage_compatibility_version": STORAGE_VERSION, "default_block_size": str(BLOCK_BYTES)}


def lock_down(connection: duckdb.DuckDBPyConnection, settings: Sequence[tuple[str, str]] = ()) -> None:
    """Set what bounds a connection, as (name, value), and let no statement change the settings again."""
    (is_locked,) = connection.execute("select current_setting('lock_configuration')").fetchall()[0]
    if is_locked:
        # Ctrl-C left a connection of this process to be closed later: this one has its configuration.
        return
    # A limit on spilled files that is given to connect() is shown but not kept, so all are set here.
    for name, value in [one for one in settings if one[0] not in _FOLDERS]:
        connection.execute(f"set global {name} = '{value}'")
    connection.execute(f"set global dynamic_or_filter_threshold = {MOST_SOUGHT}")
    # Once the configuration is locked nothing else can be set, so that comes last.
    connection.execute("set global lock_configuration = true")


def literal_path(path: Path) -> str:
    """A path for DuckDB's readers, which take some characters for patterns."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def beside(folder: Path, settings: Mapping[str, str] | None = None) -> duckdb.DuckDBPyConnection:
    """A connection to an empty database in memory that reaches the files of one folder, and no others."""
    # Which folder that is can only be said while all can be reached.
    reaching = {key: value for key, value in settings_of(read_only=True).items() if key != "enable_external_access"}
    connection = duckdb.connect(config={**reaching, **(settings or {})})
    places = [write(path) for path in (folder, folder.resolve()) for write in (str, literal_path)]
    connection.execute("set global allowed_directories = $places", {"places": places})
    connection.execute("set global enable_external_access = false")
    connection.execute("set global lock_configuration = true")
    return connection
