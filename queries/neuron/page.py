"""One neuron's page: what it promotes and suppresses, how often it fires, and on what."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import quoted_list, spoken_corpus
from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT, TIME
from neurothek.queries.ask.answer import Section, TabularAnswer, first_of, with_its_sql
from neurothek.queries.ask.statements import frame_of, framed, records
from neurothek.queries.names.models import MeasuredCorpus, NeuronAddress, find_neuron
from neurothek.queries.names.unmeasured import OF_NEURON, Unmeasured, unmeasured
from neurothek.queries.names.words import Row, spelled, with_texts
from neurothek.queries.neuron import fact_sentences
from neurothek.queries.neuron.contexts import Triggers, histogram_frame, neuron_triggers, windows_frame, written_at
from neurothek.queries.neuron.contexts import sections as window_sections
from neurothek.queries.neuron.foreign import NEURON_FOREIGN, foreign_sections
from neurothek.queries.neuron.logits import LEVELS, POSITION_COLUMNS, logits_frame, position_rows
from neurothek.queries.neuron.page_rows import neuron_rows
from neurothek.queries.neuron.reads import Reads, neuron_reads
from neurothek.queries.neuron.relatives import Changed, Relatives, neuron_changed, neuron_relatives
from neurothek.queries.neuron.signed_activity import SignedActivity, neuron_signed_activity
from neurothek.queries.views.labels import label_of
from neurothek.queries.views.on_corpus import on_corpus
from neurothek.queries.views.scored_texts import REMARK, titled

NEURON_PUSHED = """\
-- Which tokens a neuron helped an FFN to bring to the top for good, the most frequent first.
select
    token_id,
    token,
    n_pushes,
    n_saturations,
    push_share,
    mean_score,
    mean_centred,
from pushers
where model = $model and layer = $layer and neuron = $neuron
order by n_pushes desc, push_share desc, token_id
"""

_NEURON_ANNOTATIONS = """\
-- What people see in one neuron, concepts before none.
select concept, class, tokens, annotator, created_at,
from annotations
where model = $model and condition = 'value' and layer = $layer and neuron = $neuron and is_latest
order by concept is null, annotator, created_at, concept
"""

NEURON_EXPLANATIONS = """\
-- What one neuron is said to respond to, with every score beside its controls.
select * exclude (model, layer, neuron, address),
from explanations
where model = $model and layer = $layer and neuron = $neuron
order by created_at, pole, explainer, judge
"""

TOKEN_COLUMNS: Mapping[str, pl.DataType] = {
    "side": TEXT,
    "rank": SMALL,
    "token_id": INTEGER,
    "token": TEXT,
    "score": DOUBLE,
    "z_score": DOUBLE,
    "corpus_count": BIG,
}
DOMAIN_COLUMNS: Mapping[str, pl.DataType] = {
    "domain": TEXT,
    "n_tokens_seen": BIG,
    "n_active": BIG,
    "frequency": DOUBLE,
    "mean_activation": DOUBLE,
    "activation_min": DOUBLE,
    "activation_max": DOUBLE,
    "first_active": BIG,
}
CONTEXT_COLUMNS: Mapping[str, pl.DataType] = {
    "rank": SMALL,
    "activation": DOUBLE,
    "domain": TEXT,
    "before": TEXT,
    "token": TEXT,
    "after": TEXT,
    "writes": pl.List(TEXT),
    "sequence_id": INTEGER,
    "position": INTEGER,
}
PUSHED_COLUMNS: Mapping[str, pl.DataType] = {
    "token_id": INTEGER,
    "token": TEXT,
    "n_pushes": BIG,
    "n_saturations": BIG,
    "push_share": DOUBLE,
    "mean_score": DOUBLE,
    "mean_centred": DOUBLE,
}
SIDES: Mapping[str, str] = {"promoted": "promotes", "suppressed": "suppresses"}
SIGNED_SIDES: Mapping[str, str] = {
    "promoted": "promotes at positive activations",
    "suppressed": "promotes at negative activations",
}
"""Headings of the two lists: a neuron whose coefficient can be below 0 promotes the second one then."""

POLES = "a list is what it promotes at activations (coefficients) of that sign, and suppresses at those of the other"
_WRITTEN = 3
"""Tokens of what a neuron writes that stand beside a place."""
ANNOTATION_COLUMNS: Mapping[str, pl.DataType] = {
    "concept": TEXT,
    "class": TEXT,
    "tokens": pl.List(TEXT),
    "annotator": TEXT,
    "created_at": TIME,
}


@dataclass(frozen=True, repr=False)
class NeuronPage(TabularAnswer):
    """Everything in the warehouse about one neuron.

    Attributes:
        address: its address.
        facts: its row of the view `neurons` on the page's corpus.
        tokens: the tokens it promotes and suppresses most, with the columns of `TOKEN_COLUMNS`.
        reads: the tokens that its key reads, or its gate and its up projection, with the columns of `READ_COLUMNS` in
            `neurothek.queries.neuron.reads`, and how many contexts are at them; empty where keys were not measured.
        logits: how many tokens of the vocabulary score in each bin, with the columns of `LOGIT_COLUMNS` in
            `neurothek.queries.neuron.logits`; empty where the model was measured by a release without them.
        corpus: the corpus of `domains` and `contexts`; None before any text was measured.
        corpus_id: its number in the file.
        is_shown: whether that is the model's shown one; others may have its name.
        activation_rule: when a coefficient counted as active there; None before activity was measured.
        domains: how it fires on each domain, with the columns of `DOMAIN_COLUMNS`.
        contexts: where it fires most strongly, with the columns of `CONTEXT_COLUMNS`: `writes` are the first tokens
            that it promotes there, at an activation below 0 those at the bottom of its list.
        windows: what it does at every token around its strongest places, in a sample of the sequences in which it
            fires and at random, with the columns of `WINDOW_COLUMNS`; `place` is the index of its token.
        activation_histogram: how often its activation is of which size, with the columns of `HISTOGRAM_COLUMNS`.
        positions: how its frequency depends on the position, with the columns of `POSITION_COLUMNS`; `counts` are
            those at every position, null where the position tells almost nothing.
        triggers: which n-grams it fires on, and whether it is a detector of them.
        pushed: the tokens it helped its FFN to bring to the top for good, with the columns of `PUSHED_COLUMNS`.
        relatives: similar neurons: its cluster, its nearest neighbours, and its counterparts in other models.
        changed: what turning it off, alone or with others, did to the loss.
        poles: what it does at coefficients above and below 0, in a gated model.
        label: what was measured of it in one line, as in the view `neuron_labels`; None where nothing was.
        annotations: the concepts that people name in its tokens, with the columns of `ANNOTATION_COLUMNS`; a null
            concept says that an annotator finds none.
        explanations: what people and language models say that it responds to: its rows of the view `explanations`, with
            every score and its controls; no columns where nobody explained it.
        foreign: what other people's catalogs say of it, and how far their lists agree with ours; no columns where there
            is none.
        unmeasured: what was not measured for its model on the corpus that was asked for.
        positions_are_strong: whether `positions` tells of strong activations at its pole alone.
        limit: how many tokens of a side the page shows; `tokens` has all.
        special_tokens: texts of tokens in its contexts that stand for no text.
        show_all: whether it also shows neurons of other models that are no more similar than random vectors.
        is_signed: whether its coefficients can be as strong below 0 as above it.
        has_exact_zeros: whether its coefficient can be exactly 0, so that there are texts on which it does not fire.
    """

    address: str
    facts: Mapping[str, Any]
    tokens: pl.DataFrame
    reads: Reads
    logits: pl.DataFrame
    corpus: str | None
    corpus_id: int | None
    is_shown: bool
    activation_rule: str | None
    domains: pl.DataFrame
    contexts: pl.DataFrame
    windows: pl.DataFrame
    activation_histogram: pl.DataFrame
    positions: pl.DataFrame
    triggers: Triggers
    pushed: pl.DataFrame
    relatives: Relatives
    changed: Changed
    annotations: pl.DataFrame
    poles: SignedActivity
    explanations: pl.DataFrame
    foreign: pl.DataFrame
    label: str | None = None
    unmeasured: tuple[Unmeasured, ...] = ()
    positions_are_strong: bool = False
    limit: int = 10
    special_tokens: Sequence[str] = ()
    show_all: bool = False
    is_signed: bool = False
    has_exact_zeros: bool = True

    def names_writing(self, places: pl.DataFrame) -> bool:
        """Whether what it writes stands beside these places: a small activation below 0 writes the other list, too."""
        return self.is_signed or bool((places["activation"] < 0).any())

    @property
    def sides(self) -> Mapping[str, str]:
        """The heading of each list of tokens."""
        return SIGNED_SIDES if self.is_signed else SIDES

    @property
    def summary(self) -> str:
        """Where it lies and whether it fires, in a few sentences."""
        facts = self.facts
        place = f"{self.address}: layer {facts['layer']} of {facts['model']}, depth {facts['depth']:.2f}"
        norm = "" if facts["value_norm"] is None else f", value norm {facts['value_norm']:.3g}"
        sentences = (
            f"{place}{norm}.",
            self._firing(),
            self.poles.sentence(),
            self.extremes,
            self._at_bos(),
            fact_sentences.bound(facts),
            fact_sentences.position(facts),
            self.triggers.sentence(),
            self._without_texts(),
        )
        lacking = " ".join(f"{str(one)[:1].upper()}{str(one)[1:]}." for one in self.unmeasured)
        relatives = f"{self.relatives.sentence()} {self.relatives.universal()}".strip()
        more = (
            self.reads.sentence(),
            fact_sentences.input_score(facts),
            fact_sentences.building(facts),
            fact_sentences.massive(facts),
            self.changed.sentence(),
            fact_sentences.turned_up(facts),
            relatives,
            lacking,
        )
        return " ".join(part for part in (*sentences, *more) if part)

    def _without_texts(self) -> str:
        """That its contexts stayed at home, where it has some: they were looked for, and it is active."""
        is_active = bool(self.domains.get_column("n_active").sum())
        if not is_active or self.activation_histogram.is_empty():
            return ""
        if not (self.contexts.is_empty() and self.windows.is_empty() and self.poles.contexts.is_empty()):
            return ""
        return "Its contexts are not here: they are text, and it was published without texts."

    def _firing(self) -> str:
        if self.corpus is None:
            return "It has not been measured on text yet."
        n_seen, n_active = (int(self.domains.get_column(name).sum()) for name in ("n_tokens_seen", "n_active"))
        if not n_seen:
            return f"Its activity on {spoken_corpus(self.corpus)} was not measured."
        rule = "" if self.activation_rule in (None, "m != 0") else f" ({self.activation_rule})"
        share = f"{100 * n_active / n_seen:.3g}%"
        tokens = f"the {n_seen:,} tokens of {spoken_corpus(self.corpus)}"
        if self.activation_rule == "gate > 0":
            return f"Its gate is open at {n_active:,} of {tokens} ({share})."
        if n_active:
            return f"Active{rule} at {n_active:,} of {tokens} ({share})."
        word = "Never active" if self.facts["is_dead"] is None else "Dead: never active"
        return f"{word}{rule} on {tokens}."

    @property
    def extremes(self) -> str:
        """The smallest and the largest activation and what it promotes there; nothing if none is below 0."""
        least = self.domains.get_column("activation_min").min()
        most = self.domains.get_column("activation_max").max()
        if not isinstance(least, float) or not isinstance(most, float) or least >= 0:
            return ""
        return f"Its activations range from {self._written(least)} to {self._written(most).removesuffix(',')}."

    def _written(self, activation: float) -> str:
        tokens = quoted_list((written_at(activation, self.facts) or ())[:_WRITTEN])
        return f"{activation:.3g}{f', where it promotes {tokens},' if tokens and activation else ''}"

    def _at_bos(self) -> str:
        if self.facts["fires_only_at_bos"]:
            fires = "It fires" if self.has_exact_zeros else "It is active"
            return f"{fires} at the prepended BOS, which is not counted."
        return ""

    def sections(self) -> list[Section]:
        """The page's tables."""
        columns = ("rank", "token", "score", "z_score", "corpus_count")
        remark = POLES if self.is_signed else ""
        sides = self.reads.sections(self.limit) + [
            first_of(title, self.tokens.filter(pl.col("side") == side).select(columns), self.limit, remark)
            for side, title in self.sides.items()
        ]
        sides += [*self._concepts(), *self._explanations(), *foreign_sections(self.foreign)]
        if self.corpus is None:
            return [*sides, *self.relatives.sections(self.limit, show_all=self.show_all)]
        written = [pl.col("writes").list.head(_WRITTEN)] if self.names_writing(self.contexts) else []
        contexts = self.contexts.select("activation", "domain", "before", "token", "after", *written)
        strongest = f"strongest contexts in {self.corpus}"
        return [
            *self.poles.sections(self.corpus),
            *sides,
            Section(f"activity on {self.corpus}", self.domains, self._counted()),
            *self._profiles(),
            *self.triggers.sections(self.corpus, self.limit),
            *self._pushes(),
            *self.changed.sections(),
            *([] if self.poles.has_contexts or contexts.is_empty() else [Section(strongest, contexts)]),
            *window_sections(
                self.windows,
                self.corpus,
                is_signed=self.names_writing(self.windows),
                has_exact_zeros=self.has_exact_zeros,
            ),
            *self.relatives.sections(self.limit, show_all=self.show_all),
        ]

    def _counted(self) -> str:
        """When it counts as active, where that is not at every activation that is not 0."""
        if self.activation_rule in (None, "m != 0"):
            return ""
        if self.activation_rule == "gate > 0":
            return "n_active, frequency: where its gate is open"
        return f"n_active, frequency: where {self.activation_rule}"

    def _concepts(self) -> list[Section]:
        if self.annotations.is_empty():
            return []
        table = self.annotations.select(pl.col("concept").fill_null("(none)"), "class", "tokens", "annotator")
        where = " at positive activations" if self.is_signed else ""
        return [Section(f"concepts that people named in what it promotes{where}", table)]

    def _explanations(self) -> list[Section]:
        return [
            Section(title, scores, REMARK if number == self.explanations.height else "")
            for number, (title, scores) in enumerate(titled(self.explanations), start=1)
        ]

    def _pushes(self) -> list[Section]:
        if self.pushed.is_empty():
            return []
        table = self.pushed.select(pl.exclude("token_id"))
        remark = (
            "n_saturations: examples in which an FFN brought the token to the top for good; n_pushes: those where this"
            " neuron was among the dominant ones and raised its score above the mean token's; mean_centred: how far"
        )
        return [first_of(f"tokens it brought to the top in {self.corpus}", table, self.limit, remark)]

    def _profiles(self) -> list[Section]:
        if self.positions.is_empty():
            return []
        row = self.positions.row(0, named=True)
        table = self.positions.select(
            "domain", "n_sequences", pl.col("mutual_information_corrected").alias("nats"), "profile"
        )
        counted = "how often it is strong at its pole," if self.positions_are_strong else "frequency"
        remark = (
            f"profile: {counted} from 0 ({LEVELS[0]}) to 1 ({LEVELS[-1]}) over positions {row['first_position']} to"
            f" {row['last_position']}; nats: mutual information corrected for chance"
        )
        return [Section(f"positions in {self.corpus}", table, remark)]

    def data(self) -> dict[str, Any]:
        """The page for programs: its frames, and `neuron`, its row of the view `neurons`."""
        return {
            "tokens": self.tokens,
            "reads": self.reads.tokens,
            "logits": self.logits,
            "neuron": dict(self.facts) | {"label": self.label},
            "domains": self.domains,
            "positions": self.positions,
            "triggers": self.triggers.ngrams,
            "detection": self.triggers.detection,
            "suppression": self.triggers.suppression,
            "contexts": self.contexts,
            "windows": self.windows,
            "activation_histogram": self.activation_histogram,
            "poles": self.poles.poles,
            "gate_cases": self.poles.cases,
            "pole_contexts": self.poles.contexts,
            "pushed": self.pushed,
            "effect": self.changed.alone,
            "interventions": self.changed.together,
            "cluster": self.relatives.cluster,
            "mates": self.relatives.mates,
            "neighbours": self.relatives.neighbours,
            "counterparts": self.relatives.counterparts,
            "compared": self.relatives.compared,
            "universality": self.relatives.universality,
            **({"below_chance": self.relatives.below_chance} if self.show_all else {}),
            "annotations": self.annotations,
            "explanations": self.explanations,
            "foreign": self.foreign,
        }


@with_its_sql
def neuron_page(
    connection: duckdb.DuckDBPyConnection,
    address: str | NeuronAddress,
    *,
    corpus: str | None = None,
    limit: int = 10,
    show_all: bool = False,
    corpora: Sequence[MeasuredCorpus] | None = None,
) -> NeuronPage:
    """Everything about the neuron at `address`, on the model's shown corpus or on the one asked for.

    Args:
        connection: a reader.
        address: the neuron, by its address or as `find_neuron` found it.
        corpus: name of a corpus; None: the shown one.
        limit: how many tokens of a side are shown.
        show_all: whether neurons of other models that are no more similar than random vectors are shown too.
        corpora: those that its model was measured on, where somebody asked for them before.
    """
    neuron = find_neuron(connection, address) if isinstance(address, str) else address
    with on_corpus(connection, [neuron.model], corpus) as prepared:
        page = _page(connection, prepared, neuron, corpus, corpora)
    return replace(page, limit=limit, show_all=show_all)


def _page(
    connection: duckdb.DuckDBPyConnection,
    prepared: duckdb.DuckDBPyConnection,
    neuron: NeuronAddress,
    corpus: str | None,
    corpora: Sequence[MeasuredCorpus] | None,
) -> NeuronPage:
    rows = neuron_rows(connection, neuron, corpus, prepared, corpora)
    named = {"model": neuron.model, "layer": neuron.layer, "neuron": neuron.neuron}
    has = {row["name"] for row in rows.of["has"]}
    return NeuronPage(
        address=str(neuron),
        facts=rows.facts,
        tokens=framed(with_texts(rows.tokens, rows.texts, rows.counts), TOKEN_COLUMNS),
        reads=neuron_reads(rows.of["reads"], rows.of["contexts"], rows.texts, rows.counts),
        logits=logits_frame(rows.of["lists"]),
        corpus=None if rows.measured is None else rows.measured.corpus,
        corpus_id=None if rows.measured is None else rows.measured.corpus_id,
        is_shown=rows.is_shown,
        activation_rule=None if rows.measured is None else rows.measured.activation_rule,
        domains=framed(_in_order(rows.of["domains"], "domain"), DOMAIN_COLUMNS),
        contexts=framed(
            [
                row | {"writes": written_at(row["activation"], rows.facts)}
                for row in spelled(_in_order(rows.of["contexts"], "rank"), rows.texts)
            ],
            CONTEXT_COLUMNS,
        ),
        windows=windows_frame(rows.of["windows"], rows.texts, rows.facts),
        activation_histogram=histogram_frame(rows.of["histogram"]),
        positions=framed(position_rows(rows), POSITION_COLUMNS),
        positions_are_strong=any(row["counts_strong"] for row in rows.of["positions"]),
        triggers=neuron_triggers(prepared, neuron, rows, has),
        pushed=_pushed(prepared, named, rows.facts),
        relatives=neuron_relatives(connection, named, rows.facts, has),
        changed=neuron_changed(prepared, neuron, rows.facts, has),
        annotations=_annotations(connection, named, has),
        explanations=(frame_of(connection, NEURON_EXPLANATIONS, named) if "explanations" in has else pl.DataFrame()),
        foreign=frame_of(prepared, NEURON_FOREIGN, named) if "foreign" in has else pl.DataFrame(),
        poles=neuron_signed_activity(
            rows.of,
            spelled(rows.of["pole_contexts"], rows.texts),
            rows.facts,
            sum(row["n_tokens_seen"] for row in rows.of["domains"]),
        ),
        label=label_of(rows.facts),
        special_tokens=rows.special,
        is_signed=neuron.of.is_signed,
        has_exact_zeros=neuron.of.has_exact_zeros,
        unmeasured=() if corpus is None else tuple(unmeasured(prepared, [neuron.model], corpus, OF_NEURON)),
    )


def _annotations(
    connection: duckdb.DuckDBPyConnection, parameters: Mapping[str, Any], has: Collection[str]
) -> pl.DataFrame:
    rows = records(connection, _NEURON_ANNOTATIONS, parameters) if "annotations" in has else []
    return framed(rows, ANNOTATION_COLUMNS)


def _pushed(
    connection: duckdb.DuckDBPyConnection, parameters: Mapping[str, Any], facts: Mapping[str, Any]
) -> pl.DataFrame:
    # The view reads every saturation of the model: most neurons have no part in any.
    rows = records(connection, NEURON_PUSHED, parameters) if facts["times_saturating"] else []
    return framed(rows, PUSHED_COLUMNS)


def _in_order(rows: Sequence[Row], *columns: str) -> list[Row]:
    """The rows by these columns: DuckDB takes milliseconds to put a handful in order."""
    return sorted(rows, key=lambda row: tuple(row[name] for name in columns))
