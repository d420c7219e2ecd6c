"""Recordings on other processors and with other C libraries: of one program, the same events as here; replays there."""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from conftest import process
from systems import ARM, MUSL, PROGRAMS, RISC, System
from traces import random_trace

from heapsmith.bench.programs.emulated import compiler_of_programs, emulator
from heapsmith.codegen.build import build
from heapsmith.codegen.target import toolchain
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.errors import Missing
from heapsmith.model.trace.reader import Chunk, Op, TraceReader, verify
from heapsmith.tools.peers.peers import replay_tool
from heapsmith.tools.record.record import SPOOL_VARIABLE, record, recorder_tool
from heapsmith.tools.record.spool import Spool
from heapsmith.tools.replay.script import write_script

MUSL_OF_ARM = "aarch64-linux-musl"
LEAST = 7000
"""Bytes of the least block whose events are compared: the C library's own are shorter."""
Told = tuple[int, int, int, int]
"""Operation, thread, size and logarithm of the alignment."""
TICK_NS = 16.0
"""Nanoseconds of a tick, by what the emulator says of its clock. Times under it mean nothing."""


def compiled(folder: Path, compiler: str | None = None) -> Path:
    program = folder / "anywhere"
    flags = ["-O1", "-Wall", "-Werror", "-fno-builtin", "-pthread"]
    return compile_c([PROGRAMS / "rec_anywhere.c"], program, flags=flags, compiler=compiler)


def told(chunks: Iterable[Chunk]) -> Counter[Told]:
    """The events of blocks of LEAST bytes or more, with the threads' numbers."""
    found: Counter[Told] = Counter()
    long: set[int] = set()
    for chunk in chunks:
        columns = (chunk.op, chunk.thread, chunk.block, chunk.size, chunk.align_log2)
        for op, thread, block, size, align in zip(*(column.tolist() for column in columns), strict=True):
            if op < Op.FREE:
                long = long | {block} if size >= LEAST else long - {block}
            if op < Op.THREAD_START and block in long:
                found[op, thread, size, align] += 1
    return found


def here(folder: Path, *arguments: str) -> list[Counter[Told]]:
    """What is told here: by the program, and with an argument by its child."""
    folder.mkdir()
    return recorded(compiled(folder), *arguments)


def recorded(program: Path, *arguments: str) -> list[Counter[Told]]:
    found = []
    for trace in record([str(program), *arguments], program.with_name("t.hst")).traces:
        verify(trace.path)
        assert (trace.drops, trace.lost_frees) == (0, 0)
        with TraceReader(trace.path) as reader:
            found.append(told(reader))
    return found


def elsewhere(
    system: System, stacks: int, folder: Path, recorder: Path | None = None, compiler: str | None = None
) -> list[Counter[Told]]:
    """What is told under an emulator, whose programs have this process's environment in /proc.

    It ignores MADV_WIPEONFORK, so children cannot be told from their parents there. recorder: one that is compiled.
    compiler: of the program, in place of the system's.
    """
    if compiler is None:
        system.tools()
    folder.mkdir()
    program = compiled(folder, compiler or system.compiler)
    recorder = recorder or recorder_tool(stacks).ready(system.compiler)
    environment = os.environ | {SPOOL_VARIABLE: str(folder)}
    subprocess.run([*system.under, "-E", f"LD_PRELOAD={recorder}", program], env=environment, check=True)
    found = []
    for path in sorted(folder.glob("*.spool"), key=lambda path: -path.stat().st_size):
        with Spool(path) as spool:
            found.append(told(chunk for chunk, *_ in spool.chunks(TICK_NS)))
            assert (spool.totals.lost_frees, spool.header.drops) == (0, 0)
            assert spool.samples is not None
            assert (spool.tree is not None) == (stacks > 0)
    return found


@pytest.mark.parametrize(
    ("system", "stacks"),
    [
        (ARM, 0),
        pytest.param(ARM, 16, marks=pytest.mark.thorough),
        pytest.param(RISC, 0, marks=pytest.mark.thorough),
        pytest.param(RISC, 16, marks=pytest.mark.thorough),
    ],
)
def test_a_recording_under_an_emulator_tells_the_same(system: System, stacks: int, tmp_path: Path) -> None:
    wanted = here(tmp_path / "here")
    assert len(wanted) == 1
    assert sum(wanted[0].values()) == 4 * (500 + 100 + 2 * 72) + 3 * 500
    assert elsewhere(system, stacks, tmp_path / "elsewhere") == wanted


@pytest.mark.thorough
def test_a_recording_of_a_program_of_musl_tells_the_same(tmp_path: Path) -> None:
    MUSL.tools()
    (tmp_path / "musl").mkdir()
    program = compiled(tmp_path / "musl", MUSL.compiler)
    found = recorded(program, "child")
    assert len(found) == 2
    assert found == here(tmp_path / "here", "child")


@pytest.fixture
def musl_of_arm() -> System:
    """musl on 64-bit Arm, if ziglang and a loader are there."""
    try:
        return System(MUSL_OF_ARM, tuple(emulator(MUSL_OF_ARM)))
    except Missing as error:
        pytest.skip(str(error))


@pytest.mark.big
@pytest.mark.parametrize("stacks", [0, 16])
def test_a_recording_of_musl_on_arm_tells_the_same(stacks: int, musl_of_arm: System, tmp_path: Path) -> None:
    recorder = recorder_tool(stacks).compiled(tmp_path / "recorder.so", toolchain(target=MUSL_OF_ARM).compiler)
    compiler = compiler_of_programs(MUSL_OF_ARM)
    assert elsewhere(musl_of_arm, stacks, tmp_path / "elsewhere", recorder, compiler) == here(tmp_path / "here")


@pytest.mark.big
def test_a_trace_of_here_is_replayed_by_musl_on_arm(musl_of_arm: System, tmp_path: Path) -> None:
    facts = write_script(random_trace(tmp_path / "t.hst", 3000, 5, threads=3), tmp_path / "script")
    driver = replay_tool().ready(compiler_of_programs(MUSL_OF_ARM))
    library = build(load("default"), tmp_path / "libdefault.so", tools=toolchain(target=MUSL_OF_ARM))
    words = [*musl_of_arm.under, "-E", f"LD_PRELOAD={library}", driver, tmp_path / "script", "--check", "--unsampled"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["operations"], told["threads"], told["checked"]) == (facts.operations, facts.threads, True)


@pytest.mark.thorough
@pytest.mark.parametrize("system", [ARM, RISC], ids=lambda one: one.target)
def test_a_trace_of_here_is_replayed_under_an_emulator(system: System, tmp_path: Path) -> None:
    """The replayer looks at each byte that it wrote, with the C library's malloc and with a library's."""
    system.tools()
    facts = write_script(random_trace(tmp_path / "t.hst", 3000, 5, threads=3), tmp_path / "script")
    library = build(load("default"), tmp_path / "libdefault.so", tools=system.tools())
    driver = replay_tool().ready(system.compiler)
    for preloaded in ([], ["-E", f"LD_PRELOAD={library}", "-E", f"HEAPSMITH=stats={tmp_path / 'stats.json'}"]):
        words = [*system.under, *preloaded, driver, tmp_path / "script", "--check", "--unsampled"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        told = json.loads(done.stdout)
        assert (told["operations"], told["threads"], told["checked"]) == (facts.operations, facts.threads, True)
    assert json.loads((tmp_path / "stats.json").read_text())["counters"]["heaps"] > 0


@pytest.mark.thorough
def test_a_trace_is_replayed_with_a_library_for_musl(tmp_path: Path) -> None:
    library = build(load("default"), tmp_path / "libdefault.so", tools=MUSL.tools())
    trace = random_trace(tmp_path / "t.hst", 2000, 6, threads=2)
    done = process("replay", trace, "--lib", library, "--rounds", "1", "--check", "--json")
    assert done.returncode == 0
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["library"], row["checked"]) == ("libdefault.so", True)
