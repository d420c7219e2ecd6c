"""Foreign pointers: what each policy does with a block of glibc's own malloc; how they are counted and reported."""

import json
import re
import signal
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from covering import soon
from loaded import unchecked_library

from heapsmith.codegen.built import library_of
from heapsmith.codegen.generate import generate
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model import policy
from heapsmith.model.constants import BENCHFAST
from heapsmith.model.design.design import Design, builtin_names, changed, load
from heapsmith.model.errors import Refusal
from heapsmith.tools.common.preload import preloadable

PROGRAMS = Path(__file__).parent / "programs"
FLAGS = ["-O2", "-pthread", "-Wall", "-Wextra", "-fno-builtin", "-Wno-free-nonheap-object", "-Wno-use-after-free"]
CALLERS = 64
MAGIC: list[tuple[str, dict[str, Any]]] = [
    ("magic-header", {}),
    ("default", {"classifier": "magic_header"}),
    ("owner-drains", {"classifier": "magic_header"}),
]
"""Designs whose free() reads the byte before a block first, by lists, by rows, and where blocks have owners."""
NEXT = [name for name in builtin_names() if load(name).foreign == "next"]


@cache
def library(name: str) -> Path:
    """That of `leak` as users have it: who called is what -O2 says. The others are built fast."""
    design = msgspec.structs.replace(load("default"), foreign=name)
    return library_of(design) if name == "leak" else unchecked_library(design)


@cache
def program() -> Path:
    return build_tool("run_foreign", [PROGRAMS / "run_foreign.c"], FLAGS)


def run(policy: str, *words: str, options: str = "", tool: Path | None = None, preload: str = "") -> tuple[str, str]:
    """Output and errors of run_foreign, or of `tool`, under the policy's library."""
    environment = {"LD_PRELOAD": f"{preloadable(library(policy))}:{preload}", "HEAPSMITH": options}
    command = [str(tool or program()), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def seen(errors: str) -> dict[str, Any]:
    """The foreign pointers in the report on stderr."""
    found: dict[str, Any] = json.loads(errors)["foreign"]
    assert found["count"] == sum(caller["count"] for caller in found["callers"])
    return found


@pytest.mark.parametrize(
    ("policy", "what", "expected"),
    [
        ("leak", "free", "leaked\n"),
        ("next", "free", "reused\n"),
        ("leak", "realloc", "ENOMEM\n"),
        ("next", "realloc", "xxxxx\n"),
        ("leak", "usable", "0\n"),
        ("next", "usable", "1\n"),
        ("leak", "inside", ""),
        ("probe", "free", "leaked\n"),
        ("probe", "realloc", "ENOMEM\n"),
        ("probe", "usable", "0\n"),
        ("probe", "inside", ""),
        ("next", "inside", ""),
    ],
)
def test_policy(policy: str, what: str, expected: str) -> None:
    assert run(policy, what) == (expected, "")


@pytest.mark.parametrize(("what", "expected"), [("free", "reused\n"), ("realloc", "xxxxx\n"), ("usable", "1\n")])
def test_next_ends_behind_a_malloc_that_wraps_the_c_librarys(what: str, expected: str) -> None:
    """Which calls names that are ours too, so that the pointer comes to us again."""
    preload = build_tool("wraps_libc.so", [PROGRAMS / "shim_wraps_libc.c"], [*FLAGS, "-shared", "-fPIC"])
    assert run("next", what, preload=preloadable(preload)) == (expected, "")


@pytest.mark.parametrize("policy", ["leak", "next"])
def test_pointers_into_our_spans_are_counted_and_stay_with_us(policy: str) -> None:
    assert seen(run(policy, "inside", options="stats")[1])["count"] == 4


def test_callers_are_counted_by_place() -> None:
    found = seen(run("leak", "7", options="stats")[1])
    assert [caller["count"] for caller in found["callers"]] == [7, 1, 1]
    assert {caller["object"] for caller in found["callers"]} == {str(program())}
    places = {int(caller["offset"], 16) for caller in found["callers"]}
    assert all(0 < place < program().stat().st_size for place in places)
    assert len(places) == 3


def test_a_frequent_caller_survives_many_rare_ones(tmp_path: Path) -> None:
    """Space-saving: no count is too small, and the counts together are what was seen."""
    rare, often = 3 * CALLERS, 200
    source = tmp_path / "many.c"
    source.write_text(
        f'#include "{PROGRAMS}/run_foreign_block.h"\n'
        "int main(void) { void *volatile block = foreign_malloc(10);\n"
        + "free(block);\n" * CALLERS
        + f"for (int times = 0; times < {often}; times++) free(block);\n"
        + "free(block);\n" * (rare - CALLERS)
        + "return 0; }\n"
    )
    found = seen(run("leak", options="stats", tool=build_tool("many", [source], FLAGS))[1])
    assert found["count"] == rare + often
    assert len(found["callers"]) == CALLERS
    counts = [caller["count"] for caller in found["callers"]]
    assert counts == sorted(counts, reverse=True)
    assert often <= counts[0] <= often + found["count"] // CALLERS


@pytest.mark.parametrize(("count", "limit"), [(7, 3), (7, 8), (1, 0)])
def test_the_report_comes_once_the_limit_is_passed(count: int, limit: int) -> None:
    place = rf"0x[0-9a-f]+ \({re.escape(str(program()))}\+0x[0-9a-f]+\)"
    line = rf"heapsmith: foreign pointers: {limit + 1} so far; callers: \d+ from {place}"
    out, errors = run("leak", str(count), options=f"foreign={limit}")
    assert out == ""
    assert re.fullmatch(line + r"(, \d+ from \S+ \([^)]+\))*\n", errors), errors


@pytest.mark.parametrize("limit", [9, 1_000_000])
def test_no_report_below_the_limit(limit: int) -> None:
    assert run("leak", "7", options=f"foreign={limit}") == ("", "")


def test_a_free_probes_the_page(tmp_path: Path) -> None:
    """Each free of the program is a system call; a page that is not mapped is no block's."""
    source = tmp_path / "probed.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <errno.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n"
        "static volatile int calls;\n"
        "int mincore(void *start, size_t bytes, unsigned char *pages)\n"
        "{ (void)bytes; (void)pages; calls++; return start == (void *)0x1000 ? (errno = ENOMEM, -1) : 0; }\n"
        "int main(void) { void *volatile small = malloc(10), *volatile large = malloc(100000); calls = 0; errno = 7;\n"
        "free(small); free(large); free((void *)0x1010); free(NULL); return calls != 3 || errno != 7; }\n"
    )
    tool = build_tool("probed", [source], [*FLAGS, "-rdynamic"])
    assert run("probe", tool=tool) == ("", "")


@pytest.mark.parametrize("level", ["checks", "full"])
@pytest.mark.parametrize("what", ["free", "realloc", "size"])
def test_abort_ends_the_program(what: str, level: str, tmp_path: Path) -> None:
    """One line that names the address, whichever call brings it; what is ours is served."""
    call = {"free": "free(place)", "realloc": "place = realloc(place, 200)", "size": "return malloc_usable_size(place)"}
    source = tmp_path / "stranger.c"
    source.write_text(
        "#include <malloc.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "int main(void) { free(malloc(10)); free(realloc(malloc(100000), 50)); free(NULL);\n"
        f'char block[64]; void *volatile place = block; dprintf(1, "%p", place); {call[what]}; return 0; }}\n'
    )
    hardening = policy.row("hardening", level).Params()
    design = msgspec.structs.replace(load("default"), foreign="abort", hardening=hardening)
    environment = {"LD_PRELOAD": preloadable(unchecked_library(design))}
    tool = str(build_tool(f"stranger_{what}", [source], FLAGS))
    done = subprocess.run([tool], env=environment, capture_output=True, text=True, timeout=300, check=False)
    line = f"heapsmith: {what} of what is no block in use: {int(done.stdout, 16):#018x}\n"
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, line)


@pytest.mark.parametrize("level", ["checks", "full"])
@pytest.mark.parametrize(("what", "expected"), [("free", "reused\n"), ("realloc", "xxxxx\n"), ("usable", "1\n")])
def test_abort_gives_another_allocator_its_blocks(what: str, expected: str, level: str) -> None:
    hardening = policy.row("hardening", level).Params()
    design = msgspec.structs.replace(load("default"), foreign="abort", hardening=hardening)
    environment = {"LD_PRELOAD": preloadable(unchecked_library(design))}
    done = subprocess.run([program(), what], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def emitted(design: Design, folder: Path) -> str:
    """The hit paths, without the design's hash and the names of headers."""
    generate(design, folder)
    text = (folder / "fast.c").read_text().replace(design.hash(), "HASH")
    return re.sub(r"^#include .*\n", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", soon(NEXT, ["default", "owner", "lean", "two-level", "steady"]))
def test_the_hit_path_is_the_same_whatever_becomes_of_foreign_pointers(name: str, tmp_path: Path) -> None:
    design = load(name)
    leaking = msgspec.structs.replace(design, foreign="leak")
    assert emitted(design, tmp_path / "next") == emitted(leaking, tmp_path / "leak")


def test_only_designs_that_look_at_each_block_or_measure_have_another_policy() -> None:
    assert {name: load(name).foreign for name in builtin_names() if name not in NEXT} == {
        "benchfast": "trust",
        "benchfast-whole": "trust",
        "checks": "abort",
        "hardened": "abort",
        "probing": "probe",
    }


@pytest.mark.parametrize(("name", "change"), MAGIC, ids=["linked-list", "by-row", "owner"])
def test_a_byte_that_looks_like_ours_makes_no_block(name: str, change: dict[str, Any]) -> None:
    """Whatever byte lies before a stranger, and where none may be read; and a block that begins a page is ours."""
    design = changed(load(name), f"{name}-magic", {"foreign": "leak", **change})
    tool = str(build_tool("run_strangers", [PROGRAMS / "run_strangers.c"], FLAGS))
    environment = {"LD_PRELOAD": preloadable(unchecked_library(design)), "HEAPSMITH": "stats"}
    for words, strangers in ((["ours"], 0), ([], 1 + 2 * 256)):
        done = subprocess.run([tool, *words], env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stdout) == (0, "")
        assert seen(done.stderr)["count"] == strangers


def test_abort_needs_hardening() -> None:
    design = msgspec.structs.replace(load("default"), foreign="abort")
    words = "foreign: 'abort' cannot go with hardening 'off', which stops no program; expected 'next'"
    assert design.why_not_valid() == Refusal(words, ("foreign", "hardening"))


def test_trust_serves_benchmarks_alone() -> None:
    environment = {"LD_PRELOAD": preloadable(library("trust"))}
    done = subprocess.run(["/bin/true"], env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        'heapsmith: this library checks no free() (foreign = "trust") and serves benchmarks alone: '
        "set HEAPSMITH_BENCHFAST=1\n"
    )
    trusted = subprocess.run(["/bin/true"], env=environment | BENCHFAST, capture_output=True, timeout=300, check=False)
    assert (trusted.returncode, trusted.stderr) == (0, b"")
