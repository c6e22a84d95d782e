"""Write the figures of findings.md: `python -m docs.generators.findings PATH`.

Losses come from the models' cards, the rest from the warehouse at the path. The demo's lacks most interventions and the
shortcuts of mini-opt-5m: beside those blocks the page names the commands that the warehouse needs first.
"""

import re
import sys
from pathlib import Path

import neurothek
from docs.generators import findings_controls, findings_shortcuts
from docs.generators.claims import table
from neurothek.ingest import minis
from neurothek.queries.compare.comparison import Comparison

PAGE = Path(__file__).parents[1] / "findings.md"
_ROW = re.compile(r"^\| (\w+) \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
_SEEN = re.compile(r"([\d,]+) tokens seen")

Losses = dict[str, tuple[float, float, float]]


def held_out(name: str) -> tuple[int, Losses]:
    """Tokens seen, and domain -> held-out loss of the model, the bigram and the unigram, as the model's card says."""
    folder = minis.folder(name)
    assert folder is not None
    card = (folder / "README.md").read_text("utf-8")
    seen = _SEEN.search(card)
    assert seen is not None
    rows = _ROW.findall(card)
    losses = {domain: (float(model), float(bigram), float(unigram)) for domain, _, model, bigram, unigram in rows}
    return int(seen[1].replace(",", "")), losses


def losses() -> str:
    """The table of held-out losses, with the counting models of the same text under it."""
    found = {name: held_out(name) for name in minis.names()}
    domains = sorted(next(iter(found.values()))[1])
    lines = [f"| model | tokens seen | {' | '.join(domains)} |", "|---|---:|" + "---:|" * len(domains)]
    for name, (seen, mine) in found.items():
        lines.append(f"| {name} | {seen:,} | " + " | ".join(f"{mine[domain][0]:.3f}" for domain in domains) + " |")
    for place, control in ((1, "bigram counts"), (2, "unigram counts")):
        _, mine = found[minis.names()[0]]
        lines.append(f"| *{control}* | | " + " | ".join(f"*{mine[domain][place]:.3f}*" for domain in domains) + " |")
    return "\n".join(lines)


def activity(comparison: Comparison) -> str:
    """Dead share and mean frequency by layer, one row a model."""
    layers = comparison.layers
    deepest = int(layers["layer"].max()) + 1  # type: ignore[arg-type]  # a column of integers
    header = " | ".join(f"layer {layer}" for layer in range(deepest))
    lines = [f"| model | tokens | {header} |", "|---|---:|" + "---:|" * deepest]
    for name in comparison.models["model"]:
        mine = layers.filter(layers["model"] == name).sort("layer").to_dicts()
        cells = [f"{100 * row['dead_share']:.1f}% / {row['mean_frequency']:.2f}" for row in mine]
        cells += [""] * (deepest - len(cells))
        lines.append(f"| {name} | {mine[0]['n_tokens_seen']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_block(page: str, name: str, text: str) -> str:
    """The page with what stands between `<!-- name -->` and `<!-- end -->` replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    assert pattern.search(page), f"findings.md has no block {name}"
    return pattern.sub(lambda match: match[1] + text + match[2], page)


def with_losses() -> str:
    """The page with its losses as the cards say them now."""
    return with_block(PAGE.read_text("utf-8"), "losses", losses())


if __name__ == "__main__":
    page = with_losses()
    if len(sys.argv) > 1:
        warehouse = neurothek.open(sys.argv[1])
        page = with_block(page, "activity", activity(warehouse.compare()))
        page = with_block(page, "claims", table(warehouse, "voita"))
        page = with_block(page, "coherence", findings_controls.coherence(warehouse))
        page = with_block(page, "update coherence", findings_controls.update_coherence(warehouse))
        page = with_block(page, "concepts", findings_controls.concepts(warehouse))
        page = with_block(page, "norm overlap", findings_controls.norm_overlap(warehouse))
        page = with_block(page, "events", table(warehouse, "geva"))
        page = with_block(page, "worth of kinds", findings_controls.worth(warehouse))
        page = with_block(page, "steered", findings_controls.steered(warehouse, "mini-opt-2m"))
        page = with_block(page, "steered by domain", findings_controls.steered_by_domain(warehouse, "mini-opt-2m"))
        page = with_block(page, "steered texts", findings_controls.steered_texts(warehouse, "mini-opt-2m", "code"))
        page = with_block(page, "single neurons", findings_controls.single_neurons(warehouse))
        page = with_block(page, "shortcuts", findings_shortcuts.quality(warehouse))
        page = with_block(page, "exits", findings_shortcuts.saved(warehouse))
        page = with_block(page, "shortcut claims", table(warehouse, "din", *findings_shortcuts.FITTED))
    PAGE.write_text(page, "utf-8")
