"""Call sites of optimised C++: the standard library is no site, and each container of a function is its own row."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer
from preloaded import PROGRAMS
from test_sites import answered

from heapsmith.codegen.toolchain import compile_c
from heapsmith.tools.common import source_lines
from heapsmith.tools.common.code_place import place_at
from heapsmith.tools.record.record import record
from heapsmith.tools.sites.grouping import group_sites

SOURCE = PROGRAMS / "sites_containers.cc"
ROWS = [number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.endswith("// row")]
FILL = next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if "void fill" in line)
OF_LIBRARY = re.compile(r"\([a-z_]+(?:\.h|\.tcc)?:\d+\)$")
"""The end of the name of a row in a header of libstdc++ or libc++."""
COMPILERS = [
    *(("g++", "-g"), ("clang++", "-g")),
    *(pytest.param(*one, marks=pytest.mark.big) for one in (("g++", "-g1"), ("clang++", "-gline-tables-only"))),
]


def built(folder: Path, compiler: str, debug: str) -> tuple[Path, set[str]]:
    """The trace of the program, and the names of its rows."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    compile_c([SOURCE], folder / "program", flags=["-std=c++20", "-O2", debug, "-lstdc++"], compiler=compiler)
    [made] = record([str(folder / "program")], folder / "t.hst", stacks=64).traces
    keep = "keep" if debug == "-gline-tables-only" else "Index::keep"  # DWARF has short names of inlined functions
    return Path(made.path), {f"{'Depot::fill' if row > FILL else keep} ({SOURCE.name}:{row})" for row in ROWS}


@pytest.mark.thorough
@pytest.mark.parametrize(("compiler", "debug"), COMPILERS)
def test_each_container_is_a_row_at_the_users_line(
    tmp_path: Path, compiler: str, debug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With llvm-symbolizer, where it is, and without it."""
    trace, expected = built(tmp_path, compiler, debug)
    assert len(expected) == 18
    for has_symbolizer in (True, False):
        if not has_symbolizer:
            monkeypatch.setattr(source_lines, "_symbolizer", lambda: None)
        groups = group_sites(trace)
        named = {groups.name(group) for group in range(len(groups.paths))}
        others = {one for one in named if f"({SOURCE.name}:" in one} - expected
        assert named >= expected
        assert all("Depot (" in one for one in others)  # the deques of a new Depot
        assert not [one for one in named if OF_LIBRARY.search(one)]


@pytest.mark.thorough
def test_all_tables_have_these_rows(call: Callable[..., Answer], tmp_path: Path) -> None:
    trace, expected = built(tmp_path, "g++", "-g")
    assert {row["name"] for row in answered(call("sites", trace, "--no-advice", "--json"))["sites"]} >= expected
    leaked = answered(call("leaks", trace, "--at", "9000", "--json"))["leaks"]
    assert len({row["name"] for row in leaked} & expected) > 9
    pairs = answered(call("diff", trace, trace, "--by", "site", "--json"))["sites"]
    assert {pair["name"] for pair in pairs} >= expected
    assert call("trace", "export", trace, "-o", tmp_path / "sites.jsonl", "--rows", "sites").status == 0
    rows = [json.loads(line) for line in (tmp_path / "sites.jsonl").read_text().splitlines()]
    assert {f"{row['function']} ({row['location']})" for row in rows} >= expected


@pytest.mark.parametrize(
    ("path", "is_of_compiler"),
    [
        ("/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_map.h", True),
        ("/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h", True),
        ("/usr/lib/llvm-14/bin/../include/c++/v1/vector", True),
        ("/opt/gcc-14.2.0/include/c++/14.2.0/any", True),
        ("/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h", True),
        ("/usr/lib/llvm-14/lib/clang/14.0.6/include/immintrin.h", True),
        ("/usr/include/x86_64-linux-gnu/bits/stdio2.h", True),
        ("/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/alloc/src/vec/mod.rs", True),
        ("/usr/include/boost/container/vector.hpp", False),
        ("/home/me/include/c++/vector.h", False),
        ("/home/me/gcc/main.c", False),
        ("/usr/include/../local/bits/own.h", False),
    ],
)
def test_which_files_are_the_compilers(path: str, is_of_compiler: bool) -> None:
    assert place_at("f", f"{path}:7").is_of_compiler == is_of_compiler
