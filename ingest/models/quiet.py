"""The library of models kept quiet while it reads what people brought: what matters of it is told in a sentence."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils import logging


@contextmanager
def quiet_library() -> Iterator[None]:
    """Neither bars nor reports nor warnings of transformers and torch reach a person within the block."""
    had_bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()
