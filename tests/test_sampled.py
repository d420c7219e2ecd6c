"""`heapsmith profile`: a program with known sites, by its command, process and files; and what it refuses."""

import ctypes
import json
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Answer
from elftools.elf.elffile import ELFFile
from preloaded import FLAGS, PROGRAMS, library, program

from heapsmith.codegen.build import build
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.units import amount
from heapsmith.tools.sampled.process import of_process
from heapsmith.tools.sampled.snapshot import parsed, read

Call = Callable[..., Answer]

SMALL, MORE, LARGE, CHURNED = 40_000 * 128, 20_000 * 128, 20 << 20, 10_000 * 1000
"""The bytes of tests/programs/known_sites.c."""
MEAN = 20_000


def known_sites() -> Path:
    return program("known_sites", "-g")


def environment(folder: Path, more: str = "") -> dict[str, str]:
    """The design's draws are the same in each run: so are the samples."""
    options = f"sample={MEAN},profile={folder}/at exit-%p.heap{more}"
    return os.environ | {"LD_PRELOAD": preloadable(library("sampled", checked=False)), "HEAPSMITH": options}


@contextmanager
def waiting(folder: Path, more: str = "") -> Iterator[tuple["subprocess.Popen[str]", Callable[[str], list[str]]]]:
    """The program where it waits, and what makes a step of it."""
    command = [str(known_sites()), str(folder / "asked-%p.heap")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment(folder, more), **pipes) as process:  # type: ignore[call-overload]
        stdin, stdout = process.stdin, process.stdout

        def step(letter: str) -> list[str]:
            stdin.write(f"{letter}\n")
            stdin.flush()
            return lines("done")

        def lines(last: str) -> list[str]:
            found = [stdout.readline().strip()]
            while found[-1] not in ("", last):
                found.append(stdout.readline().strip())
            return found

        assert lines("ready") == ["ready"]
        yield process, step


def rows(found: Any) -> dict[str, Any]:
    """The rows of a profile by their function."""
    return {row["name"].partition(" ")[0]: row for row in found["rows"]}


def holds(estimate: Any, true: float) -> bool:
    return bool(estimate["low"] <= true <= estimate["high"])


def test_each_figure_of_a_command_holds_the_true_value(call: Call) -> None:
    answer = call("profile", "--json", "--mean", str(MEAN), "--", str(known_sites()))
    assert answer.status == 0, answer.err
    found = json.loads(answer.out)
    by = rows(found)
    assert holds(by["keep_small"]["live_bytes"], SMALL)
    assert holds(by["keep_small"]["live_blocks"], SMALL / 128)
    assert holds(by["keep_large"]["live_bytes"], LARGE)
    assert holds(by["churn"]["allocated_bytes"], CHURNED)
    assert by["churn"]["live_bytes"]["value"] < 3 * MEAN
    assert holds(found["total"]["live_bytes"], SMALL + LARGE + 1000)
    assert by["keep_small"]["live_bytes"]["high"] < 1.3 * SMALL  # and it says something
    assert (found["dropped"], found["unsited"], found["mean_bytes"]) == (0, 0, MEAN)


def test_growth_between_two_moments(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the process, and by two files that it writes: the same samples in both."""
    with waiting(tmp_path) as (process, step):
        first = of_process(process.pid)
        asked = tmp_path / f"asked-{process.pid}.heap"
        assert step("d") == ["0", "done"]
        before = asked.rename(tmp_path / "before.heap")
        step("a")
        assert step("d") == ["0", "done"]
        last = of_process(process.pid)
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(60) == 0
    for look, file in ((first, before), (last, asked)):
        told = read(file)
        assert sorted(told.samples["number"].tolist()) == sorted(look.samples["number"].tolist())
        assert told.sites["samples"].tolist() == look.sites["samples"].tolist()
        assert told.sites["frame"].tolist() == look.sites["frame"].tolist()
        assert told.sites["allocated"]["bytes"] == pytest.approx(look.sites["allocated"]["bytes"], abs=1)
    assert len(list(tmp_path.glob("at exit-*.heap"))) == 1
    answer = call("profile", before, asked, "--json")
    assert answer.status == 0, answer.err
    by = rows(json.loads(answer.out))
    assert holds(by["keep_small"]["growth_bytes"], MORE)
    assert holds(by["keep_small"]["allocated_bytes"], MORE)
    assert by["keep_small"]["growth_bytes"]["low"] > 0
    assert holds(by["keep_large"]["growth_bytes"], 0)
    found = json.loads(answer.out)
    rate = found["total"]["allocated_bytes"]["value"] / found["seconds"]
    monkeypatch.setenv("COLUMNS", "250")
    columns = call("profile", before, asked, "--top", "1").out.split("asked for per second")
    assert f"growth in {found['seconds']:.1f} s" in columns[0]
    assert amount(rate) in columns[1]
    assert (
        "two profiles" in call("profile", asked, before, "--json").err or "older" in call("profile", asked, before).err
    )


@pytest.mark.thorough
def test_formats_have_the_same_estimates(call: Call, tmp_path: Path) -> None:
    """Collapsed stacks add up to the total; go tool pprof reads what the library itself writes."""
    file = tmp_path / "known.heap"
    with waiting(tmp_path) as (process, step):
        step("d")
        (tmp_path / f"asked-{process.pid}.heap").rename(file)
        process.stdin.close()  # type: ignore[union-attr]
    live = json.loads(call("profile", file, "--json").out)["total"]["live_bytes"]
    total, interval = live["value"], f"95 % interval {live['low']:,.0f} to {live['high']:,.0f}"
    assert call("profile", file, "--format", "html", "-o", tmp_path / "live.html").status == 0
    assert interval in (tmp_path / "live.html").read_text()
    lines = call("profile", file, "--format", "collapsed").out.splitlines()
    assert sum(int(line.split()[-1]) for line in lines) == pytest.approx(total, abs=len(lines))
    assert any("main" in line and ";keep_small" in line for line in lines)
    if go := shutil.which("go"):
        words = [go, "tool", "pprof", "-top", "-unit=b", "-sample_index=inuse_space", str(file)]
        said = subprocess.run(words, capture_output=True, text=True, check=True)
        columns = (line.split() for line in said.stdout.splitlines())
        flat = {words[-1]: float(words[0].rstrip("B")) for words in columns if len(words) == 6 and words[1][-1] == "%"}
        assert flat["keep_large"] == LARGE
        small = rows(json.loads(call("profile", file, "--json").out))["keep_small"]["live_bytes"]["value"]
        assert flat["keep_small"] == pytest.approx(small, rel=0.01)


def test_the_page_shows_what_is_printed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The design draws the same samples in each run."""
    monkeypatch.setenv("COLUMNS", "100")
    page = (Path(__file__).resolve().parent.parent / "docs" / "live.md").read_text()
    shown = page.partition("```text\n")[2].partition("```")[0]
    answer = call("profile", "--mean", "65536", "--top", "3", "--", str(known_sites()))
    assert answer.out.endswith(shown)
    assert len(shown.splitlines()) > 6


def test_what_it_refuses(call: Call, tmp_path: Path) -> None:
    other = tmp_path / "other.heap"
    other.write_text("heap profile: 1: 2 [3: 4] @ heapprofile\n1: 2 [3: 4] @ 0x1\n")
    sleeper = subprocess.Popen(["sleep", "1000"])
    for words, said in (
        (("999999999",), "999999999: no such process"),
        ((sleeper.pid,), f"process {sleeper.pid} takes no samples"),
        (("1", "--mean", "5"), "--mean: is of a command"),
        ((other,), f"{other}: no profile of a heapsmith library"),
        (("--lib", "default", "--", "true"), "--lib default: takes no samples; expected a design"),
    ):
        answer = call("profile", *words)
        assert (answer.status, answer.err.splitlines()[-1][:200].find(said) >= 0) == (2, True), answer.err
    sleeper.kill()
    sleeper.wait()
    with pytest.raises(BadInput, match="damaged"):
        parsed("heap profile: 1: 2 [3: 4] @ heapprofile\n# heapsmith profile 1\n# sample 1 2\nMAPPED_LIBRARIES:\n", "x")


def test_a_profile_that_was_cut_is_damaged(tmp_path: Path) -> None:
    with waiting(tmp_path) as (process, step):
        step("a")
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(60) == 0
    (file,) = tmp_path.glob("at exit-*.heap")
    lines = file.read_text().splitlines(keepends=True)
    kinds = [line.split()[1] if line.startswith("# ") else line.strip() for line in lines]
    for last in (kinds.index("site"), len(kinds) - kinds[::-1].index("site"), kinds.index("MAPPED_LIBRARIES:")):
        with pytest.raises(BadInput, match="damaged"):
            parsed("".join(lines[:last]), "x")
    assert len(parsed("".join(lines), "x").samples) > 100


def test_the_status_is_that_of_the_command(call: Call) -> None:
    """Also of one that asks for too little to have a sample, and of one that ends before a look."""
    for command in ("sleep 0.3; exit 7", "exit 7"):
        answer = call("profile", "--", "sh", "-c", command)
        assert answer.status == 7
        assert answer.err.startswith("heapsmith: ")


AGAIN = "my @kept = map { 'x' x 1000 } 1 .. 20_000; exec $^X, '-e', 'my @k = map { q(y) x 100 } 1 .. 30_000; print 1'"


def test_a_process_that_begins_another_program_is_shown_as_that_one(call: Call) -> None:
    found = json.loads(call("profile", "--mean", 65536, "--json", "--", "perl", "-e", AGAIN).out)
    live, asked = (found["total"][name]["value"] for name in ("live_bytes", "allocated_bytes"))
    assert live <= asked


def test_a_signal_and_the_end_write_the_file(tmp_path: Path) -> None:
    with waiting(tmp_path, f",stats-on=USR1,stats={tmp_path}/stats.json") as (process, step):
        out, files = tmp_path / f"at exit-{process.pid}.heap", Path(f"/proc/{process.pid}/fd")
        before = sorted(file.name for file in files.iterdir())
        process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + 300
        while not out.exists() and time.monotonic() < end:
            time.sleep(0.005)
        at_signal = read(out)
        step("a")
        assert sorted(file.name for file in files.iterdir()) == before
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(60) == 0
    at_end = read(out)
    assert at_end.pid == at_signal.pid == process.pid
    assert len(at_end.samples) > len(at_signal.samples) > 100
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name, "stats.json"]


@pytest.mark.thorough
def test_the_frames_of_an_archive_are_left_out(call: Call, tmp_path: Path) -> None:
    archive = build(load("sampled"), tmp_path / "libsampled.a", static=True)
    linked = build_tool("linked", [PROGRAMS / "known_sites.c", archive], [*FLAGS, "-g"])
    out = tmp_path / "linked.heap"
    variables = os.environ | {"HEAPSMITH": f"sample={MEAN},profile={out}"}
    subprocess.run([linked], env=variables, stdin=subprocess.DEVNULL, check=True)
    by = rows(json.loads(call("profile", out, "--json").out))
    assert holds(by["keep_small"]["live_bytes"], SMALL)
    assert {"keep_small", "keep_large", "churn"} <= by.keys()
    assert not any("sample" in name for name in by)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_tracers_find_the_probes() -> None:
    """Each is a nop in the library's code, and readelf knows its arguments."""
    file = library("sampled", checked=False)
    said = subprocess.run(["readelf", "-n", str(file)], capture_output=True, text=True, check=True).stdout
    found = re.findall(
        r"Provider: (\w+)\n\s+Name: (\w+)\n\s+Location: (0x\w+), Base: (0x\w+), Semaphore: (0x\w+)\n\s+Arguments: (.+)",
        said,
    )
    assert {(provider, name) for provider, name, *_ in found} == {("otel_memory", "alloc"), ("otel_memory", "free")}
    with file.open("rb") as content:
        elf = ELFFile(content)
        base = elf.get_section_by_name(".stapsdt.base")["sh_addr"]
        counted = elf.get_section_by_name(".probes")
        of_tracers = {int(semaphore, 16) - counted["sh_addr"] for *_, semaphore, _ in found}
        assert (of_tracers, counted.data()) == ({0, 2}, bytes(4))
        for _, name, location, of, _, arguments in found:
            assert len(arguments.split()) == {"alloc": 3, "free": 1}[name]
            assert all(word.startswith("8@") for word in arguments.split())
            assert int(of, 16) == base > 0
            (offset,) = elf.address_offsets(int(location, 16))
            content.seek(offset)
            assert content.read(1) == b"\x90"


UPROBES = Path("/sys/bus/event_source/devices/uprobe/type")
PERF_EVENT_OPEN = 298
"""On x86-64."""


def place_of(file: Path, name: str, what: str) -> tuple[int, int]:
    """Return the address and the offset in the file of a probe's Location or Semaphore."""
    said = subprocess.run(["readelf", "-n", str(file)], capture_output=True, text=True, check=True).stdout
    (address,) = re.findall(rf"Name: {name}\n.*\b{what}: (0x\w+)", said)
    with file.open("rb") as content:
        (offset,) = ELFFile(content).address_offsets(int(address, 16))
    return int(address, 16), offset


def counted_hits(file: Path, name: str, pid: int) -> int:
    """Return a descriptor that counts how often a process comes to a probe; OSError if the kernel refuses."""
    path, libc = ctypes.create_string_buffer(str(file).encode()), ctypes.CDLL(None, use_errno=True)
    where = (ctypes.addressof(path), place_of(file, name, "Location")[1])
    semaphore = place_of(file, name, "Semaphore")[1] << 32  # format/ref_ctr_offset
    kind = int(UPROBES.read_text())
    wanted = struct.pack("<IIQQQQQIIQQ", kind, 112, semaphore, 1, 0, 0, 0, 0, 0, *where).ljust(112, b"\0")
    descriptor = libc.syscall(PERF_EVENT_OPEN, wanted, pid, -1, -1, 0)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    return int(descriptor)


def tracers(file: Path, name: str, pid: int) -> int:
    """What the semaphore of a probe says in a process."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    base = min(int(line.split("-")[0], 16) for line in maps if line.endswith(str(file)))
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        memory.seek(base + place_of(file, name, "Semaphore")[0])
        return int.from_bytes(memory.read(2), "little")


@pytest.mark.big
@pytest.mark.skipif(not UPROBES.exists() or platform.machine() != "x86_64", reason="the kernel has no uprobes")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may place uprobes")
def test_uprobes_of_a_running_process_see_each_sample(tmp_path: Path) -> None:
    """And the semaphores say that they look, as long as they do."""
    file = library("sampled", checked=False)
    with waiting(tmp_path) as (process, step):
        said = [tracers(file, name, process.pid) for name in ("alloc", "free")]
        hits = {name: counted_hits(file, name, process.pid) for name in ("alloc", "free")}
        said += [tracers(file, name, process.pid) for name in ("alloc", "free")]
        before = of_process(process.pid)
        step("a")
        after = of_process(process.pid)
        counts = {name: int.from_bytes(os.read(descriptor, 8), "little") for name, descriptor in hits.items()}
        os.close(hits["alloc"])
        said += [tracers(file, name, process.pid) for name in ("alloc", "free")]
        os.close(hits["free"])
    assert said == [0, 0, 1, 1, 0, 1]
    assert counts["alloc"] == after.taken - before.taken > 100
    assert counts["alloc"] - counts["free"] == len(after.samples) - len(before.samples)


def test_a_library_without_samples_says_so() -> None:
    added = {"LD_PRELOAD": preloadable(library("default", checked=False)), "HEAPSMITH": "profile=/nowhere/x"}
    done = subprocess.run(["true"], env=os.environ | added, capture_output=True, text=True, check=True)
    assert done.stderr == 'heapsmith: HEAPSMITH: this library takes no samples: "profile"\n'


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "x.heap"
    added = {"LD_PRELOAD": preloadable(library("sampled", checked=False)), "HEAPSMITH": f"profile={path}"}
    done = subprocess.run(["true"], env=os.environ | added, capture_output=True, text=True, check=True)
    assert done.stderr == f'heapsmith: HEAPSMITH: cannot write "{path}"\n'
