"""Each command line of heapsmith on a page, in a block or in a sentence, names a command and options that exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_suggested import COMMANDS, resolved

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^( *)```(.*?)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
SHOWN = {"c", "cmake", "toml", "json", "dockerfile", "meson"}
"""Kinds of blocks that are no shell's."""
END = re.compile(r"\s(?:[|;&<>#]|2>|\|\|).*|;.*|\)\s*$")
"""What ends a command in a line of a shell."""
ELSEWHERE = {"CMD", "...", "[OPTIONS]"}
"""Words in place of a command."""


def lines(page: str) -> Iterator[str]:
    """The command lines of a page, each from its `heapsmith` on."""
    for _, kind, text in BLOCK.findall(page):
        if kind.partition(" ")[0] not in SHOWN:
            for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
                found = re.match(r"\s*(?:\$ |do |for .*; do )?(?:[A-Z_]+=\S+ |sudo )*(heapsmith (?!is|:).*)", line)
                if found and not re.match(r"heapsmith(?:'s| [a-z]+s? (?:the|a) )", found[1]):
                    yield found[1]
    for span in re.findall(r"`([^`]+)`", BLOCK.sub("", page)):
        if re.match(r"(?:sudo )?heapsmith [a-z-]+", span):
            yield " ".join(span.removeprefix("sudo ").split())


def mistake(line: str) -> str:
    """The word of a command line that is no command and no option; empty if there is none."""
    said = END.sub("", f"{re.sub(r'[$][(].*?[)]', 'WORD', line)} ")
    try:
        words = shlex.split(said, comments=True)[1:]
    except ValueError:  # a word in quotes that goes on in the next line
        words = said.split()[1:]
    if not words or words[0] in ELSEWHERE:
        return ""
    groups = {path[0] for path in COMMANDS if len(path) > 1}
    if words[0] in groups and (len(words) == 1 or words[1] in ELSEWHERE):
        return ""
    if words[0] != "--version" and not any(tuple(words[: len(path)]) == path for path in COMMANDS):
        return " ".join(words[:2])
    command, rest = resolved(words)
    flags = {flag for one in getattr(command, "params", ()) for flag in (*one.opts, *one.secondary_opts)}
    before = rest[: rest.index("--")] if "--" in rest else rest
    options = [word.partition("=")[0] for word in before if re.match(r"--?[a-z]", word)]
    return next((one for one in options if one not in flags | {"--help", "-h", "--version"}), "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_command_lines_of_a_page_exist(page: Path) -> None:
    found = list(lines(page.read_text()))
    assert {line: wrong for line in found if (wrong := mistake(line))} == {}


def test_many_lines_are_looked_at() -> None:
    assert sum(len(list(lines(page.read_text()))) for page in PAGES) > 300


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("heapsmith simulat t.hst", "simulat t.hst"),
        ("heapsmith trace ...", ""),
        ("heapsmith trace impor x", "trace impor"),
        ("heapsmith sites t.hst --sorted peak | head", "--sorted"),
        ("heapsmith record --only -o t.hst -- ls --sorted", ""),
        ("heapsmith compare --rounds 5 --lib glibc -- ./job || echo $?", ""),
    ],
)
def test_a_wrong_word_is_noticed(line: str, wrong: str) -> None:
    assert mistake(line) == wrong


def test_lines_are_found() -> None:
    page = "Type `heapsmith top\nPID`.\n```sh\nA=b heapsmith run \\\n  lean -- ls  # a\n```\n```c\nheapsmith x\n```\n"
    assert list(lines(page)) == ["heapsmith run lean -- ls  # a", "heapsmith top PID"]
