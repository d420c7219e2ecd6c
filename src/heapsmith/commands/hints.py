"""The right command for a wrong one: what newcomers type first, by their own words, and what they meant."""

import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from heapsmith.commands import parsing
from heapsmith.commands.hint_rules import RULES, Words, free_name, given, is_malloc, is_program, lone_trace

OUT = ("-o", "--out", "--stats")
"""The options with a file to write."""
MEANT = {
    "analyse": "inspect",
    "analyze": "inspect",
    "attach": "top",
    "bench": "compare",
    "benchmark": "compare",
    "compile": "build DESIGN -o libheap.so",
    "convert": "trace import FILE -o t.hst",
    "coredump": "core FILE",
    "explain": "design show DESIGN",
    "exec": "run",
    "import": "trace import FILE -o t.hst",
    "export": "trace export TRACE -o t.csv",
    "fragmentation": "pins PID",
    "info": "trace info TRACE",
    "init": "design show default",
    "leak": "leaks TRACE",
    "list": "designs",
    "ls": "designs",
    "malloc": "run",
    "measure": "compare",
    "new": "design show default",
    "optimise": "tune TRACE -o design.toml",
    "optimize": "tune TRACE -o design.toml",
    "preload": "run",
    "print": "trace print TRACE",
    "ps": "top",
    "search": "tune TRACE -o design.toml",
    "show": "design show DESIGN",
    "stat": "trace info TRACE",
    "start": "forge",
    "synth": "trace synth TRACE -o synth.hst",
    "test": "verify DESIGN TRACE",
    "version": "--version",
    "view": "report TRACE -o report.html",
    "watch": "top",
}
"""What a word means that is no command: a command, and what it needs where nothing follows the word."""

WITH_A_TRACE = {
    "inspect": "sites TRACE",
    "forge": "tune TRACE -o design.toml",
    "run": "replay TRACE --lib default",
    "compare": "replay TRACE --lib glibc --lib default",
    "check": "guard default TRACE",
    "top": "trace info TRACE",
    "stats": "trace info TRACE",
    "profile": "sites TRACE",
    "pins": "mesh TRACE",
}
"""By a command that wants a program or a process: what does the like with a trace."""


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
    made = _free(parsing.loose(shlex.split(said)), arguments) if said else []
    if not made or made == list(arguments) or not parsing.fits(root, made):
        return None
    return f"heapsmith {shlex.join(made)}"


def _free(words: Words, arguments: Sequence[str]) -> Words:
    """Words of a command with a free name for each file to write whose name nobody gave."""
    end = words.index("--") if "--" in words else len(words)
    outs = {value for option, value in pairwise(arguments) if option in OUT}
    is_ours = [before in OUT and word not in outs for before, word in pairwise(["", *words[:end]])]
    return [free_name(word) if ours else word for word, ours in zip(words[:end], is_ours, strict=True)] + words[end:]


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
        return _helped(rest, root)
    if first not in root.commands:
        return _meant(first, rest, root)
    mixed = parsing.bound(root, words, is_mixed=True)[1:]
    if first in WITH_A_TRACE and (trace := lone_trace(mixed)):
        return _with_a_trace(WITH_A_TRACE[first].split(), trace, mixed, root)
    rule = RULES.get(first)
    return rule(first, rest) if rule else None


def _helped(rest: Words, root: Any) -> str:
    """The help of the command that words begin with."""
    command, named = root, []
    for word in rest:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        named.append(word)
    return shlex.join([*named, "--help"])


def _meant(first: str, rest: Words, root: Any) -> str | None:
    """For a word that is no command: another name of one, or a program."""
    if MEANT.get(first) == "run" and rest and is_malloc(rest[0]):
        first, *rest = rest
    if first in MEANT:
        words = MEANT[first].split()
        command, begin = parsing.leaf(root, words)
        is_open = command is not None and all(word.isupper() for word in words[begin : begin + 1])
        words = [*words[:begin], *rest] if rest and is_open else words
        return _said(words, root) or shlex.join(words)
    if is_malloc(first):
        behind = shlex.join(rest[rest[:1] == ["--"] :])
        return _said(["run", first, *rest], root) or f"run {shlex.quote(first)} -- {behind}"
    if Path(first).suffix == ".hst":
        return shlex.join(["trace", "info", first, *rest])
    if is_program(first):
        return f"inspect -- {shlex.join([first, *rest])}"
    return None


def _with_a_trace(said: Words, trace: str, rest: Words, root: Any) -> str | None:
    """The like with a trace, with the mallocs and the options that were given as far as it has them."""
    command, _ = parsing.leaf(root, said)
    names = {flag: one.name for one in command.params for flag in one.opts if flag.startswith("-")}
    own = {_name(word, names): word for word in parsing.bound(root, said)}
    libraries = [parsing.BOUND.join(("--lib", word)) for word in given(rest) if word != trace]
    options = [word for word in [*libraries, *rest] if _name(word, names)]
    kept = [word for word in options if _is_alike(word, own.get(_name(word, names)))]
    if libraries and "--lib" not in names:
        return None
    taken = {_name(word, names) for word in kept}
    words = [word for word in parsing.bound(root, said) if _name(word, names) not in taken]
    words = [trace if word == "TRACE" else word for word in [*words, *kept]]
    return _said(words, root) or shlex.join(words)


def _name(word: str, names: dict[str, str]) -> str | None:
    """The parameter that an option sets, with its value or without; None for another word."""
    return names.get(word.split(parsing.BOUND)[0].partition("=")[0])


def _is_alike(word: str, own: str | None) -> bool:
    """Whether an option means the same to two commands: files have to be of the same kind, by their names."""
    is_of_file = word.startswith(("-o", "--out", "--baseline"))
    return not is_of_file or (own is not None and Path(word).suffixes == Path(own).suffixes)
