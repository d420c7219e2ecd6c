"""The right command for a wrong one: what newcomers type first, by their own words, and what they meant."""

import shlex
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path
from typing import Any

from heapsmith.commands import parsing
from heapsmith.commands.hint_rules import MALLOCS, RULES, Words, is_program, lone_trace, program_of

PROGRAMS = "-- CMD"
MEANT = {
    "analyse": f"inspect {PROGRAMS}",
    "analyze": f"inspect {PROGRAMS}",
    "attach": "top PID",
    "bench": f"compare --lib glibc --lib default {PROGRAMS}",
    "benchmark": f"compare --lib glibc --lib default {PROGRAMS}",
    "compile": "build DESIGN -o libheap.so",
    "convert": "trace import FILE -o t.hst",
    "coredump": "core FILE",
    "explain": "design show DESIGN",
    "exec": f"run default {PROGRAMS}",
    "import": "trace import FILE -o t.hst",
    "export": "trace export TRACE -o t.csv",
    "fragmentation": "pins PID",
    "info": "trace info TRACE",
    "init": "design show default",
    "leak": "leaks TRACE",
    "list": "designs",
    "ls": "designs",
    "malloc": f"run default {PROGRAMS}",
    "measure": f"compare --lib glibc --lib default {PROGRAMS}",
    "new": "design show default",
    "optimise": "tune TRACE -o design.toml",
    "optimize": "tune TRACE -o design.toml",
    "preload": f"run default {PROGRAMS}",
    "print": "trace print TRACE",
    "ps": "top",
    "search": "tune TRACE -o design.toml",
    "show": "design show DESIGN",
    "stat": "trace info TRACE",
    "start": f"forge -o out {PROGRAMS}",
    "synth": "trace synth TRACE -o synth.hst",
    "test": "verify DESIGN TRACE",
    "version": "--version",
    "view": "report TRACE -o report.html",
    "watch": "top PID",
}
"""What a word means that is no command: the words of commands, in which CMD, TRACE and FILE become what follows it."""

WITH_A_TRACE = {
    "inspect": "sites TRACE",
    "forge": "tune TRACE -o design.toml",
    "run": "replay TRACE --lib default",
    "compare": "replay TRACE --lib glibc --lib default",
    "check": "guard default TRACE --baseline default.guard.json --write",
    "top": "trace info TRACE",
}
"""By a command that wants a program: what does the like with a trace."""


def right(arguments: Sequence[str], root: Any) -> str | None:
    """The command that was meant, with the words that were given as far as they fit.

    None where nothing is known, and for what would be another mistake. root: the command of the program, with all.
    """
    words = list(arguments)
    while words[:1] in (["heapsmith"], ["--"]):
        words = words[1:]
    said = _said(words, root)
    if said is None and words[:1] != list(arguments)[:1] and words[:1] and words[0] in root.commands:
        said = shlex.join(words)
    made = parsing.loose(shlex.split(said)) if said else []
    if not made or made == list(arguments) or not parsing.fits(root, made):
        return None
    return f"heapsmith {shlex.join(made)}"


def _said(words: Words, root: Any) -> str | None:
    """The words of a command for those of another one, with options bound to their values (parsing.bound)."""
    if not words:
        return None
    first, *rest = parsing.bound(root, words)
    if first in ("-v", "-V", "-version"):
        return "--version"
    if first.startswith("-"):
        return None
    if first == "help":
        return " ".join([*(rest[:1] if rest[:1] and rest[0] in root.commands else []), "--help"])
    if first not in root.commands:
        return _meant(first, rest)
    if first in WITH_A_TRACE and (trace := lone_trace(rest)):
        return WITH_A_TRACE[first].replace("TRACE", shlex.quote(trace))
    rule = RULES.get(first)
    if first in ("inspect", "forge") and "--" in rest[:-1] and not is_program(program_of(rest)[0]):
        return None  # to run it would fail again
    return rule(first, rest) if rule else None


def _meant(first: str, rest: Words) -> str | None:
    """For a word that is no command: another name of one, or a program."""
    if first in MEANT:
        return _filled(MEANT[first], rest)
    if first in MALLOCS or Path(first).suffix in (".toml", ".so"):
        program = program_of(rest)
        return f"run {shlex.quote(first)} -- {shlex.join(program) if program else 'CMD'}"
    if Path(first).suffix == ".hst":
        return f"trace info {shlex.quote(first)}"
    if is_program(first):
        return f"inspect -- {shlex.join([first, *rest])}"
    return None


def _filled(said: str, rest: Words) -> str:
    """The words of a command with what was given in place of CMD, TRACE or FILE."""
    given = [word for word in rest if word != "--"]
    if not given:
        return said
    if "CMD" in said:
        given = given[1:] if given[0] in MALLOCS else given
        given = [*dropwhile(lambda word: word.startswith("-"), given)]  # they are of a command that is none
        return said.replace("CMD", shlex.join(given)) if given else said
    for name in ("TRACE", "FILE", "PID", "DESIGN"):
        if name in said and not given[0].startswith("-"):
            return said.replace(name, shlex.quote(given[0]), 1)
    return said
