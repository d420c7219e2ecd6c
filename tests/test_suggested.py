"""No suggestion leads to a second error: what a wrong command gets, and each command line in a message, parses."""

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from heapsmith.commands import hints
from heapsmith.commands.cli import app
from heapsmith.model.design.design import builtin_names
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.frames import MAGIC

REPOSITORY = Path(__file__).resolve().parent.parent
ROOT: Any = typer.main.get_command(app)
GIVEN = (
    "|t.hst|u.hst t.hst|t.hst:2|a.toml|default|default t.hst|t.hst default|t.hst lean perl|x.pl|./server 80|-- ./server"
    "|default ./server|d.json|12|a.rep|none.hst|nosuch.hst|nosuch|-|--nosuch|t.hst --nosuch|./server --nosuch"
    "|default -o|t.hst -o out|x.pl -o out|-o a|-o t.hst|--lib|t.hst --lib glibc|--design lean|--time x"
    "|--time x -- ./server|--rounds abc|t.hst --rounds abc|--budget soon|t.hst --budget soon|--pid 12|--baseline"
    "|--baseline a.json|t.hst --baseline a.json|show|show t.hst|lean|lean t.hst|lean ./server|lean glibc ./server"
    "|./server t.hst|glibc default lean -- ./server|./my.so ./server|--rounds 5 ./server 80|-o my ./server"
    "|t.hst -o my.toml --budget 9s|--rounds 5 lean default t.hst|a.rep -o x.hst|--help|--help x|folder|a.json"
)
"""What follows a command: files of a wrong kind, too few words, options of other commands, values that are none."""


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of all commands."""
    for name, one in getattr(command, "commands", {}).items():
        yield from leaves(one, (*path, name))
    if path and not hasattr(command, "commands"):
        yield path


COMMANDS = sorted(leaves(ROOT))
NO_TRACES = {*builtin_names(), "glibc", "./my.so"}
WORDS = sorted({word for path in COMMANDS for word in path[:1]} | hints.MEANT.keys() | {"help", "default", "t.hst"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with files of all kinds; of the traces their begin."""
    monkeypatch.chdir(tmp_path)
    for name in ("t.hst", "u.hst"):
        (tmp_path / name).write_bytes(MAGIC)
    (tmp_path / "none.hst").touch()
    (tmp_path / "a.rep").write_text("1000\n1\n2\n1\na 0 16\nf 0\n")
    (tmp_path / "a.toml").write_text('name = "x"\nsizes = [16]\n')
    (tmp_path / "x.pl").write_text("print 1;\n")
    (tmp_path / "d.json").write_text("{}")
    (tmp_path / "server").write_text("#!/bin/sh\n")
    (tmp_path / "server").chmod(0o755)
    return tmp_path


def resolved(words: list[str]) -> tuple[Any, list[str]]:
    """The command that words name, and the words behind its name."""
    command, rest = ROOT, list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        command = command.commands[rest.pop(0)]
    return command, rest


def parsed(suggestion: str) -> dict[str, Any]:
    """The values of the parameters of a command line that is suggested, by what they are called; an error fails."""
    command, rest = resolved(shlex.split(suggestion)[1:])
    if rest and rest[-1] in ("--help", "--version"):
        return {}
    assert not hasattr(command, "commands"), f"{suggestion}: is no command"
    context = command.make_context(
        "heapsmith", [{"PID": "1", "-": "t.hst", "CMD": "true", "WORD": "true"}.get(word, word) for word in rest]
    )
    for name, (reader, flag) in getattr(command.callback, "readers", {}).items():
        if context.params.get(name) is not None:
            reader(flag, context.params[name])
    program = rest[rest.index("--") + 1 :] if "--" in rest else ["CMD"]
    assert program[0] in ("CMD", "WORD") or shutil.which(program[0]), f"{suggestion}: runs no program"
    return {one.metavar or one.name: context.params.get(one.name) for one in command.params}


def wrong_kinds(values: dict[str, Any]) -> list[str]:
    """The words that stand where a trace or a design is expected, and are none."""
    found = []
    for called, value in values.items():
        words = [str(word) for word in (value if isinstance(value, list | tuple) else [value]) if word is not None]
        if called.startswith("TRACE") and "|" not in called:
            files = [word.rpartition(":")[0] if word.endswith(":2") else word for word in words]
            found += [word for word in files if Path(word).is_file() and not Path(word).read_bytes().startswith(MAGIC)]
            found += [word for word in words if not Path(word).exists() and (word in NO_TRACES or shutil.which(word))]
        if called in ("DESIGN", "A", "B"):
            known = {*builtin_names(), "DESIGN"}
            found += [word for word in words if word not in known and not word.endswith(".toml")]
    return found


@pytest.mark.parametrize("word", WORDS)
def test_each_suggestion_parses(folder: Path, word: str) -> None:
    own = [path for path in COMMANDS if path[0] == word] or [(word,)]
    wrong = [[*path, *shlex.split(given)] for path in own for given in GIVEN.split("|")]
    for path in own:
        command, _ = resolved(list(path)) if path in COMMANDS else (None, [])
        for flag in [one.opts[-1] for one in getattr(command, "params", ()) if one.opts[0].startswith("-")]:
            wrong += [[*path, flag], [*path, flag, "abc"], [*path, "t.hst", flag, "abc"], [*path, flag, "--", "perl"]]
    for words in wrong:
        suggestion = hints.right(words, ROOT)
        if suggestion is None:
            continue
        assert not re.search(r" -\w -- | -\w$", suggestion), suggestion
        assert suggestion != f"heapsmith {shlex.join(words)}"
        outs = [value for option, value in pairwise(shlex.split(suggestion)) if option in ("-o", "--out")]
        taken = [value for value in outs if Path(value).exists() and Path(value).stat().st_size and value not in words]
        assert taken == [], f"{shlex.join(words)}: {suggestion}"
        try:
            values = parsed(suggestion)
        except (typer.TyperException, BadInput) as error:
            pytest.fail(f"{shlex.join(words)}: {suggestion}: {error}")
        assert wrong_kinds(values) == [], f"{shlex.join(words)}: {suggestion}"


def test_values_that_are_none_are_not_suggested_again(folder: Path) -> None:
    for wrong in ("compare --time x", "compare --time x -- ./server", "tune t.hst --budget soon", "verify --lib"):
        assert hints.right(shlex.split(wrong), ROOT) is None, wrong


def _texts(file: Path) -> Iterator[str]:
    """The texts of a module besides its docstrings; WORD stands for what is filled in."""
    tree = ast.parse(file.read_text())
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(one.value) if isinstance(one, ast.Constant) else "WORD" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


def test_each_command_line_in_a_message_parses() -> None:
    """A name of a command with options alone, in backticks, need not be whole; but it has these options."""
    folders = ("src/heapsmith/commands", "src/heapsmith/api", "tools", "model", "codegen")
    files = sorted(file for folder in folders for file in (REPOSITORY / folder).rglob("*.py"))
    found = {said for file in files for text in _texts(file) for said in re.findall(r"`(heapsmith [a-z][^`]*)`", text)}
    found |= {
        said.rstrip(" )")
        for file in files
        for text in _texts(file)
        for said in re.findall(r"(?:^|: |try )(heapsmith [a-z]+(?: [^`;,#()]+)? --? ?[^`;,#()]*)", text)
    }
    assert len(found) > 15
    for said in found:
        if "such as" in said or "WORD WORD" in said:
            continue
        command, rest = resolved(shlex.split(said)[1:])
        flags = {flag for one in getattr(command, "params", ()) for flag in one.opts}
        before = rest[: rest.index("--")] if "--" in rest else rest
        assert [word for word in before if word.startswith("-") and word not in flags] == [], said
        if "--" in rest:
            parsed(said)
