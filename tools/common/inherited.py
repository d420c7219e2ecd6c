"""What execve(2) gave this process, and a program that it starts must get unchanged: environment, signals, streams."""

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_COERCED = (b"LC_CTYPE", (b"C.UTF-8", b"C.utf8", b"UTF-8"))
"""The variable that Python sets in its own environment where it finds the C locale (PEP 538), and its values."""
_PYTHONS = frozenset({signal.SIGPIPE, signal.SIGXFSZ})
"""Signals that Python ignores from its start on: what this process was given is lost, so programs get the default."""
_changed: set[int] = set()
closed_streams: set[int] = set()
"""Standard streams that were closed when this process began, and that it opened for itself."""


def accept_children() -> None:
    """Let the system keep the exit status of children, even if this process was told to ignore SIGCHLD."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        _changed.add(signal.SIGCHLD)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def ignored_signals() -> set[int]:
    """The signals that a program is to ignore from its start on, because this process does."""
    return {n for n in signal.valid_signals() - _PYTHONS if signal.getsignal(n) is signal.SIG_IGN} | _changed


def environment() -> dict[str, str]:
    """The environment that this process was given, with the changes that Python code has made in os.environ."""
    found = dict(os.environ)
    if _is_coerced(_first(_given())):
        del found[os.fsdecode(_COERCED[0])]
    return found


def entries(env: Mapping[str, str] | None, added: Mapping[str, str]) -> list[bytes]:
    """The entries of a program's environment: those of `env`, and in place of these or behind them `added`.

    Without `env` they are those of this process, byte for byte: also entries that occur twice or have no '='.
    """
    if env is not None:
        return [_entry(name, value) for name, value in (dict(env) | dict(added)).items()]
    given = _given()
    first, now = _first(given), environment() | dict(added)
    changed = {os.fsencode(name): os.fsencode(value) for name, value in now.items()}
    found = [
        entry for entry in given if b"=" not in entry or first[name := entry.partition(b"=")[0]] == changed.get(name)
    ]
    kept = {entry.partition(b"=")[0] for entry in found if b"=" in entry}
    return found + [name + b"=" + value for name, value in changed.items() if name not in kept]


def _entry(name: str, value: str) -> bytes:
    return os.fsencode(name) + b"=" + os.fsencode(value)


def _given() -> list[bytes]:
    """The entries that execve(2) was called with; Python's own view where they cannot be read."""
    with suppress(OSError):
        return Path("/proc/self/environ").read_bytes().split(b"\0")[:-1]
    return [_entry(name, value) for name, value in os.environ.items()]


def _first(given: list[bytes]) -> dict[bytes, bytes]:
    """The value of each variable: of an entry that occurs twice, the first one counts."""
    found: dict[bytes, bytes] = {}
    for entry in given:
        name, equals, value = entry.partition(b"=")
        if equals:
            found.setdefault(name, value)
    return found


def _is_coerced(first: Mapping[bytes, bytes]) -> bool:
    name, values = _COERCED
    return name not in first and os.environb.get(name) in values
