"""How well coherence tells neurons from random vectors, and what the final norm changes, as blocks of findings.md."""

from neurothek import Neurothek

_SEPARATION = """
    select
        model,
        sum(n_neurons)::bigint as n,
        sum(n_neurons * separation) / sum(n_neurons) as separation,
        min(separation) as least,
        max(separation) as most,
        sum(n_neurons * share_above_95) / sum(n_neurons) as above
    from coherence_separation
    group by model
    order by model
"""
_UPDATES = """
    select
        models.name as model,
        count(*) as n,
        avg(coherence_percentile) / 100 as separation,
        avg(case when coherence_percentile > 95 then 1 else 0 end) as above
    from store.control_coherences as found
    inner join store.models as models on models.model_id = found.model_id
    where kind = 'ffn_update' and coherence_percentile is not null
    group by models.name
    order by models.name
"""
_OVERLAP = """
    select model, kind, avg(norm_overlap) as whole, avg(norm_overlap_without_bias) as unbiased, sum(n)::bigint as n
    from norm_overlap
    group by model, kind
    order by model, kind desc
"""


def coherence(opened: Neurothek) -> str:
    """Separation of each model's neurons from its random vectors, over all layers and in the extreme ones."""
    lines = [
        "| model | neurons | separation | lowest layer | highest layer | above 95% of random |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in opened.sql(_SEPARATION).to_dicts():
        numbers = " | ".join(f"{row[name]:.3f}" for name in ("separation", "least", "most"))
        lines.append(f"| {row['model']} | {row['n']:,} | {numbers} | {100 * row['above']:.1f}% |")
    return "\n".join(lines)


def update_coherence(opened: Neurothek) -> str:
    """The same of whole FFN outputs at the ends of examples."""
    lines = ["| model | FFN updates | separation | above 95% of random |", "|---|---:|---:|---:|"]
    for row in opened.sql(_UPDATES).to_dicts():
        lines.append(f"| {row['model']} | {row['n']:,} | {row['separation']:.3f} | {100 * row['above']:.1f}% |")
    return "\n".join(lines)


def norm_overlap(opened: Neurothek) -> str:
    """Overlap of the top 30 tokens with and without the final norm, means over layers."""
    lines = ["| model | vectors | n | with the norm | without its bias |", "|---|---|---:|---:|---:|"]
    for row in opened.sql(_OVERLAP).to_dicts():
        kind = {"value": "neurons", "random": "random"}[row["kind"]]
        numbers = " | ".join("" if row[name] is None else f"{row[name]:.3f}" for name in ("whole", "unbiased"))
        lines.append(f"| {row['model']} | {kind} | {row['n']:,} | {numbers} |")
    return "\n".join(lines)
