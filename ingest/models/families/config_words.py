"""Why transformers cannot build a model from a config.json, in terms of the file instead of the library."""

import re

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "NoneType": "null",
}
_FIELD = re.compile(r"Field '(?P<field>\w+)' expected (?P<expected>\w+), got (?P<got>\w+)")
_CONTRADICTION = re.compile(r"validator '\w+':\s+\w+: ([^\n]+)")


def why_refused(error: Exception) -> str | None:
    """What is wrong with a configuration, from what the library said; None for what it merely stumbled over.

    A field of a wrong type is named with what it holds and what it should hold. What the library says of values that
    contradict each other is a sentence.
    """
    said = str(error)
    found = _FIELD.findall(said)
    if found:
        field, _, got = found[0]
        needed = " or ".join(dict.fromkeys(_KINDS.get(expected, "something else") for _, expected, _ in found))
        return f"{field} is {_KINDS.get(got, 'something else')}, but should be {needed}"
    sentence = _CONTRADICTION.search(said)
    if sentence:
        return sentence[1].rstrip(".! ")
    if isinstance(error, ValueError | AssertionError | RuntimeError) and said:
        return said.splitlines()[0].rstrip(". ")
    return None
