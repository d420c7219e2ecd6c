"""What the parser of the commands says of words: which command they name, what belongs together, whether they fit."""

import os
from collections.abc import Sequence
from typing import Any

import typer

from heapsmith.commands.hint_rules import is_design, is_program, is_there
from heapsmith.commands.options import READERS
from heapsmith.model.errors import BadInput, WrongKind
from heapsmith.model.files import STANDARD

BOUND = "\0"
"""Stands between an option and its value where they are one word; no argument of a program has this character."""
PLACEHOLDERS = {"PID": "1", STANDARD: "standard-input.hst"}
"""Words of a suggestion that the parser must not read: a number to fill in, and standard input, which it would copy."""


def leaf(root: Any, words: Sequence[str]) -> tuple[Any, int]:
    """The command that words begin with, and how many words name it; None if they name none."""
    command = root
    for number, word in enumerate(words):
        if not hasattr(command, "commands"):
            return command, number
        if word not in command.commands:
            return None, 0
        command = command.commands[word]
    return (None, 0) if hasattr(command, "commands") else (command, len(words))


def bound(root: Any, words: Sequence[str], is_mixed: bool = False) -> list[str]:
    """Words of a command with each option and its value as one word, as far as options go; see `loose`.

    is_mixed: options go on behind what stands for a program.
    """
    command, begin = leaf(root, words)
    if command is None:
        return list(words)
    valued = {flag for one in command.params if not getattr(one, "is_flag", True) for flag in one.opts}
    is_mixed = is_mixed or command.context_settings.get("allow_interspersed_args", True)
    made, at = list(words[:begin]), begin
    while at < len(words) and words[at] != "--":
        if not is_mixed and not words[at].startswith("-"):
            break
        size = 2 if words[at] in valued and at + 1 < len(words) and words[at + 1] != "--" else 1
        made.append(BOUND.join(words[at : at + size]))
        at += size
    return [*made, *words[at:]]


def loose(words: Sequence[str]) -> list[str]:
    """The words of `bound` as a command takes them."""
    return [part for word in words for part in word.split(BOUND)]


def fits(root: Any, words: Sequence[str]) -> bool:
    """Whether a command takes these words: its options exist, what it requires is there, and numbers are numbers.

    What stands for a trace is one if it exists, what stands for a design is one, and a program can be found.
    Nothing runs.
    """
    if words in (["--version"], ["--help"]):
        return True
    if words[-1:] == ["--help"] and "--" not in words:
        return leaf(root, words[:-1])[0] is not None or words[0] in root.commands
    if {"--help", "-h"} & set(words[: words.index("--") if "--" in words else len(words)]):
        return False  # the parser would print the help
    command, begin = leaf(root, words)
    if command is None:
        return False
    try:
        context = command.make_context(words[0], [PLACEHOLDERS.get(word, word) for word in words[begin:]])
    except (typer.TyperException, typer.Exit, typer.Abort, BadInput, OSError):
        return False
    if "--" in words and not _can_run(words[words.index("--") + 1 :]):
        return False
    if "--" in map(str, context.params.values()):  # an option without a value takes what follows it
        return False
    readers: dict[str, tuple[Any, str]] = getattr(command.callback, READERS, {})
    values = {name: context.params.get(name) for name in readers}
    if not all(value is None or _can_be_read(*readers[name], value) for name, value in values.items()):
        return False
    return all(_is_of_kind(one, context.params.get(one.name)) for one in command.params)


def _is_of_kind(parameter: Any, value: Any) -> bool:
    """Whether a value is a trace, a design or a program where one is called for; a trace need not be there."""
    called, is_argument = parameter.metavar or "", parameter.param_type_name == "argument"
    words = [str(word) for word in (value if isinstance(value, list | tuple) else [value]) if word is not None]
    if called in ("DESIGN", "A", "B"):
        return all(word == "DESIGN" or is_design(word) for word in words)
    if called == "CMD" and is_argument:
        return not words or _can_run(words[words[:1] == ["--"] :])
    if called == "FILE" and is_argument:  # of another tool
        return not any(map(is_there, words))
    is_wanted = called.startswith("TRACE") and "|" not in called
    return not is_wanted or all(is_there(word) or not _is_else(word) for word in words)


def _is_else(word: str) -> bool:
    """Whether a word names something other than a trace."""
    return os.path.exists(word) or is_design(word) or is_program(word)


def _can_run(program: Sequence[str]) -> bool:
    return bool(program) and (program[0] == "CMD" or is_program(program[0]))


def _can_be_read(reader: Any, flag: str, value: Any) -> bool:
    """Whether a reader takes a value; a program need not exist, for CMD stands for one."""
    try:
        reader(flag, value)
    except WrongKind:
        return True
    except (BadInput, OSError):
        return False
    return True
