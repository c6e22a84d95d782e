"""The commands that ask, from the outside: what they print, where, and with which exit code."""

import io
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from neurothek import main
from neurothek.catalog.publishing.staging import RunManifest, now, staged_run
from neurothek.catalog.terminal.cells import text_width

QUERIES: tuple[tuple[str, ...], ...] = (
    ("search", "school"),
    ("search", "school", "coffee", "tea", "--side", "both"),
    ("neuron", "tiny-1m/L0N0"),
    ("compare",),
    ("models",),
    ("corpora",),
    ("runs",),
    ("views",),
    ("views", "neurons"),
    ("schema",),
    ("schema", "store.postings"),
    ("sql", "select * from neurons"),
)


@pytest.fixture
def ask(full_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Ask":
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", str(full_path))
    monkeypatch.setenv("COLUMNS", "100")
    return Ask()


class Ask:
    """Runs commands in this process."""

    def __call__(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("arguments", QUERIES, ids=" ".join)
def test_tables_fit_the_terminal(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    result = ask(*arguments, "-q")
    assert result.exit_code == 0
    assert result.stderr == ""
    # Prose is the reader's to wrap; the lines of a table have their cells in columns.
    table = [line for line in result.stdout.splitlines() if "  " in line]
    assert table
    assert max(map(text_width, table)) <= width


def test_search_prints_data_on_stdout_and_remarks_on_stderr(ask: Ask) -> None:
    result = ask("search", "school", "--model", "tiny-1m", "--limit", "2")
    title, header, first, second = result.stdout.splitlines()
    assert title.startswith("the first 2 of ")
    assert header.split() == ["#", "address", "rank", "score", "z_score", "token", "neighbours"]
    assert first.split()[:6] == ["1", "tiny-1m/L0N0", "1", "12.00", "1.796", "·school"]
    assert second.split()[0] == "2"
    assert "School" in first
    words, complete, unread = result.stderr.splitlines()
    assert words == "“school” stands for “·school” “School” “SCHOOL”"
    assert complete.startswith("the stored lists are complete to rank 12: ")
    assert unread.startswith("the weights of tiny-1m were not read: ")


def test_each_remark_of_a_comparison_has_its_line(ask: Ask) -> None:
    lines = ask("compare", "tiny-1m", "tiny-2m", "tiny-2m-nopos").stdout.splitlines()
    assert "tiny-2m-nopos is a variant (no-position), not a size" in lines
    # Below what the sizes show, in sentences.
    assert "size w/o embeddings" in lines[lines.index("models") + 1]
    assert "size w/o embeddings" in ask("models").stdout.splitlines()[0]


def test_search_says_on_stderr_which_variants_it_left_out(ask: Ask) -> None:
    for output_format in ("table", "csv", "json"):
        plain = ask("search", "school", "--format", output_format)
        assert "left out the variant tiny-2m-nopos; use --variants to include them\n" in plain.stderr
        asked = ask("search", "school", "--variants", "--limit", "500", "--format", output_format)
        assert "left out" not in asked.stderr
        assert "tiny-2m-nopos/" in asked.stdout
    assert "left out" not in ask("search", "school", "-q").stderr
    assert "left out the variant" in ask("search", "--like", "tiny-1m/L0N0").stderr


def test_options_of_search_reach_the_question(ask: Ask) -> None:
    options = (
        "--all",
        "--layer",
        "0-1",
        "--without",
        "cat",
        "--where",
        "frequency > 0.1",
        "--alive",
        "--min-count",
        "1",
    )
    result = ask("search", "tea", "coffee", *options, "--format", "json")
    rows = json.loads(result.stdout)
    assert all(row["layer"] <= 1 and row["frequency"] > 0.1 and row["n_words"] == 2 for row in rows)
    exact = json.loads(ask("search", " school", "--exact", "-m", "tiny-1m", "--format", "json").stdout)
    assert {token for row in exact for token in row["matched"]} == {" school"}


def test_formats_hold_the_same_rows(ask: Ask) -> None:
    arguments = ("search", "school", "--limit", "500", "-q", "--format")
    records = json.loads(ask(*arguments, "json").stdout)
    parquet = pl.read_parquet(io.BytesIO(ask(*arguments, "parquet").stdout_bytes))
    csv = pl.read_csv(io.StringIO(ask(*arguments, "csv").stdout))
    assert parquet.to_dicts() == records
    assert csv.columns == parquet.columns
    assert csv.get_column("address").to_list() == [row["address"] for row in records]
    assert [json.loads(cell) for cell in csv.get_column("matched")] == [row["matched"] for row in records]


def test_a_page_for_programs(ask: Ask) -> None:
    page = json.loads(ask("neuron", "tiny-1m/L0N0", "--format", "json").stdout)
    of_text = {"domains", "positions", "triggers", "detection", "contexts", "pushed"}
    of_text |= {"windows", "activation_histogram", "poles", "gate_cases", "pole_contexts"}
    of_weights = {"tokens", "logits", "reads", "mates", "neighbours", "counterparts", "compared"}
    of_changes = {"effect", "interventions"}
    of_others = {"universality", "explanations", "annotations", "foreign"}
    assert set(page) == {"neuron", "suppression", "cluster", *of_others, *of_text, *of_weights, *of_changes}
    assert page["neuron"]["address"] == "tiny-1m/L0N0"
    tokens = pl.read_csv(io.StringIO(ask("neuron", "tiny-1m/L0N0", "--format", "csv").stdout))
    assert tokens.height == len(page["tokens"]) == 24
    comparison = json.loads(ask("compare", "--format", "json").stdout)
    assert comparison["models"][0]["model"] == "weights-only"
    assert {row["model"] for row in comparison["layers"]} == {"tiny-1m", "tiny-2m", "tiny-2m-nopos", "gelu-1m"}


def test_neuron_prints_the_page(ask: Ask) -> None:
    lines = ask("neuron", "tiny-1m/L0N0", "--limit", "3").stdout.splitlines()
    assert lines[0].startswith("tiny-1m/L0N0: layer 0 of tiny-1m")
    assert lines[2].startswith("label: ")
    assert lines[4] == "promotes"
    assert lines[6].split()[:3] == ["1", "·school", "12.00"]
    assert "suppresses" in lines
    assert any(line.startswith("strongest contexts in builtin") for line in lines)
    assert "long" in ask("neuron", "tiny-1m/L0N0", "--corpus", "long").stdout


def test_compare_prints_figures_and_verdicts(ask: Ask) -> None:
    text = ask("compare").stdout
    assert "share of dead neurons by depth" in text
    assert "gelu-1m is not comparable: active means m > 0 instead of m != 0" in text
    assert "0-100%" in ask("compare", "tiny-1m", "--corpus", "long").stdout or "0-50%" in text


def test_views_prints_sql_that_runs(ask: Ask) -> None:
    text = ask("views", "layer_activity", "--sql").stdout
    assert text.startswith("-- One row per model and layer")
    rows = json.loads(ask("sql", "from layer_activity order by model, layer", "--format", "json").stdout)
    by_layer = sorted(
        json.loads(ask("sql", text, "--format", "json").stdout), key=lambda row: (row["model"], row["layer"])
    )
    assert by_layer == rows
    piped = CliRunner().invoke(main, ["sql", "-", "--format", "json"], input=text, catch_exceptions=False)
    assert len(json.loads(piped.stdout)) == len(rows)


def test_sql_of_more_rows_than_a_table_shows(ask: Ask) -> None:
    result = ask("sql", "select unnest(generate_series(1, 1500)) as n")
    assert len(result.stdout.splitlines()) == 1002
    assert (
        result.stdout.splitlines()[-1]
        == "500 more rows; use --format csv to print all, or --rows N to print the first N"
    )
    assert (
        len(ask("sql", "select unnest(generate_series(1, 1500)) as n", "--format", "csv").stdout.splitlines()) == 1501
    )


def test_columns_without_room_are_named(ask: Ask) -> None:
    result = ask("sql", "select * from neurons limit 1")
    assert result.stdout.splitlines()[-1].startswith("no room for ")
    assert "preactivation_bound" in result.stdout.splitlines()[-1]


def test_runs_show_what_waits_in_staging(ask: Ask, full_path: Path) -> None:
    staging = full_path.with_name(full_path.name + ".staging")
    manifest = RunManifest("key", "activity", 1, "tiny-9m", "builtin", {}, "float32", now())
    with staged_run(staging, manifest) as run:
        text = ask("runs").stdout
        run.discard()
    assert "tiny-9m" in text
    assert "running" in text
    assert "tiny-9m" not in ask("runs").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("search", "univresity"), "the nearest words are university"),
        (("search", "school", "--layer", "x"), "is not a range of layers"),
        (("neuron", "tiny-1m/L9N9"), "there is no neuron tiny-1m/L9N9"),
        (("compare", "tiny"), "there is no model tiny in the warehouse"),
        (("sql", "drop view neurons"), "DROP is refused"),
        (("views", "neuron"), "there is no view neuron; nearest: neurons"),
        (("schema", "posting"), "there is no view or table posting"),
        (("models", "--warehouse", "/nowhere/x.duckdb"), "there is no warehouse at /nowhere/x.duckdb"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(ask: Ask, arguments: tuple[str, ...], sentence: str) -> None:
    result = ask(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_usage_errors(ask: Ask) -> None:
    for arguments in (
        ("search",),
        ("search", "x", "--side", "up"),
        ("models", "--format", "xml"),
        ("search", "x", "-n", "0"),
    ):
        assert ask(*arguments).exit_code == 2


def test_empty_warehouse(empty_path: Path) -> None:
    for command in ("models", "corpora", "runs"):
        result = CliRunner().invoke(main, [command, "--warehouse", str(empty_path)], catch_exceptions=False)
        assert (result.exit_code, result.stdout) == (0, "(none)\n")
    result = CliRunner().invoke(main, ["compare", "--warehouse", str(empty_path)], catch_exceptions=False)
    assert (result.exit_code, result.stdout) == (2, "")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; import neurothek.cli.contents, neurothek.cli.options;"
        " print(sorted({'polars', 'duckdb', 'rich', 'sqlglot', 'numpy', 'pyarrow'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_tokens_are_text_not_markup(ask: Ask) -> None:
    """Rich reads [bold] as a style and terminals read control characters: tokens are shown as themselves."""
    assert "[bold]" in ask("search", "[bold]", "-m", "tiny-1m").stdout
    assert "\x1b" not in ask("sql", "select chr(27) || '[31mred' as token").stdout
