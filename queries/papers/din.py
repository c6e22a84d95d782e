"""Din et al. 2023, Jump to Conclusions: its figures, table and claims; sentences are what is drawn again and again."""

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile

import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.queries.papers.exhibit import Claim, Exhibit, Paper, Picture, Sheet
from neurothek.queries.papers.family import Family
from neurothek.queries.papers.findings import Finding, NotApplicable, difference, in_all, signed
from neurothek.queries.papers.intervals import Interval, mean, pooled, share_difference

_CLAIMED_READINGS = """\
-- One row per validation sentence, method and state below the last: whether it says what the model says, and how much
-- that surprises the model.
select
    models.name as model,
    readings.method,
    readings.state,
    readings.sentence_id,
    case when readings.rank_in_model = 1 then 1.0 else 0.0 end as is_first,
    readings.surprisal,
from store.shortcut_readings as readings
inner join store.models as models on models.model_id = readings.model_id
inner join measured_corpora as corpora
    on corpora.model_id = readings.model_id and corpora.corpus_id = readings.corpus_id and corpora.is_shown
where list_contains($models::varchar[], models.name) and readings.state < models.n_layers
order by models.n_parameters, readings.sentence_id
"""

_CLAIMED_FITS = """\
-- For how many pairs of states of each model the least-squares map predicts the later state better than no map does.
select
    mat.model,
    count(*) as n,
    count(case when mat.r2 > id.r2 then 1 end) as n_above,
    min(mat.r2 - id.r2) as least,
from shortcut_fit as mat
inner join shortcut_fit as id
    on id.model = mat.model and id.source_state = mat.source_state and id.target_state = mat.target_state
where list_contains($models::varchar[], mat.model) and mat.method = 'mat' and id.method = 'id'
group by mat.model, mat.size
order by mat.size
"""

_CLAIMED_PLAUSIBILITY = """\
-- How many lists of a shortcut's five tokens people found plausible, from all states below the last.
select
    plausibility.model,
    plausibility.method,
    sum(plausibility.n_plausible)::bigint as n_plausible,
    sum(plausibility.n)::bigint as n,
from plausibility
inner join store.models as models on models.name = plausibility.model
where
    list_contains($models::varchar[], plausibility.model)
    and plausibility.annotator = 'all'
    and plausibility.state < models.n_layers
group by plausibility.model, plausibility.method
order by plausibility.model, plausibility.method
"""

MAT, ID = "mat", "id"
ATTENTION, OTHER_PARTS = "mat_attn", ("mat_ffn", "mat_ln1_ln2")
PART_NAMES = {"mat_attn": "attention", "mat_ffn": "FFN", "mat_ln1_ln2": "norms"}


def paired(rows: pl.DataFrame, model: str, pair: tuple[str, str], of: str) -> pl.DataFrame:
    """One row a state and sentence, in order: `apart`, the first method minus the second."""
    of_method = [rows.filter(model=model, method=method) for method in pair]
    pairs = of_method[0].join(of_method[1], on=["state", "sentence_id"], suffix="_second", validate="1:1")
    apart = (pl.col(of) - pl.col(f"{of}_second")).alias("apart")
    return pairs.select("state", "sentence_id", apart).sort("state", "sentence_id")


def by_state(pairs: pl.DataFrame) -> dict[int, Interval]:
    """State -> mean difference over sentences."""
    parts = pairs.partition_by("state", maintain_order=True)
    return {int(part["state"][0]): mean(part.get_column("apart").to_list()) for part in parts}


def over_states(pairs: pl.DataFrame) -> Interval:
    """Mean difference over all states: sentences, which all of them share, are what is drawn."""
    sentences = pairs.group_by("sentence_id").agg(pl.col("apart").mean()).sort("sentence_id")
    return mean(sentences.get_column("apart").to_list())


def _at_every_state(first: str, second: str, of: str) -> Callable[[Family], Finding]:
    """A claim that differences are above 0 at every state of every size."""

    def judge(family: Family) -> Finding:
        rows = family.query("claimed_readings", _CLAIMED_READINGS)
        parts: list[Interval] = []
        wholes, texts = [], {}
        for model in family.sizes:
            pairs = _require(paired(rows, model, (first, second), of), model, first, second)
            intervals = by_state(pairs)
            parts += intervals.values()
            wholes.append(over_states(pairs))
            texts[model] = f"state {', '.join(_state_texts(intervals))}"
        n = sum(one.n for one in wholes)
        return in_all(parts, family.side_by_side(texts), show=signed, whole=pooled(wholes), n=n)

    return judge


def _require(pairs: pl.DataFrame, model: str, *methods: str) -> pl.DataFrame:
    """Refuse a model without both methods."""
    if pairs.is_empty():
        raise NotApplicable(f"{' and '.join(methods)} were not both measured on {model}")
    return pairs


def _parts_beat(family: Family) -> Finding:
    """From some state on is up to the last one: what is said there decides, and the first of the run is told."""
    rows = family.query("claimed_readings", _CLAIMED_READINGS)
    parts, wholes, texts = [], [], {}
    for model in family.sizes:
        at_last, of_parts = [], []
        for part, name in PART_NAMES.items():
            pairs = _require(paired(rows, model, (part, "mat"), "is_first"), model, part, "mat")
            intervals = by_state(pairs)
            last = max(intervals)
            parts.append(intervals[last])
            at_last.append(pairs.filter(state=last))
            of_parts.append(f"{name} {_from(intervals)}, at {last}: {signed(intervals[last])}")
        wholes.append(over_states(pl.concat(at_last)))
        texts[model] = ", ".join(of_parts)
    n = sum(one.n for one in wholes)
    return in_all(parts, family.side_by_side(texts), show=signed, whole=pooled(wholes), n=n)


def _from(intervals: Mapping[int, Interval]) -> str:
    """The state from which on the difference is above 0."""
    run = list(takewhile(lambda state: intervals[state].is_positive == "holds", sorted(intervals, reverse=True)))
    return f"from state {run[-1]} on" if run else "from no state on"


def _state_texts(intervals: dict[int, Interval]) -> Iterator[str]:
    for state, one in intervals.items():
        yield f"{state}: {signed(one)}"


def _fits(family: Family) -> Finding:
    rows = family.query("claimed_fits", _CLAIMED_FITS).to_dicts()
    if not rows:
        raise NotApplicable("no shortcuts were fitted")
    texts = {row["model"]: f"{row['n_above']} of {row['n']}, least {row['least']:+.3f}" for row in rows}
    numbers = family.side_by_side(texts)
    return Finding("holds" if all(row["n_above"] == row["n"] for row in rows) else "does not hold", numbers)


def _plausible(family: Family) -> Finding:
    """Judgements count as independent, though the lists of one sentence are alike."""
    rows = {
        (row["model"], row["method"]): row
        for row in family.query("claimed_plausibility", _CLAIMED_PLAUSIBILITY).to_dicts()
    }
    intervals = {}
    for model in family.sizes:
        mapped, plain = (rows.get((model, method)) for method in (MAT, ID))
        if mapped is None or plain is None:
            begin = command_line("annotate", "--plausibility", model)
            raise NotApplicable(
                f"the first tokens of the shortcuts of {model} have not been judged; begin with `{begin}`"
            )
        intervals[model] = share_difference((mapped["n_plausible"], mapped["n"]), (plain["n_plausible"], plain["n"]))
    return family.in_each(intervals, difference)


def _saves(mapped: str, plain: str) -> Callable[[Family], Finding]:
    def judge(family: Family) -> Finding:
        rows = family.view("exit_tradeoff", ("model", "method", "layers_saved_at_95"), ("size", "method"))
        saved = {(model, method): layers for model, method, layers in rows.iter_rows()}
        pairs = {model: (saved.get((model, mapped)), saved.get((model, plain))) for model in family.sizes}
        numbers = family.side_by_side(
            {model: f"{_layers(with_map)} and {_layers(without)}" for model, (with_map, without) in pairs.items()}
        )
        complete = [(one, other) for one, other in pairs.values() if one is not None and other is not None]
        if len(complete) < len(pairs):
            raise NotApplicable(f"a curve does not cross 95% from below: {numbers}", "undecided")
        return Finding("holds" if all(one > other for one, other in complete) else "does not hold", numbers)

    return judge


def _layers(saved: float | None) -> str:
    return "none" if saved is None else f"{saved:.2f} layers"


_SHORTCUTS, _EXITS = ("shortcuts",), ("exits",)
_ALONG_STATES = ("method", "state")
_WHOLE = "method in ('mat', 'id')"

FIT_MAT = Picture("fit-mat", 1, "shortcuts")
FIT_ID = Picture("fit-id", 2, "shortcuts")
PRECISION = Picture("precision", 3, "shortcuts")
SURPRISAL = Picture("surprisal", 4, "shortcuts")
PARTS = Picture("parts", 5, "shortcuts")
EXITS_BY_SIZE = Picture("exits-by-size", 6, "shortcuts")
EXITS_BY_METHOD = Picture("exits-by-method", 7, "shortcuts")
PARTS_SURPRISAL = Picture("parts-surprisal", 8, "shortcuts")
PARTS_5 = Picture("parts-5", 9, "shortcuts")
PARTS_10 = Picture("parts-10", 10, "shortcuts")

_FITS = Claim(
    "3",
    "mat tells a later state better than id does, whatever the two states.",
    "r^2 of mat above that of id for every pair of states (no interval)",
    _fits,
    _SHORTCUTS,
)

EXHIBITS = (
    Exhibit(
        "Fit of mat",
        "Accuracy of each state's least-squares map to each state above it: r^2 (section 3).",
        (Sheet("shortcut_fit", ("source_state", "target_state"), "method = 'mat'", name="fit_mat"),),
        claims=(_FITS,),
        pictures=(FIT_MAT,),
    ),
    Exhibit(
        "Fit of id",
        "Accuracy of each state, as it is, for each state above it: r^2 (section 3).",
        (Sheet("shortcut_fit", ("source_state", "target_state"), "method = 'id'", name="fit_id"),),
        claims=(_FITS,),
        pictures=(FIT_ID,),
    ),
    Exhibit(
        "Precision",
        "Precision at 1, 5 and 10: how often a shortcut's first token is among the model's first ones (section 4).",
        (Sheet("shortcut_quality", _ALONG_STATES, _WHOLE, name="precision"),),
        claims=(
            Claim(
                "4",
                "From every layer mat predicts the model's own token more often than id.",
                "precision@1 of mat minus that of id, at every state (paired bootstrap)",
                _at_every_state(MAT, ID, "is_first"),
                _SHORTCUTS,
            ),
        ),
        pictures=(PRECISION,),
    ),
    Exhibit(
        "Surprisal",
        "Surprisal of a shortcut's first token under the model (section 4).",
        (Sheet("shortcut_quality", _ALONG_STATES, _WHOLE, name="surprisal"),),
        claims=(
            Claim(
                "4",
                "The predictions of mat surprise the model less than those of id.",
                "surprisal of id minus that of mat, at every state (paired bootstrap)",
                _at_every_state(ID, MAT, "surprisal"),
                _SHORTCUTS,
            ),
        ),
        pictures=(SURPRISAL,),
    ),
    Exhibit(
        "Table 1",
        "The five tokens that mat and id put first from each state, sentence by sentence.",
        (Sheet("shortcut_readings", ("sentence_id", "method", "state", "rank")),),
        remark="State 0 is the embeddings.",
    ),
    Exhibit(
        "Plausibility",
        "Share of the lists of five tokens that people find plausible, judged blind (section 4).",
        (Sheet("plausibility", (*_ALONG_STATES, "annotator")),),
        claims=(
            Claim(
                "4",
                "People find the first five tokens of mat plausible more often than those of id (85.4% against 52.8%).",
                "share of plausible lists of mat above that of id, over all states below the last, in every size"
                " (Newcombe)",
                _plausible,
                _SHORTCUTS,
            ),
        ),
        remark=f"People judge: `{command_line('annotate', '--plausibility', 'MODEL')}`.",
    ),
    Exhibit(
        "Early exit by size",
        "The cost of early exit by the confidence of mat, for models of several sizes (section 5).",
        (Sheet("exit_tradeoff", ("method", "layers_run", "parameter"), "method = 'mat'", name="exits_by_size"),),
        pictures=(EXITS_BY_SIZE,),
    ),
    Exhibit(
        "Early exit by method",
        "The cost of early exit by the confidence of mat and id, and at one state for all (section 5).",
        (Sheet("exit_tradeoff", ("method", "layers_run", "parameter"), name="exits_by_method"),),
        claims=(
            Claim(
                "5",
                "Leaving early by the confidence of mat saves more layers at 95% precision than by that of id.",
                "layers saved of mat above those of id in every size (interpolated; no interval)",
                _saves("mat", "id"),
                _EXITS,
            ),
            Claim(
                "5",
                "Leaving where mat is confident saves more than leaving at one layer.",
                "layers saved at 95% precision by confidence above those at a fixed state, in every size"
                " (interpolated; no interval)",
                _saves("mat", "fixed_mat"),
                _EXITS,
            ),
            Claim(
                "5",
                "Leaving where id is confident saves more than leaving at one layer.",
                "the same for id (interpolated; no interval)",
                _saves("id", "fixed_id"),
                _EXITS,
            ),
        ),
        pictures=(EXITS_BY_METHOD,),
    ),
    Exhibit(
        "Parts",
        "Linear maps in the place of attention, the FFN or the norms of every block above a state: precision at 1, 5"
        " and 10, and surprisal (section 6; figures 11, 34 and 35 among them, as we read the authors' plotting code).",
        (Sheet("shortcut_quality", _ALONG_STATES, "method <> 'id'", name="parts"),),
        claims=(
            Claim(
                "6",
                "From some layer on, replacing parts of the blocks predicts the model's own token more often than mat"
                " does.",
                "precision@1 of each part minus that of mat above 0 at the last state before the end, and so from"
                " some state on (paired bootstrap)",
                _parts_beat,
                _SHORTCUTS,
            ),
            *(
                Claim(
                    "6",
                    f"Attention tolerates a linear map better than {part}.",
                    f"precision@1 of {ATTENTION} minus that of {other}, at every state (paired bootstrap)",
                    _at_every_state(ATTENTION, other, "is_first"),
                    _SHORTCUTS,
                )
                for other, part in zip(OTHER_PARTS, ("the FFN", "the norms"), strict=True)
            ),
        ),
        pictures=(
            PARTS,
            PARTS_SURPRISAL,
            PARTS_5,
            PARTS_10,
        ),
    ),
)

DIN = Paper(
    "din",
    "Din et al. 2023, Jump to Conclusions: Short-Cutting Transformers With Linear Transformations",
    ("shortcuts", "exits"),
    EXHIBITS,
)
