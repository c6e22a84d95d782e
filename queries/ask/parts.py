"""Statements with parts: some are written once a value and joined by `union all`, some only where they are needed.

Of one token that a query names DuckDB reads the few groups of rows that hold it, in half the time that it takes to join
a list of one. Of many at once it reads every row from the first to the last, unless they come as a list to join with:
then it looks for each, as long as they are no more than `neurothek.catalog.store.duckdb_settings.MOST_SOUGHT`.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

_PART = re.compile(r"/\* for each (\w+) \*/\n(.*?)\n */\* end \*/", re.DOTALL)

_CONDITIONAL = re.compile(r" */\* where ([a-z ]+) \*/\n(.*?) */\* end of \1 \*/\n", re.DOTALL)

_CONDITION = re.compile(r"/\* where ([a-z ]+) \*/")

_FEW = 2
"""From three tokens on a list is faster, on 574 million postings."""

_LIST = re.compile(r"/\* all of (\w+) \*/")


class PartUnknown(LookupError):
    """A part of a statement was named that the statement has not."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(f"the statement has no part {', '.join(map(repr, sorted(names)))}")


def repeated(text: str, values: Mapping[str, Sequence[object]]) -> tuple[str, dict[str, object]]:
    """The statement with its parts written out, and the parameters that they name.

    Args:
        text: a statement with parts between `/* for each NAME */` and `/* end */`, which name `$NAME`, or with
            `/* all of NAME */` where its values are to stand with commas between them.
        values: NAME -> its values; a part without values is asked of null, which equals nothing.
    """
    parameters: dict[str, object] = {}

    def write(match: re.Match[str]) -> str:
        name, part = match[1], match[2]
        parts = []
        for number, value in enumerate(values[name] or [None]):
            parameters[f"{name}_{number}"] = value
            parts.append(re.sub(rf"\${name}\b", f"${name}_{number}", part))
        return "\n    union all\n".join(parts)

    def enumerate_all(match: re.Match[str]) -> str:
        names = [f"{match[1]}_{number}" for number, _ in enumerate(values[match[1]] or [None])]
        parameters.update(zip(names, values[match[1]] or [None], strict=True))
        return ", ".join(f"${name}" for name in names)

    return _LIST.sub(enumerate_all, _PART.sub(write, text)), parameters


def how_many(values: Collection[object]) -> str:
    """Whether the values are better named one by one, or come as a list: the name of a part of a statement."""
    return "tokens are few" if len(values) <= _FEW else "tokens are many"


def with_parts(text: str, holding: Collection[str]) -> str:
    """The statement with those of its parts whose condition holds.

    Args:
        text: a statement with parts between lines `/* where SOMETHING */` and `/* end of SOMETHING */`; parts may
            hold parts.
        holding: what holds: the parts of everything else are left out.
    """
    unknown = set(holding).difference(_CONDITION.findall(text))
    if unknown:
        raise PartUnknown(unknown)
    return _kept(text, holding)


def _kept(text: str, holding: Collection[str]) -> str:
    return _CONDITIONAL.sub(lambda match: _kept(match[2], holding) if match[1] in holding else "", text)
