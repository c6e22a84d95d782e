"""Ctrl-C, or the end of a time, while DuckDB works: it looks for them between its tasks, and has its own words."""

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb


@contextmanager
def keyboard_interrupts(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """End what `connection` runs as soon as Ctrl-C is pressed, and raise the KeyboardInterrupt that it came from.

    Python runs its own handler of the signal when DuckDB returns, which may be never: a thread hears of the signal
    at once, and interrupts the query.
    """
    try:
        with _heard(connection) as interrupted:
            yield
    except (RuntimeError, duckdb.Error) as error:
        if str(error) != "Query interrupted" and not interrupted.is_set():
            raise
        raise KeyboardInterrupt from error


@contextmanager
def time_limit(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[threading.Event]:
    """Interrupt what `connection` runs after so many seconds; the event says whether that happened."""
    expired = threading.Event()

    def stop() -> None:
        expired.set()
        connection.interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield expired
    finally:
        timer.cancel()
        timer.join()


@contextmanager
def _heard(connection: duckdb.DuckDBPyConnection) -> Iterator[threading.Event]:
    """Interrupt the connection at each SIGINT, and say whether there was one."""
    interrupted = threading.Event()
    # Only the main thread gets signals; handlers other than Python's own decide for themselves what one means.
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupted
        return
    listening, telling = socket.socketpair()
    telling.setblocking(False)
    before = signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_listen, args=(listening, connection, interrupted), daemon=True)
    thread.start()
    try:
        yield interrupted
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        # The end of the stream ends the thread.
        telling.close()
        thread.join()
        listening.close()


def _listen(listening: socket.socket, connection: duckdb.DuckDBPyConnection, interrupted: threading.Event) -> None:
    while numbers := listening.recv(16):
        if signal.SIGINT in numbers:
            interrupted.set()
            connection.interrupt()
