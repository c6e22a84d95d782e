"""Sentences of errors taken apart: what they say, and the commands that they recommend as a shell reads them."""

import re
import shlex

from neurothek.catalog.problems import NeurothekError


def sentence(error: NeurothekError) -> str:
    """The error's sentence: one line, which more can be said behind."""
    said = str(error)
    assert said == " ".join(said.split()), "one line, without gaps"
    assert not said.endswith((".", ";", ",", ":", " "))
    assert said.count("`") % 2 == 0
    return said


def commands(error: NeurothekError) -> list[list[str]]:
    """The words of each command that the sentence recommends, without `neurothek`."""
    return [shlex.split(one) for one in re.findall(r"`neurothek ([^`]*)`", sentence(error))]
