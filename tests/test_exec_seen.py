"""What a watch of processes makes of exec(2) whose steps it sees: one program, by the one that started it."""

import subprocess
from pathlib import Path

import pytest

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.tools.common import process_watch, served_share
from heapsmith.tools.common.process_watch import Watch, _Facts

ENV, CHURN = "/usr/bin/env", "/tmp/churn"
OLD, EARLY, FINAL = 1000, 2000, 1900
"""Where the stack begins: of the program before, as exec lays it first, and as the program gets it."""

STEPS = {
    "all at once": [(FINAL, "churn", CHURN)],
    "without a stack": [(0, "env", CHURN), (FINAL, "churn", CHURN)],
    "without a file": [(EARLY, "env", ""), (FINAL, "churn", CHURN)],
    "the stack is laid, then moved": [(EARLY, "churn", CHURN), (FINAL, "churn", CHURN)],
    "read before, then its file": [(OLD, "env", CHURN), (EARLY, "churn", CHURN), (FINAL, "churn", CHURN)],
}

TITLE = """
#include <stdio.h>
#include <string.h>
int main(int count, char **words, char **environment)
{
    (void)count, (void)words;
    memset(environment[0], 0, strlen(environment[0]));
    puts("written");
    fflush(stdout);
    return getchar() == EOF ? 0 : 1;
}
"""


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_the_steps_of_exec_are_one_program(steps: list[tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(Path(process_watch.__file__), "env")
    states = iter([(OLD, "env", ENV), (OLD, "env", ENV), *steps, steps[-1]])
    pid = 7
    for looks, (stack, name, exe) in enumerate(states):
        monkeypatch.setattr(process_watch, "_facts", lambda _, s=stack, n=name: _Facts(False, 1, 5, s, 0.01, n))
        monkeypatch.setattr(process_watch, "_link", lambda *_, e=exe: e)
        monkeypatch.setattr(process_watch, "_own_pid", lambda number: number)
        monkeypatch.setattr(process_watch.Path, "read_bytes", lambda _: b"9 8 7")
        monkeypatch.setattr(watch, "_find", lambda one, known=looks < 2: setattr(one, "has", True if known else None))
        assert watch._look_at(pid)
    programs = watch._seen[pid, 5]
    assert [(one.name, one.exe, one.by) for one in programs] == [("env", ENV, "env"), ("churn", CHURN, "env")]


def test_a_program_that_was_seen_as_it_began_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other is started by it, under the name of its file: its own name was still that of what began it."""
    watch = Watch(Path(process_watch.__file__), "sh")
    monkeypatch.setattr(process_watch, "_own_pid", lambda number: number)
    monkeypatch.setattr(process_watch.Path, "read_bytes", lambda _: b"9 8 7")
    monkeypatch.setattr(watch, "_find", lambda one: None)
    for stack, name, exe in ((0, "launcher", ENV), (FINAL, "churn", CHURN)):
        monkeypatch.setattr(process_watch, "_facts", lambda _, s=stack, n=name: _Facts(False, 1, 5, s, 0.01, n))
        monkeypatch.setattr(process_watch, "_link", lambda *_, e=exe: e)
        assert watch._look_at(7)
    assert [(one.name, one.by) for one in watch._seen[7, 5]] == [("launcher", "sh"), ("churn", "env")]


def test_a_program_that_starts_itself_anew_is_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is known whether it has the library, another stack is another program."""
    watch = Watch(Path(process_watch.__file__), "churn")
    monkeypatch.setattr(process_watch, "_link", lambda *_: CHURN)
    monkeypatch.setattr(process_watch, "_own_pid", lambda number: number)
    monkeypatch.setattr(process_watch.Path, "read_bytes", lambda _: b"9 8 7")
    monkeypatch.setattr(watch, "_find", lambda one: setattr(one, "has", True))
    for stack in (OLD, OLD, FINAL):
        monkeypatch.setattr(process_watch, "_facts", lambda _, s=stack: _Facts(False, 1, 5, s, 0.01, "churn"))
        assert watch._look_at(7)
    assert [one.by for one in watch._seen[7, 5]] == ["churn", "churn"]


def test_a_program_that_overwrites_its_environment_is_told_without_a_reason(tmp_path: Path) -> None:
    """As servers do that show their work as the name of the process."""
    (tmp_path / "title.c").write_text(TITLE)
    title = compile_c([tmp_path / "title.c"], tmp_path / "title")
    watch = Watch(library_of(load("default")), "title")
    with subprocess.Popen([title], env={"A": "x" * 50}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"written\n"
        watch.look(process.pid, with_root=True)
    (found,) = watch.images()
    assert (found.has, found.why) == (False, served_share.OVERWRITTEN)
