"""Child processes that leave interrupts to this one, end with it, and never end in a traceback."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any


def child(function: Callable[..., None], *given: Any) -> BaseProcess:
    """Return a copy of this process that does one thing, and leaves interrupts to this one as those of a pool do."""
    process = multiprocessing.get_context("fork").Process(target=begin_child, args=(function, given), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which it does not ignore at once
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def begin_child(begin: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    """Leave interrupts to the parent, end at its word in silence, and end with it, and call `begin`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin:
        begin(*given)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
