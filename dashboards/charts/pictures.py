"""Charts as picture files: drawn whole in memory, then put in place under their name."""

import io
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast, get_args

import altair as alt

from neurothek.catalog.problems import Invalid, Unreadable

Picture = Literal["png", "svg"]
Drawing = alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart | alt.ConcatChart | alt.FacetChart

FONT = "DejaVu Sans, Liberation Sans, Helvetica, Arial, sans-serif"
_PIXELS_PER_INCH = 144
"""Twice the 72 that a drawing is laid out in: sharp on a dense screen and in print."""

_NOT_IN_XML = re.compile(r"(\\\\)|\\u(?:00[01][0-9a-f]|fff[ef])|[\ufffe\uffff]")
"""In JSON, beside a backslash that stands for itself."""


def kind_of(path: Path) -> Picture:
    """The kind of picture that a file's name asks for."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in get_args(Picture):
        ending = f"ends in {path.suffix}" if path.suffix else "has no ending"
        raise Invalid(
            f"cannot tell the image format of {path}: its name {ending}", "use .png or .svg", option="path", value=path
        )
    return cast("Picture", kind)


def styled(chart: Drawing) -> Drawing:
    """The chart as it stands by itself on paper: one typeface, light lines, titles at the left."""
    styled: Drawing = (
        chart.configure(font=FONT, background="white", padding=16)
        .configure_axis(
            labelColor="#444",
            titleColor="#222",
            titleFontWeight="normal",
            gridColor="#e8e8e8",
            domainColor="#999",
            tickColor="#999",
            labelFontSize=11,
            titleFontSize=12,
        )
        .configure_view(strokeWidth=0)
        .configure_title(
            anchor="start", fontSize=15, subtitleFontSize=12, subtitleColor="#555", offset=14, subtitlePadding=6
        )
        .configure_header(labelFontSize=12, labelFontWeight="bold", labelColor="#222", title=None)
        .configure_legend(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", labelLimit=260)
        .configure_concat(spacing=36)
    )
    return styled


def save(chart: Drawing, path: Path) -> Path:
    """Write a chart as the picture its name asks for; a file of that name is replaced when the new one is whole."""
    kind = kind_of(path)
    write(drawn(chart, kind), path)
    return path


def drawn(chart: Drawing, kind: Picture) -> bytes:
    """The chart as the content of a file."""
    whole = _in_xml(styled(chart))
    if kind == "png":
        pixels = io.BytesIO()
        whole.save(pixels, format="png", ppi=_PIXELS_PER_INCH)
        return pixels.getvalue()
    text = io.StringIO()
    whole.save(text, format="svg")
    return text.getvalue().encode()


def _in_xml(chart: Drawing) -> Drawing:
    """The chart with U+FFFD for characters that XML cannot hold, at which the library that draws it would abort."""
    text = chart.to_json(validate=False)
    clean = _NOT_IN_XML.sub(lambda match: match[1] or "\N{REPLACEMENT CHARACTER}", text)
    return chart if clean == text else cast("Drawing", alt.Chart.from_json(clean))


def unwritable_figure(path: Path, why: str) -> Unreadable:
    """A place where no figure can be written."""
    return Unreadable(f"cannot write the figure {path}: {why}", "choose a writable place", path=path, why=why)


def write(content: bytes, path: Path) -> None:
    """Put a file in place when it is whole."""
    try:
        _replace(path, content)
    except OSError as error:
        raise unwritable_figure(path, error.strerror or type(error).__name__) from error


def _replace(path: Path, content: bytes) -> None:
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        # A temporary file is its owner's alone; a figure may be read like any other.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def save_all(charts: Mapping[str, Drawing], folder: Path) -> list[Path]:
    """Write charts as PNG and SVG into a folder, made where it is missing; all are drawn before any is written.

    Args:
        charts: name of the files without their ending -> chart.
        folder: where they go.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable_figure(folder, error.strerror or type(error).__name__) from error
    contents = {
        folder / f"{name}.{kind}": drawn(chart, kind) for name, chart in charts.items() for kind in get_args(Picture)
    }
    for path, content in contents.items():
        write(content, path)
    return list(contents)
