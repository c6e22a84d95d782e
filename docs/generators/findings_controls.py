"""What is judged beside random vectors or random neurons, as blocks of findings.md."""

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
_WORTH = """
    select model, kind, n_neurons, neuron_share, effect, random_effect, random_effect_least, random_effect_most,
        percentile, worth
    from worth_of_kinds
    order by size, model, kind
"""
_BY_DOMAIN = """
    select asked, domain, sum(steering.effect * steering.n_tokens) / sum(steering.n_tokens) as effect,
        sum(steering.random_effect * steering.n_tokens) / sum(steering.n_tokens) as random_effect
    from steering
    inner join interventions using (model, intervention)
    where model = $model and starts_with(intervention, 'promote')
    group by asked, domain
    order by asked, domain
"""
_OF_TOKENS = """
    select asked, n_neurons, effect, random_effect, random_effect_most, percentile, mass_promoted_untouched,
        mass_promoted
    from interventions
    where model = $model and starts_with(intervention, 'promote')
    order by asked
"""
_SHARES = """
    select intervention, method, n_continuations, share, share_low, share_high, share_least, share_most, percentile
    from attribute_shares
    where model = $model and attribute = $attribute
    order by intervention, case method
        when 'untouched' then 0 when 'changed' then 1 when 'random' then 2 when 'word_filter' then 3 else 4
    end
"""
_SINGLE = """
    select
        model,
        count(*) as n,
        avg(case when effect_on_loss > 0 then 1 else 0 end) as harmful,
        median(effect_on_loss) as median,
        quantile_cont(effect_on_loss, 0.99) as high,
        max(effect_on_loss) as most,
        arg_max(address, effect_on_loss) as address
    from neuron_effects
    group by model
    order by model
"""

_CONCEPTS = """
    select *
    from concept_share
    inner join models using (model)
    where annotator = 'rules' and models.variant is null
    order by models.size, condition desc
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


def worth(opened: Neurothek) -> str:
    """What turning off each kind of neurons adds to the loss, beside random sets."""
    lines = [
        "| model | kind | neurons | of all | effect | random: mean (least to most) | percentile | worth |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in opened.sql(_WORTH).to_dicts():
        others = f"{row['random_effect']:.4f} ({row['random_effect_least']:.4f} to {row['random_effect_most']:.4f})"
        lines.append(
            f"| {row['model'].removeprefix('mini-opt-')} | {row['kind']} | {row['n_neurons']:,} |"
            f" {100 * row['neuron_share']:.1f}% | {row['effect']:.4f} | {others} | {_of_sets(row['percentile'])} |"
            f" {row['worth']:.4f} |"
        )
    return "\n".join(lines)


def steered(opened: Neurothek, model: str) -> str:
    """What turning neurons of some words on does to the loss, and to the tokens that they promote."""
    lines = [
        "| neurons | effect | random: mean (most) | percentile | probability of their tokens |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in opened.sql(_OF_TOKENS, {"model": model}).to_dicts():
        before, after = (100 * row[name] for name in ("mass_promoted_untouched", "mass_promoted"))
        lines.append(
            f"| {row['n_neurons']} that {row['asked']} | {row['effect']:.3f} | {row['random_effect']:.3f}"
            f" ({row['random_effect_most']:.3f}) | {_of_sets(row['percentile'])} | {before:.1f}% to {after:.1f}% |"
        )
    return "\n".join(lines)


def steered_by_domain(opened: Neurothek, model: str) -> str:
    """The same effects by domain."""
    lines = ["| neurons | domain | effect | random mean |", "|---|---|---:|---:|"]
    for row in opened.sql(_BY_DOMAIN, {"model": model}).to_dicts():
        lines.append(f"| {row['asked']} | {row['domain']} | {row['effect']:.3f} | {row['random_effect']:.3f} |")
    return "\n".join(lines)


def steered_texts(opened: Neurothek, model: str, attribute: str) -> str:
    """How many continuations have an attribute, by each method."""
    lines = [
        "| intervention | method | share | 95%, or least to most | percentile | texts |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in opened.sql(_SHARES, {"model": model, "attribute": attribute}).to_dicts():
        ends = ("share_least", "share_most") if row["method"] == "random" else ("share_low", "share_high")
        low, high = (100 * row[name] for name in ends)
        lines.append(
            f"| {row['intervention']} | {row['method'].replace('_', ' ')} | {100 * row['share']:.1f}% |"
            f" {low:.1f}% to {high:.1f}% | {_of_sets(row['percentile'])} | {row['n_continuations']:,} |"
        )
    return "\n".join(lines)


def single_neurons(opened: Neurothek) -> str:
    """What turning off single neurons adds to the loss: the median, the hundredth, the largest."""
    lines = [
        "| model | neurons | effect above 0 | median | 99% are below | largest | neuron |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in opened.sql(_SINGLE).to_dicts():
        lines.append(
            f"| {row['model']} | {row['n']:,} | {100 * row['harmful']:.0f}% | {row['median']:.5f} | {row['high']:.4f} |"
            f" {row['most']:.4f} | {row['address']} |"
        )
    return "\n".join(lines)


def concepts(opened: Neurothek) -> str:
    """What the rules of `annotate --auto` find in neurons, random vectors and FFN updates, with 95% intervals."""
    lines = [
        "| model | vectors | n | with a concept | tokens of a concept | without stop words and punctuation |",
        "|---|---|---:|---:|---:|---:|",
    ]
    kinds = {"value": "neurons", "random": "random", "ffn_update": "FFN updates"}
    for row in opened.sql(_CONCEPTS).to_dicts():
        cells = [
            f"{100 * row[name]:.1f}% [{100 * row[f'{name}_low']:.1f}, {100 * row[f'{name}_high']:.1f}]"
            for name in ("with_concept_share", "token_share", "token_share_without_stopwords")
        ]
        lines.append(f"| {row['model']} | {kinds[row['condition']]} | {row['n_vectors']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _of_sets(percentile: float | None) -> str:
    """A percentile among random sets; empty where there were too few of them."""
    return "" if percentile is None else f"{percentile:.0f}"
