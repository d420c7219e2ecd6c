"""Finding and building peers: what is built comes first, each step that fails says so in a line, releases are shown."""

import ctypes
import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer

from heapsmith import Trace
from heapsmith.bench.peers import builds as peer_builds
from heapsmith.bench.peers.builds import BUILDS, Build, Crate, main
from heapsmith.bench.peers.older_glibc import bind_to_older
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.errors import BadInput
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.compare.measure import run_once
from heapsmith.tools.peers import peers
from heapsmith.tools.peers.peers import (
    AS_SET,
    PEERS,
    Library,
    find_libraries,
    find_library,
    placed_anew,
    require_malloc_of,
    version_of,
)
from heapsmith.tools.replay.replay import replay_once
from heapsmith.tools.replay.script import write_script

SHARED = ("-std=gnu11", "-O1", "-fPIC", "-shared", "-fno-builtin")
BUMP = """
#include <stddef.h>
#include <string.h>
static _Alignas(16) char pool[1 << 24];
static size_t used;
void *malloc(size_t n) { used = (used + 15) & ~(size_t)15; used += n; return pool + used - n; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *old, size_t n) { void *new = malloc(n); return old ? memmove(new, old, n) : new; }
void free(void *block) { (void)block; }
"""
SOURCE = Crate("toy-sys", "1.2.3+9")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of the one that `make peers` fills."""
    built = tmp_path / "peers"
    built.mkdir()
    monkeypatch.setattr(peers, "built_folder", lambda: built)
    monkeypatch.setattr(peer_builds, "built_folder", lambda: built)
    return built


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cargo that answers `metadata` for the crate SOURCE with a folder of sources; returns that folder."""
    source, tools = tmp_path / "toy-sys", tmp_path / "tools"
    source.mkdir()
    tools.mkdir()
    (source / "toy.c").write_text(BUMP)
    package = {"name": SOURCE.name, "version": SOURCE.version, "manifest_path": str(source / "Cargo.toml")}
    script = tools / "cargo"
    answer = json.dumps({"packages": [package]})
    script.write_text(f"#!/bin/sh\ngrep -q '^toy-sys = \"=1.2.3\"$' Cargo.toml || exit 9\necho '{answer}'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return source


def toy(source: Path, scratch: Path) -> tuple[str, Path]:
    """The sources of the fake crate, compiled."""
    return "1.2.3", compile_c([source / "toy.c"], scratch / "toy.so", flags=SHARED)


def rows(monkeypatch: pytest.MonkeyPatch, *table: Build) -> None:
    monkeypatch.setattr(peer_builds, "BUILDS", table)


def test_the_built_one_comes_before_the_systems(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "FOLDERS", (tmp_path,))
    monkeypatch.setattr(peers, "_linker_cache", tuple)
    with pytest.raises(BadInput, match=r"mimalloc is not installed: .*`make peers` has built none in"):
        find_library("mimalloc")
    for name in ("libmimalloc.so.2.0", "libjemalloc.so.2"):
        (tmp_path / name).touch()
    assert find_library("mimalloc") == Library("mimalloc", tmp_path / "libmimalloc.so.2.0")
    assert find_library("mimalloc2").path == tmp_path / "libmimalloc.so.2.0"
    for name in ("mimalloc2-2.5.2.so", "mimalloc3-3.6.0.so", "jemalloc-5.3.1.so"):
        (folder / name).touch()
    assert find_library("mimalloc") == Library("mimalloc", folder / "mimalloc3-3.6.0.so", "3.6.0")
    assert find_library("mimalloc2") == Library("mimalloc2", folder / "mimalloc2-2.5.2.so", "2.5.2")
    assert find_library("jemalloc") == Library("jemalloc", folder / "jemalloc-5.3.1.so", "5.3.1")


def test_releases_of_what_the_system_has(tmp_path: Path) -> None:
    assert find_library("glibc").version == os.confstr("CS_GNU_LIBC_VERSION").removeprefix("glibc ")  # type: ignore[union-attr]
    (tmp_path / "own.so").touch()
    assert version_of(tmp_path / "own.so") == ""
    assert find_library(str(tmp_path / "own.so")).version == ""
    for path in (tmp_path / "a" / "same.so", tmp_path / "b" / "same.so"):
        path.parent.mkdir()
        path.touch()
    specs = [str(tmp_path / "a" / "same.so"), str(tmp_path / "b" / "same.so"), "glibc"]
    assert [library.name for library in find_libraries(specs)] == specs


def test_a_peer_is_built_once_and_replaces_its_older_release(
    folder: Path, cargo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows(monkeypatch, Build("toy", "1.2.3", SOURCE, toy))
    (folder / "toy-1.2.2.so").touch()
    assert main([]) == 0
    assert [path.name for path in folder.iterdir()] == ["toy-1.2.3.so"]
    assert "toy 1.2.3: built from the crate toy-sys 1.2.3+9 in " in capsys.readouterr().out
    require_malloc_of(Library("toy", folder / "toy-1.2.3.so"))
    (cargo / "toy.c").unlink()
    assert main(["toy"]) == 0
    assert f"toy 1.2.3: already built, {folder}" in capsys.readouterr().out


def test_what_cannot_be_built_says_why_and_the_others_are(
    folder: Path, cargo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def toolless(source: Path, scratch: Path) -> tuple[str, Path]:
        peer_builds._run(["no-such-tool"], scratch)
        return "1", source

    def empty(source: Path, scratch: Path) -> tuple[str, Path]:
        (source / "toy.c").write_text("int nothing;")
        return toy(source, scratch)

    last = Build("good", "1.2.3", SOURCE, toy)
    rows(monkeypatch, Build("toolless", "1", SOURCE, toolless), Build("old", "2", SOURCE, toy), last)
    assert main([]) == 3
    said = capsys.readouterr()
    assert (
        "heapsmith: toolless 1: not built: no-such-tool not found on PATH (Debian: apt install no-such-tool)"
        in said.err
    )
    assert "old 2: not built: the crate toy-sys 1.2.3+9 holds release 1.2.3, expected 2" in said.err
    assert said.err.count("\n") == 2
    assert [path.name for path in folder.iterdir()] == ["good-1.2.3.so"]
    rows(monkeypatch, Build("empty", "1.2.3", SOURCE, empty), Build("none", "1", Crate("toy-sys", "1.2.3"), toy))
    assert main([]) == 1
    said = capsys.readouterr()
    assert "empty.so" not in said.err
    assert "toy.so: cannot stand in for malloc: it replaces no malloc" in said.err
    assert "cargo fetched no toy-sys of the exact version 1.2.3\n" in said.err
    rows(monkeypatch, Build("other", "1", Crate("other-sys", "1"), toy))
    assert main([]) == 1
    assert "cargo failed (status 9): no output" in capsys.readouterr().err
    with pytest.raises(BadInput, match="nothing: expected one of other"):
        main(["nothing"])


def test_a_newer_librarys_number_parsers_are_bound_to_the_older_ones(tmp_path: Path) -> None:
    """A stand-in for a future C library defines version GLIBC_9.99; no machine loads a library that needs it."""
    (tmp_path / "future.c").write_text(
        "long __isoc23_strtol(void){return 0;} int novelty(void){return 0;} int abs(int a){return a;}"
    )
    (tmp_path / "map").write_text("GLIBC_2.2.5 { abs; }; GLIBC_9.99 { __isoc23_strtol; novelty; };")
    flags = [*SHARED, "-nostdlib"]
    future = compile_c(
        [tmp_path / "future.c"],
        tmp_path / "libc.so.6",
        flags=[*flags, "-Wl,-soname,libc.so.6", f"-Wl,--version-script={tmp_path / 'map'}"],
    )
    for name, body in {
        "parser": "long __isoc23_strtol(const char *, char **, int); int abs(int);"
        "long parse(const char *s) { return abs((int)__isoc23_strtol(s, 0, 16)); }",
        "novel": "int novelty(void); int abs(int); long parse(void) { return abs(novelty()); }",
        "plain": "int abs(int); int parse(int a) { return abs(a); }",
    }.items():
        (tmp_path / f"{name}.c").write_text(body)
        compile_c([tmp_path / f"{name}.c", future], tmp_path / f"{name}.so", flags=flags)
    with pytest.raises(OSError, match=r"GLIBC_9\.99"):
        ctypes.CDLL(str(tmp_path / "parser.so"))
    bind_to_older(tmp_path / "parser.so", "GLIBC_9.99")
    assert ctypes.CDLL(str(tmp_path / "parser.so")).parse(b"-ff") == 255
    with pytest.raises(BadInput, match=r"novel\.so: needs novelty of GLIBC_9\.99"):
        bind_to_older(tmp_path / "novel.so", "GLIBC_9.99")
    before = (tmp_path / "plain.so").read_bytes()
    bind_to_older(tmp_path / "plain.so", "GLIBC_9.99")
    assert (tmp_path / "plain.so").read_bytes() == before


def test_the_table_of_builds() -> None:
    assert {row.name for row in BUILDS} <= set(PEERS)
    assert len({row.name for row in BUILDS}) == len(BUILDS) == 7


def test_what_is_built_here_runs_a_program() -> None:
    script = "printf '%s\\n' b c a | sort | tr -d '\\n'"
    for row in BUILDS:
        if not list(peers.built_folder().glob(f"{row.name}-*.so")):
            continue  # `make peers` is not for every machine
        library = find_library(row.name)
        require_malloc_of(library)
        environment = os.environ | {"LD_PRELOAD": peers.preload(library, {})}
        run = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, check=True)
        assert run.stdout == b"abc", library


def test_each_run_has_the_library_in_a_new_place(tmp_path: Path) -> None:
    source = tmp_path / "made.c"
    source.write_text("int made;\n")
    plain, tied = tmp_path / "plain.so", tmp_path / "tied.so"
    subprocess.run(["gcc", "-shared", "-o", plain, source], check=True)
    subprocess.run(["gcc", "-shared", "-Wl,-rpath,$ORIGIN", "-o", tied, source], check=True)
    folder = tmp_path / "runs"
    folder.mkdir()
    with placed_anew(Library("plain", plain), folder) as one, placed_anew(Library("plain", plain), folder) as other:
        assert one.path is not None
        assert other.path is not None
        assert not one.path.samefile(other.path)
        assert one.path.read_bytes() == other.path.read_bytes() == plain.read_bytes()
    assert not list(folder.iterdir())
    with placed_anew(Library("tied", tied), folder) as one, placed_anew(Library("glibc", None), folder) as other:
        assert one.path == tied
        assert other.path is None


SAYS_SETTINGS = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const char *glibc = getenv("GLIBC_TUNABLES"), *jemalloc = getenv("MALLOC_CONF");
    printf("%s %s\\n", glibc ? glibc : "-", jemalloc ? jemalloc : "-");
    return 0;
}
"""


def test_a_malloc_with_settings_runs_with_them(tmp_path: Path, call: Callable[..., Answer]) -> None:
    (tmp_path / "says.c").write_text(SAYS_SETTINGS)
    says = compile_c([tmp_path / "says.c"], tmp_path / "says", flags=("-O1",))
    libraries = find_libraries(["glibc", "glibc-two-arenas"])
    said = [run_once(Start([str(says)], str(says), {}), one, tmp_path).output.split()[0] for one in libraries]
    settings = ("-", "glibc.malloc.arena_max=2")
    assert said == [hashlib.sha256(f"{one} -\n".encode()).hexdigest() for one in settings]
    answer = call("compare", "--rounds", "1", "--lib", "glibc", "--lib", "glibc-two-arenas", "--json", "--", "true")
    assert [row["library"] for row in json.loads(answer.out)["rows"]] == ["glibc", "glibc-two-arenas"]


def test_settings_reach_replays(tmp_path: Path) -> None:
    trace = Trace.from_arrays(tmp_path / "t.hst", op=["malloc", "free"], block=[1, 1], size=[24, 0])
    write_script(Path(trace), tmp_path / "script")
    told = tmp_path / "stats.json"
    plain = find_library("default")
    replay_once(tmp_path / "script", plain)
    assert not told.exists()
    replay_once(tmp_path / "script", Library(plain.name, plain.path, settings={"HEAPSMITH": f"stats={told}"}))
    assert told.exists()


def test_the_page_has_the_settings() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text()
    for name, (_, settings) in AS_SET.items():
        assert f"| `{name}` |" in page
        assert all(f"`{variable}={value}`" in page for variable, value in settings.items())
    assert AS_SET.keys().isdisjoint(PEERS)
