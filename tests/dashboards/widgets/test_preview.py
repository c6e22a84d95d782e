"""Pictures of what a page would show: one for each page that may have no data, small, and shown where data lack."""

from pathlib import Path

import pytest
from PIL import Image

from neurothek.dashboards.shell.navigation import NEEDS
from neurothek.dashboards.widgets.page import CAPTION, FOLDER
from tests.dashboards.conftest import Opener


def test_every_page_that_may_lack_data_has_a_picture() -> None:
    assert {file.stem for file in FOLDER.glob("*.webp")} == set(NEEDS)


def test_a_picture_is_small(subtests: pytest.Subtests) -> None:
    for name in NEEDS:
        with subtests.test(name=name):
            path = FOLDER / f"{name}.webp"
            assert path.stat().st_size < 80_000
            with Image.open(path) as picture:
                assert picture.width == 900


@pytest.mark.parametrize("name", NEEDS)
def test_where_nothing_was_measured_the_picture_is_shown(page: Opener, weights_path: Path, name: str) -> None:
    opened = page(weights_path, name)
    assert not opened.exception
    assert CAPTION in [caption.value for caption in opened.caption]
    assert opened.code


@pytest.mark.parametrize("name", NEEDS)
def test_where_it_was_measured_it_is_not(page: Opener, whole_path: Path, name: str) -> None:
    opened = page(whole_path, name, model="tiny-2m")
    assert not opened.exception
    assert CAPTION not in [caption.value for caption in opened.caption]
