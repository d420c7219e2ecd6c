"""Files that other tools write of one program are held against our own recording of it."""

import io
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.imports import memray as memray_reader
from heapsmith.model.trace.imports.format import NO_TIMES, SOME_TIMES, About
from heapsmith.model.trace.imports.formats import import_trace
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.reader import TraceReader, print_events
from heapsmith.model.trace.stats import TraceInfo, trace_info
from heapsmith.tools.common.perf_map import covering, of_footer
from heapsmith.tools.record.record import record

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


def same(found: TraceInfo, own: TraceInfo, *, births_alike: bool = False) -> None:
    """The same counts, sizes and live bytes; `births_alike`: calloc and aligned are malloc in `found`."""
    ops, wanted = found.events_by_op.copy(), own.events_by_op.copy()
    if births_alike:
        wanted["malloc"] += wanted.pop("calloc") + wanted.pop("aligned")
        ops["malloc"] += ops.pop("calloc") + ops.pop("aligned")
    for one in (ops, wanted):
        del one["thread_start"], one["thread_exit"]
    assert ops == wanted
    names = ("allocated_bytes", "peak_live_bytes", "peak_live_blocks", "live_bytes_at_end", "live_blocks_at_end")
    for name in (*names, "distinct_sizes", "top_sizes"):
        assert getattr(found, name) == getattr(own, name), name
    assert found.foreign_frees == 0


LARGE = 1_000_000
LARGEST = LARGE + 1000
LIBSTDCXX = 70_000
"""libstdc++, which heaptrack loads, allocates a larger block."""


def events_of(trace: Path, least: int, most: int) -> list[list[str]]:
    """The births and frees of blocks of `least` to `most` bytes; a realloc is a free and a birth."""
    out = io.StringIO()
    print_events(trace, out)
    found: list[list[str]] = []
    live: dict[str, str] = {}
    for _, _, _, op, block, size, *_ in map(str.split, out.getvalue().splitlines()):
        if op in ("realloc", "free") and (old := live.pop(block, None)) is not None:
            found.append(["free", old])
        if op in ("malloc", "calloc", "aligned", "realloc") and least <= int(size) <= most:
            live[block] = size
            found.append(["birth", size])
    return found


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/usr/lib/x86_64-linux-gnu/libc_malloc_debug.so.0").exists(), reason="no malloc_debug")
def test_mtrace(program: Path, own: TraceInfo, tmp_path: Path) -> None:
    """The counts, and each birth's caller, of our own recording."""
    options = ["-O0", "-fno-builtin", "-rdynamic", "-DMTRACE"]
    subprocess.run(["gcc", *options, "-o", tmp_path / "mixed", PROGRAM], check=True)
    preload = {"MALLOC_TRACE": str(tmp_path / "log"), "LD_PRELOAD": "libc_malloc_debug.so.0"}
    subprocess.run([tmp_path / "mixed"], env=os.environ | preload, check=True)
    found = imported(tmp_path / "log")
    same(found, own, births_alike=True)
    assert found.source == "mtrace"
    assert found.inexact[-1] == "calloc and aligned allocations are malloc"
    record([str(tmp_path / "mixed")], tmp_path / "own.hst", stacks=1)
    callers = births_by_place(tmp_path / "own.hst", 0, LIBSTDCXX, "mixed")
    with TraceReader(tmp_path / "log.hst") as reader:
        names = {address: name for address, _, name in reader.footer.extra["perf_map"]}
        tree = reader.stacks()
        assert tree is not None
        sites = Counter(one for chunk, site in reader.sited() for one in site[chunk.op <= Op.ALIGNED].tolist())
    assert sorted(sites.values()) == sorted(count for place, count in callers.items() if place)
    assert {names[address].partition("+")[0] for address in tree.offset.tolist()} == {f"{tmp_path / 'mixed'}(main"}


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


@needs("ltrace")
@pytest.mark.parametrize(
    "options",
    [
        ("-ttt", "-f"),
        ("-r",),
        ("-i", "-f", "-t"),
        ("-S", "-n", "2", "-r", "-i"),
        ("-f", "-x", "malloc+free+calloc"),
        ("-C", "-T"),
    ],
    ids=" ".join,
)
def test_ltrace_with_other_options(program: Path, own: TraceInfo, tmp_path: Path, options: tuple[str, ...]) -> None:
    subprocess.run(["ltrace", *options, "-o", tmp_path / "log", program], check=True)
    found = imported(tmp_path / "log")
    same(found, own)
    if "-t" not in options:  # in whole seconds
        assert (found.duration_ns > 0) == (options[0] in ("-ttt", "-r", "-S"))


@needs("heaptrack")
@pytest.mark.parametrize("options", [["--raw"], []], ids=["raw", "interpreted"])
def test_heaptrack(program: Path, own: TraceInfo, tmp_path: Path, options: list[str]) -> None:
    subprocess.run(["heaptrack", *options, "-o", tmp_path / "log", program], check=True, stdout=subprocess.DEVNULL)
    (file,) = tmp_path.glob("log*")
    found = imported(file)
    assert own.events > 1000
    assert events_of(file.with_suffix(".hst"), 0, LIBSTDCXX) == events_of(Path(own.path), 0, LIBSTDCXX)
    assert (found.source, found.command) == ("heaptrack", [str(program)])
    assert (found.inexact[-1].endswith("of the same size and stack")) == (options == [])


def births_by_place(trace: Path, least: int, most: int, file: str = "") -> Counter[tuple[tuple[str, int], ...]]:
    """How many births of blocks of `least` to `most` bytes each stack has; `file`: of its frames those in this file."""
    found: Counter[tuple[tuple[str, int], ...]] = Counter()
    with TraceReader(trace) as reader:
        tree = reader.stacks()
        assert tree is not None
        places = [
            (tree.modules[module].build_id or "", offset)
            if module >= 0 and tree.modules[module].path.endswith(file)
            else None
            for module, offset in zip(tree.module.tolist(), tree.offset.tolist(), strict=True)
        ]
        for chunk, site in reader.sited():
            is_meant = (chunk.op <= Op.ALIGNED) & (chunk.size >= least) & (chunk.size <= most)
            for one in site[is_meant].tolist():
                found[tuple(place for frame in tree.path(one) if (place := places[frame]))] += 1
    return found


@needs("heaptrack")
def test_stacks_of_heaptrack(program: Path, tmp_path: Path) -> None:
    """A raw file has the stacks that our recorder unwinds, frame by frame."""
    command = ["heaptrack", "--raw", "-o", str(tmp_path / "log"), str(program)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (file,) = tmp_path.glob("log*")
    import_trace(file, tmp_path / "found.hst")
    record([str(program)], tmp_path / "own.hst", stacks=64)
    found = births_by_place(tmp_path / "found.hst", 0, LIBSTDCXX)
    assert len(found) > 2
    assert sum(found.values()) > 900
    assert found == births_by_place(tmp_path / "own.hst", 0, LIBSTDCXX)


@pytest.mark.thorough
def test_memray(tmp_path: Path) -> None:
    """The blocks that a library allocates for Python, which have sizes that Python itself asks for nowhere."""
    pytest.importorskip("memray", reason="memray is not installed")
    library, script, file = tmp_path / "mixed.so", tmp_path / "script.py", tmp_path / "log.bin"
    options = ["-O0", "-fno-builtin", "-shared", "-fPIC", f"-DLEAST={LARGE}", "-Dmain=mixed"]
    subprocess.run(["gcc", *options, "-o", library, PROGRAM], check=True)
    script.write_text(f"import ctypes\nctypes.CDLL({str(library)!r}).mixed()\n")
    command = [sys.executable, "-m", "memray", "run", "-q", "--native", "-o", str(file), str(script)]
    subprocess.run(command, check=True)
    import_trace(file, tmp_path / "found.hst")
    record([sys.executable, str(script)], tmp_path / "own.hst", stacks=64)
    found = events_of(tmp_path / "found.hst", LARGE, LARGEST)
    assert len(found) > 1000
    assert found == events_of(tmp_path / "own.hst", LARGE, LARGEST)
    assert trace_info(tmp_path / "found.hst").source == "memray"
    stacks = births_by_place(tmp_path / "found.hst", LARGE, LARGEST, "mixed.so")
    assert len(stacks) > 2
    assert stacks == births_by_place(tmp_path / "own.hst", LARGE, LARGEST, "mixed.so")
    for damage in (file.read_bytes()[: file.stat().st_size // 2], b"memray\0" + bytes(100)):
        file.write_bytes(damage)
        with pytest.raises(BadInput, match=f"^{re.escape(str(file))}: "):
            import_trace(file, tmp_path / "damaged.hst", "memray")
    assert not (tmp_path / "damaged.hst").exists()


THREADS = """
import json, mmap, threading
class Reader:
    def read(self, n):
        texts = [json.dumps({str(k): k * 1.5 for k in range(50 + one)}) for one in range(n)]
        return sorted(texts, key=lambda text: len(json.loads(text)))
def work(n):
    def last(depth):
        return bytearray(7000) if depth == 0 else last(depth - 1)
    return [bytearray(k * n % 5000 + 600) for k in range(500)], mmap.mmap(-1, 5000), Reader().read(n), last(70)
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 4)]
for one in threads: one.start()
work(9)
for one in threads: one.join()
"""


def functions(about: About) -> list[list[tuple[str, str, int]]]:
    """Function, file and line of Python's frames in each stack of an import, the innermost first; of site 0 none."""
    tree = about.tree() if about.tree else None
    assert tree is not None
    code = of_footer(about.extra["perf_map"])
    assert code == sorted(code, key=lambda one: one.start)

    def parts(name: str) -> tuple[str, str, int]:
        function, file, line = re.fullmatch(r"py::([^:]*):(.*?)(?::(\d+))?", name).groups()  # type: ignore[union-attr]
        return function, file, int(line or 0)

    found = (covering(code, offset) if tree.module[frame] < 0 else None for frame, offset in enumerate(tree.offset))
    names = [parts(one.name) if one else None for one in found]
    paths = (tree.path(site) for site in range(tree.innermost.size + 1))
    return [[name for frame in path if (name := names[frame])] for path in paths]


@pytest.mark.parametrize("options", [[], ["--native", "--no-compress"], ["--trace-python-allocators"]], ids="".join)
def test_memray_reads_the_same(tmp_path: Path, options: list[str]) -> None:
    """Our reader finds in files of memray the records that its own reader finds, with Python's functions."""
    memray = pytest.importorskip("memray", reason="memray is not installed")
    log, script = tmp_path / "log.bin", tmp_path / "script.py"
    script.write_text(THREADS)
    subprocess.run([sys.executable, "-m", "memray", "run", "-q", *options, "-o", str(log), str(script)], check=True)
    ops = {"FREE": Op.FREE, "MALLOC": Op.MALLOC, "REALLOC": Op.MALLOC, "CALLOC": Op.CALLOC}
    ops |= dict.fromkeys(("POSIX_MEMALIGN", "ALIGNED_ALLOC", "MEMALIGN", "VALLOC", "PVALLOC"), Op.ALIGNED)
    about, found, sites = About(), [], []
    with Source(log) as source:
        for calls in memray_reader.read(source, about):
            assert calls.site is not None
            columns = (calls.op, calls.thread, calls.old + calls.new, calls.size)
            found += zip(*(column.tolist() for column in columns), strict=True)
            sites += calls.site.tolist()
    stacks = functions(about)
    every = list(memray.FileReader(str(log)).get_allocation_records())
    records = [one for one in every if memray.AllocatorType(one.allocator).name in ops]
    assert len(every) > 1000
    assert about.command[-1] == str(script)
    depths = set()
    for one, call, site in zip(records, found, sites, strict=True):
        op = ops[memray.AllocatorType(one.allocator).name]
        assert call == (op, one.tid, one.address, one.size)
        if op != Op.FREE:
            wanted = list(map(tuple, one.stack_trace()))
            if "--native" in options:
                wanted = [frame for frame in map(tuple, one.hybrid_stack_trace()) if frame in wanted]
            assert stacks[site] == wanted
            depths.add(len(wanted))
    if "--trace-python-allocators" not in options:  # with it the file has hardly a call of malloc
        assert max(depths) > 70
        assert len(depths) > 10


def test_memray_with_sums_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("memray", reason="memray is not installed")
    command = [sys.executable, "-m", "memray", "run", "-q", "--aggregate", "-o", str(tmp_path / "log.bin"), "-c", "1"]
    subprocess.run(command, check=True)
    with pytest.raises(BadInput, match=r"log\.bin: its header: a file of `memray run --aggregate` has sums"):
        import_trace(tmp_path / "log.bin", tmp_path / "out.hst")


@pytest.mark.parametrize("salvage", [False, True])
def test_android_says_whether_no_line_or_some_have_no_time(salvage: bool, tmp_path: Path) -> None:
    file, out = tmp_path / "a.txt", tmp_path / "a.hst"
    for first, said in (("", NO_TIMES), (" 5 6", SOME_TIMES)):
        file.write_text(f"1: malloc 0x10 8{first}\n1: malloc 0x20 8\n{'1: nonsense 0' if salvage else ''}")
        import_trace(file, out, "android", salvage=salvage)
        with TraceReader(out) as reader:
            assert [line for line in reader.footer.lines("inexact") if "time" in line] == [said]
