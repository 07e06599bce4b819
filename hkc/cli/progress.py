"""A line on the terminal while something takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

_DELAY = 1.0
_PERIOD = 0.2


class Progress:
    """What the line shows: how much is done of how much, if that is known."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.done = 0
        self.total = 0

    def update(self, done: int, total: int) -> None:
        """Tell how far the work is."""
        self.done, self.total = done, total

    def line(self, seconds: float) -> str:
        part = f" {100 * self.done // self.total}%" if self.total else ""
        return f"{self.text}{part}, {seconds:.0f} s"


@contextmanager
def progress(text: str) -> Iterator[Progress]:
    """Show ``text`` with the time passed, on stderr, if that is a terminal and the body takes a while."""
    state = Progress(text)
    if not sys.stderr.isatty():
        yield state
        return
    done = threading.Event()
    start = perf_counter()

    def show() -> None:
        if done.wait(_DELAY):
            return
        while not done.wait(_PERIOD):
            print(f"\r\x1b[K{state.line(perf_counter() - start)}", end="", file=sys.stderr, flush=True)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        done.set()
        thread.join()
