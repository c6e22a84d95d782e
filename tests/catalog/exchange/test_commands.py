"""The commands `export` and `import`: what they say, and with which code they end."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.exchange.exports import store_tables
from neurothek.catalog.store.warehouse import Warehouse

pytestmark = pytest.mark.long


def test_the_commands(full: Warehouse, tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        answer = CliRunner().invoke(neurothek.main, list(arguments))
        return answer.exit_code, answer.stderr

    out, back = str(tmp_path / "it's [1]*"), str(tmp_path / "back.duckdb")
    code, said = run("export", out, "--dialect", "trino", "--warehouse", str(full.path))
    assert (code, "rows of" in said) == (0, True)
    assert {path.name for path in (Path(out) / "views").iterdir()} == {"spark", "trino"}
    code, said = run("import", out, "--warehouse", back)
    assert code == 0, said
    with Warehouse(Path(back)).reader() as theirs, full.reader() as ours:
        assert store_tables(theirs).keys() == store_tables(ours).keys()
    code, said = run("export", str(tmp_path / "new"), "--dialect", "sparkk", "--warehouse", back)
    assert (code, said) == (2, "Error: there is no dialect sparkk; nearest: spark, spark2, starrocks\n")
    code, said = run("import", str(tmp_path), "--warehouse", str(tmp_path / "x.duckdb"))
    assert (code, "there is no manifest.json in it" in said) == (2, True)
