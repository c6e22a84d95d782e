"""Contexts of a neuron as running text, every token shaded by the neuron's activation there."""

import html
from collections.abc import Iterable, Mapping
from typing import Any

from neurothek.catalog.spelling import readable, visible
from neurothek.dashboards.widgets.html import SHEET

_SHEET = """
<style>
.nt-windows { display: grid; grid-template-columns: max-content 1fr; gap: 0.55rem 0.8rem; font-size: 0.88rem; }
.nt-windows > div { display: contents; }
.nt-windows .nt-side { text-align: right; font-variant-numeric: tabular-nums; line-height: 1.35; }
.nt-windows .nt-side span { display: block; opacity: 0.65; max-width: 9rem; overflow: hidden; text-overflow: ellipsis; }
.nt-windows p { margin: 0; font-family: monospace; white-space: break-spaces; overflow-wrap: anywhere;
  line-height: 1.45; }
.nt-windows p span, .nt-windows p b { border-radius: 0.15rem; }
.nt-windows p b { font-weight: 700; outline: 1px solid #8a8a8a99; }
</style>
"""

_WRITTEN = 2
"""Tokens of what a neuron promotes that stand beside a window."""

_FAINTEST, _MOST_OPAQUE = 0.08, 0.6
"""Opacities of the weakest and of the strongest activation: text stays readable on both, light and dark."""


def windows_html(
    windows: Iterable[Mapping[str, Any]], *, shade: str, contrast: str, strongest: float | None = None
) -> str:
    """Windows under each other: activation, domain, and the text with every token shaded; values show on hover.

    Args:
        windows: rows with activation, domain, part, tokens, activations and place; those with writes, the tokens that
            the neuron promotes there, tell these too.
        shade: the colour of activations above 0, as #rrggbb.
        contrast: the colour of those below.
        strongest: |m| of the deepest shade, the largest of the neuron; None: the largest of these windows.
    """
    rows = list(windows)
    if strongest is None:
        strongest = max((abs(m) for row in rows for m in row["activations"]), default=0.0)
    shown = (_window(row, strongest or 1.0, shade, contrast) for row in rows)
    return f'{SHEET}{_SHEET}<div class="nt-windows">{"".join(shown)}</div>'


def _window(row: Mapping[str, Any], strongest: float, shade: str, contrast: str) -> str:
    tokens = [
        _token(token, m, f"{shade if m > 0 else contrast}{_alpha(abs(m) / strongest)}", is_place=at == row["place"])
        for at, (token, m) in enumerate(zip(row["tokens"], row["activations"], strict=True))
    ]
    below = " ".join(part for part in (row["part"], readable(row["domain"])) if part)
    written = " ".join(visible(token) for token in (row.get("writes") or ())[:_WRITTEN])
    promotes = f'<span title="what it promotes here">→ {html.escape(written)}</span>' if written else ""
    return (
        f'<div><div class="nt-side">{row["activation"]:.3g}<span>{html.escape(below)}</span>{promotes}</div>'
        f"<p>{''.join(tokens)}</p></div>"
    )


def _token(token: str, m: float, colour: str, *, is_place: bool) -> str:
    tag = "b" if is_place else "span"
    style = f' style="background: {colour}"' if m else ""
    title = html.escape(f"{visible(token)} {m:.3g}")
    return f'<{tag}{style} title="{title}">{html.escape(readable(token))}</{tag}>'


def _alpha(share: float) -> str:
    """How opaque, as the last two digits of a colour."""
    return f"{round(255 * (_FAINTEST + (_MOST_OPAQUE - _FAINTEST) * min(1.0, share))):02x}"
