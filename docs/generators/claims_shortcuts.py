"""What linear shortcuts keep of the mini-OPT family's predictions, and which claims of Din et al. 2023 hold on it."""

from collections.abc import Iterator

from docs.generators.family import Claim, claims_table, said, short
from docs.generators.intervals import Interval, Verdict, all_of, mean
from neurothek import Neurothek

MAT, ID = "mat", "id"
ATTENTION, OTHER_PARTS = "mat_attn", ("mat_ffn", "mat_ln1_ln2")
METHODS = (MAT, ID, ATTENTION, *OTHER_PARTS)
FIXED_MAT, FIXED_ID = "fixed_mat", "fixed_id"

READINGS = """
select
    models.name as model, readings.method, readings.state, readings.sentence_id,
    case when readings.rank_in_model = 1 then 1.0 else 0.0 end as is_first, readings.surprisal
from store.shortcut_readings as readings
inner join store.models as models on models.model_id = readings.model_id
where models.family = 'mini-opt' and models.variant is null and readings.state < models.n_layers
order by models.n_parameters, readings.sentence_id
"""

QUALITY = """
select model, method, state, n, precision_1, surprisal
from shortcut_quality
inner join models using (model)
where shortcut_quality.family = 'mini-opt' and shortcut_quality.variant is null
    and shortcut_quality.state < models.n_layers
order by shortcut_quality.size, state
"""

FITS = """
select mat.model, count(*) as n, count(case when mat.r2 > id.r2 then 1 end) as n_above, min(mat.r2 - id.r2) as least
from shortcut_fit as mat
inner join shortcut_fit as id
    on id.model = mat.model and id.source_state = mat.source_state and id.target_state = mat.target_state
where mat.family = 'mini-opt' and mat.variant is null and mat.method = 'mat' and id.method = 'id'
group by mat.model, mat.size
order by mat.size
"""

SAVED = """
select distinct model, size, method, n, n_layers, layers_saved_at_95
from exit_tradeoff
where family = 'mini-opt' and variant is null
order by size, method
"""


class Readings:
    """What every method says from every state below the last, one row a validation sentence."""

    def __init__(self, warehouse: Neurothek) -> None:
        """Read them from a warehouse."""
        self.rows = warehouse.sql(READINGS)
        self.models = self.rows.get_column("model").unique(maintain_order=True).to_list()

    def differences(self, model: str, first: str, second: str, of: str) -> dict[int, Interval]:
        """State -> first method minus second, paired over sentences."""
        own = [self.rows.filter(model=model, method=method) for method in (first, second)]
        pairs = own[0].join(own[1], on=["state", "sentence_id"], suffix="_second", validate="1:1").sort("state")
        return {
            int(str(state)): mean((rows[of] - rows[f"{of}_second"]).to_list())
            for (state,), rows in pairs.group_by("state", maintain_order=True)
        }


def quality(warehouse: Neurothek) -> str:
    """precision@1 and surprisal from every state, one row a size and method, as a table in Markdown."""
    rows = warehouse.sql(QUALITY)
    deepest = int(str(rows["state"].max()))
    lines = ["| model | method | n | " + " | ".join(f"state {state}" for state in range(deepest + 1)) + " |"]
    lines.append("|---|---|---:|" + "---:|" * (deepest + 1))
    for model in rows.get_column("model").unique(maintain_order=True).to_list():
        for method in METHODS:
            own = rows.filter(model=model, method=method).to_dicts()
            cells = [f"{row['precision_1']:.3f} ({row['surprisal']:.2f})" for row in own]
            cells += [""] * (deepest + 1 - len(cells))
            lines.append(f"| {short(model)} | {method} | {own[0]['n']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def saved(warehouse: Neurothek) -> str:
    """Layers that early exits save at 95% precision, one row a size, as a table in Markdown."""
    rows = warehouse.sql(SAVED)
    methods = (MAT, ID, FIXED_MAT, FIXED_ID)
    lines = [f"| model | n | layers | {' | '.join(methods)} |", "|---|---:|---:|" + "---:|" * len(methods)]
    for model in rows.get_column("model").unique(maintain_order=True).to_list():
        own = {row["method"]: row for row in rows.filter(model=model).to_dicts()}
        found = [own[method]["layers_saved_at_95"] if method in own else None for method in methods]
        cells = " | ".join("not through 95%" if one is None else f"{one:.2f}" for one in found)
        any_one = next(iter(own.values()))
        lines.append(f"| {short(model)} | {any_one['n']:,} | {any_one['n_layers']} | {cells} |")
    return "\n".join(lines)


def table(warehouse: Neurothek) -> str:
    """The claims as a table in Markdown."""
    return "\n".join(claims_table(claims(warehouse)))


def claims(warehouse: Neurothek) -> list[Claim]:
    """All claims in the order of the paper."""
    readings = Readings(warehouse)
    return [
        _fits(warehouse),
        _at_every_state(
            readings,
            "4",
            "From every layer mat says the model's own token more often than id.",
            "precision@1 of mat minus that of id, at every state",
            pair=(MAT, ID),
            of="is_first",
        ),
        _at_every_state(
            readings,
            "4",
            "What mat says surprises the model less than what id says.",
            "surprisal of id minus that of mat, at every state",
            pair=(ID, MAT),
            of="surprisal",
        ),
        *(
            _at_every_state(
                readings,
                "6",
                f"Attention tolerates a linear map better than {part}.",
                f"precision@1 of {ATTENTION} minus that of {other}, at every state",
                pair=(ATTENTION, other),
                of="is_first",
            )
            for other, part in zip(OTHER_PARTS, ("the FFN", "the norms"), strict=True)
        ),
    ]


def _fits(warehouse: Neurothek) -> Claim:
    rows = warehouse.sql(FITS).to_dicts()
    told = (f"{short(row['model'])} {row['n_above']} of {row['n']}, least {row['least']:+.3f}" for row in rows)
    return Claim(
        "3",
        "mat tells a later state better than id does, whatever the two states.",
        "r^2 of mat above that of id for every pair of states (no interval)",
        "; ".join(told),
        "holds" if all(row["n_above"] == row["n"] for row in rows) else "does not hold",
    )


def _at_every_state(readings: Readings, section: str, text: str, rule: str, *, pair: tuple[str, str], of: str) -> Claim:
    """A claim that differences are above 0 at every state of every size."""
    verdicts: list[Verdict] = []
    told, n = [], 0
    for model in readings.models:
        found = readings.differences(model, *pair, of)
        verdicts += [one.is_positive for one in found.values()]
        n += max((one.n for one in found.values()), default=0)
        told.append(f"{short(model)} {', '.join(_shown(found))}")
    return Claim(section, text, f"{rule} (paired bootstrap)", "; ".join(told), said(all_of(verdicts), n))


def _shown(found: dict[int, Interval]) -> Iterator[str]:
    for state, one in found.items():
        yield f"{state}: {one.value:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
