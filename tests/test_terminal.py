"""What is printed has no controls of terminals, whatever names a program, a file or a folder has."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer

from heapsmith.api import show
from heapsmith.bench.common import command
from heapsmith.model.errors import MOST_OF_ERROR, BadInput, printable
from heapsmith.tools.common import tables
from heapsmith.tools.record.record import record

BAD = "wipe\x1b[2J\x1b]0;title\x07[/]|`<b>\x7f\r\x9b31m\u202e\u2066".encode() + b"\xff"
"""Sequences that clear a screen and set its title, markup of rich, Markdown and HTML, C1, turned text, no UTF-8."""
PLACEHOLDER = "q" * len(BAD)
LONG = "v" * 20_000
CODE = f"""
#include <stdlib.h>
void *volatile kept[2];
__attribute__((noinline)) void *{PLACEHOLDER}(size_t size) {{ return kept[0] = malloc(size); }}
__attribute__((noinline)) void *{LONG}(size_t size) {{ return kept[1] = malloc(size); }}
int main(void) {{
    for (int i = 0; i < 500; i++) {{ {PLACEHOLDER}(100); free(kept[0]); {LONG}(50); }}
    return 0;
}}
"""
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A trace of a program with these names; and a copy in a folder with such a name."""
    folder = tmp_path_factory.mktemp("names")
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", folder / "prog"], input=CODE.encode(), check=True)
    made = (folder / "prog").read_bytes()
    assert PLACEHOLDER.encode() in made
    (folder / "prog").write_bytes(made.replace(PLACEHOLDER.encode(), BAD))
    record([str(folder / "prog")], folder / "t.hst", stacks=16)
    bad = folder / "in\x1b[31m\n|[/]\x9b\u202e"
    bad.mkdir(parents=True)
    (bad / "t.hst").write_bytes((folder / "t.hst").read_bytes())
    return folder / "t.hst", bad / "t.hst"


COMMANDS = [
    *(["sites", "T", "--by", by] for by in ("site", "path", "function", "module")),
    *(["sites", "T", "--json"], ["leaks", "T"], ["leaks", "T", "--json"]),
    *(["diff", "T", "T"], ["diff", "T", "T", "--json"]),
    *(["trace", "info", "T"], ["trace", "verify", "T"], ["simulate", "T", "default"], ["bytes", "T", "default"]),
    *(["trace", "export", "T", "-o", "O.csv", "--rows", "sites"], ["report", "T", "-o", "O.html"]),
    *(["trace", "import", "T", "-o", "O.hst"], ["trace", "synth", "--like", "T.none", "-o", "O.hst"]),
    *(["design", "show", "T"], ["stats", "T"], ["sites", "T.none"], ["knobs", "T"], ["leaks", "T", "--skip", "(\x1b"]),
]


@pytest.mark.thorough
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2] + words[3:4]).replace("\x1b", "ESC"))
def test_every_command_prints_plain_lines(
    call: Callable[..., Answer], recorded: tuple[Path, Path], tmp_path: Path, words: list[str]
) -> None:
    for trace in recorded:
        given = [word.replace("T", str(trace), 1) if word[:1] == "T" else word for word in words]
        answer = call(*(str(tmp_path / word) if word.startswith("O.") else word for word in given))
        assert not CONTROLS.search(answer.out.replace("\n", "")), answer.out
        assert not CONTROLS.search(answer.err.replace("\n", "")), answer.err
        assert answer.out or answer.err
        if answer.status:
            assert answer.status == 2
            assert answer.err.count("\n") == 1
        assert max(map(len, answer.err.splitlines()), default=0) <= (MOST_OF_ERROR if answer.status else show.MOST)
        if "--json" in words:
            assert answer.status or json.loads(answer.out)
        else:
            assert max(map(len, answer.out.splitlines()), default=0) < 300


@pytest.mark.thorough
def test_names_are_told_apart(call: Callable[..., Answer], recorded: tuple[Path, Path]) -> None:
    """The escapes say what the name is, and the JSON has all of it."""
    found = json.loads(call("leaks", recorded[0], "--json").out)["leaks"]
    names = {row["path"][0]["function"] for row in found}
    assert LONG in names
    shown = call("leaks", recorded[0]).out
    assert "..." in shown
    assert LONG[:200] not in shown


@pytest.mark.thorough
def test_a_page_has_the_names_as_text(call: Callable[..., Answer], recorded: tuple[Path, Path], tmp_path: Path) -> None:
    assert call("report", recorded[1], "-o", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text()
    assert "<b>" not in re.sub(r"(?s)<script.*?</script>", "", page)
    assert not CONTROLS.search(page.replace("\n", "").replace("\t", ""))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with ü and 木", "plain, with ü and 木"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("\u202e\u2066", "\\u202e\\u2066"),
        ("\udcff", "\\udcff"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_long_lines_lose_their_middle() -> None:
    assert len(printable("a" * 5000, 400)) == 200
    assert len(printable("a b " * 5000, 400)) == 400
    begin, _, end = printable("/the/file: " + "x y " * 5000 + "expected this", 400).partition(" ... ")
    assert begin.startswith("/the/file: ")
    assert end.endswith("expected this")


def test_a_table_of_markdown_keeps_its_cells() -> None:
    words = tables.Words("t\n# x", ("a|b", "c"), [["x|y`z<script>\n", "1"]])
    assert list(tables.section(words))[-1] == "| x/y\\`z&lt;script>\\n | 1 |"
    assert list(tables.section(words))[1] == "## t\\n# x"
    assert tables.code("a`b``c") == "``` a`b``c ```"
    assert tables.code("plain") == "`plain`"


def test_a_bar_shows_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """No markup of rich, whose mistakes are exceptions, and no controls but those of the bar."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with show.progress() as report:
        report("[/] [bold]x \x1b]0;title\x07", 1, 2)
        report("[/]", 2, 2)
    assert "\x1b]0" not in terminal.getvalue()
    assert "[/] [bold]x" in terminal.getvalue()


def test_the_makefiles_commands_end_alike(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> int:
        raise BadInput("\x1b[2J" + "x y " * 1000)

    monkeypatch.setattr(sys, "argv", ["x"])
    with pytest.raises(SystemExit):
        command.exit_with(fails)
    said = capsys.readouterr().err
    assert said.startswith("heapsmith: \\x1b[2J")
    assert len(said) == MOST_OF_ERROR + 1


def test_one_module_prints() -> None:
    """What the command line shows goes through show.py; cli.py prints the version."""
    package = Path(show.__file__).parent.parent
    files = [file for pattern in ("*.py", "api/*.py", "commands/*.py") for file in package.glob(pattern)]
    writing = [file for file in files if re.search(r"(?<![\w.])print\(|\.write\(", file.read_text())]
    printing = {str(file.relative_to(package)) for file in writing}
    assert printing - {"commands/traces.py"} == {"api/show.py", "commands/cli.py"}  # the former has record's example
