"""Files appear whole or not at all: content, mode, what is left after a failure, many writers at once."""

import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import pytest
from traces import random_trace

import heapsmith
from heapsmith.commands import exits
from heapsmith.model import files
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.files import staged, writable_file, write_whole

pytestmark = pytest.mark.quick


def test_a_file_in_a_new_folder_has_the_usual_mode(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    out = tmp_path / "a folder" / "file"
    write_whole(out, b"content")
    assert out.read_bytes() == b"content"
    assert out.stat().st_mode == usual.stat().st_mode
    assert os.listdir(out.parent) == ["file"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "file"
    write_whole(out, b"old")

    def fail(written: Path) -> None:
        written.write_bytes(b"half")
        raise CheckFailed("gcc failed")

    with pytest.raises(CheckFailed, match="gcc failed"), staged(out) as written:
        fail(written)
    assert out.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_signal_while_it_cleans_up_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its handler raises SystemExit wherever the command is."""
    made: list[Path] = []

    def interrupted(folder: Path, *, ignore_errors: bool) -> None:
        made.append(folder)
        if len(made) == 1:
            raise SystemExit(143)
        shutil.rmtree(folder, ignore_errors=ignore_errors)

    monkeypatch.setattr(files, "rmtree", interrupted)
    with pytest.raises(SystemExit), staged(tmp_path / "new") as written:
        written.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    assert len(made) == 2


def test_what_the_system_refuses(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match=r"folder: cannot be written: Is a directory"):
        write_whole(tmp_path / "folder", b"")
    with (
        pytest.raises(Missing, match=r"file: cannot be written: File exists"),
        staged(Path("/dev/null/file"), Missing),
    ):
        pass
    assert os.listdir(tmp_path) == ["folder"]


def test_writers_at_once_do_not_mix(tmp_path: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: write_whole(tmp_path / "file", content), contents))
    assert (tmp_path / "file").read_bytes() in contents
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_command_names_the_file_that_cannot_be_written(tmp_path: Path) -> None:
    """Files may have 200 bytes: each command says which one it could not write, and never that it was its output."""
    trace = tmp_path / "a.hst"
    random_trace(trace, 2000, seed=1)
    heapsmith.report(trace, tmp_path / "whole.html")  # compiled code too can be stored only without the limit
    # A module's compiled code that is cut short stays in the cache: Python asks nobody whether all was written
    limit = "import resource, sys; sys.dont_write_bytecode = True; "
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)); "
    commands = {
        f"generate default -o {tmp_path / 'c'}": tmp_path / "c" / "BUILD.bazel",
        f"build default -o {tmp_path / 'a.so'}": Path(tempfile.gettempdir()),
        f"bench run --quick --only gawk -o {tmp_path / 'a.json'}": Path(tempfile.gettempdir()),
        f"trace cat {trace} {trace} -o {tmp_path / 'b.hst'}": tmp_path / "b.hst",
        f"trace export {trace} -o {tmp_path / 'a.csv'}": tmp_path / "a.csv",
        f"report {trace} -o {tmp_path / 'a.html'}": tmp_path / "a.html",
    }
    for words, file in commands.items():
        package, arguments = ("heapsmith.bench", words[6:]) if words.startswith("bench ") else ("heapsmith", words)
        start = f"{limit}from {package}.__main__ import main; sys.exit(main())"
        command = [sys.executable, "-c", start, *arguments.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode in (BadInput.exit_code, Missing.exit_code), words
        *progress, said = done.stderr.splitlines()
        assert re.fullmatch(rf"heapsmith: {re.escape(str(file))}[^:]*: [^:]+: File too large", said), done.stderr
        assert not any("cannot" in line for line in progress)  # where the cache is cold, it tells of compilations
    assert sorted(os.listdir(tmp_path)) == ["a.hst", "c", "whole.html"]


def test_a_copy_that_fails_names_what_was_to_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "from", None, "to")
    monkeypatch.setattr(exits, "_complain", said := mock.Mock())

    def fail(*_: object, **__: object) -> None:
        raise copied

    assert exits.status(fail, []) == Missing.exit_code  # type: ignore[arg-type]
    said.assert_called_once_with("to: No space left on device")


def test_a_symbolic_link_stands_for_what_it_leads_to(tmp_path: Path) -> None:
    for name, target in (
        ("there", "file"),
        ("new", "other/new"),
        ("lost", "no/file"),
        ("itself", "itself"),
        ("d", "."),
    ):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "file").touch()
    (tmp_path / "other").mkdir()
    assert writable_file(tmp_path / "there") == (tmp_path / "file").resolve()
    assert writable_file(tmp_path / "new") == (tmp_path / "other/new").resolve()
    for name, match in (
        ("lost", "there is no folder"),
        ("itself", "itself: .*leads to itself"),
        ("d", "no.* plain file"),
    ):
        with pytest.raises(BadInput, match=match):
            writable_file(tmp_path / name)
    with pytest.raises(BadInput, match="File name too long"):
        writable_file(tmp_path / ("n" * 300))
