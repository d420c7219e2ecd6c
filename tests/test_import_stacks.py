"""The stacks of imports: files that were mapped, what other tools say of frames, lines of Python's functions."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import import_records
import numpy as np
import pytest
from test_import_kernels import calls

from heapsmith.model.trace.imports import bytehound, csv_table, json_lines, memray, mtrace
from heapsmith.model.trace.imports import parquet as parquet_table
from heapsmith.model.trace.imports.formats import import_trace
from heapsmith.model.trace.imports.python_code import Code
from heapsmith.model.trace.reader import TraceReader


def stacks(folder: Path, events: list[Any]) -> tuple[list[int], list[list[tuple[str, int]]], list[Any]]:
    """The sites of the calls of a file of bytehound, the frames of their stacks, and what it says of code."""
    (folder / "file").write_bytes(import_records.bytehound(events))
    rows, bad, (found, _, _, extra) = calls(bytehound.read, folder / "file")
    assert bad is None
    return [row[8] for row in rows], found, extra.get("perf_map", [])


def births(*backtraces: int) -> list[Any]:
    """An allocation of each of these backtraces."""
    return [("alloc", 1, 1, 0, None, 16 * (at + 1), 0, 8, number) for at, number in enumerate(backtraces)]


MAPS = b"""\
1000-3000 r-xp 00000200 fe:01 77                         /bin/a b
3000-4000 r--p 00000000 fe:01 77                         /bin/a b
5000-6000 r-xp 00000000 fe:01 78                         /opt/libbytehound.so
7000-8000 r-xp 00000000 00:00 0                          [vdso]
"""


def test_frames_of_bytehound_lie_in_the_files_that_were_mapped(tmp_path: Path) -> None:
    """Addresses are of the calls, before those to which they return. bytehound's own inner frames do not count."""
    events: list[Any] = [("file", b"/proc/self/maps", MAPS), ("file64", b"/bin/a b", b"1000-9000 r-xp 0 0 0 /x\n")]
    events += [("stack", 1, [0x5010, 0x5021, 0x1001, 0x3001, 0x5001, 0x2FFF]), ("stack", 2, [0x7001, 0x5001])]
    events += [("stack", 3, [0x5001]), ("stack", 4, [])]
    sites, found, _ = stacks(tmp_path, events + births(1, 2, 4, 9, 1, 3))
    assert sites == [1, 2, 0, 0, 1, 3]
    assert found == [
        [("/bin/a b", 0x200), ("", 0x3000), ("/opt/libbytehound.so", 0), ("/bin/a b", 0x21FE)],
        [("", 0x7000), ("/opt/libbytehound.so", 0)],
        [("/opt/libbytehound.so", 0)],
    ]


def test_a_file_that_is_mapped_later_counts(tmp_path: Path) -> None:
    line = b"1000-3000 r-xp 00000000 fe:01 77 /"
    maps = [("file64", b"/proc/self/maps", line + name + b"\n") for name in (b"a", b"b", b"a")]
    _, found, _ = stacks(tmp_path, [*maps[:2], ("stack", 1, [0x1001]), *births(1)])
    assert found == [[("/b", 0)]]
    _, found, _ = stacks(tmp_path, [*maps, ("stack", 1, [0x1001]), *births(1)])
    assert found == [[("/a", 0)]]


def test_decoded_frames_keep_their_names_where_the_file_is_missing(tmp_path: Path) -> None:
    """A file that bytehound has postprocessed; an inlined function has no frame of its own."""
    (tmp_path / "here").write_bytes(b"")
    here = b"9000-a000 r-xp 00000000 fe:01 78 " + bytes(tmp_path / "here") + b"\n"
    events: list[Any] = [("file64", b"/proc/self/maps", MAPS + here), ("string", 2, b"main"), ("string", 3, b"f(int)")]
    events += [("frame", 0x1000, 3, 1), ("frame", 0x1000, 2, 0), ("frame", 0x1001, 2, 0), ("frame", 0x9001, 3, 0)]
    events += [("frame", 0x3000, 7, 0), ("decoded", [0, 1, 2, 3, 4]), ("decoded", [3, 3])]
    sites, found, code = stacks(tmp_path, events + births(1, 0))
    assert sites == [1, 2]
    assert found[0] == [(str(tmp_path / "here"), 1)] * 2
    assert found[1] == [("", 0x1000), ("", 0x1001), (str(tmp_path / "here"), 1), ("", 0x3000)]
    assert code == [[0x1000, 2, "main"]]


def test_a_part_of_a_stack_goes_on_from_the_last_one_of_its_thread(tmp_path: Path) -> None:
    """An allocation that failed has no site, and a free has none."""
    events: list[Any] = [("part", 1, 1, 0xFFFFFFFF, [2, 3, 4, 5, 6]), ("part", 2, 2, 7, [9]), ("part", 3, 1, 3, [8, 9])]
    events += [("stack", 4, [7]), ("part32", 5, 1, 0, [1]), ("part32", 6, 1, 99, [3])]
    sites, found, _ = stacks(tmp_path, events + births(*range(1, 7)))
    assert sites == [1, 2, 3, 4, 5, 6]
    assert [[at for _, at in stack] for stack in found] == [
        [1, 2, 3, 4, 5],
        [8],
        [7, 8, 4, 5],
        [6],
        [0, 7, 8, 4, 5],
        [2],
    ]
    none = [
        ("alloc", 1, 1, 0, None, 0, 0, 8, 1),
        ("realloc", 1, 1, 0, None, 0, 16, 8, 1),
        ("free", 1, 1, 0, None, 16, 0, 0, 1),
    ]
    sites, found, _ = stacks(tmp_path, [*events, *births(1), *none])
    assert sites == [1, 0, 0, 0]


def test_the_outermost_functions_are_hidden_again(tmp_path: Path) -> None:
    """As many as the header says are memray's own, whenever they were called, and only in its thread."""
    step = [("push", 1, 0, 1), ("push", 2, 0, 1), ("allocation", 6, 0xA0, 8), ("pop", 2)]
    records: list[Any] = [("switch", 1), *step, *step, ("push", 3, 0, 1), ("allocation", 6, 0xB0, 8)]
    records += [("switch", 2), ("push", 3, 0, 1), ("allocation", 6, 0xC0, 8)]
    (tmp_path / "file").write_bytes(import_records.memray(records, hides=1))
    rows, bad, (found, *_) = calls(memray.read, tmp_path / "file")
    assert bad is None
    assert [row[8] for row in rows] == [1, 1, 0, 2]
    assert [[at >> 26 & 0xFF for _, at in stack] for stack in found] == [[2], [3]]


def test_there_is_room_for_any_stacks(tmp_path: Path) -> None:
    """More frames than the tables have at first, in one stack, in many, and behind the last one of a thread."""
    wide = [("stack", number, [number, 9]) for number in range(1, 6000)]
    events: list[Any] = [("stack", 7000, list(range(1, 9000))), *wide, ("part", 7001, 1, 0xFFFFFFFF, [5] * 200)]
    events += [("part", 7002 + step, 1, 1, [step + 1, 6]) for step in range(50)]
    sites, found, _ = stacks(tmp_path, events + births(7000, 1, 5999, 7051, 7001))
    assert sites == [1, 2, 3, 4, 5]
    assert [at for _, at in found[0]] == list(range(8998 % 128 + 129))
    assert found[1:3] == [[("", 0), ("", 8)], [("", 5998), ("", 8)]]
    assert [at for _, at in found[3]] == [49, *[5] * 50, *[4] * 199]
    assert [at for _, at in found[4]] == [4] * 200


INTERPRETER = """
.text
.skip 0x10
.type _PyEval_EvalFrameDefault, @function
_PyEval_EvalFrameDefault: .skip 0x10
.size _PyEval_EvalFrameDefault, 0x10
.skip 0x50
.type _PyEval_EvalFrameDefault.cold, @function
_PyEval_EvalFrameDefault.cold: .skip 0x10
.size _PyEval_EvalFrameDefault.cold, 0x10
"""
"""An interpreter at the first and the seventh native frame of Memray."""


@pytest.mark.parametrize(
    ("functions", "hides", "expected"),
    [
        ([(1, 1), (2, 1)], 0, [15, "2", 3, "1"]),
        ([(1, 1), (2, 0), (3, 1), (4, 0)], 0, [15, "4", "3", 3, "2", "1"]),
        ([(1, 1), (2, 0), (3, 1), (4, 0)], 1, [15, "4", "3", 3, "2"]),
        ([(1, 1), (2, 0), (3, 1), (4, 0)], 2, [15, "4", "3"]),
        ([(1, 1), (2, 0), (3, 1), (4, 0)], 3, [15, "4"]),
        ([(1, 1), (2, 0), (3, 1), (4, 0)], 4, [15, "4", "3", 3, "2", "1"]),
        ([(1, 1)], 0, [15, 7, 3, "1"]),  # an allocation before the interpreter told memray of the function
        ([(1, 1), (2, 1), (3, 1)], 0, ["3", "2", "1"]),  # an interpreter that was not found
        ([(1, 1), (2, 1), (3, 1)], 1, ["3", "2"]),
        ([], 0, [15, 7, 3, 1]),
    ],
)
def test_python_in_native_stacks(tmp_path: Path, functions: Any, hides: int, expected: list[Any]) -> None:
    """Functions of Python take the place of the interpreter, as in memray's hybrid stacks."""
    (tmp_path / "a.s").write_text(INTERPRETER)
    command = ["gcc", "-shared", "-nostdlib", "-Wl,-Ttext=0x1000", "-o", "liba.so", "a.s"]
    subprocess.run(command, cwd=tmp_path, check=True)
    records: list[Any] = [("switch", 1), ("maps", bytes(tmp_path / "liba.so"), import_records.CODE - 0x1000)]
    records += [("code", code, b"f", str(code).encode(), 0, b"") for code, _ in functions] + [("native",)] * 15
    records += [("push", code, 0, enters) for code, enters in functions] + [("allocation", 6, 0xA0, 8)]
    (tmp_path / "file").write_bytes(import_records.memray(records, native=True, hides=hides))
    _, bad, ((found,), _, _, extra) = calls(memray.read, tmp_path / "file")
    assert bad is None
    names = {address: name.removeprefix("py::f:") for address, _, name in extra["perf_map"]}
    assert [names.get(at, (at - import_records.CODE) // 16) for _, at in found] == expected


OFFSETS = [3, 3, 3, 5, 5, 5, 3, 3, 3, 147, 148, 149, 148, 147, 147]
"""The lines of the instructions of a function, in each of which an expression goes on over lines."""


@pytest.mark.parametrize(
    ("version", "table", "step"),
    [
        (50926320, b"\0\2\6\2\6\xfe\6\x7f\0\x11\2\1\2\1\2\xff\2\xff", 2),  # CPython 3.9
        (50990576, b"\6\2\6\2\6\xfe\0\x7f\2\x11\2\1\2\1\2\xff\4\xff", 1),  # CPython 3.10
    ],
)
def test_lines_of_older_python(version: int, table: bytes, step: int) -> None:
    code = Code("f", "a.py", 1, table)
    assert [code.line(place * step, version) for place in range(15)] == OFFSETS
    assert code.name(0, version) == "py::f:a.py:3"


def test_lines_of_this_python() -> None:
    """Of all functions of some modules, each instruction; one without a line counts as before it."""
    every = [compile(Path(inspect.getfile(module)).read_text(), "x", "exec") for module in (inspect, subprocess)]
    instructions = 0
    while every:
        code = every.pop()
        every += [one for one in code.co_consts if isinstance(one, CodeType)]
        ours = Code(code.co_name, "x", code.co_firstlineno, code.co_linetable)
        for at, (line, *_) in enumerate(code.co_positions()):
            instructions += 1
            assert line is None or ours.line(2 * at, sys.hexversion) == line
        assert ours.line(len(code.co_code), sys.hexversion) == 0
    assert instructions > 10_000


def test_a_table_of_lines_may_be_damaged() -> None:
    """Each table has an end, and a line or none."""
    for version in (0x03090000, 0x030A0000, 0x030B0000):
        for table in (b"", b"\0", b"\xff", b"\xf0\x7f", bytes(range(256)), b"\xf8" * 9 + b"\xf0"):
            assert Code("f", "a.py", 5, table).name(1 << 20, version).startswith("py::f:a.py")
    assert Code("f", "a.py", 5, b"").name(0, 0x030B0000) == "py::f:a.py"
    assert Code("f", "a.py", 5, b"\x80\0").name(-1, 0x030B0000) == "py::f:a.py"


def test_callers_of_mtrace_are_sites_with_the_names_of_backtrace_symbols(tmp_path: Path) -> None:
    """A failed call and a free have no site; a table of more callers than it begins with grows."""
    many = b"".join(b"@ /b:[%#x] + %#x 0x8\n" % (0x100 + at, 0x1000 + 16 * at) for at in range(5000))
    lines = b"= Start\n@ ./a b:(main+0x12)[0x12] + 0xa0 0x8\n@ ./a b:(main+0x12)[0x12] + 0xb0 0x8\n+ 0xc0 0x8\n"
    lines += b"@ [0x99] - 0xb0\n@ [0x99] ! 0xd0 0x1\n@ ./a b:(main+0x12)[0x12] < 0xa0\n@ ./a b:[0x44] > 0xe0 0x9\n"
    lines += b"@ [0x99] + 0xb0 0x8\n"
    (tmp_path / "file").write_bytes(lines + many + lines[8:])
    rows, bad, (found, _, _, extra) = calls(mtrace.read, tmp_path / "file")
    assert bad is None
    assert [row[8] for row in rows] == [1, 1, 0, 0, 2, 3, *range(4, 5004), 1, 1, 0, 0, 2, 3]
    assert found[:3] == [[("", 0x12)], [("", 0x44)], [("", 0x99)]]
    assert extra["perf_map"][:3] == [[0x12, 1, "./a b(main+0x12)"], [0x44, 1, "./a b[0x44]"], [0x99, 1, "[0x99]"]]


def test_callers_of_tables_are_sites(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    columns = {"op": ["malloc", "malloc", "realloc", "free", "malloc"], "pointer": [16, 32, 48, 32, 64]}
    columns |= {"old_pointer": [0, 0, 16, 0, 0], "caller": ["main", None, "f(int)", "g", "main"]}
    rows = list(zip(*columns.values(), strict=True))
    parquet.write_table(pyarrow.table(columns), tmp_path / "parquet")
    lines = [",".join(map(str, row)).replace("None", "") for row in (columns, *rows)]
    (tmp_path / "csv").write_text("\n".join(lines) + "\n")
    fields = [{name: value for name, value in zip(columns, row, strict=True) if value is not None} for row in rows]
    (tmp_path / "jsonl").write_text("".join(json.dumps(row) + "\n" for row in fields))
    for name, module in (("csv", csv_table), ("jsonl", json_lines), ("parquet", parquet_table)):
        found, bad, (places, _, _, extra) = calls(module.read, tmp_path / name)
        assert bad is None
        assert [row[9] for row in found] == [1, 0, 2, 0, 1], name
        assert places == [[("", 1)], [("", 2)]], name
        assert extra["perf_map"] == [[1, 1, "main"], [2, 1, "f(int)"]], name


@pytest.mark.parametrize("format", ["csv", "mtrace"])
def test_a_caller_that_comes_late_is_kept(format: str, tmp_path: Path) -> None:
    """In a column, or from a tool, that may name one; more than a chunk of calls before it has none."""
    calls_before = range(16, 16 * 70_001, 16)
    texts = {
        "csv": ["op,pointer,caller", *(f"malloc,{at}," for at in calls_before), "malloc,8,main"],
        "mtrace": ["= Start", *(f"+ {at:#x} 0x8" for at in calls_before), "@ /a:(main+0x1)[0x12] + 0x8 0x8"],
    }
    (tmp_path / "file").write_text("\n".join(texts[format]) + "\n")
    import_trace(tmp_path / "file", tmp_path / "out.hst")
    with TraceReader(tmp_path / "out.hst") as reader:
        sites = np.concatenate([site for _, site in reader.sited()])
        assert (sites.nonzero()[0].tolist(), sites[-1]) == ([70_000], 1)
