"""Files that other tools write of one program are held against our own recording of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from heapsmith.bench.record.record import record
from heapsmith.model.trace.imports.formats import import_trace
from heapsmith.model.trace.stats import TraceInfo, trace_info

PROGRAM = Path(__file__).parent / "programs" / "import_mixed.c"


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("program") / "mixed"
    subprocess.run(["gcc", "-O0", "-fno-builtin", "-o", out, PROGRAM], check=True)
    return out


@pytest.fixture(scope="module")
def own(program: Path) -> TraceInfo:
    """Our own recording of the program."""
    trace = program.parent / "own.hst"
    record([str(program)], trace)
    return trace_info(trace)


def imported(file: Path, **settings: str) -> TraceInfo:
    import_trace(file, file.with_suffix(".hst"), **settings)
    return trace_info(file.with_suffix(".hst"))


def same(found: TraceInfo, own: TraceInfo, *, births_alike: bool = False, reallocs: bool = True) -> None:
    """The same counts, sizes and live bytes; `births_alike`: calloc and aligned are malloc in `found`."""
    ops, wanted = found.events_by_op.copy(), own.events_by_op.copy()
    if births_alike:
        wanted["malloc"] += wanted.pop("calloc") + wanted.pop("aligned")
        ops["malloc"] += ops.pop("calloc") + ops.pop("aligned")
    if not reallocs:  # each is a free and a birth
        wanted["free"] += wanted["realloc"]
        wanted["malloc"] += wanted.pop("realloc")
        ops["malloc"] += ops.pop("realloc")
    for one in (ops, wanted):
        del one["thread_start"], one["thread_exit"]
    assert ops == wanted
    assert found.top_sizes == own.top_sizes
    names = ["allocated_bytes"] if reallocs else []
    names += ["peak_live_bytes", "peak_live_blocks", "live_bytes_at_end", "live_blocks_at_end", "distinct_sizes"]
    for name in names:
        assert getattr(found, name) == getattr(own, name), name
    assert found.foreign_frees == 0


@pytest.mark.skipif(not Path("/usr/lib/x86_64-linux-gnu/libc_malloc_debug.so.0").exists(), reason="no malloc_debug")
def test_mtrace(program: Path, own: TraceInfo, tmp_path: Path) -> None:
    subprocess.run(["gcc", "-O0", "-fno-builtin", "-DMTRACE", "-o", tmp_path / "mixed", PROGRAM], check=True)
    preload = {"MALLOC_TRACE": str(tmp_path / "log"), "LD_PRELOAD": "libc_malloc_debug.so.0"}
    subprocess.run([tmp_path / "mixed"], env=os.environ | preload, check=True)
    found = imported(tmp_path / "log")
    same(found, own, births_alike=True)
    assert found.source == "mtrace"
    assert found.inexact[-1] == "calloc and aligned allocations are malloc"


@needs("valgrind")
def test_valgrind(program: Path, own: TraceInfo, tmp_path: Path) -> None:
    options = ["--trace-malloc=yes", "--time-stamp=yes", f"--log-file={tmp_path / 'log'}"]
    subprocess.run(["valgrind", *options, program], check=True)
    found = imported(tmp_path / "log")
    same(found, own)
    assert (found.source, found.command) == ("valgrind", [str(program)])
    assert found.duration_ns > 0
    assert found.inexact == ["no threads: all events are by thread 0"]


@needs("ltrace")
def test_ltrace(program: Path, own: TraceInfo, tmp_path: Path) -> None:
    subprocess.run(["ltrace", "-f", "-tt", "-o", tmp_path / "log", program], check=True)
    found = imported(tmp_path / "log")
    same(found, own)
    assert found.source == "ltrace"
    assert found.duration_ns > 0
