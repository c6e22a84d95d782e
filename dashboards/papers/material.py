"""What the figures of compared models are drawn from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import polars as pl

from neurothek.catalog.spelling import spoken_corpus
from neurothek.catalog.variants import NO_POSITION, step_of
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.colours import model_colours
from neurothek.dashboards.papers.figure import Setting
from neurothek.queries.compare.comparison import Comparison
from neurothek.queries.compare.kinds import Typology, positional_neurons
from neurothek.queries.names.models import choose_models
from neurothek.queries.names.unmeasured import corpus_words
from neurothek.queries.views.neuron_facts import rows_of_models
from neurothek.queries.views.on_corpus import on_corpus


@dataclass(frozen=True)
class Material:
    """What the figures are drawn from."""

    comparison: Comparison  # the models side by side
    # every positional neuron, as `neurothek.queries.compare.kinds.positional_neurons` gives them
    positional: pl.DataFrame
    by_minimum: pl.DataFrame  # rows of `detectors_by_minimum` for bigrams and trigrams
    setting: Setting  # how the models look, and the corpus
    # where each model's norms stand and how it knows positions, which training leaves alone
    built: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, comparison: Comparison) -> "Material":
        """Read it, of the corpus of the comparison; the models have the colours that the whole warehouse gives them."""
        everything = {model.name: model.built for model in choose_models(connection)}
        names = comparison.models.get_column("model").to_list()
        on = corpus_words(connection, names, comparison.corpus)
        with on_corpus(connection, names, comparison.corpus) as on_its_corpus:
            positional = positional_neurons(on_its_corpus, comparison.typology.models())
            by_minimum = rows_of_models(on_its_corpus, "detectors_by_minimum", names, "n", "layer", "least_occurrences")
        look = Look(model_colours(list(everything)), comparison.why_not())
        setting = Setting(look, comparison.corpus, tuple(on))
        return cls(comparison, positional, by_minimum.filter(pl.col("n") > 1), setting, everything)

    @property
    def kinds(self) -> Typology:
        """The kinds of neurons."""
        return self.comparison.typology

    @property
    def look(self) -> Look:
        """Colours and dashes of the models."""
        return self.setting.look

    @property
    def corpus_suffix(self) -> str:
        """The corpus that was asked for, as the end of a sentence; empty where none was."""
        return self.setting.corpus_suffix

    def sizes(self) -> list[str]:
        """The models that differ in size or seed, smallest first; all, where fewer than two do."""
        rows = self.comparison.models.select("model", "variant").to_dicts()
        plain = [row["model"] for row in rows if row["variant"] is None or row["variant"].startswith("seed")]
        return plain if len(plain) > 1 else [row["model"] for row in rows]

    def all_models(self) -> list[str]:
        """All models, variants too, smallest first."""
        names: list[str] = self.comparison.models.get_column("model").to_list()
        return names

    def measured(self, rows: pl.DataFrame, models: Sequence[str] | None = None) -> list[str]:
        """Those of the models, the sizes unless given, that `rows` tells of."""
        present = set(rows.get_column("model"))
        return [model for model in (self.sizes() if models is None else models) if model in present]

    def seen(self, models: Sequence[str]) -> str:
        """How much text of which corpus the models were run on, in words."""
        tokens_of = dict(self.comparison.models.select("model", "n_tokens_seen").iter_rows())
        texts: dict[str, list[str]] = {}
        for model in models:
            n_tokens = "the text" if tokens_of[model] is None else f"{tokens_of[model]:,} tokens"
            texts.setdefault(f"{n_tokens} of {self.corpora([model])}", []).append(model)
        if len(texts) == 1:
            return next(iter(texts))
        return "; ".join(f"{', '.join(models_of_text)}: {text}" for text, models_of_text in texts.items())

    def corpora(self, models: Sequence[str]) -> str:
        """Names of the corpora that the models were measured on."""
        tables = (self.comparison.layers, self.kinds.detectors, self.kinds.positions)
        rows = pl.concat(table.select("model", "corpus") for table in tables)
        names = rows.filter(pl.col("model").is_in(list(models))).get_column("corpus")
        return ", ".join(map(spoken_corpus, names.unique(maintain_order=True)))

    def mark(self, model: str) -> str:
        """A star for a panel's title where the model may not be compared, as lines are dashed."""
        return " *" if model in self.look.why_not else ""

    def not_comparable(self, models: Sequence[str]) -> list[str]:
        """What the star stands for, with the reason."""
        return [f"* not comparable: {reasons}."] if (reasons := self.look.not_comparable(models)) else []

    def without_positions(self) -> tuple[list[str], str | None]:
        """A model without position embeddings, and the plain model of its family and size; of several the first."""
        return self._beside_plain(lambda variant, _: variant["variant"] == NO_POSITION)

    def early_checkpoints(self) -> tuple[list[str], str | None]:
        """The plain model at steps of its training, and as it was in the end; of several the first.

        A step of a model without positions, or with norms after its blocks, is none of the plain model's.
        """
        return self._beside_plain(
            lambda variant, plain: (
                step_of(variant["variant"]) is not None
                and self.built.get(variant["model"]) == self.built.get(plain["model"])
            )
        )

    def _beside_plain(self, of: Callable[[Mapping[str, str], Mapping[str, str]], bool]) -> tuple[list[str], str | None]:
        rows = self.comparison.models.select("model", "variant", "family", "size").to_dicts()
        for row in rows:
            if row["variant"] is None:
                alike = [other for other in rows if (other["family"], other["size"]) == (row["family"], row["size"])]
                variants = [other for other in alike if other["variant"] is not None and of(other, row)]
                if variants:
                    in_order = sorted(variants, key=lambda variant: step_of(variant["variant"]) or 0)
                    return [variant["model"] for variant in in_order], row["model"]
        return [], None
