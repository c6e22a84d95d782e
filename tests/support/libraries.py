"""Libraries that the tests of `ingest` load before it."""

LIBRARIES = (
    "beartype",
    "scipy.cluster.hierarchy",
    "scipy.sparse.csgraph",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    *(f"transformers.models.{name}.modeling_{name}" for name in ("bert", "gpt2", "gpt_neox", "llama", "opt")),
)
