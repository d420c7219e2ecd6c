"""Children of another kind than the library: of another C library or word size, or static. They run as without it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bits32 import LOADER, built_32
from conftest import process
from systems import MUSL
from watched import IS_AWAITED, awaiting, of_folder

from heapsmith.codegen.build import build
from heapsmith.codegen.built import library_of
from heapsmith.codegen.target import toolchain
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.files import scratch
from heapsmith.tools.common import preload
from heapsmith.tools.common.elf import image_of
from heapsmith.tools.common.preload import LIB, for_all
from heapsmith.tools.common.process_watch import _Seen
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.compare.measure import run_once
from heapsmith.tools.compare.under import run_under
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.record.record import record

RUNUSER = shutil.which("runuser", path="/usr/sbin:/sbin:/usr/bin:/bin") or "runuser"
SPEAKS = """
#include <stdio.h>
#include <stdlib.h>
/* Says that it runs, in a block of malloc, and starts the command that it is given. */
int main(int count, char **words)
{
    char *block = malloc(100);
    snprintf(block, 100, "kind %s", KIND);
    puts(block);
    fflush(stdout);
    free(block);
    return count > 1 ? system(words[1]) : 0;
}
"""
CHURNS = (
    IS_AWAITED
    + """
#include <stdlib.h>
int main(void)
{
    for (unsigned i = 0; i < 100000 || i % 65536 != 0 || is_awaited(); i++) {
        char *volatile block = malloc(24 + i % 900);
        free(block);
    }
    return 0;
}
"""
)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program of each kind."""
    MUSL.tools()
    folder = tmp_path_factory.mktemp("kinds of programs")
    (folder / "speaks.c").write_text(SPEAKS)
    built_32(folder / "bits32")
    musl = toolchain(target=MUSL.target).compiler
    for kind, flags, compiler in [
        ("glibc", [], None),
        ("static", ["-static"], None),
        ("musl", [], musl),
        ("musl-static", ["-static"], musl),
    ]:
        compile_c([folder / "speaks.c"], folder / kind, flags=[f'-DKIND="{kind}"', *flags], compiler=compiler)
    found = {kind: image_of(folder / kind) for kind in ("musl", "bits32")}
    assert found["musl"] is not None
    assert found["bits32"] is not None
    assert (found["musl"].libc, found["bits32"].bits, found["bits32"].loader) == ("musl", 32, str(LOADER))
    return folder


def family(kinds: Path) -> list[str]:
    """A command of glibc that starts each of them, and one of musl that starts one of glibc."""
    each = "; ".join(f"./{kind}" for kind in ("glibc", "musl", "bits32", "static", "musl-static"))
    return ["sh", "-c", f"cd '{kinds}'; {each}; ./musl ./glibc"]


SAID = "".join(f"kind {kind}\n" for kind in ("glibc", "musl", "bits32", "static", "musl-static", "musl", "glibc"))


@pytest.mark.parametrize(
    "way",
    [
        ["run", "default"],
        pytest.param(["run", "--everywhere", "default"], marks=pytest.mark.thorough),
        pytest.param(["record"], marks=pytest.mark.thorough),
        pytest.param(["record", "--stacks"], marks=pytest.mark.thorough),
    ],
    ids=" ".join,
)
def test_children_of_all_kinds_run_as_they_are(way: list[str], kinds: Path, tmp_path: Path) -> None:
    if "--everywhere" in way and os.geteuid() != 0:
        pytest.skip("expected root")
    out = ["-o", tmp_path / "t.hst"] if way[0] == "record" else []
    done = process(*way, *out, "--", *family(kinds))
    assert (done.returncode, done.stdout) == (0, SAID)
    assert [line for line in done.stderr.splitlines() if not line.startswith("heapsmith: ")] == []


@pytest.mark.thorough
def test_a_comparison_finds_the_same_output(kinds: Path) -> None:
    done = process("compare", "--rounds", "1", "--lib", "glibc", "--lib", "default", "--", *family(kinds))
    assert done.returncode == 0, done.stderr
    assert "DIFFERS" not in done.stdout


def test_a_program_of_musl_and_its_children_of_glibc_are_recorded(kinds: Path, tmp_path: Path) -> None:
    found = record([str(kinds / "musl"), str(kinds / "glibc").replace(" ", "\\ ")], tmp_path / "t.hst")
    assert found.exit_status == 0
    assert {Path(trace.program[0]).name for trace in found.traces} >= {"musl", "glibc"}
    assert found.apart == []


@pytest.mark.thorough
def test_a_library_for_musl_does_not_end_children_of_glibc(
    kinds: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    library = build(load("lean"), tmp_path / "liblean.so", tools=MUSL.tools())
    assert run_under(library, [str(kinds / "musl"), str(kinds / "glibc").replace(" ", "\\ ")]) == 0
    assert capfd.readouterr() == ("kind musl\nkind glibc\n", "")


@pytest.mark.parametrize(("flags", "why"), [([], "linked with musl"), (["-static"], "statically linked")])
def test_children_that_did_the_work_are_named(flags: list[str], why: str, tmp_path: Path) -> None:
    musl = MUSL.tools().compiler
    (tmp_path / "churns.c").write_text(CHURNS)
    churns = compile_c(
        [tmp_path / "churns.c"], tmp_path / "churns", flags=["-w", of_folder(tmp_path), *flags], compiler=musl
    )

    def is_seen(one: _Seen) -> bool:
        return Path(one.exe) == churns and one.has is not None and one.cpu_s > 0.15

    told: list[str] = []
    with awaiting(tmp_path, is_seen):
        assert run_under(library_of(load("default")), ["sh", "-c", f"'{churns}'; true"], say=told.append) == 0
    (line,) = told
    assert line.startswith("libdefault.so does not serve churns (pid ")
    assert f"it is {why}" in line


def loaded(word: str, program: Path) -> subprocess.CompletedProcess[str]:
    environment = {"LD_PRELOAD": word, "LD_TRACE_LOADED_OBJECTS": "1"}
    return subprocess.run([program], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_each_loader_finds_the_library_of_its_kind(kinds: Path, tmp_path: Path) -> None:
    glibc, musl = library_of(load("lean")), build(load("lean"), tmp_path / "libm.so", tools=MUSL.tools())
    found = for_all(musl, glibc)
    assert [file.read_bytes() for file in found.files] == [musl.read_bytes(), glibc.read_bytes()]
    assert (LIB in found.word, Path(found.word).resolve()) == (True, found.files[0])
    seen = loaded(found.word, kinds / "glibc")
    assert (seen.returncode, seen.stderr) == (0, "")
    (line,) = [line for line in seen.stdout.splitlines() if found.word in line]
    assert Path(line.split()[2]).resolve() == found.files[1]
    assert for_all(musl, glibc) == found
    of_32 = loaded(found.word, kinds / "bits32")
    assert (of_32.returncode, of_32.stderr) == (0, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="expected root, who alone starts programs of other users")
def test_programs_of_another_user_get_a_library_that_they_can_read(tmp_path: Path) -> None:
    """root's runuser, with a library in a folder of root's own: one copy for all, which root alone can write to."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    library = Path(shutil.copy(library_of(load("lean")), folder / "libown.so"))
    words = [
        "run",
        library,
        "--",
        RUNUSER,
        "-u",
        "nobody",
        "--",
        "sh",
        "-c",
        "grep -c libown /proc/self/maps",
    ]
    done = process(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0
    (copy,) = for_all(library).files
    assert (copy.read_bytes(), copy.stat().st_mode & 0o777) == (library.read_bytes(), 0o755)
    assert for_all(library).files == (copy,)
    library.chmod(0o600)
    assert for_all(library).files == (copy,)


@pytest.mark.thorough
@pytest.mark.skipif(os.geteuid() != 0, reason="expected root, who alone starts programs of other users")
def test_a_comparison_serves_programs_of_another_user() -> None:
    """Their loader says nothing, and each has the library."""
    words = "exec 2>&1; true; grep -q liblean /proc/self/maps && echo served"
    start = Start([RUNUSER, "-u", "nobody", "--", "sh", "-c", words], RUNUSER)
    with scratch() as folder:
        run = run_once(start, Library("lean", library_of(load("lean"))), folder)
        assert (folder / "output").read_text() == "served\n"
    assert (run.used.exit_status, run.errors) == (0, "")


def test_links_are_where_they_are_wanted(tmp_path: Path) -> None:
    folder = tmp_path / "links"
    word = for_all(library_of(load("lean")), folder=folder).word
    if preload.SPECIAL.search(str(folder)):
        assert not word.startswith(str(folder))
    else:
        assert word.startswith(f"{folder}/")


@pytest.mark.parametrize(
    ("said", "lib"),
    [
        ("search path=/heapsmith/lib64/glibc-hwcaps/x86-64-v2:/heapsmith/lib64\t\t(LD_LIBRARY_PATH)", "lib64"),
        ("search path=/heapsmith/lib/tls:/heapsmith/lib\t(LD_LIBRARY_PATH)", "lib"),
        ("Error loading shared library", ""),
    ],
)
def test_the_loader_says_what_lib_stands_for(said: str, lib: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other distributions: where 64-bit libraries are in lib64, those in lib are 32-bit ones."""
    library = library_of(load("lean"))
    nothing = preload._nothing("-m32")
    assert nothing is not None
    asked = preload._lib_of_loader.__wrapped__
    answer = subprocess.CompletedProcess("loader", 0, "", f"     1:\t {said}\n")
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", lambda *_, **__: answer)
        assert asked() == lib
    monkeypatch.setattr(preload, "_lib_of_loader", lambda: lib)
    word = for_all(library).word
    if not lib:
        assert Path(word).samefile(library)
        return
    place = Path(word.partition(f"/{LIB}/")[0])
    wanted = {"lib": nothing if lib == "lib64" else library, "lib64": library, "lib32": nothing}
    found = {at: (place / at / library.name).read_bytes() for at in wanted}
    assert found == {at: file.read_bytes() for at, file in wanted.items()}
