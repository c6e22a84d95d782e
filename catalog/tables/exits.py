"""The table of what leaving a model early costs and saves."""

from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, TEXT, Table

EXITS = Table(
    name="exits",
    scope="model_corpus",
    key=("method", "parameter", "seed"),
    columns={
        "method": TEXT,
        "parameter": DOUBLE,
        "seed": INTEGER,
        "n": BIG,
        "n_correct": BIG,
        "n_exited": BIG,
        "accuracy": DOUBLE,
        "layers_run": DOUBLE,
        "layers_run_sd": DOUBLE,
        "layers_saved": DOUBLE,
        "layers_saved_correct": DOUBLE,
    },
    # A single example has no spread; where none is correct nothing is saved by them.
    nullable=frozenset({"layers_run_sd", "layers_saved_correct"}),
)
