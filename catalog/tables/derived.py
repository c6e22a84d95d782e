"""Tables that no run fills: what follows from measurements, what people chose to be shown, and what the file is."""

from neurothek.catalog.tables.table import (
    INTEGER,
    MODEL,
    TEXT,
    TIME,
    Column,
    Table,
)

SCHEMA_VERSIONS = Table(
    "schema_versions",
    "One row per version of the schema that this file was made or brought up to.",
    key=("version",),
    columns={
        "version": Column(INTEGER, "Version of the schema."),
        "applied_at": Column(TIME, "When that was (UTC)."),
    },
)

INSTALLED_VIEWS = Table(
    "installed_views",
    "One row per view installed in the schema main, to know when a newer release changes it.",
    key=("name",),
    columns={
        "name": Column(TEXT, "Name of the view."),
        "sha256": Column(TEXT, "sha256 of the SQL text that made it."),
    },
)

PINS = Table(
    "pins",
    "One row per model whose shown corpus a person chose.",
    key=("model_id",),
    columns={
        "model_id": MODEL,
        "corpus_id": Column(INTEGER, "The corpus that views show for it."),
    },
)

CLUSTER_PINS = Table(
    "cluster_pins",
    "One row per model whose shown clustering a person chose.",
    key=("model_id",),
    columns={
        "model_id": MODEL,
        "n_clusters_asked": Column(
            INTEGER, "The clustering that views show for it, by the number of clusters asked for."
        ),
    },
)
