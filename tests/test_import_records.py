"""The kernels that read binary records: the calls of any records, and the same faults as plain Python."""

from pathlib import Path
from typing import Any
from unittest import mock

import import_records
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_import_kernels import calls, pieces_of

from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports import binary, bytehound, memray
from heapsmith.model.trace.imports.formats import import_trace
from heapsmith.model.trace.reader import TraceReader, verify
from heapsmith.model.trace.stacks import Module

PLACES = st.sampled_from([0, 8, 0x1000, 0x2008, (1 << 47) - 8, *range(1 << 40, (1 << 40) + 160, 8)])
WIDE = st.one_of(st.integers(0, 300), st.sampled_from([1 << 14, (1 << 62) - 1, (1 << 63) - 1]))
MEMRAY_RECORDS = st.one_of(
    st.tuples(st.just("allocation"), st.integers(1, 15), PLACES, WIDE),
    st.tuples(st.just("allocation"), st.sampled_from([5, 6]), PLACES, WIDE),
    st.tuples(st.just("object"), st.integers(0, 1), PLACES),
    st.tuples(st.just("switch"), st.integers(1, 3)),
    st.tuples(st.just("memory"), st.just(5), st.integers(0, 1 << 40)),
    st.tuples(st.just("push"), st.sampled_from([0, 1, 1 << 33]), st.sampled_from([-1, 0, 1, 1000]), st.integers(0, 1)),
    st.tuples(st.just("pop"), st.sampled_from([1, 1, 2, 16])),
    st.tuples(*map(st.just, ("code", 1, b"main", b"a.py")), st.integers(-9, 9), st.binary(max_size=200)),
    st.tuples(st.sampled_from(["native", "maps", "name"])),
)


def memray_calls(records: list[Any], *, native: bool, hides: int) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """The calls that these records are: op, thread, old, new, size, time and site; and the stacks of the sites.

    No frame is one of an interpreter, so that a call with both stacks has that of Python, if it is not empty.
    """
    thread = time = frames = 0
    functions: dict[int, list[int]] = {}
    sites: dict[tuple[Any, ...], int] = {(0, ()): 0}
    stacks: list[list[int]] = []
    calls: list[tuple[int, ...]] = []
    for kind, *fields in records:
        python = functions.setdefault(thread, [])
        if kind == "switch":
            thread = fields[0]
        elif kind == "memory":
            time = fields[1] * 10**6
        elif kind == "native":
            frames += 1
        elif kind == "push":
            python.append(1 << 62 | fields[0] << 26 | fields[1] + 1 | fields[2] << 60)
        elif kind == "pop":
            del python[len(python) - fields[0] :]
        elif kind == "allocation" and fields[0] == import_records.FREE:
            calls.append((Op.FREE, thread, fields[1], 0, 0, time, 0))
        elif kind == "allocation" and 6 <= fields[0] <= 13:
            op = {6: Op.MALLOC, 7: Op.MALLOC, 8: Op.CALLOC}.get(fields[0], Op.ALIGNED)
            hidden = hides if thread == 1 else 0
            shown = python[hidden:]
            key = (frames if native else 0, tuple(python) if shown or (native and frames) else ())
            site = sites.setdefault(key, len(sites)) if fields[1] else 0
            if site > len(stacks):
                alone = [import_records.CODE + 16 * frame for frame in _native(frames)]
                stacks.append([one & ~(1 << 60) for one in (shown or python)[::-1]] or alone)
            calls.append((op, thread, 0, fields[1], fields[2], time, site))
    return calls, stacks


def _native(frame: int) -> list[int]:
    """The frames of a native stack of Memray."""
    return [frame, *_native((frame - 1) // 2)] if frame else []


BYTEHOUND_NUMBERS = st.one_of(st.none(), st.tuples(st.integers(1, 3), st.integers(0, 9)))
FEW = st.integers(0, 3)
STACK = st.lists(st.sampled_from([0, 1, 0x1010, 0x1020, 0x2010, (1 << 32) - 1]), max_size=6)
BYTEHOUND_EVENTS = st.one_of(
    st.tuples(
        *(st.sampled_from(["alloc", "realloc", "free"]), st.integers(0, 1 << 53), st.integers(0, (1 << 32) - 1)),
        *(st.sampled_from([0, 3, 1 << 31, 1 << 30]), BYTEHOUND_NUMBERS, PLACES, PLACES, WIDE, FEW),
    ),
    st.tuples(st.sampled_from(["stack", "stack32"]), st.sampled_from([0, 1, 2, 3, (1 << 64) - 1]), STACK),
    st.tuples(st.sampled_from(["part", "part32"]), FEW, FEW, st.sampled_from([0, 1, 2, 9, 0xFFFFFFFF]), STACK),
    st.tuples(st.just("frame"), st.sampled_from([0, 0x1010, 0x2010]), FEW, st.sampled_from([0, 0, 1])),
    st.tuples(st.just("decoded"), st.lists(FEW, max_size=4)),
    st.sampled_from(import_records.BYTEHOUND_OTHERS).map(lambda kind: (kind,)),
)


def possible(records: list[Any]) -> list[Any]:
    """The records without decoded stacks whose frames come later, and returns of more functions than were called."""
    kept, frames, thread = [], 0, 0
    functions: dict[int, int] = {}
    for record in records:
        frames += record[0] == "frame"
        thread = record[1] if record[0] == "switch" else thread
        depth = functions.get(thread, 0) + (record[0] == "push") - (record[1] if record[0] == "pop" else 0)
        if depth >= 0 and (record[0] != "decoded" or max(record[1], default=-1) < frames):
            kept.append(record)
            functions[thread] = depth
    return kept


def bytehound_calls(events: list[Any]) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The calls that these events are: op, thread, old, new, size, time and site; and the stacks of the sites."""
    calls: list[tuple[int, ...]] = []
    stacks: dict[int, tuple[int, ...]] = {}
    last: dict[int, tuple[int, ...]] = {}
    sites: dict[tuple[int, ...], int] = {(): 0}
    frames: list[tuple[int, ...]] = []
    decoded = 0
    for kind, *fields in events:
        if kind in ("stack", "stack32", "part", "part32"):
            number, *part, addresses = fields
            called = tuple(max(address - 1, 0) for address in addresses)
            if part:
                thread, dropped = part
                called = last[thread] = called + (last.get(thread, ())[dropped:] if dropped != 0xFFFFFFFF else ())
            stacks[number] = called
        elif kind == "frame":
            frames.append(() if fields[2] else (fields[0],))
        elif kind == "decoded":
            stacks[decoded] = tuple(address for frame in fields[0] for address in frames[frame])
            decoded += 1
        elif kind in ("alloc", "realloc", "free"):
            time, tid, flags, number, pointer, old, size, backtrace = fields
            name = lambda pointer, number=number: (1 << 62 | number[0] << 38 | number[1]) if number else pointer  # noqa: E731
            row = {
                "alloc": (Op.CALLOC if flags == 1 << 31 else Op.MALLOC, tid, 0, name(pointer), size),
                "realloc": (Op.REALLOC, tid, name(old), name(pointer), size),
                "free": (Op.FREE, tid, name(pointer), 0, 0),
            }[kind]
            stack = stacks.get(backtrace, ()) if kind != "free" and pointer else ()
            calls.append((*row, time * 1000, sites.setdefault(stack, len(sites))))
    return calls, list(sites)[1:]


RECORDS: dict[str, tuple[Any, Any, Any]] = {
    "memray": (memray, MEMRAY_RECORDS, memray_calls),
    "bytehound": (bytehound, BYTEHOUND_EVENTS, bytehound_calls),
}


@pytest.mark.parametrize("examples", [12, pytest.param(400, marks=pytest.mark.big)])
@pytest.mark.parametrize("name", RECORDS)
def test_records(name: str, examples: int, tmp_path: Path) -> None:
    """The kernel, as Python and compiled, finds the calls and stacks of any records, in pieces of any size."""
    module, strategy, expected = RECORDS[name]

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(strategy, max_size=60).map(possible), st.sampled_from([137, 1 << 19]), st.booleans(), st.integers(0, 2)
    )
    def hold(records: list[Any], size: int, flag: bool, hides: int) -> None:
        told: Any = {"native": flag, "hides": hides} if name == "memray" else {}
        options = told or {"packed": flag, "block": size}
        (tmp_path / "file").write_bytes(getattr(import_records, name)(records, **options))
        wanted, stacks = expected(records, **told)
        code, mapped = "/lib/a.so", range(import_records.CODE, import_records.CODE + 160 * (("maps",) in records))
        for take in (module.take, module.fast_take):
            with mock.patch.object(module, "fast_take", take), pieces_of(binary, size):
                rows, bad, (found, *_) = calls(module.read, tmp_path / "file")
            assert bad is None
            assert [(*row[:5], row[6], row[8]) for row in rows] == wanted
            assert found == [
                [(code, at - import_records.CODE) if at in mapped else ("", at) for at in stack] for stack in stacks
            ]

    hold()


def test_native_stacks_of_memray(tmp_path: Path) -> None:
    """Frames lie in the files that were mapped, also behind a piece's end, and however many there are."""
    records: list[Any] = [("switch", 1), ("maps",), *[("native",)] * 9000, ("allocation", 6, 0xA0, 8)]
    records += [("native",), ("allocation", 6, 0xB0, 9), ("allocation", 7, 0xC0, 9), ("allocation", 5, 0xA0, 0)]
    (tmp_path / "file").write_bytes(import_records.memray(records, native=True))
    with pieces_of(binary, 1000):
        import_trace(tmp_path / "file", tmp_path / "out.hst")
    verify(tmp_path / "out.hst")
    with TraceReader(tmp_path / "out.hst") as trace:
        tree = trace.stacks()
        (site,) = [site.tolist() for _, site in trace.sited()]
    assert tree is not None
    assert site == [1, 2, 2, 0]
    assert tree.modules == [Module("/lib/a.so", None)]
    frames = {1: [9000], 2: [9001]}
    for one, path in frames.items():
        while path[-1] > 1:
            path.append((path[-1] - 1) // 2)
        found = [(int(tree.module[frame]), int(tree.offset[frame])) for frame in tree.path(one)]
        code = [import_records.CODE + 16 * frame for frame in path if frame]
        assert found == [(0, at - import_records.CODE) if at < import_records.CODE + 160 else (-1, at) for at in code]


@pytest.mark.parametrize("name", RECORDS)
def test_damaged_records(name: str, tmp_path: Path) -> None:
    """Plain and compiled kernels find the same calls before the same damage."""
    module, strategy, _ = RECORDS[name]

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(strategy, max_size=20), st.integers(0), st.binary(max_size=3), st.booleans())
    def hold(records: list[Any], at: int, put: bytes, cut: bool) -> None:
        options = {} if name == "memray" else {"packed": False}
        content = getattr(import_records, name)(records, **options)
        at %= len(content)
        (tmp_path / "file").write_bytes(content[:at] + put + (b"" if cut else content[at + len(put) :]))
        expected = calls(module.read, tmp_path / "file")
        with mock.patch.object(module, "fast_take", module.take):
            assert calls(module.read, tmp_path / "file") == expected

    hold()
