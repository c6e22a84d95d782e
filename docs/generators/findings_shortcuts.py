"""What linear shortcuts keep of the mini-OPT family's predictions, as blocks of findings.md."""

from neurothek import Neurothek

METHODS = ("mat", "id", "mat_attn", "mat_ffn", "mat_ln1_ln2")
FITTED = ("mini-opt-0.7m", "mini-opt-2m")
"""The sizes whose shortcuts the demo fits."""

FIXED_MAT, FIXED_ID = "fixed_mat", "fixed_id"

QUALITY = """
select model, method, state, n, precision_1, surprisal
from shortcut_quality
inner join models using (model)
where shortcut_quality.family = 'mini-opt' and shortcut_quality.variant is null
    and shortcut_quality.state < models.n_layers
order by shortcut_quality.size, state
"""

SAVED = """
select distinct model, size, method, n, n_layers, layers_saved_at_95
from exit_tradeoff
where family = 'mini-opt' and variant is null
order by size, method
"""


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
            lines.append(f"| {model.removeprefix('mini-opt-')} | {method} | {own[0]['n']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def saved(warehouse: Neurothek) -> str:
    """Layers that early exits save at 95% precision, one row a size, as a table in Markdown."""
    rows = warehouse.sql(SAVED)
    methods = ("mat", "id", FIXED_MAT, FIXED_ID)
    lines = [f"| model | n | layers | {' | '.join(methods)} |", "|---|---:|---:|" + "---:|" * len(methods)]
    for model in rows.get_column("model").unique(maintain_order=True).to_list():
        own = {row["method"]: row for row in rows.filter(model=model).to_dicts()}
        found = [own[method]["layers_saved_at_95"] if method in own else None for method in methods]
        cells = " | ".join("not through 95%" if one is None else f"{one:.2f}" for one in found)
        any_one = next(iter(own.values()))
        lines.append(f"| {model.removeprefix('mini-opt-')} | {any_one['n']:,} | {any_one['n_layers']} | {cells} |")
    return "\n".join(lines)
