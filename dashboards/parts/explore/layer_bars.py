"""The layers of a model under each other, each with small bars: what one compares from row to row."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from neurothek.dashboards.widgets.links import link_html

FREQUENCY_BINS_OF_LAYERS = """\
-- How the neurons that fired spread over frequencies in each layer of one model, without exact zeros over effective
-- ones: six bins per factor of ten, down to 1e-4.
with chosen as (
    select layer, case when is_dead is null then effective_frequency else frequency end as frequency,
    from neurons
    where model = $model
),
bins as (
    select
        layer,
        -- What fires less than once in 10,000 tokens is in the first bin, and at every token in the last.
        cast(greatest(least(floor(6 * log10(frequency)), -1), -24) + 24 as integer) as bin,
    from chosen
    where frequency > 0
)
select layer, bin, pow(10, (bin - 24) / 6) as frequency_from, count(*) as n_neurons,
from bins
group by layer, bin
order by layer, bin"""

N_BINS = 24
"""Bins of frequency, six per factor of ten from 1e-4 on."""


@dataclass(frozen=True)
class Bar:
    """A number of each layer that is drawn as a bar."""

    column: str  # where it stands
    title: str  # what it is, above the bars
    is_share: bool  # a part of 1, which is written in percent; else a count
    meaning: str  # what it means, on hover


BARS = (
    Bar("dead_share", "dead", True, "Never active on the tokens seen."),
    Bar("never_active_share", "never active", True, "Never active on the tokens seen."),
    Bar("negligible_share", "negligible", True, "Never 1% of the output of their FFN."),
    Bar("median_frequency", "median frequency", True, "Median frequency of the neurons that fired."),
    Bar("median_effective_frequency", "median effective frequency", True, "Half of the neurons have at most this."),
    Bar("n_detectors", "token detectors", False, "Respond to few tokens, and nearly always there."),
    Bar("n_positional", "positional", False, "Respond to the position, whatever the token."),
    Bar("saturated_share", "settled here", True, "Examples whose prediction settles in this layer."),
)

_STYLE = """
<style>
.nt-layers { display: grid; gap: 0.1rem 1.4rem; align-items: center; font-size: 0.9rem;
  font-variant-numeric: tabular-nums; }
.nt-layers > span { min-width: 0; }
.nt-layers .nt-above { opacity: 0.7; font-size: 0.85rem; }
.nt-layers .nt-bar { display: grid; grid-template-columns: 1fr 3.6rem; gap: 0.4rem; align-items: center; }
.nt-layers .nt-bar i { display: block; height: 0.7rem; min-width: 1px; border-radius: 1px; background: var(--nt-bar); }
.nt-layers .nt-bar b { font-weight: 400; text-align: right; }
.nt-layers .nt-spark { display: flex; align-items: flex-end; gap: 1px; height: 1.25rem;
  border-bottom: 1px solid #8a8a8a66; }
.nt-layers .nt-spark i { flex: 1; background: var(--nt-bar); }
@media (max-width: 900px) { .nt-layers { gap: 0.1rem 0.7rem; font-size: 0.8rem; }
  .nt-layers .nt-bar { grid-template-columns: 1fr 3rem; } }
</style>
"""


def shown_bars(layers: pl.DataFrame) -> list[Bar]:
    """The numbers that any layer has, and that are not 0, or shares below 1%, in all of them."""
    bars = [
        bar for bar in BARS if bar.column in layers.columns and _is_seen(_largest(layers.get_column(bar.column)), bar)
    ]
    left_out = _of_others(layers)
    return [bar for bar in bars if bar.column not in left_out]


def _is_seen(largest: float, bar: Bar) -> bool:
    """Whether it is worth a bar: the longest of a share of 0.1% would be as long as one of 100%."""
    return largest >= _LEAST_SHARE if bar.is_share else largest > 0


_LEAST_SHARE = 0.01


def lacks_zeros(layers: pl.DataFrame) -> bool:
    """Whether no coefficient of the model is exactly 0, so that no neuron is dead and half of the activations count.

    Args:
        layers: rows with dead_share and median_effective_frequency, as far as they are known.
    """
    return not _is_known(layers, "dead_share") and _is_known(layers, "median_effective_frequency")


def _of_others(layers: pl.DataFrame) -> set[str]:
    """Columns that say nothing of such a model, or that another one says better."""
    if lacks_zeros(layers):
        return {"never_active_share", "median_frequency"}
    # A share of neurons that never fired is called dead wherever it can be.
    silent = {"never_active_share"} if _is_known(layers, "dead_share") else set()
    return {"negligible_share", "median_effective_frequency"} | silent


def _is_known(layers: pl.DataFrame, column: str) -> bool:
    return column in layers.columns and layers.get_column(column).null_count() < layers.height


def layers_html(
    layers: pl.DataFrame, bins: pl.DataFrame, colour: str, links: Mapping[str, str], *, current: int | None = None
) -> str:
    """A row for each layer: its number, how its neurons spread over frequencies, and a bar for each number.

    Args:
        layers: rows with layer and the columns of `BARS` that are known.
        bins: rows with layer, bin and n_neurons, see `frequency_bins_of_layers`; may be empty.
        colour: of the bars.
        links: what a layer's page is asked for besides the layer.
        current: the layer that one looks at, if any.
    """
    bars = shown_bars(layers)
    most = {bar.column: _largest(layers.get_column(bar.column)) for bar in bars}
    spread = _by_layer(bins)
    above = ["layer", *(["frequencies"] if spread else []), *(bar.title for bar in bars)]
    of = "Neurons by effective frequency" if lacks_zeros(layers) else "Neurons that fired"
    titles = ["", *([f"{of}, from once in 10,000 tokens to always."] if spread else [])]
    titles += [f"{bar.meaning} Largest: {_written(most[bar.column], bar)}." for bar in bars]
    cells = [
        f'<span class="nt-above" title="{html.escape(more)}">{html.escape(title)}</span>'
        for title, more in zip(above, titles, strict=True)
    ]
    for row in layers.to_dicts():
        number = row["layer"]
        here = link_html(str(number), "layer", **links, layer=str(number))
        cells.append(f"<span><b>{here}</b></span>" if number == current else f"<span>{here}</span>")
        if spread:
            cells.append(f'<span class="nt-spark">{_spark(spread.get(number, {}))}</span>')
        cells += [_bar(row[bar.column], most[bar.column], bar) for bar in bars]
    columns = f"max-content {'minmax(5rem, 1fr) ' if spread else ''}repeat({len(bars)}, minmax(0, 1fr))"
    style = f"grid-template-columns: {columns}; --nt-bar: {colour}"
    return f'{_STYLE}<div class="nt-layers" style="{style}">{"".join(cells)}</div>'


def _bar(number: float | None, most: float, bar: Bar) -> str:
    if number is None:
        return '<span class="nt-bar"><span></span><b>-</b></span>'
    width = 100 * number / most
    drawn = f'<i style="width: {width:.1f}%"></i>' if number else "<span></span>"
    return f'<span class="nt-bar">{drawn}<b>{_written(number, bar)}</b></span>'


def _written(number: float, bar: Bar) -> str:
    return f"{number:.1%}" if bar.is_share else f"{number:,.0f}"


def _spark(counts: Mapping[int, int]) -> str:
    most = max(counts.values(), default=1)
    return "".join(f'<i style="height: {100 * counts.get(bin_, 0) / most:.0f}%"></i>' for bin_ in range(N_BINS))


def _by_layer(bins: pl.DataFrame) -> dict[int, dict[int, int]]:
    counts: dict[int, dict[int, int]] = {}
    for layer, bin_, n_neurons in bins.select("layer", "bin", "n_neurons").iter_rows():
        counts.setdefault(layer, {})[bin_] = n_neurons
    return counts


def _largest(numbers: pl.Series) -> float:
    values: Sequence[float] = numbers.drop_nulls().to_list()
    return float(max(values, default=0))
