"""What programs and services of others answer, as numbers: anything but a score in [0, 1] is refused."""

import json
from typing import Any, NoReturn

from ingest.interventions.scorers.errors import excerpt


class Nonsense(ValueError):
    """An answer that cannot be meant; the text says what it is, to follow what it is said of."""


def score_of(value: object) -> float | None:
    """A JSON value as a score; None if it is no number in [0, 1]. True is no number, and neither is NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def json_object(line: bytes) -> dict[str, Any]:
    """An object from JSON.

    Raises:
        Nonsense: it is none.
    """
    try:
        found = json.loads(line.decode(), parse_constant=_no_number, object_pairs_hook=_once)
    except Nonsense:
        raise
    except (ValueError, RecursionError) as error:
        raise Nonsense(f"is not JSON ({_shown(line)})") from error
    if not isinstance(found, dict):
        raise Nonsense(f"is no JSON object ({_shown(line)})")
    return found


def _no_number(constant: str) -> NoReturn:
    raise Nonsense(f"holds {constant}, which is no number")


def _once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(fields)
    if len(found) < len(fields):
        names = [name for name, _ in fields]
        twice = next(name for name in names if names.count(name) > 1)
        raise Nonsense(f"gives {excerpt(twice)!r} twice")
    return found


def _shown(line: bytes) -> str:
    return excerpt(line.decode(errors="backslashreplace").strip()) or "it is empty"
