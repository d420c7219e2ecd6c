"""GCC: its complaint in one line, the cache and its key, and nothing left behind when it fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from heapsmith.codegen import build
from heapsmith.codegen.toolchain import build_tool, compile_c, find_gcc
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import load
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import cache_dir


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A program that exits with the number of its header."""
    (tmp_path / "answer.h").write_text("enum { ANSWER = 3 };\n")
    path = tmp_path / "tool.c"
    path.write_text('#include "answer.h"\nint main(void) { return ANSWER; }\n')
    return path


def status(program: Path) -> int:
    return subprocess.run([program], check=False).returncode


def test_a_tool_is_compiled_once_and_anew_when_anything_changes(source: Path) -> None:
    first = build_tool("tool", [source])
    assert status(first) == 3
    assert first.parent == cache_dir() / "tools"
    inode = first.stat().st_ino
    assert build_tool("tool", [source]) == first
    assert first.stat().st_ino == inode
    assert build_tool("tool", [source], ["-O1"]) != first
    (source.parent / "answer.h").write_text("enum { ANSWER = 4 };\n")
    second = build_tool("tool", [source])
    assert second != first
    assert status(second) == 4
    source.write_text("int main(void) { return 5; }\n")
    assert status(build_tool("tool", [source])) == 5
    assert all(path.name.startswith("tool-") for path in first.parent.iterdir())


def test_include_folders_and_libraries(tmp_path: Path) -> None:
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "far.h").write_text("double cos(double);\n")
    source = tmp_path / "far.c"
    source.write_text("#include <far.h>\nint main(int n, char **v) { return v[0] == 0 || cos(n) > 2; }\n")
    out = compile_c([source], tmp_path / "new" / "far", flags=["-fno-builtin", "-lm"], include=[tmp_path / "headers"])
    assert out == tmp_path / "new" / "far"
    assert status(out) == 0


def test_the_first_diagnostic_in_one_line(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("int main(void)\n{\n    return wrong;\n}\n")
    out = tmp_path / "bad"
    out.write_text("what was there")
    with pytest.raises(CheckFailed, match=r"^gcc failed on bad\.c \(status 1\): .*bad\.c:3:12: error: .*wrong.*$"):
        compile_c([source], out)
    assert out.read_text() == "what was there"
    source.write_text("int missing(void);\nint main(void) { return missing(); }\n")
    with pytest.raises(CheckFailed, match=r"^gcc failed on bad\.c .*undefined reference to `missing'$"):
        compile_c([source], out)
    assert {path.name for path in tmp_path.iterdir()} == {"bad", "bad.c"}


@pytest.mark.parametrize("program", ["cc1", "as", "ld"])
def test_a_compiler_that_lacks_a_program(
    source: Path, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """gcc looks for cc1 in its own folders, and for the others on PATH too."""
    gcc, found = find_gcc().path, tmp_path / "path"
    found.mkdir()
    for other in {"cc1": ("as", "ld"), "as": ("ld",), "ld": ("as",)}[program]:
        (found / other).symlink_to(shutil.which(other) or pytest.skip(f"{other} is not installed"))
    monkeypatch.setenv("PATH", str(found))
    if program == "cc1":
        monkeypatch.setenv("GCC_EXEC_PREFIX", f"{tmp_path}/absent/")
    lacks = rf"^gcc failed on .* \(status 1\): .*fatal error: cannot \w+ '{program}'.*; install (binutils|gcc)$"
    with pytest.raises(Missing, match=lacks):
        compile_c([source], tmp_path / "out", compiler=gcc)


def test_what_is_missing(source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"tool: its source .*none\.c cannot be read: No such file"):
        build_tool("tool", [tmp_path / "none.c"])
    with pytest.raises(Missing, match="/dev/null/x/tool: cannot be written: Not a directory"):
        compile_c([source], Path("/dev/null/x/tool"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="gcc not found on PATH"):
        build_tool("tool", [source])


def test_gcc_and_the_cache_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    gcc = find_gcc()
    assert Path(gcc.path).is_absolute()
    assert "gcc" in gcc.version
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_dir() == Path("/home/someone/.cache/heapsmith")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_dir() == Path("/home/someone/.cache/heapsmith")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(Missing, match="user 4000000000 has no home directory: set HOME or XDG_CACHE_HOME"):
        cache_dir()


def test_flags_of_the_design_reach_every_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Builds for use and builds that verify makes; an archive is no link, so it has no link-time optimisation."""
    design = load("flags")
    commands: list[list[str]] = []

    def compiled(_: list[Path], out: Path, *, flags: list[str], **__: object) -> Path:
        commands.append(flags)
        raise CheckFailed(out.name)

    monkeypatch.setattr(build, "compile_c", compiled)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for static in (False, True):
        with pytest.raises(CheckFailed):
            build.build(design, tmp_path / "libheap", static=static)
    with pytest.raises(CheckFailed, match="libflags"):
        verify(design, [])
    assert [[flag in flags for flag in ("-O3", "-flto")] for flags in commands] == [
        [True, True],
        [True, False],
        [True, True],
    ]
