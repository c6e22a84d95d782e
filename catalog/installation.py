"""Which distribution of the package is installed: all of it, or the reader, which answers questions alone."""

from neurothek.catalog.problems import Unavailable

READER = "neurothek-reader"

_ALL = "`pip install neurothek` brings all that measures, runs models and draws"

_HINTS = {"pyarrow": f"{_ALL}, and `pip install '{READER}[export]'` what files of Parquet take"}
"""What an extra of the reader installs -> the two ways to it."""


def left_out(error: ImportError) -> Unavailable | None:
    """What is wrong where a library is missing that the reader leaves out; None where anything else is."""
    name = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or name == "neurothek":
        return None
    if not is_reader():
        return None
    return Unavailable(
        f"this needs {name}, which {READER} leaves out",
        _HINTS.get(name, _ALL),
        what="module",
        name=name,
        why=f"{READER} is installed",
    )


def is_reader() -> bool:
    """Whether what is installed is the reader."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - after something went wrong

    try:
        distribution(READER)
    except PackageNotFoundError:
        return False
    return True
