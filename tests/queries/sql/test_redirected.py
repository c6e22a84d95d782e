"""Answers that leave for a file or another program: whole, as wide as they are, until their reader has seen enough."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ENDS_EARLY = """
import os, subprocess, sys
command = [sys.executable, "-c", "import neurothek; neurothek.main()", *sys.argv[1:]]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
    process.stdout.close()
    said = process.stderr.read().decode()
print(process.returncode, repr(said))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        *(["sql", "from range(300000) as t(x)", "--rows", "200000", "--format", one] for one in ("table", "csv")),
        *(["sql", "from range(3000000) as t(x)", "--format", one] for one in ("json", "parquet")),
        ["neuron", "tiny-1m/L0N0"],
        ["compare", "--format", "json"],
        ["views", "neurons", "--sql"],
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_ends_every_command_alike(full_path: Path, arguments: list[str]) -> None:
    environment = {**os.environ, "NEUROTHEK_WAREHOUSE": str(full_path)}
    command = [sys.executable, "-c", ENDS_EARLY, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "0 ''\n"


def test_what_is_redirected_is_as_wide_as_it_needs(full_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment["NEUROTHEK_WAREHOUSE"] = str(full_path)
    query = "select repeat('a', 300) as a, repeat('b', 300) as b, repeat('c', 300) as token"
    command = [sys.executable, "-c", "import neurothek; neurothek.main()", "sql", query]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    header, row = done.stdout.splitlines()
    assert header.split() == ["a", "b", "token"]
    assert row.split() == ["a" * 300, "b" * 300, "c" * 300]
    narrow = subprocess.run(
        command, capture_output=True, text=True, env={**environment, "COLUMNS": "50"}, check=True
    ).stdout.splitlines()
    assert max(map(len, narrow[:2])) <= 50
