"""The command line as a user meets it: answers, JSON, help, completion, exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from conftest import PROGRAM, Answer

from heapsmith.commands import cli
from heapsmith.model.design.design import load
from heapsmith.tools.common.preload import for_all
from heapsmith.tools.report import hardening

pytestmark = pytest.mark.usefixtures("own_outcomes")

Call = Callable[..., Answer]


def leaves() -> list[tuple[str, ...]]:
    """Every command, as the words that name it."""
    table: Any = typer.main.get_command(cli.app)
    rows: list[tuple[str, ...]] = []
    for name, command in table.commands.items():
        rows += [(name, inner) for inner in command.commands] if hasattr(command, "commands") else [(name,)]
    return rows


TABLE = [
    *("record", "trace info", "trace print", "trace verify", "trace import", "sites", "leaks", "diff", "designs"),
    *("trace filter", "trace slice", "trace merge", "trace cat", "trace sample", "trace scale", "trace repair"),
    *("trace diff", "trace export", "trace anonymise", "trace synth", "knobs"),
    *("design show", "design check", "schema", "simulate", "reuse", "mesh", "tune", "sweep", "guard"),
    *("generate", "build", "verify", "run", "stats", "top", "replay", "compare", "forge", "report", "doctor"),
    *("ab", "bisect", "calibrate", "inspect", "check", "core", "pins", "profile", "agent-guide", "mcp"),
]


def test_the_table_is_whole() -> None:
    assert sorted(" ".join(words) for words in leaves()) == sorted(TABLE)


@pytest.mark.parametrize("words", TABLE)
def test_help_has_an_example(call: Call, words: str) -> None:
    answer = call(*words.split(), "--help")
    assert answer.status == 0
    assert answer.err == ""
    assert f"Usage: heapsmith {words}" in answer.out
    assert f"  heapsmith {words}" in answer.out.split("Examples:\n")[1]
    assert "<" not in answer.out  # typer's word for a type


def test_without_arguments_help_is_shown(call: Call) -> None:
    assert call() == call("--help")
    assert all(f"\n  {words.split()[0]} " in call("--help").out for words in TABLE)


def test_version(call: Call) -> None:
    assert re.fullmatch(r"heapsmith \d+\.\d+\.\d+\n", call("--version").out)


def test_help_needs_neither_numpy_nor_numba() -> None:
    code = "import sys, heapsmith.commands.cli; print([n for n in ('numba', 'numpy', 'rich') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout == b"[]\n"


def test_ctrl_c_while_the_commands_load_shows_no_traceback() -> None:
    code = (
        "import os, signal, sys; from heapsmith.__main__ import main\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'heapsmith.commands.cli': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts()); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


LOST = """
import ctypes, os, signal, sys, types, typer
from heapsmith.__main__ import begin
app = typer.Typer()
app.callback()(lambda: None)
class Dies:
    def __del__(self):
        os.kill(os.getpid(), {number})
@app.command()
def command():
    {command}
    while True:
        signal.pause()
sys.modules["stood_in"] = types.SimpleNamespace(app=app)
begin("stood_in", "stood-in")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), {number}))()", "Dies()"])
def test_a_signal_where_python_drops_exceptions_ends_the_command_in_silence(number: int, command: str) -> None:
    """In a function that C calls, as LLVM does while the model compiles, and in a finalizer."""
    code = LOST.format(number=int(number), command=command.format(number=int(number)))
    done = subprocess.run([sys.executable, "-c", code, "command"], check=False, capture_output=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, b"", b"")


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_model_compiles_is_one_clear_end(number: int, trace: Path, tmp_path: Path) -> None:
    """The whole group of processes gets it, as from a terminal; a compilation in another process ends too."""
    words = [*PROGRAM, "tune", str(trace), "-o", str(tmp_path / "t.toml")]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "a cache"), "NUMBA_CACHE_DIR": ""}
    process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    assert "compiling the model" in process.stderr.readline()
    os.killpg(process.pid, number)
    assert process.communicate(timeout=300)[1] == ""  # all that had standard error have ended
    assert process.returncode == 128 + number
    assert not (tmp_path / "t.toml").exists()


def answer_json(answer: Answer) -> Any:
    """The JSON that a command printed and nothing else."""
    assert answer.status == 0, answer.err
    return json.loads(answer.out)


@pytest.mark.thorough
def test_trace_commands(call: Call, trace: Path) -> None:
    info = answer_json(call("trace", "info", trace, "--json"))
    events = info["events"]
    assert info["threads"] == 1
    assert answer_json(call("trace", "verify", trace, "--json"))["events"] == events > 20_000
    assert f"{events:,}" in call("trace", "info", trace).out
    assert f"{events:,}" in call("trace", "verify", trace).out
    assert len(call("trace", "print", trace).out.splitlines()) == events
    assert call("trace", "print", trace, "--first", "10", "--count", "2").out.startswith("10 ")


def test_import(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.rep").write_text("1000\n2\n5\n1\na 0 16\na 1 100\nr 0 700\nf 1\nf 0\n")
    made = answer_json(call("trace", "import", tmp_path / "a.rep", "-o", tmp_path / "a.hst", "--json"))
    assert made["events"] == 5
    assert [line.split()[3] for line in call("trace", "print", tmp_path / "a.hst").out.splitlines()] == [
        *("malloc", "malloc", "realloc", "free", "free")
    ]


def test_design_commands(call: Call) -> None:
    names = [design["name"] for design in answer_json(call("designs", "--json"))]
    assert "default" in names
    shown = call("designs").out
    assert all(f"\n{name} " in shown for name in names)
    plan = answer_json(call("design", "show", "default", "--json"))
    assert plan["classes"][0]["size"] == 16
    assert f"{plan['superslab_bytes']:,}" in call("design", "show", "default").out
    assert answer_json(call("design", "check", "default", "--json"))["hash"] == plan["hash"]


def test_simulate(call: Call, trace: Path) -> None:
    found = answer_json(call("simulate", trace, "--design", "default", "--design", "bare", "--json"))
    assert [row["design"] for row in found["rows"]] == ["default", "bare"]
    shown = call("simulate", trace, "--design", "default")
    assert f"{found['rows'][0]['committed_peak']:,}" in shown.out
    assert shown.err == ""  # no progress where nobody looks


def test_from_trace_to_proved_library(call: Call, trace: Path, tmp_path: Path) -> None:
    design, emitted, library = tmp_path / "tuned.toml", tmp_path / "c", tmp_path / "libtuned.so"
    assert answer_json(call("tune", trace, "-o", design, "--simulations", "5", "--json"))["design"]["name"] == "tuned"
    assert answer_json(call("design", "check", design, "--json"))["name"] == "tuned"
    assert "fast.c" in answer_json(call("generate", design, "-o", emitted, "--json"))["files"]
    assert "identical" in call("generate", design, "-o", emitted, "--check").out
    with (emitted / "fast.c").open("a") as file:
        file.write("\n")
    changed = call("generate", design, "-o", emitted, "--check")
    assert (changed.status, changed.out) == (1, "")
    assert "fast.c" in changed.err
    assert answer_json(call("build", design, "-o", library, "--json"))["library"] == str(library)
    report = answer_json(call("verify", design, trace, "--json"))
    assert report["ok"]
    assert [run["difference"] for run in report["runs"]] == [None, None]
    replayed = answer_json(call("replay", trace, "--lib", "glibc", "--lib", library, "--rounds", "2", "--json"))
    assert [row["library"] for row in replayed["rows"]] == ["glibc", "libtuned.so"]
    assert call("run", library, "--", "sh", "-c", "echo $LD_PRELOAD").out == f"{for_all(library).word}\n"


@pytest.mark.thorough
def test_tune_says_what_the_hardening_stops(call: Call, trace: Path, tmp_path: Path) -> None:
    said = call("tune", trace, "-o", tmp_path / "tuned.toml", "--simulations", "5", "--base", "basic").out
    assert " ".join(said.split()).count(hardening.sentence(load("basic"))) == 1


def test_a_difference_fails_the_check(call: Call, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from heapsmith.codegen import verify
    from heapsmith.codegen.difference import Difference

    difference = Difference(5, "free, thread 0, block 1", "counter push of class 0", "1", "2")
    run = verify.Run(str(trace), "checked", 5, 1, 2, 3, 0, 0.1, difference)
    report = verify.VerifyReport("default", "0" * 12, False, None, [run])
    monkeypatch.setattr(verify, "verify", lambda *_, **__: report)
    answer = call("verify", "default", trace)
    assert answer.status == 1
    words = " ".join(answer.out.split())  # the table folds texts
    assert "event 5, free, thread 0, block 1: counter push of class 0: expected 1, got 2" in words
    assert call("verify", "default", trace, "--json").status == 1


def test_doctor(call: Call) -> None:
    report = answer_json(call("doctor", "--json"))
    assert report["lacking"] == []
    assert "gcc" in call("doctor").out


@pytest.mark.thorough
def test_the_exit_status_is_the_commands(call: Call, tmp_path: Path) -> None:
    for start in (("record", "-o", tmp_path / "t.hst", "--"), ("run", "default", "--"), ("run", "default")):
        assert call(*start, "sh", "-c", "exit 7").status == 7
        assert call(*start, "sh", "-c", "kill -9 $$").status == 137
        assert call(*start, "sh", "-c", "echo out; echo err >&2").out == "out\n"
    assert answer_json(call("record", "-o", tmp_path / "t.hst", "--json", "--", "true"))["exit_status"] == 0


@pytest.mark.thorough
def test_a_reader_that_leaves_is_no_error(trace: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "trace", "print", str(trace)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 128 + signal.SIGPIPE)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    def complete(**variables: str) -> str:
        environment = os.environ | variables
        return subprocess.run(PROGRAM, check=True, capture_output=True, text=True, env=environment).stdout

    assert "heapsmith" in complete(_HEAPSMITH_COMPLETE=f"source_{shell}")
    line = "heapsmith design show def"
    offered = complete(
        _HEAPSMITH_COMPLETE=f"complete_{shell}",
        COMP_WORDS=line,
        COMP_CWORD="3",
        _TYPER_COMPLETE_ARGS=line,
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    assert "default" in offered
    assert "owner" not in offered
