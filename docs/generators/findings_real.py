"""What SmolLM2 shows, as blocks of findings.md: `python -m docs.generators.findings_real PATH`.

The warehouse is that of `make real`, on which `neurothek intervene smollm2-135m --each kind --tokens 1000` was run.
"""

import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import neurothek
from docs.generators.findings import PAGE, with_block
from neurothek import Neurothek
from neurothek.queries.papers.registry import PAPERS

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
    least(floor(3 * depth), 2)::int as third,
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
_SHORTCUTS = """
select method, state, n, precision_1, precision_1_low, precision_1_high, surprisal
from shortcut_quality
where state % 5 = 0 or state = 29
order by method, state
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
    """How often tokens that neurons read stand where they are strongest, beside two controls, by third."""
    header = ("layers", "reader", "neurons", "read", "random keys", "other neurons' lists", "half of the contexts")
    rows = [
        [
            THIRDS[row["third"]],
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
    ids = [row["cluster_id"] for row in members]
    rows = [
        ["clusters", f"{summary['n']:,}"],
        ["neurons of the median cluster, of the largest", f"{summary['middle']:.0f}, {summary['largest']:,}"],
        ["mean cosine within clusters of several neurons", f"{summary['cohesion']:.3f}"],
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


def claims(warehouse: Neurothek) -> str:
    """The claims of all papers that can be judged on one model, and how many cannot."""
    lines = ["| paper | section | claim | found | verdict |", "|---|---|---|---|---|"]
    left_out: Counter[str] = Counter()
    for name in PAPERS:
        for one in warehouse.claims(paper=name).judged:
            if one.finding.outcome in ("does not apply", "not measured"):
                left_out[one.finding.outcome] += 1
                continue
            cells = (name, one.claim.section, one.claim.text, one.finding.numbers, f"**{one.finding.verdict}**")
            lines.append(f"| {' | '.join(cells)} |")
    absent, unmeasured = left_out["does not apply"], left_out["not measured"]
    sentence = f"Left out are {absent} claims that do not apply and {unmeasured} that take jobs which were not run."
    return "\n".join([sentence, "", *lines])


BLOCKS = (layers, classes, reads, clusters, shortcuts, worth, claims)

if __name__ == "__main__":
    page, opened = PAGE.read_text("utf-8"), neurothek.open(sys.argv[1])
    for block in BLOCKS:
        page = with_block(page, f"smollm2 {block.__name__}", block(opened))
    PAGE.write_text(page, "utf-8")
