"""Clusters, neighbours, controls and coherences of the hand-made warehouse: value vectors as angles in a plane."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Place = tuple[int, int]
"""layer, neuron."""

SECTORS = (4, 2)
"""Clusterings by quarters and by halves of the circle."""

N_NEIGHBOURS = 3

WITHOUT_RANDOM_CLUSTERS = 3
"""The model that an earlier release clustered."""

CONTROLS = {
    ("random", 0): [1, 3, 5, 7, 8],
    ("random", 1): [2, 3, 5, 7, 8],
    ("ffn_update", 0): [9, 8, 6, 3, 2],
}
"""Kind and number of every layer's controls -> the ids of their highest tokens, which both tokenizers have."""


@dataclass(frozen=True)
class Plane:
    """The neurons of one model as directions in a plane; `flat` ones have none."""

    model_id: int
    n_layers: int
    d_ffn: int
    flat: frozenset[Place] = frozenset()

    def places(self) -> list[Place]:
        """Every neuron in order."""
        return [(layer, neuron) for layer in range(self.n_layers) for neuron in range(self.d_ffn)]

    def angle(self, place: Place) -> float:
        """Degrees."""
        return float((place[0] * 100 + place[1] * 83 + self.model_id * 31) % 360)

    def cosine(self, one: Place, other: Place) -> float:
        """Of two neurons; 0 where one has no direction."""
        if self.flat & {one, other}:
            return 0.0
        return math.cos(math.radians(self.angle(one) - self.angle(other)))

    def clusters(self, sectors: int) -> list[list[Place]]:
        """Neurons of one sector, in the order of first members."""
        found: dict[int, list[Place]] = {}
        for place in self.places():
            found.setdefault(int(self.angle(place) * sectors // 360), []).append(place)
        return list(found.values())

    def clustering_ids(self) -> list[int]:
        """One for each of `SECTORS`."""
        return [len(SECTORS) * self.model_id + number for number in range(len(SECTORS))]

    def clustering_rows(self) -> Iterator[Row]:
        """Rows of `clusterings`."""
        for clustering_id, sectors in zip(self.clustering_ids(), SECTORS, strict=True):
            n_clusters = len(self.clusters(sectors))
            yield {
                "clustering_id": clustering_id,
                "model_id": self.model_id,
                "method": "exact",
                "linkage": "complete",
            } | {
                "n_clusters_asked": sectors,
                "n_clusters": n_clusters,
            }

    def cluster_rows(self) -> Iterator[Row]:
        """Rows of `clusters`."""
        for clustering_id, sectors in zip(self.clustering_ids(), SECTORS, strict=True):
            for cluster_id, members in enumerate(self.clusters(sectors)):
                for place in members:
                    yield {
                        "clustering_id": clustering_id,
                        "model_id": self.model_id,
                        "layer": place[0],
                        "neuron": place[1],
                        "cluster_id": cluster_id,
                        "centre_cosine": self.centre_cosine(place, members),
                    }

    def centre_cosine(self, place: Place, members: Sequence[Place]) -> float | None:
        """Cosine with the sum of the members' directions."""
        if place in self.flat:
            return None
        angles = [math.radians(self.angle(member)) for member in members if member not in self.flat]
        x, y = math.fsum(map(math.cos, angles)), math.fsum(map(math.sin, angles))
        mine = math.radians(self.angle(place))
        return (x * math.cos(mine) + y * math.sin(mine)) / math.hypot(x, y)

    def cluster_control_rows(self) -> Iterator[Row]:
        """Rows of `cluster_controls`, made up, beside each clustering; none of the model without them."""
        for sectors in SECTORS if self.model_id != WITHOUT_RANDOM_CLUSTERS else ():
            yield {"model_id": self.model_id, "n_clusters_asked": sectors, "n_clusters": sectors} | {
                "n_several": sectors - 1,
                "median_cohesion": 0.25,
                "p95_cohesion": 0.75,
                "max_cohesion": 0.875,
            }

    def neighbour_rows(self) -> Iterator[Row]:
        """Rows of `neighbours`."""
        for place in self.places():
            others = sorted((other for other in self.places() if other != place), key=lambda o: -self.cosine(place, o))
            for rank, other in enumerate(others[:N_NEIGHBOURS], start=1):
                yield {"model_id": self.model_id, "layer": place[0], "neuron": place[1], "rank": rank} | {
                    "other_layer": other[0],
                    "other_neuron": other[1],
                    "cosine": self.cosine(place, other),
                }

    def overlap_rows(self) -> Iterator[Row]:
        """Rows of `norm_overlaps`; odd models have no final norm."""
        for layer in range(self.n_layers):
            for n, kind in ((self.d_ffn, "value"), (500, "random")):
                known = self.model_id % 2 == 0
                yield {"model_id": self.model_id, "layer": layer, "kind": kind, "n": n} | {
                    "norm_overlap": 0.25 if known else None,
                    "norm_overlap_without_bias": 0.75 if known else None,
                }

    def control_rows(self) -> Iterator[Row]:
        """Rows of `controls`: two random vectors a layer, and one FFN update."""
        for layer in range(self.n_layers):
            for (kind, control_id), token_ids in CONTROLS.items():
                yield {
                    "model_id": self.model_id,
                    "layer": layer,
                    "kind": kind,
                    "control_id": control_id,
                    "value_norm": 1.0,
                    "score_mean": 0.5,
                    "score_sd": 2.0,
                    "score_skewness": 0.0,
                    "score_kurtosis": 0.0,
                    "score_negative_share": 0.5,
                    "top_token_ids": token_ids,
                    "top_scores": [4.5, 2.5, 2.0, 1.5, 1.0],
                    "bottom_token_ids": [4],
                    "bottom_scores": [-3.5],
                }

    def coherence_rows(self, corpus_id: int) -> Iterator[Row]:
        """Rows of `coherences`; flat neurons have none."""
        for place in self.places():
            yield {"model_id": self.model_id, "corpus_id": corpus_id, "layer": place[0], "neuron": place[1]} | (
                self.coherence(place, corpus_id)
            )

    def coherence(self, place: Place, corpus_id: int) -> Row:
        """Made-up numbers, exact in binary."""
        step = (3 * place[0] + 5 * place[1] + corpus_id) % 8
        made = {"coherence": step / 8, "coherence_z": step / 2 - 2, "coherence_percentile": 12.5 * step + 9}
        return dict.fromkeys(made) if place in self.flat else made

    def control_coherence_rows(self, corpus_id: int) -> Iterator[Row]:
        """Rows of `control_coherences`: of the first control of a layer."""
        for layer in range(self.n_layers):
            yield {"model_id": self.model_id, "corpus_id": corpus_id, "layer": layer, "kind": "random"} | {
                "control_id": 0,
                "coherence": 0.125,
                "coherence_z": 0.5,
                "coherence_percentile": 62.5 + corpus_id,
            }

    def facts(self, place: Place, corpus_id: int | None) -> Row:
        """Columns of `neuron_facts`: the clustering of most clusters, and coherence on the shown corpus."""
        best = max(range(len(SECTORS)), key=lambda number: (len(self.clusters(SECTORS[number])), number))
        for cluster_id, members in enumerate(self.clusters(SECTORS[best])):
            if place in members:
                cluster = {"clustering_id": self.clustering_ids()[best], "cluster_id": cluster_id}
                size = len(members)
        none = dict.fromkeys(("coherence", "coherence_z", "coherence_percentile"))
        return cluster | {"cluster_size": size} | (none if corpus_id is None else self.coherence(place, corpus_id))
