"""Manual pages, from the help of the commands: heapsmith.1 and a page for each.

`python -m heapsmith.commands.man DIR` writes them. The macros are those of man(7), which groff and mandoc know.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

import heapsmith
from heapsmith.commands.cli import app
from heapsmith.commands.options import parameter_records
from heapsmith.model.files import write_text

STATUS = (
    ("0", "Success; of commands that run a program, its own status."),
    ("1", "A check failed."),
    ("2", "Wrong usage, or wrong input."),
    ("3", "The machine lacks something that the command needs."),
)
ENVIRONMENT = (
    ("HEAPSMITH", "Options of a built library, in the program that loads it: see docs/api.md."),
    ("XDG_CACHE_HOME", "Where compiled code and built libraries are kept, in a folder heapsmith. Default: ~/.cache."),
    ("COLUMNS", "The width of tables. Default: that of the terminal, or 100."),
)


def pages() -> dict[str, str]:
    """Return the manual pages by file name."""
    main, inner = commands()
    found = {"heapsmith.1": "".join(_main(*main, inner))}
    for words, (command, ctx) in inner.items():
        found[f"{'-'.join(words)}.1"] = "".join(_page(words, command, ctx))
    return found


def commands() -> tuple[tuple[Any, Any], dict[tuple[str, ...], tuple[Any, Any]]]:
    """Return the program and its context, and by their words the commands with theirs."""
    root: Any = typer.main.get_command(app)
    found = dict(_below(root, root.context_class(root, info_name="heapsmith", **root.context_settings)))
    return found.pop(("heapsmith",)), found


def write(folder: Path) -> None:
    """Write the manual pages to a folder; BadInput if it cannot be written."""
    for name, text in pages().items():
        write_text(folder / name, text)


def _below(command: Any, ctx: Any) -> Iterator[tuple[tuple[str, ...], tuple[Any, Any]]]:
    """Yield the words of the program and of every command that does something, with its context."""
    inner = getattr(command, "commands", {})
    if not inner or ctx.parent is None:
        yield tuple(ctx.command_path.split()), (command, ctx)
    for name, one in inner.items():
        yield from _below(one, one.context_class(one, info_name=name, parent=ctx))


def _main(command: Any, ctx: Any, below: dict[tuple[str, ...], tuple[Any, Any]]) -> Iterator[str]:
    """Yield the lines of heapsmith(1): its commands, the exit status and the environment."""
    yield from _head(("heapsmith",), command, ctx)
    yield from _list("commands", ((" ".join(words[1:]), one.help) for words, (one, _) in below.items()))
    for title, records in parameter_records(command, ctx):
        yield from _list(title, records)
    yield from _list("exit status", STATUS)
    yield from _list("environment", ENVIRONMENT)
    yield from _examples(command)
    yield ".SH SEE ALSO\n"
    yield ",\n".join(f".BR {_plain('-'.join(words))} (1)" for words in below).replace(",\n", " ,\n") + "\n"


def _page(words: tuple[str, ...], command: Any, ctx: Any) -> Iterator[str]:
    """Yield the lines of the page of one command."""
    yield from _head(words, command, ctx)
    for title, records in parameter_records(command, ctx):
        yield from _list(title, records)
    yield from _examples(command)
    yield ".SH SEE ALSO\n.BR heapsmith (1)\n"


def _head(words: tuple[str, ...], command: Any, ctx: Any) -> Iterator[str]:
    name, (first, *rest) = "-".join(words), command.help.split("\n\n")
    version = f"heapsmith {heapsmith.__version__}"
    yield f'.TH {_plain(name.upper())} 1 "" "{_plain(version)}" "heapsmith manual"\n'
    yield f".SH NAME\n{_plain(name)} \\- {_plain(_lowered(_sentence(first)))}\n"
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield f".SH SYNOPSIS\n.B {_plain(' '.join(words))}\n{_text(usage)}"
    yield f".SH DESCRIPTION\n{_text(first)}"
    for paragraph in rest:
        yield f".PP\n{_text(paragraph)}"


def _list(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f".SH {title.upper()}\n"
    for name, said in rows:
        yield f".TP\n.B {_plain(name)}\n{_text(said.partition(chr(10) * 2)[0])}"


def _examples(command: Any) -> Iterator[str]:
    """Yield the lines of the help's epilog, as they are."""
    lines = (command.epilog or "").removeprefix("\b\nExamples:\n").splitlines()
    yield ".SH EXAMPLES\n.nf\n"
    yield from (_text(line.strip()) for line in lines)
    yield ".fi\n"


def _sentence(text: str) -> str:
    """Return the first sentence on a line, without its full stop."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


ESCAPES = str.maketrans({"\\": r"\e", "-": r"\-", '"': r"\(dq", "'": r"\(aq", "`": r"\(ga"})


def _plain(text: str) -> str:
    """Return text with the characters that roff would read as its own escaped."""
    return text.translate(ESCAPES)


def _text(text: str) -> str:
    """Return a paragraph as a line of text: before a dot that begins it stands a character without a width."""
    line = _plain(" ".join(text.split()))
    return (r"\&" if line.startswith(".") else "") + line + "\n"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
