"""What the page of findings says of a model that people use: its controls show nothing where there is nothing."""

import random
from pathlib import Path

import polars as pl

from docs.generators import findings_real
from neurothek import Neurothek

N_CLUSTERS, N_MEMBERS = 20, 6


class Made(Neurothek):
    """A warehouse of clusters whose members share a token, or do not."""

    planted: bool

    def sql(self, query: str, *_: object, **__: object) -> pl.DataFrame:
        if "clusters_summary" in query:
            return pl.DataFrame({"n": [N_CLUSTERS], "largest": [N_MEMBERS], "middle": [6.0], "cohesion": [0.5]})
        if "from clusterings" in query:
            names = ("median_cohesion", "null_median", "null_95", "n_beyond_null", "share_beyond_null")
            return pl.DataFrame(dict(zip(names, ([0.4], [0.1], [0.2], [15], [0.75]), strict=True)))
        draw = random.Random(1)
        rows = [
            {
                "cluster_id": cluster,
                "tokens": [f"t{draw.randrange(10_000)}" for _ in range(9)] + ([f"c{cluster}"] if self.planted else []),
            }
            for cluster in range(N_CLUSTERS)
            for _ in range(N_MEMBERS)
        ]
        return pl.DataFrame(rows)


def made(*, planted: bool) -> Made:
    warehouse = Made(Path("made"))
    warehouse.planted = planted
    return warehouse


def shares(block: str) -> tuple[float, float]:
    rows = dict(line.strip("| ").split(" | ") for line in block.splitlines()[2:])
    names = ("neurons that list their cluster's most common token", "the same with members shuffled")
    return tuple(float(rows[name].rstrip("%")) for name in names)  # type: ignore[return-value]  # a pair


def test_a_planted_token_is_shared_and_with_members_shuffled_it_is_not() -> None:
    own, shuffled = shares(findings_real.clusters(made(planted=True)))
    assert own == 100.0
    assert shuffled < 40.0


def test_clusters_stand_beside_random_ones() -> None:
    block = findings_real.clusters(made(planted=True))
    assert "| what 95% of these stay below | 0.200 |\n| clusters beyond that | 15, 75% |" in block


def test_where_nothing_is_shared_shuffling_changes_nothing() -> None:
    own, shuffled = shares(findings_real.clusters(made(planted=False)))
    # Six members of a cluster: at least one in six lists what is most common.
    assert abs(own - shuffled) < 5.0
    assert own < 25.0


def test_the_page_has_every_block() -> None:
    page = (Path(__file__).parents[3] / "docs" / "findings.md").read_text("utf-8")
    for block in findings_real.BLOCKS:
        assert f"<!-- smollm2 {block.__name__} -->\n" in page
