"""Progress: whoever watches is one by what it can do, and who shows nothing does nothing."""

import pytest

from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.terminal.console import ConsoleProgress


class Half:
    """Hears how work begins, and no more."""

    def start(self, label: str, total: int) -> None:
        raise AssertionError(label)


def test_a_watcher_is_known_by_what_it_can_do() -> None:
    assert isinstance(Silent(), Progress)
    with ConsoleProgress.bars() as bars:
        assert isinstance(ConsoleProgress(bars), Progress)
    assert not isinstance(Half(), Progress)
    assert not isinstance(None, Progress)


def test_the_silent_watcher_takes_steps_in_any_order(capsys: pytest.CaptureFixture[str]) -> None:
    silent = Silent()
    silent.advance(3, "a note")
    silent.finish()
    silent.start("work", 0)
    silent.start("other work", -1)
    silent.finish()
    assert capsys.readouterr() == ("", "")
