"""What a program's file says of its start, whatever bytes it holds: commands look before they run it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bits32 import built_32
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.tools.common.elf import image_of, loader
from heapsmith.tools.common.obstacles import find_program, interpreter, why_not_preloaded
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.compare.measure import measure
from heapsmith.tools.compare.under import run_under
from heapsmith.tools.record.record import record

PROGRAM = Path(sys.executable).resolve().read_bytes()[:4096]
CHANGES = st.lists(st.tuples(st.integers(0, 63) | st.integers(64, 1023), st.integers(0, 255)), min_size=1, max_size=8)
RUNS = '#include <stdio.h>\nint main(int n, char **words) { return n > 1 && fopen(words[1], "w") == NULL; }\n'
"""Leaves a file where it ran."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")


def built(folder: Path, name: str, *flags: str) -> Path:
    """The program, or a skipped test where this machine cannot build it."""
    (folder / "runs.c").write_text(RUNS)
    try:
        return compile_c([folder / "runs.c"], folder / name, flags=flags)
    except CheckFailed as error:
        pytest.skip(f"cannot be built here: {error}")


def refused(program: Path, match: str) -> None:
    """Every command refuses to run the program, for that reason, and does not run it."""
    folder = program.parent
    command, mark = [str(program), str(folder / "it ran")], folder / "it ran"
    with pytest.raises(BadInput, match=match):
        record(command, folder / "t.hst")
    with pytest.raises(BadInput, match=match):
        run_under(library_of(load("default")), command)
    with pytest.raises(BadInput, match=match):
        measure(command, ["glibc", "default"], stop=Stop(1))
    assert not mark.exists()
    assert not (folder / "t.hst").exists()


def test_a_whole_program() -> None:
    found = loader(Path(sys.executable))
    assert found is not None
    assert found.startswith("/")
    assert why_not_preloaded(Path(sys.executable)) is None


def test_the_loader_itself_preloads(tmp_path: Path) -> None:
    """As in /lib64/ld-linux-x86-64.so.2 ./program: it names no loader, and is not static."""
    named = loader(Path(sys.executable))
    assert named is not None
    assert why_not_preloaded(Path(named)) is None
    assert record([named, shutil.which("true") or ""], tmp_path / "t.hst").traces[0].events > 0


def test_a_static_program_is_refused_before_it_runs(tmp_path: Path) -> None:
    refused(built(tmp_path, "static", "-static"), "static: statically linked, so LD_PRELOAD has no effect")


def test_a_static_program_at_any_place_is_refused(tmp_path: Path) -> None:
    refused(built(tmp_path, "pie", "-static-pie", "-fPIE"), "pie: statically linked")


def test_a_32_bit_program_is_refused_as_such(tmp_path: Path) -> None:
    refused(built_32(tmp_path / "narrow"), "narrow: a 32-bit program, whose loader takes no 64-bit library")


@pytest.mark.parametrize("flag", ["-fsanitize=address", "-fsanitize=thread"])
def test_a_sanitizer_is_named(tmp_path: Path, flag: str) -> None:
    name = {"address": "AddressSanitizer", "thread": "ThreadSanitizer"}[flag.partition("=")[2]]
    refused(built(tmp_path, "checked", flag), f"checked: built with {name}, which must be the program's malloc")


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
def test_a_sanitizer_inside_the_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs.c").write_text(RUNS)
    words = ["clang", "-fsanitize=address", "-o", str(tmp_path / "inside"), str(tmp_path / "runs.c")]
    if subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip("clang has no AddressSanitizer here")
    refused(tmp_path / "inside", "inside: built with AddressSanitizer")


@pytest.mark.parametrize("line", ["#!{} one", "#!/usr/bin/env {}", "#! /usr/bin/env -S X=1 {} -v"])
def test_scripts_are_followed(tmp_path: Path, line: str) -> None:
    static = Path(preloadable(built(tmp_path, "static", "-static")))  # a first line takes no space in a path
    (tmp_path / "script").write_text(f"#!{static}\n")
    (tmp_path / "outer").write_text(line.format(preloadable(tmp_path / "script")) + "\n")
    for name in ("script", "outer"):
        (tmp_path / name).chmod(0o755)
    assert interpreter(tmp_path / "outer") == static
    refused(tmp_path / "outer", f"{static}: statically linked")


@needs_root
@pytest.mark.parametrize(
    ("mode", "owner", "match"),
    [(0o4755, (65534, 0), "its owner's rights"), (0o2755, (0, 65534), "its group's rights")],
    ids=["setuid", "setgid"],
)
def test_other_rights_are_named(tmp_path: Path, mode: int, owner: tuple[int, int], match: str) -> None:
    program = built(tmp_path, "other")
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip("the file system is mounted nosuid")
    os.chown(program, *owner)
    program.chmod(mode)
    refused(program, f"other: runs with {match}")
    assert why_not_preloaded(program, everywhere=True) is None
    program.chmod(mode & 0o755)
    assert why_not_preloaded(program) is None


@needs_root
def test_capabilities_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = built(tmp_path, "capable")
    try:
        subprocess.run(["setcap", "cap_net_raw+ep", program], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"setcap: {error}")
    assert why_not_preloaded(program) is None  # root gains nothing
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "capabilities from its file" in (why_not_preloaded(program) or "")


@pytest.mark.parametrize("words", [["program"], ["script"]])
def test_a_program_of_musl(tmp_path: Path, words: Sequence[str]) -> None:
    name, glibc = b"/lib/ld-musl-x86_64.so.1", b"/lib64/ld-linux-x86-64.so.2"
    assert PROGRAM.count(glibc) == 1
    (tmp_path / "program").write_bytes(PROGRAM.replace(glibc, name.ljust(len(glibc), b"\0")))
    (tmp_path / "script").write_text(f"#!{preloadable(tmp_path / 'program')}\n")
    for file in ("program", "script"):
        (tmp_path / file).chmod(0o755)
    command = [str(tmp_path / words[0])]
    with pytest.raises(Missing, match=r"linked with musl \(ld-musl-x86_64.so.1\), and .* with glibc"):
        run_under(library_of(load("default")), command)


def test_what_is_no_program_has_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("echo no first line\n")
    for name in ("text", "none"):
        assert why_not_preloaded(tmp_path / name) is None
        assert image_of(tmp_path / name) is None
    with pytest.raises(BadInput, match="no such command"):
        find_program(["no-such-command-here"])


@pytest.mark.thorough
@settings(max_examples=500, deadline=None)
@given(changes=CHANGES, length=st.integers(0, len(PROGRAM)) | st.just(len(PROGRAM)))
def test_any_bytes(changes: list[tuple[int, int]], length: int, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "program"
    content = bytearray(PROGRAM)
    for place, byte in changes:
        content[place] = byte
    path.write_bytes(content[:length])
    found = why_not_preloaded(path)
    assert found is None or any(word in found for word in ("statically", "-bit program", "another processor"))
