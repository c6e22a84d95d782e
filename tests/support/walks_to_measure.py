"""Walks to what an ingest measures with: architectures, jobs, texts."""

from tests.support.walks import Walk
from tests.support.walks_to_ask import TABLE

ARCHITECTURE = Walk(
    title="Add an architecture",
    lines={
        "ingest/models/families/table.py": (
            (
                "\nFAMILIES:",
                '\nHELIUM = replace(LLAMA, architecture="helium", config_class="HeliumConfig", '
                'model_class="HeliumForCausalLM")\n\nFAMILIES:',
            ),
            ("GRANITE, OLMO2)", "GRANITE, OLMO2, HELIUM)"),
        )
    },
)

_JOB = "ingest/jobs/value_norms"

JOB = Walk(
    title="Add a job",
    first=(TABLE,),
    new={
        f"{_JOB}/__init__.py": '"""How long each value vector is."""\n',
        f"{_JOB}/job.py": '''\
"""The job `value_norms`: how long each value vector is."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from neurothek.catalog.tables.registry import Table
from neurothek.catalog.tables.value_norms import VALUE_NORMS
from neurothek.ingest.jobs.job import Frames, JobContext, MeasureShard, ReadBack, WeightsJob
from neurothek.ingest.jobs.value_norms import footprint
from neurothek.ingest.jobs.value_norms.value_lengths import norms_frame
from neurothek.ingest.request import IngestRequest


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

from neurothek.catalog.tables.value_norms import VALUE_NORMS


def norms_frame(values: Float[Tensor, "d_ffn d_model"], *, layer: int) -> pl.DataFrame:
    """Rows of `value_norms`, a neuron each."""
    norms = torch.linalg.vector_norm(values.double(), dim=1).cpu().numpy()
    columns = {"layer": np.full(len(norms), layer), "neuron": np.arange(len(norms)), "norm": norms}
    return pl.DataFrame(columns).cast(VALUE_NORMS.schema)
''',
        f"{_JOB}/footprint.py": '''\
"""What the job `value_norms` takes of memory and disk, estimated from above."""

from neurothek.ingest.forward.footprint import Footprint
from neurothek.ingest.models.families.shapes import Shape


def footprint(shape: Shape) -> Footprint:
    """A layer's value vectors in double precision, and its rows."""
    return Footprint(folding=shape.d_ffn * shape.d_model * 12, rows=shape.d_ffn * 20)
''',
    },
    lines={
        "ingest/jobs/registry.py": (
            (
                '    "activity": Entry(',
                '    "value_norms": Entry("neurothek.ingest.jobs.value_norms.job:ValueNormsJob", reads_text=False,'
                ' fits_masked=True),\n    "activity": Entry(',
            ),
        ),
    },
)

TEXT_SOURCE = Walk(
    title="Add a text source",
    new={
        "ingest/corpora/sources/formats/psv_file.py": '''\
"""A row of a file whose columns are divided by bars is a document."""

import csv
from collections.abc import Iterator
from pathlib import Path

from neurothek.ingest.corpora.errors import no_text, text_too_long, unknown_column
from neurothek.ingest.corpora.sources.document import Document, FileFormat
from neurothek.ingest.corpora.text_memory import TextMemory


def read_psv(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The texts of a column, row by row."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, delimiter="|")
            columns = rows.fieldnames or ()
            if column not in columns:
                raise unknown_column(path, column, columns)
            for number, row in enumerate(rows, 1):
                text = row[column] or ""
                if len(text) > memory.longest_record:
                    raise text_too_long(path, f"row {number}", memory.longest_record, memory.memory_bytes)
                yield Document.of(text)
    except csv.Error as error:
        raise no_text(path, f"it is no such table ({error})") from error


FORMAT = FileFormat((".psv",), read_psv, has_columns=True)
''',
    },
)

MEASURED = (ARCHITECTURE, JOB, TEXT_SOURCE)
