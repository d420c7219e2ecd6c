"""Looks at the memory of a process: what they cost, what they survive, and which image gets them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heapsmith.tools.common import process_watch, resident_series, smaps
from heapsmith.tools.common.process_watch import Watch
from heapsmith.tools.common.resident_series import MOST_LOOKS, Looks, Series
from heapsmith.tools.common.smaps import Look, look_at, shared_devices
from heapsmith.tools.record import resident
from heapsmith.tools.record.resident import _shared_out
from heapsmith.tools.record.spool import SpoolHeader


def test_all_kinds_are_all_that_is_resident() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print(end='x', flush=True); input()"], stdin=-1, stdout=-1
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        look = look_at(process.pid, (b"/nowhere",), shared_devices(process.pid))
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.kill()
    (resident,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    assert look.resident == pytest.approx(int(resident) << 10, rel=0.01, abs=256 << 10)
    with pytest.raises((OSError, ValueError)):
        look_at(process.pid, (b"/nowhere",), frozenset())


def test_pages_that_went_back_between_two_files_of_proc_are_not_resident(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they would be none of malloc's: no block lies in a page that is not there."""
    half = "import mmap; m = mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE); m.write(b'x' * (4 << 20))"
    half += "; print(end='x', flush=True); input()"
    read = smaps._Pages._read

    def fewer(pages: smaps._Pages, start: int, end: int) -> Any:
        found = read(pages, start, end)
        return found if found is None else np.where(np.arange(found.size) < 100, found, 0)

    with subprocess.Popen([sys.executable, "-c", half], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        before = look_at(process.pid, (b"/nowhere",), shared_devices(process.pid))
        monkeypatch.setattr(smaps._Pages, "_read", fewer)
        after = look_at(process.pid, (b"/nowhere",), shared_devices(process.pid))
        process.kill()
    asked = [(one, other) for one, other in zip(before.areas, after.areas, strict=True) if one.present is not None]
    assert max(one.resident for one, _ in asked) >= 4 << 20
    for one, other in asked:
        assert other.present is not None
        assert other.resident == smaps.PAGE * int(other.present.sum()) <= 100 * smaps.PAGE < one.resident
    assert before.resident - after.resident == sum(one.resident - other.resident for one, other in asked)


ENTRY = Path("/proc/self/smaps").read_bytes().partition(b"VmFlags")[0] + b"VmFlags: rd mr \n"


@pytest.mark.quick
@pytest.mark.parametrize("field", ["Rss", "Private_Clean", "Private_Dirty", "Anonymous", "VmFlags"])
def test_an_entry_of_smaps_lacks_a_field(field: str) -> None:
    """No field is another entry's, and the time does not grow with what follows: few entries would take minutes."""
    lacks = re.sub(rb"(?m)^%b:.*\n" % field.encode(), b"", ENTRY)
    assert len(list(smaps._mappings(ENTRY * 3))) == 3
    for text in (lacks + ENTRY, ENTRY + lacks, lacks * 20_000, ENTRY + lacks * 20_000):
        with pytest.raises(ValueError, match="smaps: expected a whole entry"):
            list(smaps._mappings(text))


@pytest.mark.quick
def test_a_thread_names_any_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """As its list of robust mutexes: one of the kernel's half has no stack."""
    heads = {1: 0xFFFF_FFFF_FFFF_0000, 2: 1 << 63, 3: 0x7000_0000_0000}

    class Calls:
        def syscall(self, _: int, thread: int, head: Any, __: object) -> int:
            head._obj.value = heads[thread]
            return 0

    monkeypatch.setattr(smaps, "_C", Calls())
    monkeypatch.setattr(smaps.os, "listdir", lambda _: ["9", *map(str, heads)])
    assert list(smaps._descriptors(9)) == [heads[3]]


@pytest.mark.parametrize("error", [PermissionError(13, "closed"), OSError(3, "gone"), KeyError("x"), MemoryError()])
def test_a_look_decides_nothing_about_its_process(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its parent, a process is followed for as long as it was alive at each turn."""
    looked: list[int] = []

    def look(pid: int, *_: object) -> Look:
        looked.append(pid)
        raise error

    monkeypatch.setattr(resident_series, "look_at", look)
    monkeypatch.setattr(resident_series.Series, "is_due", lambda *_: True)
    monkeypatch.setattr(resident_series, "FREE_SHARE", 1e9)
    monkeypatch.setattr(resident_series, "FREE_S", 1e9)
    watch = Watch(Path(process_watch.__file__), "sh")
    watch.looks = Looks()
    monkeypatch.setattr(watch, "_find", lambda one: setattr(one, "has", True))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["sh", "-c", "echo begun; read line"], **pipes) as process:  # type: ignore[call-overload]
        try:
            assert process.stdout.readline() == b"begun\n"  # before, it looks like several programs
            watch.look(process.pid, with_root=True)
            seen = watch._seen.copy()
            first = [one.series for its in seen.values() for one in its]
            watch.look(2**22 + 1, with_root=False)  # as a process of another parent
            assert watch._alive == {process.pid}
        finally:
            process.kill()
    assert [one.series for its in watch._seen.values() for one in its] == first != [None]
    assert looked == [process.pid] * (1 if isinstance(error, PermissionError) else 2)


def a_look(begin_ns: int, resident: int) -> Look:
    return Look(begin_ns, begin_ns + 1, resident, [], 0, 0, 0, 0, 0, 0, 0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, and bytes resident: a look costs 10 ms."""
    now = [0.0, 1.0, 0.0]

    def look(*_: object) -> Look:
        now[2] += 0.01
        return a_look(round(now[0] * 1e9), int(now[1]))

    monkeypatch.setattr(resident_series, "look_at", look)
    monkeypatch.setattr(resident_series, "count_mappings", lambda *_: 30)
    monkeypatch.setattr(resident_series.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(resident_series.time, "thread_time", lambda: now[2])
    return now


@pytest.mark.quick
def test_looks_take_little_time_and_keep_the_peak(clock: list[float]) -> None:
    looks, series = Looks(), Series()
    for step in range(200_000):
        clock[0] = step / 100
        clock[1] = 99e6 if step == 70_000 else 1e6
        looks.look(0, series, int(clock[1]), round(clock[0] * 1e9))
        assert clock[2] <= resident_series.FREE_S + resident_series.SHARE * clock[0] + 0.01
    assert MOST_LOOKS / 3 < len(series.looks) <= MOST_LOOKS
    times = [one.begin_ns for one in series.looks]
    assert max(one.resident for one in series.looks) == 99_000_000
    assert max(np.diff(times)) < 20e9
    assert times[-1] > 1.9e12


@pytest.mark.quick
def test_a_look_at_many_mappings_waits_for_its_time(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes .6 s: nobody counts for longer than a small part of what is allowed."""
    counted: list[int] = []

    def count(_: int, most: int) -> int:
        counted.append(min(60_000, most + 1))
        return counted[-1]

    def look(*_: object) -> Look:
        clock[2] += 0.6
        return a_look(round(clock[0] * 1e9), int(clock[1]))

    monkeypatch.setattr(resident_series, "count_mappings", count)
    monkeypatch.setattr(resident_series, "look_at", look)
    looks, series = Looks(), Series()
    for step in range(30_000):
        clock[0] = step / 100
        looks.look(0, series, 10**9 + step * 10**6, round(clock[0] * 1e9))
        assert clock[2] <= resident_series.FREE_S + resident_series.SHARE * clock[0]
    assert len(series.looks) == 4
    assert sum(counted) < 12 * 60_000


@pytest.mark.quick
def test_images_get_the_looks_of_their_program() -> None:
    """By hand: a wrapper without a look that its trace outlives, and a program whose first look is before its trace."""

    def series(seen_ns: int, *times: int) -> Series:
        made = Series()
        made.looks, made.seen_ns = [a_look(time, 1) for time in times], seen_ns
        return made

    a, b = Path("a"), Path("b")
    wrapper, program = series(30, 10, 20), series(90, 35, 50, 80)
    got = {
        path: [one.begin_ns for one in looks] for path, looks in _shared_out({a: 25, b: 40}, [wrapper, program]).items()
    }
    assert got == {a: [10, 20], b: [35, 50, 80]}
    got = {
        path: [one.begin_ns for one in looks] for path, looks in _shared_out({a: 36, b: 60}, [wrapper, program]).items()
    }
    assert got == {a: [35, 50], b: [80]}  # an exec that nobody saw
    assert _shared_out({a: 100}, [wrapper, program]) == {a: []}
    late = series(30, 10, 45)  # the process became the next program while it was looked at
    for programs, expected in (([late, series(90, 60)], {a: [10], b: [45, 60]}), ([late], {a: [10], b: [45]})):
        looks = _shared_out({a: 25, b: 40}, programs)
        assert {path: [one.begin_ns for one in its] for path, its in looks.items()} == expected


@pytest.mark.quick
def test_processes_of_one_pid_get_no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: pid 1 of two namespaces, a fork of one of them, and a process that is alone in having its pid."""

    def header(pid: int, start: int, parent: int = 0) -> SpoolHeader:
        return SpoolHeader(pid, parent, 0, parent > 0, start, 0, 0, 0, 0, 0, [])

    headers = {Path("a"): header(1, 10), Path("b"): header(1, 20), Path("c"): header(7, 30, 1), Path("d"): header(8, 5)}

    def series(*times: int) -> Series:
        made = Series()
        made.looks, made.seen_ns = [a_look(time, 1) for time in times], 90
        return made

    monkeypatch.setattr(resident, "read_header", headers.__getitem__)
    monkeypatch.setattr(resident, "inherited", lambda *_: {})

    def got(*looked: tuple[int, int, Series]) -> set[str]:
        found = resident.by_kind([*headers], headers, looked, lambda stamp: stamp, 1.0)
        return {path.name for path, one in found.items() if one._looks}

    few = [(7, 107, series(45)), (8, 108, series(50))]
    assert got((1, 101, series(11, 40)), *few) == {"a", "b", "c", "d"}
    assert got((1, 101, series(11, 40)), (1, 102, series(21)), *few) == {"d"}
    assert got((1, 101, series(11, 40)), (1, 102, series()), *few) == {"d"}
