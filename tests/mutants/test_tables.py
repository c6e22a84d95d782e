"""Every entry of the tables names what is there."""

import pytest

from tests.mutants.tables import EQUIVALENT, ROOT, equivalents, mirrors


def test_modules_and_their_tests_exist(subtests: pytest.Subtests) -> None:
    for module in mirrors():
        with subtests.test(module=module):
            files = [module, *mirrors()[module]]
            assert [file for file in files if not (ROOT / file).is_file()] == []
            assert len(files) > 1


def test_equivalent_mutants_are_of_lines_that_are_there() -> None:
    listed = equivalents()
    assert len(listed) == EQUIVALENT.read_text().count("[[mutant]]"), "a mutant is listed twice"
    for change, reason in listed.items():
        lines = [line.strip() for line in (ROOT / change.module).read_text().splitlines()]
        assert change.module in mirrors()
        assert set(change.before.splitlines()) <= set(lines), change
        assert change.after != change.before
        assert reason
