"""The page that a catalog shows on the hub, and the head that tells the hub's viewer which files make a table.

What comes from models and corpora, such as their names, is shown as text: nothing of it becomes a link, a tag or a
heading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from neurothek.catalog.advice import command_line
from neurothek.catalog.exchange.manifest import MANIFEST
from neurothek.catalog.spelling import one_line
from neurothek.catalog.tables.registry import BY_NAME

if TYPE_CHECKING:
    import duckdb

    from neurothek.catalog.hub.catalog import Catalog
    from neurothek.catalog.hub.published import Published

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$:@-])")
"""What Markdown, or the hub's extensions of it, could take for more than a character."""

_NUMBERS = """
    select model, n_layers, n_neurons, corpus, n_tokens_seen
    from models
    order by size, model
"""

_JOBS = """
    select runs.job, count(distinct models.name) as n_models, max(runs.finished_at)::date as last,
        sum(epoch(runs.finished_at - runs.started_at)) as seconds
    from store.runs as runs
    inner join store.models as models on models.model_id = runs.model_id
    group by runs.job
    order by runs.job
"""

_CORPORA = "select name, n_tokens, n_sequences, text_sha256 from store.corpora order by name, n_tokens"

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LARGER = ((10**7, "1M<n<10M"), (10**8, "10M<n<100M"), (10**9, "100M<n<1B"), (10**10, "1B<n<10B"))


def card(published: Published, catalog: Catalog, *, figure: str | None = None) -> str:
    """The text of README.md, with its head.

    Args:
        published: what is published.
        catalog: the same, to be asked.
        figure: path of a picture below the folder that is shown first; None: there is none.
    """
    from huggingface_hub import DatasetCard, DatasetCardData  # noqa: PLC0415 - where something is published

    with catalog.reader() as connection:
        models = connection.execute(_NUMBERS).fetchall()
        corpora = connection.execute(_CORPORA).fetchall()
        jobs = connection.execute(_JOBS).fetchall()
        n_bytes = _bytes_by_job(connection, published)
        example = connection.execute("select text from store.tokens where word = 'school' limit 1").fetchall()
    n_rows = published.manifest.n_rows
    data = DatasetCardData(
        license=published.license,
        pretty_name="Neurons of language models",
        tags=["neurothek", "interpretability", "neurons"],
        size_categories=[next((name for most, name in (*_SIZES, *_LARGER) if n_rows < most), "n>1T")],
        configs=_configurations(published),
    )
    parts = [
        *_head(published, models),
        *(
            []
            if figure is None
            else [f"![{'The model by layer' if len(models) == 1 else 'The models compared'}]({figure})"]
        ),
        *_how_to_ask("school" if example else "TOKEN"),
        *_measured(published, jobs, n_bytes, corpora),
        "## What is in it",
        "Views, which are made to be read:",
        _relations(published.views),
        f"Tables of the store, from which neurothek answers; `{MANIFEST}` describes every column:",
        _relations(published.manifest.tables),
    ]
    body = "\n\n".join(parts)
    return str(DatasetCard(f"---\n{data}\n---\n\n{body}\n"))


_Rows = Sequence[Sequence[Any]]


def _head(published: Published, models: _Rows) -> list[str]:
    return [
        "# Neurons of language models",
        f"A catalog that neurothek {_text(published.neurothek)} published: what each feed-forward neuron of"
        f" {_listed(published.models)} writes, reads and fires on.",
        _table(
            ("model", "layers", "neurons", "text", "tokens seen"),
            ((*row[:3], row[3] or "weights alone", row[4]) for row in models),
        ),
    ]


def _how_to_ask(word: str) -> list[str]:
    commands = (
        ("search", word, "--warehouse", "ADDRESS"),
        ("sql", "select * from models", "--warehouse", "ADDRESS"),
        ("dashboard", "--warehouse", "ADDRESS"),
        ("copy", "ADDRESS", "copy.duckdb"),
    )
    return [
        "## Ask it",
        "With [neurothek](https://pypi.org/project/neurothek), which fetches only what a question needs:",
        _code("sh", [command_line(*words) for words in commands]),
        "`ADDRESS` is `hf://datasets/ORG/NAME` of this dataset, or the folder that holds this page. With DuckDB alone,"
        " or in Data Studio:",
        _code(
            "sql",
            [
                "select address, token, z_score",
                "from 'hf://datasets/ORG/NAME/promotions/*.parquet'",
                "where word = 'school' and side = 'promoted'",
                "order by z_score desc",
                "limit 20",
            ],
        ),
        "`views.sql` creates all tables and views over these files in plain SQL, for DuckDB's command line"
        " (`duckdb -init views.sql` in this folder) and whatever else runs DuckDB: the questions of neurothek's"
        " cookbook are answered by it alone. Elsewhere, say first where the files are:",
        _code("sql", ["set variable catalog = 'hf://datasets/ORG/NAME';"]),
    ]


def _bytes_by_job(connection: duckdb.DuckDBPyConnection, published: Published) -> Mapping[str, float]:
    """What the rows of each measurement take: of files that several wrote into, by their shares of the rows."""
    taken: Counter[str] = Counter()
    for name, table in published.manifest.tables.items():
        if name not in BY_NAME or "run_id" not in BY_NAME[name].columns or not table.n_rows:
            continue
        size = sum(published.files[file.path].n_bytes for file in table.files)
        counted = (
            f"select runs.job, count(*) from store.{name} as written"
            " inner join store.runs as runs on runs.run_id = written.run_id group by runs.job"
        )
        for job, n_rows in connection.execute(counted).fetchall():
            taken[job] += size * n_rows / table.n_rows
    return taken


def _measured(published: Published, jobs: _Rows, n_bytes: Mapping[str, float], corpora: _Rows) -> list[str]:
    costs = (
        (job, n, str(last), _hours(float(seconds or 0)), f"{n_bytes.get(job, 0.0) / 1e6:,.1f}")
        for job, n, last, seconds in jobs
    )
    texts = ((name, n_tokens, n_sequences, sha[:16]) for name, n_tokens, n_sequences, sha in corpora)
    return [
        "## What was measured",
        _table(("measurement", "models", "last measured", "hours", "MB"), costs),
        "Measurements that share a pass over the text have the hours of that pass, each.",
        _table(("text", "tokens", "sequences", "sha256 of the text"), texts)
        if corpora
        else "No text was read: what is here follows from the weights.",
        "Texts, contexts, prompts, explanations and n-grams of several tokens are published with it."
        if published.has_texts
        else "Texts, contexts, prompts, explanations and n-grams of several tokens are not published.",
        _matrices(published),
        f"Licence: {_text(published.license)}." if published.license else "Nothing was said of a licence.",
    ]


def _hours(seconds: float) -> str:
    """Two decimals, or two digits of what is shorter than a few minutes."""
    hours = seconds / 3600
    return f"{hours:,.2f}" if hours >= 0.1 or not hours else f"{hours:.2g}"


def _configurations(published: Published) -> list[dict[str, Any]]:
    """One a table: the viewer shows those of one schema together."""
    views = [(name, view) for name, view in published.views.items() if view.files]
    # What is looked at first is shown first.
    views.sort(key=lambda one: (one[0] != "neurons", one[0] != "promotions", one[0] != "models", one[0]))
    relations = [
        *((name, view.files[0].path) for name, view in views),
        *((f"store.{name}", table.files[0].path) for name, table in published.manifest.tables.items() if table.files),
    ]
    return [
        {
            "config_name": name,
            **({"default": True} if name == relations[0][0] else {}),
            "data_files": [{"split": "train", "path": f"{path.rpartition('/')[0]}/*.parquet"}],
        }
        for name, path in relations
    ]


def _matrices(published: Published) -> str:
    held, missing = len(published.manifest.maps), len(published.manifest.missing_maps)
    if not held and not missing:
        return "There are no matrices of shortcuts to it."
    lost = f"; {missing:,} more were not there when it was published" if missing else ""
    copied = command_line("copy", "ADDRESS", "copy.duckdb")
    if not held:
        return f"{missing:,} matrices of shortcuts were not there when it was published."
    return f"{held:,} matrices of shortcuts lie in the folder `shortcuts`{lost}: `{copied}` brings them along."


def _relations(relations: Any) -> str:  # noqa: ANN401 - name -> ExportedTable, of either kind
    rows = ((name, one.n_rows, one.description) for name, one in relations.items() if one.files)
    return _table(("name", "rows", "one row"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(_text(_number(value)) for value in row)} |" for row in rows]
    return "\n".join(lines)


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


def _listed(names: Sequence[str]) -> str:
    first = ", ".join(map(_text, names[:5]))
    return f"{first} and {len(names) - 5:,} more models" if len(names) > 5 else first or "no model"


def _code(language: str, lines: Sequence[str]) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def _text(value: str) -> str:
    """Text of anybody's as Markdown shows it, on one line."""
    return escape(_SPECIAL.sub(r"\\\1", one_line(value)), quote=False)
