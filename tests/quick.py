"""The quick tests, which `make quick` runs: while one runs, neither C nor the model can be compiled.

A file of them says `pytestmark = pytest.mark.quick`. A test in it that compiles, starts Python or takes more than half
a second is marked `slow`; the parameter `compiled` (program.py) is left out without a mark.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MARK = "mark.quick"

REFUSED = re.compile(r"(.*-)?(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|python[\d.]*|pypy[\d.]*)(-[\d.]+)?")
"""Programs that a quick test may not start."""

_guarded: list[str] = []
"""The quick test that runs now."""


def is_chosen(config: pytest.Config) -> bool:
    """Whether the quick tests alone were asked for."""
    return config.getoption("markexpr") == "quick"


def is_quick(item: pytest.Item) -> bool:
    """Whether a test is one of the quick ones."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    left_out = parameters.get("compiled") is True or any(map(item.get_closest_marker, ("slow", "big", "thorough")))
    return item.get_closest_marker("quick") is not None and not left_out


def may_hold_quick(path: Path) -> bool:
    """Whether a file may hold quick tests: others need not be imported."""
    return path.is_dir() or MARK in path.read_text(encoding="utf-8")


@contextmanager
def guarded(item: pytest.Item) -> Iterator[None]:
    """Refuse compilers while a quick test runs, with its fixtures; others run as they are."""
    if not is_quick(item):
        yield
        return
    _guarded.append(item.nodeid)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "numba", None)
            yield
    finally:
        _guarded.pop()


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: a compiler is about to start."""
    if _guarded and event == "subprocess.Popen" and REFUSED.fullmatch(os.path.basename(os.fsdecode(arguments[0]))):
        raise AssertionError(f"{_guarded[-1]} is quick, and starts {arguments[0]}: mark it slow")


sys.addaudithook(refuse)
