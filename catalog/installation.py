"""Which distribution of the package is installed: all of it, or the reader, which answers questions alone."""

from neurothek.catalog.problems import Unavailable

READER = "neurothek-reader"


def left_out(error: ImportError) -> Unavailable | None:
    """What is wrong where a library is missing that the reader leaves out; None where anything else is."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - after something went wrong

    if not isinstance(error, ModuleNotFoundError) or (error.name or "").partition(".")[0] == "neurothek":
        return None
    try:
        distribution(READER)
    except PackageNotFoundError:
        return None
    return Unavailable(
        f"this needs {error.name}, which {READER} leaves out",
        "`pip install neurothek` brings all that measures, runs models and draws",
        what="module",
        name=error.name,
        why=f"{READER} is installed",
    )
