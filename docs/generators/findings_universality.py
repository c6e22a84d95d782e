"""Neurons that models share, as a block of findings.md: `python -m docs.generators.findings_universality PATH`.

In the demo's warehouse the job universality compared the pairs below, which the page names.
"""

import sys

import neurothek
from docs.generators.findings import PAGE, with_block
from docs.generators.findings_real import table
from neurothek import Neurothek

PAIRS = (
    ("mini-opt-0.7m", "mini-opt-0.7m-seed1"),
    ("mini-opt-0.7m", "mini-opt-0.7m-postnorm"),
    ("mini-opt-0.7m", "mini-opt-2m"),
    ("mini-opt-0.7m", "mini-opt-5m"),
    ("mini-opt-2m", "mini-opt-5m"),
    ("mini-opt-2m", "mini-opt-2m-nopos"),
    ("mini-opt-2m", "mini-opt-2m-step250"),
    ("mini-opt-2m", "mini-opt-2m-step1000"),
)

_OF_PAIR = """
select
    count(similarity) as n,
    count_if(similarity > 0.5) as n_above,
    count_if(null_correlation > 0.5) as n_null,
    count_if(is_universal) as n_universal,
    count_if(is_mutual) as n_mutual,
    avg(excess) as excess,
    count_if(excess > 0) as n_beyond,
from universality
where model = $model and other_model = $other
"""
_BY_LAYER = """
select layer, mean_excess, mean_excess_low, mean_excess_high
from universality_by_layer where model = $model and other_model = $other order by layer
"""


def universality(warehouse: Neurothek) -> str:
    """A row a pair and side: how many neurons the other has too, with a rotated basis too, and the excess by layer."""
    rows = []
    for pair in PAIRS:
        for model, other in (pair, pair[::-1]):
            values = {"model": model, "other": other}
            (it,) = warehouse.sql(_OF_PAIR, values).to_dicts()
            layers = warehouse.sql(_BY_LAYER, values)["mean_excess"].to_list()
            rows.append(
                [
                    f"{model} in {other}",
                    f"{it['n']:,}",
                    f"{it['n_above'] / it['n']:.1%}",
                    f"{it['n_null'] / it['n']:.1%}",
                    f"{it['n_beyond'] / it['n']:.1%}",
                    f"{it['n_universal']:,}",
                    f"{it['n_mutual'] / it['n']:.1%}",
                    f"{it['excess']:.3f}",
                    ", ".join(f"{excess:.2f}" for excess in layers),
                ]
            )
    header = (
        *("neurons of A in B", "neurons", "above 0.5", "rotated above 0.5", "excess above 0", "universal", "mutual"),
        *("mean excess", "by layer"),
    )
    return table(header, rows)


if __name__ == "__main__":
    page = with_block(PAGE.read_text("utf-8"), "universality", universality(neurothek.open(sys.argv[1])))
    PAGE.write_text(page, "utf-8")
