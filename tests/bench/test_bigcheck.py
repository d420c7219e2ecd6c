"""Long forms, file by file: what passed at a commit is not run again; what failed is; the log says so."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heapsmith.bench.common.command import run
from heapsmith.bench.gates import bigcheck
from heapsmith.bench.gates.bigcheck import Outcome, is_due, main, performed, read
from heapsmith.model.errors import BadInput


def outcome(at: str, passed: bool = True) -> Outcome:
    return Outcome(at, "2026-01-01", 2, passed, "said")


def test_what_is_due() -> None:
    assert is_due(None, "a")
    assert not is_due(outcome("a"), "a")
    assert is_due(outcome("a", passed=False), "a")
    assert is_due(outcome("b"), "a")
    assert is_due(outcome("a+"), "a+")


def test_an_interrupted_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def perform(fails: str, interrupted: str) -> Callable[[str, str], Outcome]:
        def one(file: str, at: str) -> Outcome:
            if file == interrupted:
                raise InterruptedError
            ran.append(file)
            return outcome(at, passed=file != fails)

        return one

    monkeypatch.setattr(bigcheck, "commit", lambda: "c")
    log = tmp_path / "new" / "log.json"
    words = ["--log", str(log), "a", "b", "c"]
    monkeypatch.setattr(bigcheck, "performed", perform("a", "c"))
    with pytest.raises(InterruptedError):
        run(main, words)
    assert (ran, list(read(log))) == (["a", "b"], ["a", "b"])
    monkeypatch.setattr(bigcheck, "performed", perform("c", ""))
    assert run(main, words) == 1
    assert ran == ["a", "b", "a", "c"]
    monkeypatch.setattr(bigcheck, "performed", perform("", ""))
    assert run(main, words) == 0
    assert ran == ["a", "b", "a", "c", "c"]
    assert run(main, [*words, "--again"]) == 0
    assert ran[5:] == ["a", "b", "c"]
    capsys.readouterr()
    assert run(main, ["--log", str(log), "--table"]) == 0
    assert "| `a` | c, 2026-01-01 | 2 | said |" in capsys.readouterr().out


@pytest.mark.thorough
def test_a_file_of_tests_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bigcheck, "PYTEST", ("-m", "pytest", "-q", "-p", "no:cacheprovider"))
    for name, body, passed in (("good", "pass", True), ("bad", "assert False", False)):
        file = tmp_path / f"test_{name}.py"
        file.write_text(f"def test_it():\n    {body}\n")
        found = performed(str(file), "c")
        assert (found.passed, found.commit) == (passed, "c")
        assert ("1 passed" if passed else "1 failed") in found.said


def test_a_tree_with_changes_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="no clone"):
        bigcheck.commit()
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "s"], check=True)
    assert len(bigcheck.commit()) == 12
    Path("new").write_text("")
    assert bigcheck.commit().endswith("+")


def test_a_log_of_something_else(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for text in ("", "[]", '{"a": 1}'):
        log.write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "heapsmith.bench.gates.bigcheck", "--log", str(log), "--table"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert str(log) in done.stderr
