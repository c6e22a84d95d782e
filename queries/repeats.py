"""Statements that ask the same of several values: a part is written once a value, and joined by `union all`.

Of several tokens at once DuckDB reads every row from the first token to the last; of one it reads the few groups of
rows that hold it.
"""

import re
from collections.abc import Mapping, Sequence

_PART = re.compile(r"/\* for each (\w+) \*/\n(.*?)\n */\* end \*/", re.DOTALL)


def repeated(text: str, values: Mapping[str, Sequence[object]]) -> tuple[str, dict[str, object]]:
    """The statement with its parts written out, and the parameters that they name.

    Args:
        text: a statement with parts between `/* for each NAME */` and `/* end */`, which name `$NAME`.
        values: NAME -> its values; a part without values is asked of null, which equals nothing.
    """
    parameters: dict[str, object] = {}

    def write(found: re.Match[str]) -> str:
        name, part = found[1], found[2]
        parts = []
        for number, value in enumerate(values[name] or [None]):
            parameters[f"{name}_{number}"] = value
            parts.append(re.sub(rf"\${name}\b", f"${name}_{number}", part))
        return "\n    union all\n".join(parts)

    return _PART.sub(write, text), parameters
