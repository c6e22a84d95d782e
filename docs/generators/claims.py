"""Which claims of Voita et al. 2023 hold on the mini-OPT family: each with its rule, number, interval and verdict."""

from docs.generators.claims_positions import POSITIONS
from docs.generators.claims_sparse import SPARSE
from docs.generators.family import Claim, Minis, claims_table
from neurothek import Neurothek


def claims(warehouse: Neurothek) -> list[Claim]:
    """All claims in the order of the paper."""
    minis = Minis(warehouse)
    return [judge(minis) for judge in (*SPARSE, *POSITIONS)]


def table(warehouse: Neurothek) -> str:
    """The claims as a table in Markdown, and how many of each verdict there are."""
    judged = claims(warehouse)
    words = {
        "holds": "hold",
        "does not hold": "do not hold",
        "undecided": "are undecided",
        "needs larger models": "need larger models",
    }
    counts = {kind: sum(one.verdict.startswith(kind) for one in judged) for kind in words}
    told = ", ".join(f"{n} {words[kind]}" for kind, n in counts.items() if n)
    return "\n".join([f"Of {len(judged)} claims: {told}.", "", *claims_table(judged)])
