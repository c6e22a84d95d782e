"""The three walks of docs/contributing.md, as what each adds to a copy of the tree."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from catalog.tables.migrations import LATEST

ROOT = Path(__file__).parents[2]
SOURCES = ("ingest", "catalog", "queries", "dashboards", "neurothek", "pyproject.toml")


@dataclass(frozen=True)
class Walk:
    """What one walk does to the tree.

    Attributes:
        title: its heading in the guide.
        new: file -> its text.
        lines: file -> (a text that stands there once, what takes its place), one after the other.
    """

    title: str
    new: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @property
    def files(self) -> set[str]:
        """All that it makes or changes."""
        return {*self.new, *self.lines}

    def take(self, tree: Path) -> None:
        """Do it."""
        for name, text in self.new.items():
            path = tree / name
            assert not path.exists()
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        for name, changes in self.lines.items():
            text = (tree / name).read_text("utf-8")
            for before, after in changes:
                assert text.count(before) == 1, f"{before!r} stands {text.count(before)} times in {name}"
                text = text.replace(before, after)
            (tree / name).write_text(text, "utf-8")

    def section(self) -> str:
        """What the guide says of it."""
        guide = (ROOT / "docs" / "contributing.md").read_text("utf-8")
        (found,) = (part for part in guide.split("\n## ") if part.startswith(f"{self.title}\n"))
        return found


def copy_tree(folder: Path) -> Path:
    """The packages and their settings, without what is compiled and without the weights that ship."""
    folder.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.safetensors", "tokenizer.json")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def content(tree: Path) -> dict[str, bytes]:
    """Every file by its path, as a copy has them."""
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


def differing(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> Iterator[str]:
    """The files that are not the same in both."""
    return (name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


ARCHITECTURE = Walk(
    title="Add an architecture",
    lines={
        "ingest/models/families/table.py": (
            ("    GPTNeoXForCausalLM,\n", "    GPTNeoXForCausalLM,\n    HeliumConfig,\n    HeliumForCausalLM,\n"),
            (
                "\nFAMILIES:",
                "\nHELIUM = replace("
                'LLAMA, architecture="helium", config_class=HeliumConfig, model_class=HeliumForCausalLM)\n\nFAMILIES:',
            ),
            ("QWEN3, BERT)\n", "QWEN3, BERT, HELIUM)\n"),
        )
    },
)

_JOB = "ingest/jobs/value_norms"

JOB = Walk(
    title="Add a job",
    new={
        f"{_JOB}/__init__.py": '"""How long each value vector is."""\n',
        f"{_JOB}/job.py": '''\
"""The job `value_norms`: how long each value vector is."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from catalog.tables.registry import Table
from catalog.tables.value_norms import VALUE_NORMS
from ingest.jobs.job import Frames, JobContext, MeasureShard, ReadBack, WeightsJob
from ingest.jobs.value_norms import footprint
from ingest.jobs.value_norms.value_lengths import norms_frame
from ingest.request import IngestRequest


@dataclass(frozen=True)
class ValueNormsJob(WeightsJob):
    """The Euclidean norm of every value vector."""

    name = "value_norms"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (VALUE_NORMS,)
    footprint = staticmethod(footprint.footprint)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ValueNormsJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """Nothing changes its numbers."""
        return {}

    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """One shard a layer."""
        return {f"layer-{layer:04d}": (VALUE_NORMS.name,) for layer in range(self.context.shape.n_layers)}

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures a layer."""

        def measure(shard: str) -> Frames:
            layer = int(shard.removeprefix("layer-"))
            return {VALUE_NORMS.name: norms_frame(self.context.transformer.value_vectors(layer), layer=layer)}

        yield measure
''',
        f"{_JOB}/value_lengths.py": '''\
"""Norms of a layer's value vectors, as rows."""

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.tables.value_norms import VALUE_NORMS


def norms_frame(values: Float[Tensor, "d_ffn d_model"], *, layer: int) -> pl.DataFrame:
    """Rows of `value_norms`, a neuron each."""
    norms = torch.linalg.vector_norm(values.double(), dim=1).cpu().numpy()
    columns = {"layer": np.full(len(norms), layer), "neuron": np.arange(len(norms)), "norm": norms}
    return pl.DataFrame(columns).cast(pl.Schema(VALUE_NORMS.columns))
''',
        f"{_JOB}/footprint.py": '''\
"""What the job `value_norms` takes of memory and disk, estimated from above."""

from ingest.forward.footprint import Footprint
from ingest.models.families.shapes import Shape


def footprint(shape: Shape) -> Footprint:
    """A layer's value vectors in double precision, and its rows."""
    return Footprint(folding=shape.d_ffn * shape.d_model * 12, rows=shape.d_ffn * 20)
''',
        "catalog/tables/value_norms.py": '''\
"""The table of how long value vectors are."""

from catalog.tables.table import DOUBLE, INTEGER, SMALL, Table

VALUE_NORMS = Table(
    name="value_norms",
    scope="model",
    key=("layer", "neuron"),
    columns={"layer": SMALL, "neuron": INTEGER, "norm": DOUBLE},
)

JOB_TABLES = {"value_norms": (VALUE_NORMS,)}
''',
        f"catalog/tables/schema/{LATEST + 1:04d}_value_norms.sql": """\
-- How long value vectors are.
create table store.value_norms (
    model_id integer not null,
    layer smallint not null,
    neuron integer not null,
    norm double not null,
    run_id integer not null
);
comment on table store.value_norms is 'One row per neuron: how long its value vector is.';
comment on column store.value_norms.model_id is 'The model.';
comment on column store.value_norms.layer is 'Layer, from 0.';
comment on column store.value_norms.neuron is 'Neuron within the layer, from 0.';
comment on column store.value_norms.norm is 'Euclidean norm of the value vector.';
comment on column store.value_norms.run_id is 'The run that measured it.';
""",
        "catalog/upkeep/laws/value_norms_are_lengths.sql": """\
-- No value vector has a length below 0.
select 'model ' || model_id || ', layer ' || layer || ', neuron ' || neuron as place
from store.value_norms
where norm < 0
""",
    },
    lines={
        "ingest/jobs/registry.py": (
            (
                '    "activity": Entry(',
                '    "value_norms": Entry("ingest.jobs.value_norms.job:ValueNormsJob", reads_text=False,'
                ' fits_masked=True),\n    "activity": Entry(',
            ),
        ),
    },
)

TEXT_SOURCE = Walk(
    title="Add a text source",
    new={
        "ingest/corpora/sources/formats/csv_file.py": '''\
"""A row of a CSV file is a document."""

import csv
from collections.abc import Iterator
from pathlib import Path

from ingest.corpora.errors import ColumnUnknown, SourceNotText, TextTooLong
from ingest.corpora.sources.document import Document, FileFormat
from ingest.corpora.text_memory import TextMemory


def read_csv(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The texts of a column, row by row.

    Raises:
        ColumnUnknown: the first line does not name it.
        SourceNotText: it is no CSV.
        TextTooLong: a row is longer than memory allows.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            columns = rows.fieldnames or ()
            if column not in columns:
                raise ColumnUnknown(path, column, columns)
            for number, row in enumerate(rows, 1):
                text = row[column] or ""
                if len(text) > memory.longest_record:
                    raise TextTooLong(path, f"row {number}", memory.longest_record, memory.memory_bytes)
                yield Document.of(text)
    except csv.Error as error:
        raise SourceNotText(path, f"it is no CSV ({error})") from error


FORMAT = FileFormat(".csv", read_csv, has_columns=True)
''',
    },
)

WALKS = (ARCHITECTURE, JOB, TEXT_SOURCE)
