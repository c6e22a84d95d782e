"""The models of one family as claims are asked of them: sizes and variants, and how many of their neurons are what."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Invalid, NotFound
from neurothek.catalog.spelling import named
from neurothek.catalog.variants import POST_NORM, step_of
from neurothek.queries.ask.statements import ask_records, frame_of, records, statement
from neurothek.queries.compare.comparability import MeasurementSetup, why_not_comparable
from neurothek.queries.names.models import KnownModel, choose_corpora, choose_models, sizes_of
from neurothek.queries.papers.findings import Finding, NotApplicable, in_all
from neurothek.queries.papers.intervals import Interval, Moments
from neurothek.queries.views.contents import thresholds
from neurothek.queries.views.neuron_facts import of_models

_CLAIMED_JOBS = """\
-- The jobs that were run on each model: of those that read text, the ones on its shown corpus.
select
    models.name as model,
    list(distinct runs.job) as jobs,
from store.models as models
inner join store.runs as runs on runs.model_id = models.model_id
left join measured_corpora as corpora
    on corpora.model_id = runs.model_id and corpora.corpus_id = runs.corpus_id and corpora.is_shown
where
    list_contains($models::varchar[], models.name)
    and (runs.corpus_id is null or corpora.corpus_id is not null)
group by models.name
"""

_CLAIMED_TEXT = """\
-- The text that each model was run on, and whether it suffices to label neurons: full sequences, and how often those
-- neurons were active that were active at all, as n-grams count it where they were.
with active as (
    select models.name as model, coalesce(facts.unigram_active, facts.n_active) as n_active, facts.n_position_sequences
    from store.neuron_facts as facts
    inner join store.models as models on models.model_id = facts.set_id
    where list_contains($models::varchar[], models.name)
)
select
    corpora.model,
    any_value(corpora.n_tokens) as n_tokens,
    any_value(corpora.sequence_length) as sequence_length,
    coalesce(max(active.n_position_sequences), 0) as n_full_sequences,
    count(*) filter (active.n_active > 0) as n_alive,
    count(*) filter (active.n_active >= $min_activations) as n_active_enough,
    coalesce(median(active.n_active) filter (active.n_active > 0), 0) as median_active,
from measured_corpora as corpora
inner join active on active.model = corpora.model
where corpora.is_shown
group by corpora.model
"""

Read = Callable[[str, str, Mapping[str, Any]], pl.DataFrame]


@dataclass(frozen=True)
class Family:
    """Some models of one family, smallest first."""

    name: str  # of the family
    sizes: tuple[str, ...]  # its plain models that may be compared, smallest first
    # variant -> models of it, each with the plain model of its size, None where there is none
    variants: tuple[tuple[str, str, str | None], ...]
    left_out: Mapping[str, str]  # models that may not be compared with the others, with the reason
    jobs: Mapping[str, frozenset[str]]  # model -> jobs that were run on it
    read: Read  # the rows of a statement or view by its name, the SQL that asks for them, and the values bound to it
    all_models: tuple[str, ...] = ()  # all of its models, smallest first
    n_parameters: Mapping[str, int] = field(default_factory=dict)  # model -> its parameters without embeddings

    @classmethod
    def of(
        cls,
        connection: duckdb.DuckDBPyConnection,
        models: Sequence[str] = (),
        *,
        family: str | None = None,
        corpus: str | None = None,
    ) -> "Family":
        """The models named, or all of a family.

        Args:
            connection: a lease on which views tell of the corpus, see `on_corpus`.
            models: names of models; none: all.
            family: the family; None: the only one there.
            corpus: the corpus that views tell of; None: each model's shown one.
        """
        chosen_models = choose_models(connection, models)
        families = {model.family for model in chosen_models}
        if family is not None and family not in families:
            raise NotFound(
                f"no model here is of the family {named(family)}",
                f"there are {', '.join(sorted(families))} (`{command_line('label', '--help')}` says how to set one)",
                what="family",
                name=family,
                known=sorted(families),
            )
        if family is None and len(families) > 1:
            several = sorted(families)
            raise Invalid(
                f"claims are judged on one family of models, and these are of {', '.join(several)}",
                f"choose one with `{command_line('claims', '--family', several[0])}`, or name its models",
                option="--family",
            )
        name = family or next(iter(families))
        of_family = [model for model in chosen_models if model.family == name]
        why_not = _why_not(connection, of_family, corpus)
        plain = [model.name for model in sizes_of(of_family)]
        ran = records(connection, _CLAIMED_JOBS, {"models": [model.name for model in of_family]})
        return cls(
            name=name,
            sizes=tuple(name for name in plain if name not in why_not),
            variants=tuple(one for one in _with_plain(of_family) if one[1] not in why_not and one[1] not in plain),
            left_out={model.name: why_not[model.name] for model in of_family if model.name in why_not},
            jobs={row["model"]: frozenset(row["jobs"]) for row in ran},
            read=lambda _, text, parameters: frame_of(connection, text, parameters),
            all_models=tuple(model.name for model in of_family),
            n_parameters={model.name: model.size for model in of_family},
        )

    def lacking(self, jobs: Iterable[str]) -> str:
        """What has to be measured of the sizes first, as a sentence; nothing where all is there."""
        if not self.sizes:
            left_out = "".join(f"; {model} is left out: {reason}" for model, reason in list(self.left_out.items())[:1])
            raise NotApplicable(
                f"there is no plain size among these models{' that may be compared' * bool(left_out)}{left_out}",
                "needs another model",
            )
        absent = {model: [job for job in jobs if job not in self.jobs.get(model, frozenset())] for model in self.sizes}
        models = [model for model, lacks in absent.items() if lacks]
        if not models:
            return ""
        needed = sorted({job for lacks in absent.values() for job in lacks})
        options = [word for job in needed for word in ("--job", job)]
        return f"measure it first with `{command_line('ingest', *models, *options)}`"

    def short(self, model: str) -> str:
        """A model's name without the family's, where it begins with that."""
        return model.removeprefix(f"{self.name}-") or model

    def variant(self, kind: str) -> tuple[str, str]:
        """The first model of a kind of variant and the plain model beside it."""
        for variant, model, plain in self.variants:
            if variant.split(" ")[0] == kind and plain is not None:
                return model, plain
        raise NotApplicable(f"there is no variant {kind!r} with a plain model beside it", "needs another model")

    def steps(self) -> tuple[list[str], str]:
        """Early checkpoints in the order of training, and the plain model that they lead to; step 0 is none."""
        of = [(step_of(variant), model, plain) for variant, model, plain in self.variants if plain is not None]
        early = [(step, model, plain) for step, model, plain in of if step]
        if not early:
            raise NotApplicable(
                "there is no early checkpoint (variant 'step N') with its trained model", "needs another model"
            )
        trained = early[0][2]
        return [model for _, model, plain in sorted(early) if plain == trained], trained

    def untrained(self) -> dict[str, str]:
        """The sizes beside which there is an untrained model of the same shape (variant 'step 0') -> that model."""
        return {plain: model for variant, model, plain in self.variants if step_of(variant) == 0 and plain is not None}

    def rows(self, name: str, models: Sequence[str] | None = None, **parameters: Any) -> pl.DataFrame:
        """Rows of a statement of this room about the models, the sizes unless given."""
        return self.query(name, statement(name), models, **parameters)

    def query(self, name: str, text: str, models: Sequence[str] | None = None, **parameters: Any) -> pl.DataFrame:
        """Rows of a query, known by a name, about the models, the sizes unless given."""
        return self.read(name, text, {"models": list(models or self.sizes), **parameters})

    def view(
        self,
        name: str,
        columns: Sequence[str],
        order: Sequence[str],
        *,
        where: str = "",
        models: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """Columns of a view's rows about the models, the sizes unless given."""
        text = of_models(name, order, columns=columns, where=where)
        return self.query(name, text, models)

    @cached_property
    def neurons(self) -> pl.DataFrame:
        """How many neurons of each layer are what; see `claimed_neurons.sql`."""
        limits = thresholds("neurons")
        counted = self.rows(
            "claimed_neurons",
            [*self.sizes, *(model for _, model, _ in self.variants)],
            most_tokens=limits["most_tokens"],
            strong_roughness=limits["strong_roughness"],
        )
        return counted.with_columns(
            (2 * pl.col("layer") + 1 <= pl.col("n_layers")).alias("in_first_half"),
            (3 * (2 * pl.col("layer") + 1) <= 2 * pl.col("n_layers")).alias("in_first_third"),
            (~pl.col("position_kind").is_in(["not positional", "too few sequences"])).alias("is_positional"),
        )

    def of_model(self, model: str, *conditions: pl.Expr) -> pl.DataFrame:
        """Counted neurons of a model."""
        return self.neurons.filter(pl.col("model") == model, *conditions)

    def count(self, model: str, what: pl.Expr, *conditions: pl.Expr) -> tuple[int, int]:
        """How many of a model's neurons are so, and of how many."""
        of_model = self.of_model(model, *conditions).with_columns(what.alias("is_so"))
        if of_model.is_empty() or of_model.get_column("is_so").null_count() == of_model.height:
            if self.of_model(model).is_empty():
                raise NotApplicable(f"{model} has not been measured on any text")
            if not of_model.is_empty() and what.meta.eq(DEAD):
                raise NotApplicable(
                    f"the neurons of {model} are never exactly 0, so none of them is dead", "does not apply"
                )
            if not of_model.is_empty():
                raise NotApplicable(f"not known for the neurons of {model}: {', '.join(what.meta.root_names())}")
        so = of_model.filter(pl.col("is_so"))
        return int(so.get_column("n").sum()), int(of_model.get_column("n").sum())

    def moments(self, model: str, of: str, *conditions: pl.Expr) -> Moments:
        """Of the `frequency` or `coverage` of a model's neurons."""
        of_model = self.of_model(model, *conditions)
        n, total, squares = (of_model.get_column(f"{of}_{name}").sum() for name in ("n", "sum", "squares"))
        return Moments(int(n), float(total), float(squares))

    def by_steps(
        self, step: Callable[[str, str], Interval], show: Callable[[Interval], str], *, between: str = "to"
    ) -> Finding:
        """A quantity from each size to the next larger one: a claim that each of these steps is above 0.

        The whole is the step from the smallest to the largest. The word between two sizes is `over` where the smaller
        one is held against the larger.
        """
        self.require_sizes()
        intervals = {
            f"{self.short(small)} {between} {self.short(large)}": step(small, large)
            for small, large in pairwise(self.sizes)
        }
        numbers = "; ".join(f"{name}: {show(one)}" for name, one in intervals.items())
        return in_all([*intervals.values()], numbers, show=show, whole=step(self.sizes[0], self.sizes[-1]))

    def require_sequences(self, models: Sequence[str]) -> None:
        """Refuse models whose text has too few full sequences to say which neurons are positional."""
        for model in models:
            if self.count(model, DECIDED)[0]:
                continue
            text, least = self.texts[model], int(thresholds("neurons")["least_sequences"])
            raise NotApplicable(
                f"{model} was run on {text['n_full_sequences']:,} full sequences of {text['sequence_length']:,} ids;"
                f" which neurons are positional takes {least} of them, {least * text['sequence_length']:,} tokens",
                "needs more text",
            )

    @cached_property
    def texts(self) -> Mapping[str, Mapping[str, int]]:
        """What each model was run on."""
        models = [*self.sizes, *(model for _, model, _ in self.variants)]
        least = thresholds("neurons")["min_activations"]
        rows = self.query("claimed_text", _CLAIMED_TEXT, models, min_activations=least).to_dicts()
        return {str(row["model"]): row for row in rows}

    def too_few(self, model: str, numbers: str) -> Finding:
        """The outcome of too few detectors: more text, if it was too little to label half of the neurons."""
        text, least = self.texts[model], int(thresholds("neurons")["min_activations"])
        if 2 * text["n_active_enough"] >= text["n_alive"]:
            return Finding("needs larger models", numbers)
        needed = math.ceil(text["n_tokens"] * least / text["median_active"])
        return Finding(
            "needs more text",
            f"{numbers}; on {text['n_tokens']:,} tokens only {text['n_active_enough']:,} of {text['n_alive']:,} neurons"
            f" of {self.short(model)} that fire do so {least} times, half of them would on about {needed:,}",
        )

    def require_sizes(self) -> None:
        """Refuse a single size."""
        if len(self.sizes) < 2:
            raise NotApplicable("at least two sizes are needed", "needs another model")

    def side_by_side(self, texts: Mapping[str, str]) -> str:
        """The text of each model, side by side."""
        return "; ".join(f"{self.short(model)}: {numbers}" for model, numbers in texts.items())

    def in_each(self, intervals: Mapping[str, Interval], show: Callable[[Interval], str]) -> Finding:
        """A claim that a quantity is above 0 in each model."""
        texts = {model: show(one) for model, one in intervals.items()}
        return in_all([*intervals.values()], self.side_by_side(texts), show=show)

    def with_dead(self) -> list[str]:
        """The sizes that have dead neurons."""
        having = [model for model in self.sizes if self.count(model, DEAD)[0]]
        if not having:
            raise NotApplicable("no size has dead neurons", "needs larger models")
        return having


FIRST_POSITION = "at_first_position"
"""Column of rows that are of an example at position 0 of its text, where many models have massive activations."""


def with_and_without_first_position(judge: Callable[[Family], Finding]) -> Callable[[Family], Finding]:
    """Judge a claim on all rows and, where some are of position 0, on the others, too; see `beside_later`."""

    def judged(family: Family) -> Finding:
        answers: dict[str, pl.DataFrame] = {}

        def remembered(name: str, text: str, parameters: Mapping[str, Any]) -> pl.DataFrame:
            key = f"{text}{parameters}"
            if key not in answers:
                answers[key] = family.read(name, text, parameters)
            return answers[key]

        def later(name: str, text: str, parameters: Mapping[str, Any]) -> pl.DataFrame:
            rows = remembered(name, text, parameters)
            return rows.filter(~pl.col(FIRST_POSITION)) if FIRST_POSITION in rows.columns else rows

        finding = judge(replace(family, read=remembered))
        if not any(
            FIRST_POSITION in rows.columns and rows.get_column(FIRST_POSITION).any() for rows in answers.values()
        ):
            return finding
        return beside_later(finding, lambda: judge(replace(family, read=later)))

    return judged


def beside_later(finding: Finding, judge_later: Callable[[], Finding]) -> Finding:
    """A finding with that of the same claim without position 0; where the outcomes differ, it is undecided [ours]."""
    try:
        later = judge_later()
    except NotApplicable as reason:
        later = Finding(reason.outcome, str(reason))
    if later == finding:
        return finding
    if later.outcome == finding.outcome:
        return replace(finding, numbers=f"{finding.numbers}; without position 0, {later.numbers}")
    numbers = f"with position 0 {finding.verdict}: {finding.numbers}; without it {later.verdict}: {later.numbers}"
    return Finding("undecided", numbers)


DEAD, FIRST_HALF, FIRST_THIRD = pl.col("is_dead"), pl.col("in_first_half"), pl.col("in_first_third")
POSITIONAL, DETECTOR = pl.col("is_positional"), pl.col("is_token_detector")
REST = ~FIRST_THIRD
FEW = pl.col("is_covered_by_few")
STRONG = POSITIONAL & (pl.col("position_strength") == "strong")
OSCILLATORY, BOTH, ONE, OTHER = (
    pl.col("position_kind") == kind for kind in ("oscillatory", "both extremes", "one extreme", "other")
)
SMOOTH = POSITIONAL & pl.col("is_smooth")
"""Positional, and as active at a position as at its neighbours: fresh position embeddings do not make it so [ours]."""
SMALL = 6_000_000_000
"""Parameters without embeddings, of which models that a paper calls small have fewer: OPT-6.7b has 6.4 billion."""
DECIDED = pl.col("position_kind") != "too few sequences"


def _why_not(connection: duckdb.DuckDBPyConnection, models: Sequence[KnownModel], corpus: str | None) -> dict[str, str]:
    """Which of the models may not be compared with most of them."""
    names = [model.name for model in models if model.is_measured_on_text]
    chosen = choose_corpora(connection, names, corpus)
    parameters = {"models": list(chosen), "corpus_ids": [one.corpus_id for one in chosen.values()]}
    setups = [MeasurementSetup(**row) for row in ask_records(connection, "measurement_ways", parameters)]
    return {model: why for model, why in why_not_comparable(setups).items() if why is not None}


def _with_plain(models: Sequence[KnownModel]) -> Iterable[tuple[str, str, str | None]]:
    """Variants, each with the plain model of its size, else with one of as many layers and neurons.

    A model with norms after its blocks may have neither: it stands beside the one nearest in size, by ratio. An early
    checkpoint of a model without positions, or with norms after its blocks, is no early checkpoint of the plain one.
    """
    plain = [model for model in models if model.variant is None]
    built = {model.name: model.built for model in plain}
    of_size = {model.size: model.name for model in plain}
    of_shape = {(model.n_layers, model.d_ffn): model.name for model in plain}
    for model in models:
        if model.variant is not None:
            twin = of_size.get(model.size, of_shape.get((model.n_layers, model.d_ffn)))
            if twin is None and model.variant == POST_NORM and plain:
                twin = _nearest(plain, model.size)
            if twin is not None and step_of(model.variant) is not None and built[twin] != model.built:
                twin = None
            yield model.variant, model.name, twin


def _nearest(models: Sequence[KnownModel], size: int) -> str:
    """The model whose size is nearest by ratio."""
    return min(models, key=lambda model: abs(math.log(model.size / size))).name
