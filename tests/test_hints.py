"""The first commands of newcomers that are wrong: each gets one line with the right command."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from conftest import Answer
from traces import random_trace

from heapsmith.codegen.toolchain import compile_c
from heapsmith.commands import hints
from heapsmith.commands.cli import app
from heapsmith.commands.hint_rules import is_malloc
from heapsmith.tools.peers.peers import AS_SET, GLIBC, PEERS

Call = Callable[..., Answer]

WRONG = [
    ("perl x.pl", "heapsmith inspect -- perl x.pl"),
    ("./server 80", "heapsmith inspect -- ./server 80"),
    ("help", "heapsmith --help"),
    ("help tune", "heapsmith tune --help"),
    ("list", "heapsmith designs"),
    ("info t.hst", "heapsmith trace info t.hst"),
    ("trace t.hst", "heapsmith trace info t.hst"),
    ("preload default perl x.pl", "heapsmith run default -- perl x.pl"),
    ("bench perl x.pl", "heapsmith compare --lib glibc --lib default -- perl x.pl"),
    ("optimize t.hst", "heapsmith tune t.hst -o t.toml"),
    ("record perl x.pl", "heapsmith record -o perl.hst -- perl x.pl"),
    ("record -o a.hst", "heapsmith record -o a.hst -- CMD"),
    ("record", "heapsmith record -o t-2.hst -- CMD"),
    ("record --pid 12", "heapsmith record -o t-2.hst --pid 12"),
    ("forge perl x.pl", "heapsmith forge -o out -- perl x.pl"),
    ("forge", "heapsmith forge -o out -- CMD"),
    ("inspect", "heapsmith inspect -o out -- CMD"),
    ("run -- perl x.pl", "heapsmith run default -- perl x.pl"),
    ("run perl x.pl", "heapsmith run default -- perl x.pl"),
    ("run ./server", "heapsmith run default -- ./server"),
    ("run default", "heapsmith run default -- CMD"),
    ("compare -- perl x.pl", "heapsmith compare --lib glibc --lib default -- perl x.pl"),
    ("compare glibc lean.toml -- ./server", "heapsmith compare --lib glibc --lib lean.toml -- ./server"),
    ("simulate", "heapsmith record -o t-2.hst -- CMD"),
    ("simulate ./server", "heapsmith record -o server.hst -- ./server"),
    ("tune ./server 80 -o s.toml", "heapsmith record -o server.hst -- ./server 80 -o s.toml"),
    ("tune x.pl", "heapsmith record -o x.hst -- CMD x.pl"),
    ("tune t.hst", "heapsmith tune t.hst -o t.toml"),
    ("leaks ./server", "heapsmith record -o server.hst -- ./server"),
    ("replay t.hst", "heapsmith replay t.hst --lib default"),
    ("report t.hst", "heapsmith report t.hst -o report.html"),
    ("build", "heapsmith build default -o libheap.so"),
    ("build lean", "heapsmith build lean -o libheap.so"),
    ("build t.hst", "heapsmith tune t.hst -o design.toml"),
    ("generate", "heapsmith generate default -o c"),
    ("verify", "heapsmith verify default"),
    ("verify t.hst", "heapsmith verify default t.hst"),
    ("build t.hst -o a.so", "heapsmith tune t.hst -o design.toml"),
    ("record ./server 80 -o a.hst", "heapsmith record -o a.hst -- ./server 80"),
    ("compare default -- ./server", "heapsmith compare --lib glibc --lib default -- ./server"),
    ("compare --lib default", "heapsmith compare --lib default -- CMD"),
    ("simulate t.hst lean", "heapsmith simulate t.hst --design lean"),
    ("replay t.hst lean", "heapsmith replay t.hst --lib lean"),
    ("trace import a.rep", "heapsmith trace import a.rep -o a.hst"),
    ("sites a.rep", "heapsmith trace import a.rep -o a.hst"),
    ("trace export t.hst", "heapsmith trace export t.hst -o t.csv"),
    ("t.hst", "heapsmith trace info t.hst"),
    ("default ./server 80", "heapsmith run default -- ./server 80"),
    ("-- ./server", "heapsmith inspect -- ./server"),
    ("heapsmith forge ./server", "heapsmith forge -o out -- ./server"),
    ("-v", "heapsmith --version"),
    ("-V", "heapsmith --version"),
    ("version", "heapsmith --version"),
    ("design default", "heapsmith design show default"),
    ("designs lean", "heapsmith design show lean"),
    ("design show", "heapsmith design show default"),
    ("design a.hst", "heapsmith trace info a.hst"),
    ("guard lean t.hst", "heapsmith guard lean t.hst --baseline lean.guard.json --write"),
    ("compare --time 3s -- perl x.pl", "heapsmith compare --time 3s --lib glibc --lib default -- perl x.pl"),
    ("record --stacks perl x.pl", "heapsmith record --stacks -o perl.hst -- perl x.pl"),
    ("profile", "heapsmith profile -- CMD"),
    ("profile t.hst", "heapsmith sites t.hst"),
    ("diff t.hst", "heapsmith diff t.hst NEW.hst"),
    ("guard t.hst", "heapsmith guard default t.hst --baseline default.guard.json --write"),
    ("guard t.hst lean --baseline a.json", "heapsmith guard lean t.hst --baseline a.json"),
    ("guard t.hst --baseline a.json default --write", "heapsmith guard default t.hst --baseline a.json --write"),
    ("verify t.hst lean", "heapsmith verify lean t.hst"),
    ("design show t.hst", "heapsmith trace info t.hst"),
    ("design check t.hst", "heapsmith trace info t.hst"),
    ("ab t.hst default -- ./server", "heapsmith ab default lean --trace t.hst"),
    ("bisect lean t.hst -- ./server", "heapsmith bisect lean default --trace t.hst"),
    ("stats t.hst", "heapsmith trace info t.hst"),
    ("simulate none.hst", "heapsmith record -o none.hst -- CMD"),
    ("check ./server 80", "heapsmith check --baseline server.check.json -- ./server 80"),
    ("ab default lean ./server", "heapsmith ab default lean -- ./server"),
    ("bisect default lean ./server", "heapsmith bisect default lean -- ./server"),
    ("pins t.hst", "heapsmith mesh t.hst"),
    ("top", "heapsmith top PID"),
    ("inspect t.hst", "heapsmith sites t.hst"),
    ("inspect -- t.hst", "heapsmith sites t.hst"),
    ("forge t.hst -o out", "heapsmith tune t.hst -o design.toml"),
    ("run t.hst", "heapsmith replay t.hst --lib default"),
    ("run default t.hst", "heapsmith replay t.hst --lib default"),
    ("compare --lib glibc --lib default t.hst", "heapsmith replay t.hst --lib glibc --lib default"),
    ("check t.hst", "heapsmith guard default t.hst --baseline default.guard.json --write"),
    ("top t.hst", "heapsmith trace info t.hst"),
    ("compare --rounds 3 --lib lean t.hst", "heapsmith replay t.hst --rounds 3 --lib lean"),
    ("compare lean glibc t.hst", "heapsmith replay t.hst --lib lean --lib glibc"),
    ("forge t.hst -o my.toml --budget 9s", "heapsmith tune t.hst -o my.toml --budget 9s"),
    ("convert a.rep -o x.hst", "heapsmith trace import a.rep -o x.hst"),
    ("import a.rep -o my.hst", "heapsmith trace import a.rep -o my.hst"),
    ("optimize t.hst -o mine.toml --budget 9s", "heapsmith tune t.hst -o mine.toml --budget 9s"),
    ("compile lean -o x.so", "heapsmith build lean -o x.so"),
    ("view t.hst -o x.html", "heapsmith report t.hst -o x.html"),
    ("export t.hst -o my.csv", "heapsmith trace export t.hst -o my.csv"),
    ("ab --rounds 5 lean default t.hst", "heapsmith ab lean default --trace t.hst --rounds 5"),
    ("ab t.hst u.hst lean default", "heapsmith ab lean default --trace t.hst --trace u.hst"),
    ("diff --by function t.hst", "heapsmith diff t.hst NEW.hst --by function"),
    ("diff t.hst --json", "heapsmith diff t.hst NEW.hst --json"),
    ("help design show", "heapsmith design show --help"),
    ("compare lean glibc perl job.pl", "heapsmith compare --lib lean --lib glibc -- perl job.pl"),
    ("compare glibc default lean -- perl", "heapsmith compare --lib glibc --lib default --lib lean -- perl"),
    ("compare lean -- perl job.pl", "heapsmith compare --lib glibc --lib lean -- perl job.pl"),
    ("benchmark --rounds 5 perl x.pl", "heapsmith compare --rounds 5 --lib glibc --lib default -- perl x.pl"),
    ("bench lean perl job.pl", "heapsmith compare --lib glibc --lib lean -- perl job.pl"),
    ("exec lean perl", "heapsmith run lean -- perl"),
    ("preload ./my.so perl", "heapsmith run ./my.so -- perl"),
    ("malloc lean", "heapsmith run lean -- CMD"),
    ("start -o my perl job.pl", "heapsmith forge -o my perl job.pl"),
    ("test lean t.hst", "heapsmith verify lean t.hst"),
    ("optimize perl job.pl", "heapsmith record -o perl.hst -- perl job.pl"),
    ("leak perl job.pl", "heapsmith record -o perl.hst -- perl job.pl"),
    ("bench t.hst", "heapsmith replay t.hst --lib glibc --lib default"),
    ("exec t.hst", "heapsmith replay t.hst --lib default"),
    ("exec lean t.hst", "heapsmith replay t.hst --lib lean"),
    ("lean perl", "heapsmith run lean -- perl"),
    ("profile t.hst --top 3", "heapsmith sites t.hst --top 3"),
    ("stats", "heapsmith run --stats report.json default -- CMD"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a program, a script that is not executable, and a trace."""
    monkeypatch.chdir(tmp_path)
    random_trace(tmp_path / "t.hst", 100, 1)
    (tmp_path / "none.hst").touch()
    (tmp_path / "a.rep").write_text("1000\n1\n2\n1\na 0 16\nf 0\n")
    (tmp_path / "x.pl").write_text("print 1;\n")
    (tmp_path / "server.c").write_text("int main(void) { return 0; }\n")
    compile_c([tmp_path / "server.c"], tmp_path / "server")
    return tmp_path


@pytest.mark.parametrize(("wrong", "right"), WRONG)
def test_a_wrong_command_gets_the_right_one(call: Call, folder: Path, wrong: str, right: str) -> None:
    answer = call(*shlex.split(wrong))
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.endswith(f"; try: {right}\n")


@pytest.mark.parametrize("right", sorted({right for _, right in WRONG if "CMD" not in right and "PID" not in right}))
def test_the_right_command_is_one(call: Call, folder: Path, right: str) -> None:
    """The help of its command has its options."""
    words = shlex.split(right.partition(" -- ")[0])[1:]
    command = words[: 2 if words[0] == "trace" else 1]
    answer = call(*command, "--help")
    assert (answer.status, answer.err) == (0, "")
    assert [word for word in words[len(command) :] if word.startswith("-") and word not in answer.out] == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("stats t.hst", "t.hst: is a trace, which `trace info`, `sites`, `simulate` and others read; expected text"),
        ("guard t.hst default --baseline a.json", "t.hst: is a trace, which "),
        ("trace info none.hst", "none.hst: is empty; expected a trace"),
        ("sites none.hst", "none.hst: is empty; expected a trace"),
        ("trace repair none.hst -o a.hst", "none.hst: is empty; expected a trace"),
        ("trace info a.rep", "a.rep: not a heapsmith trace"),
        ("pins abc", "PID abc: expected a whole number (see heapsmith pins --help)"),
        ("record --pid 1.5 -o a.hst", "--pid 1.5: expected a whole number"),
        ("mesh t.hst --stops 0", "--stops 0: expected at least 1 (see heapsmith mesh --help)"),
        ("compare --lib glibc --dollar-per-gb x -- true", "--dollar-per-gb x: expected a number"),
        ("top nosuch", "nosuch: expected the number of a process or a command that can be executed"),
        ("profile nosuch", "nosuch: expected the number of a process, a profile or a command that can be executed"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call: Call, folder: Path, wrong: str, said: str) -> None:
    answer = call(*wrong.split())
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"heapsmith: {said}"), answer.err


NOTHING_KNOWN = [
    "heapsmith tune --help x",
    "info lean",
    "lean nosuch --help",
    "convert t.hst -o x.hst",
    "bench nosuch",
    "compare perl lean -- perl",
    "forge lean perl",
    "inspect -- ./nosuch",
    "record -o a.hst -- x.pl",
    "tune nosuch.hst -o a.toml",
    "design show nosuch",
    "xyzzy",
    "doctor --fix",
    "--nosuch",
    "verify --lib",
    "replay --rounds abc",
    "replay t.hst --rounds abc",
    "compare --time x",
    "tune t.hst --budget soon",
]


@pytest.mark.parametrize("wrong", NOTHING_KNOWN)
def test_nothing_is_guessed_where_nothing_is_known(call: Call, folder: Path, wrong: str) -> None:
    answer = call(*wrong.split())
    assert answer.status == 2
    assert "try:" not in answer.err


def test_a_program_that_cannot_be_read_is_no_trace(
    call: Call, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root can read every file: here the program's own fails as a file without the right to read does."""
    opens = Path.open

    def refuses(path: Path, *words: object, **named: object) -> object:
        if path.name == "server":
            raise PermissionError(13, "Permission denied", str(path))
        return opens(path, *words, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuses)
    answer = call("run", "./server")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.endswith("; try: heapsmith run default -- ./server\n")


TOO_LONG = "a" * 300
"""A word that no file can be named by: to ask for it is an error, other than for a file that is not there."""


@pytest.mark.parametrize("name", [TOO_LONG, f"{TOO_LONG}/b", f"{TOO_LONG}.hst"])
def test_no_hint_fails_on_a_word_that_names_no_file(folder: Path, name: str) -> None:
    root = typer.main.get_command(app)
    for command in (
        "",
        "run",
        "tune",
        "forge -o x",
        "compare --lib",
        "diff",
        "ab",
        "guard",
        "design",
        "bench",
        "stats",
    ):
        for words in ([*command.split(), name], [*command.split(), f"{name}:2"], [*command.split(), "--", name]):
            hints.right(words, root)


def test_a_hint_never_replaces_the_error(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(hints, "right", fails)
    answer = call("tune", "t.hst")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "heapsmith: Missing option '-o' / '--out'. (see heapsmith tune --help)\n"


def test_a_suggestion_writes_to_no_file_that_is_there(call: Call, folder: Path) -> None:
    """Its name was nobody's choice. What somebody wrote in the command stays."""
    for name in ("t.toml", "a.hst", "perl.hst", "t-2.hst"):
        (folder / name).write_text("mine")
    for wrong, right in (
        ("tune t.hst", "tune t.hst -o t-2.toml"),
        ("convert a.rep", "trace import a.rep -o a-2.hst"),
        ("record --pid 12", "record -o t-3.hst --pid 12"),
        ("tune perl", "record -o perl-2.hst -- perl"),
        ("optimize t.hst -o t.toml", "tune t.hst -o t.toml"),
    ):
        assert call(*wrong.split()).err.endswith(f"; try: heapsmith {right}\n")


def test_a_folder_of_traces_goes_before_a_program_of_its_name(call: Call, folder: Path) -> None:
    (folder / "perl").mkdir()
    random_trace(folder / "perl" / "a.hst", 100, 1)
    assert call("tune", "perl").err.endswith("; try: heapsmith tune perl -o perl.toml\n")


def test_each_malloc_of_a_measurement_is_known() -> None:
    assert all(map(is_malloc, (GLIBC, *PEERS, *AS_SET, "default", "./my.so")))
    assert not is_malloc("perl")
