"""What SmolLM2 shows, as blocks of findings.md: `python -m docs.generators.findings_real PATH LONGER`.

The first warehouse is that of `make real`, on which `neurothek intervene smollm2-135m --each kind --tokens 1000` was
run; in the second the same file was measured on more and shorter sequences, as findings.md says.
"""

import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import neurothek
from docs.generators.findings import PAGE, with_block
from neurothek import Neurothek
from neurothek.ingest.jobs.positions.profiles import measure_profiles
from neurothek.queries.papers.registry import PAPERS

POSITIONAL = 0.05
"""Corrected mutual information above which a neuron is positional, in nats."""

THIRDS = ("lower third", "middle third", "upper third")

_LAYERS = """
select
    poles_by_layer.layer,
    effective_frequency_05,
    median_effective_frequency,
    effective_frequency_95,
    two_sided_share,
    n_negligible,
    n_detectors,
    n_shuffled_detectors,
    n_shuffled,
    effective_neurons,
    saturated_share,
from poles_by_layer
left join detectors_by_layer using (model, layer)
left join dominant_share using (model, layer)
left join saturation_by_layer using (model, layer)
where coalesce(detectors_by_layer.n, 1) = 1
order by layer
"""
_CLASSES = """
select
    least(floor(3 * depth), 2)::int as third,
    io_class,
    sum(n_neurons)::bigint as n,
    avg(random_share) as random_share,
from input_output_by_layer
group by all
order by all
"""
_READS = """
select
    case when layer = 0 then 0 else 1 + least(floor(3 * depth), 2)::int end as part,
    reader,
    sum(n_neurons)::bigint as n,
    sum(n_neurons * read_share) / sum(n_neurons) as read_share,
    sum(n_neurons * random_share) / sum(n_neurons) as random_share,
    sum(n_neurons * other_share) / sum(n_neurons) as other_share,
    sum(n_readers)::bigint as n_readers,
from read_agreement_by_layer
group by all
order by all
"""
_MEMBERS = """
select cluster_id, case pole when 'negative' then bottom_tokens else top_tokens end as tokens
from cluster_members
where is_shown
order by cluster_id, layer, neuron
"""
_COHESION = """
select count(*) as n, max(size) as largest, median(size) as middle,
    sum(cohesion * size) filter (size > 1) / sum(size) filter (size > 1) as cohesion
from clusters_summary
where is_shown
"""
_CHANCE = """
select median_cohesion, null_median, null_95, n_beyond_null, share_beyond_null
from clusterings
where is_shown
"""
_SHORTCUTS = """
select method, state, n, precision_1, precision_1_low, precision_1_high, surprisal
from shortcut_quality
where state % 5 = 0 or state = 29
order by method, state
"""
_KINDS_OF_POSITIONS = """
select
    least(floor(3 * depth), 2)::int as third,
    sum(n_neurons)::bigint as neurons,
    sum(n_positional)::bigint as positional,
    sum(n_strong)::bigint as strong,
    sum(n_oscillatory_strong + n_oscillatory_weak)::bigint as oscillatory,
    sum(n_both_extremes_strong + n_both_extremes_weak)::bigint as both_extremes,
    sum(n_one_extreme_strong + n_one_extreme_weak)::bigint as one_extreme,
    sum(n_other_strong + n_other_weak)::bigint as other,
    max(max_mutual_information) as largest,
from positions_by_layer
group by all
order by all
"""
_PROFILES = """
select
    least(floor(3 * (positions.layer + 0.5) / models.n_layers), 2)::int as third,
    positions.n_sequences,
    positions.first_position,
    corpora.sequence_length,
    list_sum(positions.counts_64)::bigint as n_active,
from store.positions as positions
inner join store.models as models on models.model_id = positions.set_id
inner join store.corpora as corpora using (corpus_id)
where positions.domain = 'all'
order by positions.layer, positions.neuron
"""
_PAIRS = """
select
    target_state - source_state as distance,
    method,
    count(*) as n,
    median(r2) as middle,
    min(r2) as least,
    max(r2) as most,
from shortcut_fit
where target_state - source_state in (1, 2, 5, 10, 15, 20, 25, 30)
group by all
order by all
"""
_WORTH = """
select kind, n_neurons, neuron_share, effect, random_effect, random_effect_least, random_effect_most, percentile
from worth_of_kinds
order by kind
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown whose first column is text."""
    lines = [f"| {' | '.join(header)} |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def layers(warehouse: Neurothek) -> str:
    """A row a layer: sparseness, signs, kinds, and where predictions settle."""
    header = ("layer", "effective frequency", "5% to 95%", "two-sided", "negligible", "token detectors", "shuffled")
    rows = []
    for row in warehouse.sql(_LAYERS).to_dicts():
        spread = f"{row['effective_frequency_05']:.1%} to {row['effective_frequency_95']:.1%}"
        shuffled = f"{row['n_shuffled_detectors']} of {row['n_shuffled']}"
        rows.append(
            [
                str(row["layer"]),
                f"{row['median_effective_frequency']:.1%}",
                spread,
                f"{row['two_sided_share']:.0%}",
                str(row["n_negligible"]),
                str(row["n_detectors"]),
                shuffled,
                f"{row['effective_neurons']:.0f}",
                f"{row['saturated_share']:.1%}",
            ]
        )
    return table([*header, "neurons of an update", "settles here"], rows)


def classes(warehouse: Neurothek) -> str:
    """A row a class of input and output: its share in each third of the layers, beside that of random neurons."""
    found = warehouse.sql(_CLASSES)
    totals = {third: found.filter(third=third)["n"].sum() for third in range(len(THIRDS))}
    rows = []
    for name in found.get_column("io_class").unique(maintain_order=True).to_list():
        cells = [name]
        for third, total in totals.items():
            own = found.filter(third=third, io_class=name).to_dicts()
            cells.append(f"{own[0]['n'] / total:.1%} ({own[0]['random_share']:.1%})" if own else "0 (0)")
        rows.append(cells)
    return table(["class", *THIRDS], rows)


def reads(warehouse: Neurothek) -> str:
    """How often tokens that neurons read stand where they are strongest, beside two controls, by depth."""
    header = ("layers", "reader", "neurons", "read", "random keys", "other neurons' lists", "half of the contexts")
    rows = [
        [
            ("layer 0", "rest of the lower third", *THIRDS[1:])[row["part"]],
            row["reader"],
            f"{row['n']:,}",
            *(f"{row[name]:.2%}" for name in ("read_share", "random_share", "other_share")),
            f"{row['n_readers']:,}",
        ]
        for row in warehouse.sql(_READS).to_dicts()
    ]
    return table(header, rows)


def clusters(warehouse: Neurothek) -> str:
    """How many neurons list, among their first ten, the token most common in their cluster; members shuffled beside."""
    members = warehouse.sql(_MEMBERS).to_dicts()
    lists = [set(row["tokens"]) for row in members]
    shuffled = list(lists)
    random.Random(0).shuffle(shuffled)  # noqa: S311 - no secret
    (summary,) = warehouse.sql(_COHESION).to_dicts()
    (chance,) = warehouse.sql(_CHANCE).to_dicts()
    ids = [row["cluster_id"] for row in members]
    rows = [
        ["clusters", f"{summary['n']:,}"],
        ["neurons of the median cluster, of the largest", f"{summary['middle']:.0f}, {summary['largest']:,}"],
        ["mean cosine within clusters of several neurons", f"{summary['cohesion']:.3f}"],
        ["median cohesion of clusters", f"{chance['median_cohesion']:.3f}"],
        ["the same of as many random directions, linked alike", f"{chance['null_median']:.3f}"],
        ["what 95% of these stay below", f"{chance['null_95']:.3f}"],
        ["clusters beyond that", f"{chance['n_beyond_null']:,}, {chance['share_beyond_null']:.0%}"],
        ["neurons that list their cluster's most common token", f"{_shared(ids, lists):.1%}"],
        ["the same with members shuffled", f"{_shared(ids, shuffled):.1%}"],
    ]
    return table(["measure", "value"], rows)


def _shared(ids: Sequence[int], lists: Sequence[set[str]]) -> float:
    """Share of the neurons, in clusters of several, that list the token most common in their cluster."""
    sizes = Counter(ids)
    counts: dict[int, Counter[str]] = {}
    for number, tokens in zip(ids, lists, strict=True):
        counts.setdefault(number, Counter()).update(tokens)
    several = [number for number, size in sizes.items() if size > 1]
    return sum(max(counts[number].values()) for number in several) / sum(sizes[number] for number in several)


def shortcuts(warehouse: Neurothek) -> str:
    """precision@1 with its interval, and surprisal, from every fifth state."""
    found = warehouse.sql(_SHORTCUTS)
    states = sorted(set(found.get_column("state")))
    rows = [
        [method, f"{own['n'][0]:,}", *(_precision(own.filter(state=state).row(0, named=True)) for state in states)]
        for (method,), own in found.group_by("method", maintain_order=True)
    ]
    return table(["method", "n", *(f"state {state}" for state in states)], [list(map(str, row)) for row in rows])


def _precision(row: Mapping[str, Any]) -> str:
    interval = f"[{row['precision_1_low']:.2f}, {row['precision_1_high']:.2f}]"
    return f"{row['precision_1']:.2f} {interval} ({row['surprisal']:.1f})"


def worth(warehouse: Neurothek) -> str:
    """What turning a kind off costs beside random neurons of the same layers and frequency."""
    rows = [
        [
            row["kind"],
            f"{row['n_neurons']:,} ({row['neuron_share']:.2%})",
            f"{row['effect']:+.4f}",
            f"{row['random_effect']:+.4f}",
            f"{row['random_effect_least']:+.4f} to {row['random_effect_most']:+.4f}",
            f"{row['percentile']:.0f}",
        ]
        for row in warehouse.sql(_WORTH).to_dicts()
    ]
    return table(["kind", "neurons", "added loss, nats", "random sets", "least to most", "percentile"], rows)


_LEFT_OUT = ("needs another model", "does not apply", "not measured")
"""Outcomes of claims that a single model says nothing of."""


def claims(warehouse: Neurothek) -> str:
    """The claims of all papers that can be judged on one model, and how many cannot."""
    lines = ["| paper | section | claim | found | verdict |", "|---|---|---|---|---|"]
    left_out: Counter[str] = Counter()
    for name in PAPERS:
        for one in warehouse.claims(paper=name).judged:
            if one.finding.outcome in _LEFT_OUT:
                left_out[one.finding.outcome] += 1
                continue
            cells = (name, one.claim.section, one.claim.text, one.finding.numbers, f"**{one.finding.verdict}**")
            lines.append(f"| {' | '.join(cells)} |")
    another, absent, unmeasured = (left_out[outcome] for outcome in _LEFT_OUT)
    sentence = (
        f"Left out are {another} claims that need another model, {absent} that do not apply and {unmeasured} that take"
        " jobs which were not run."
    )
    return "\n".join([sentence, "", *lines])


def positions(warehouse: Neurothek) -> str:
    """Positional neurons by third of the layers, beside neurons that are as frequent and ignore the position."""
    kinds = [name for name in warehouse.sql(_KINDS_OF_POSITIONS).columns if name != "third"]
    drawn = np.random.default_rng(0)
    n_made: Counter[int] = Counter()
    for (third,), profiles in warehouse.sql(_PROFILES).group_by("third"):
        n_sequences, length = int(profiles["n_sequences"][0]), int(profiles["sequence_length"][0])
        n_positions = length - int(profiles["first_position"][0])
        shares = profiles["n_active"].to_numpy() / (n_sequences * n_positions)
        for some in np.array_split(shares, max(1, len(shares) // 1024)):
            counts = drawn.binomial(n_sequences, some[:, None], size=(len(some), n_positions))
            made = measure_profiles(counts, n_sequences, sequence_length=length).mutual_information_corrected
            n_made[int(str(third))] += int((made > POSITIONAL).sum())
    rows = [
        [
            THIRDS[row["third"]],
            *(f"{row[name]:,}" for name in kinds[:-1]),
            f"{row[kinds[-1]]:.2f}",
            f"{n_made[row['third']]:,}",
        ]
        for row in warehouse.sql(_KINDS_OF_POSITIONS).to_dicts()
    ]
    return table(["layers", *(name.replace("_", " ") for name in kinds[:-1]), "largest, nats", "made ones"], rows)


def pairs(warehouse: Neurothek) -> str:
    """r^2 of all pairs of states by how far apart they are, the median and the extremes."""
    found = warehouse.sql(_PAIRS)
    rows = []
    for (distance,), own in found.group_by("distance", maintain_order=True):
        cells = [str(distance), str(own["n"][0])]
        for method in ("id", "mat"):
            (row,) = own.filter(method=method).to_dicts()
            cells.append(f"{row['middle']:.2f} ({row['least']:.2f} to {row['most']:.2f})")
        rows.append(cells)
    return table(["blocks between", "pairs", "id", "mat"], rows)


BLOCKS = (layers, classes, reads, clusters, worth, claims)
BLOCKS_OF_LONGER = (positions, shortcuts, pairs)

if __name__ == "__main__":
    page = PAGE.read_text("utf-8")
    for path, blocks in zip(sys.argv[1:], (BLOCKS, BLOCKS_OF_LONGER), strict=True):
        opened = neurothek.open(path)
        for block in blocks:
            page = with_block(page, f"smollm2 {block.__name__}", block(opened))
    PAGE.write_text(page, "utf-8")
