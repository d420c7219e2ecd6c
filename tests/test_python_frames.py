"""Python frames of CPython 3.8 to 3.11 in recorded call stacks: each function and line, in every kind of call."""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from preloaded import PROGRAMS

from heapsmith.codegen.layers import RUNTIME
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.trace.reader import TraceReader, verify
from heapsmith.tools.record.record import Processes, RecordResult, record
from heapsmith.tools.record.unseen import RecordedTrace
from heapsmith.tools.sites.functions import WRAPPERS
from heapsmith.tools.sites.grouping import NOT_OF_PYTHON, Spot, callers, group_sites, spots_of

PROGRAM = PROGRAMS / "python_frames.py"
KNOWN, LATER = (8, 9, 10, 11), (12, 13)
VERSION = "import sys; print(sys.version_info[:2] == (3, {}) and sys.executable)"
Ways = dict[int, Counter[str]]


@cache
def python(minor: int) -> str | None:
    """An interpreter of this version: the system's, this one, one of that name, or one that was installed beside it."""
    beside = sorted(map(str, Path(sys.base_prefix).parent.glob(f"3.{minor}.*/bin/python3")))
    for found in ("/usr/bin/python3", sys.executable, shutil.which(f"python3.{minor}"), *beside):
        words = [str(found), "-c", VERSION.format(minor)]
        if found is not None and Path(found).exists():
            said = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
            if said not in ("", "False"):
                return said
    return None


def of_versions(*minors: int) -> Callable[[Any], Any]:
    """A form of a test for each version that this machine has, of which only that of 3.11 is short; else no test."""
    there = [minor for minor in minors if python(minor) is not None]
    forms = [pytest.param(minor, marks=() if minor == 11 else pytest.mark.thorough) for minor in there]
    return pytest.mark.parametrize("minor", forms) if forms else lambda test: None


every_known = of_versions(*KNOWN)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[int, RecordResult]:
    """By version, filled by `recorded`."""
    return {}


@pytest.fixture
def recorded(minor: int, results: dict[int, RecordResult], tmp_path_factory: pytest.TempPathFactory) -> RecordResult:
    if minor not in results:
        folder = tmp_path_factory.mktemp("größe 語")
        shutil.copy(PROGRAM, folder / "job ü.py")
        command = [str(python(minor)), "-I", str(folder / "job ü.py")]
        results[minor] = record(command, folder / "t.hst", stacks=64)
    return results[minor]


def python_ways(trace: RecordedTrace | str, first: int = 10_001, last: int = 30_000) -> Ways:
    """Of each size asked for, the Python functions and lines outwards, and how many calls took each way."""
    path = trace if isinstance(trace, str) else trace.path
    verify(path)
    spots, _, _ = spots_of(Path(path))
    ways: Ways = {}
    with TraceReader(path) as reader:
        tree = reader.stacks()
        assert tree is not None
        shown = [
            " ".join(f"{one.function[4:]}@{one.line.rpartition(':')[2]}" for one in all_of(spots, tree.path(site)))
            for site in range(tree.innermost.size + 1)
        ]
        for chunk, sites in reader.sited():
            for size, site in zip(chunk.size.tolist(), sites.tolist(), strict=True):
                if first <= size <= last:
                    ways.setdefault(size, Counter())[shown[site]] += 1
    return ways


def all_of(spots: list[list[Spot]], frames: list[int]) -> list[Spot]:
    return [one for frame in frames for one in spots[frame] if one.function.startswith("py::")]


def sites(reader: TraceReader) -> set[int]:
    """Those of the sizes that the program asks for."""
    return {
        site
        for chunk, found in reader.sited()
        for size, site in zip(chunk.size.tolist(), found.tolist(), strict=True)
        if 10_001 <= size <= 30_000
    }


def line(mark: str) -> int:
    """The line of the program that ends in this mark."""
    [found] = [n for n, text in enumerate(PROGRAM.read_text().splitlines(), 1) if text.endswith(f"# {mark}")]
    return found


def line_of(text: str) -> int:
    """The line that has only this."""
    return [one.strip() for one in PROGRAM.read_text().splitlines()].index(text) + 1


def way(minor: int, *calls: str) -> str:
    """The stack of these functions and lines, before `main`; of CPython before 3.11 names have no class."""
    end = len(PROGRAM.read_text().splitlines())
    words = [*calls, f"<module>@{end}"]
    return " ".join(words if minor >= 11 else [word.rpartition(".")[2] for word in words])


@every_known
def test_every_stack_is_exact(minor: int, recorded: RecordResult) -> None:
    assert recorded.exit_status == 0
    trace = recorded.traces[0]
    assert (trace.drops, trace.sites_wrong) == (0, 0)
    assert trace.sites_checked > 0
    ways = python_ways(trace)
    main = {text: f"main@{line_of(text)}" for text in ("Maker().make()", "recurse(4)", "kept.extend(outer())")}
    again = [f"recurse@{line('again')}"] * 4
    assert ways[10_002] == {way(minor, f"Maker.make@{line('10001')}", main["Maker().make()"]): 1}
    assert ways[10_003] == {way(minor, f"recurse@{line('10002')}", *again, main["recurse(4)"]): 1}
    through = [f"inner@{line('10003')}", f"outer@{line('from')}", main["kept.extend(outer())"]]
    assert ways[10_004] == {way(minor, *through): 3}
    called_back = [f"key@{line('10004')}", f"main@{line_of('sorted([1, 2, 3], key=key)')}"]
    assert ways[10_005] == {way(minor, *called_back): 3}
    [deleted], [named] = ways[10_009], ways[10_010]
    assert deleted.startswith(f"{'Dies.' if minor >= 11 else ''}__del__@{line('10008')} ")
    assert named == way(minor, f"größe@{line('10009')}", f"main@{line_of('größe()')}")


@every_known
def test_python_frames_are_where_the_interpreter_ran_them(minor: int, recorded: RecordResult) -> None:
    """C functions stand between a callback and its caller; before 3.11 each Python function has a run of its own."""
    path = recorded.traces[0].path
    spots, _, _ = spots_of(Path(path))
    with TraceReader(path) as reader:
        tree = reader.stacks()
        assert tree is not None
        shown = [spot[-1].function.partition("+0x")[0].rpartition(".")[2] for spot in spots]  # some have no name
        ways = [[shown[frame] for frame in tree.path(site)] for site in sites(reader)]
    [called_back] = {tuple(one) for one in ways if "py::key" in one}
    [recursive] = {tuple(one) for one in ways if "py::recurse" in one}
    names = ["py::key", "py::main", "py::<module>", "PyEval_EvalCode", "Py_RunMain"]
    places = [called_back.index(name) for name in names]
    assert places == sorted(places)
    assert places[1] - places[0] > 5
    assert (places[2] - places[1] == 1) == (minor >= 11)
    assert all("_PyEval_EvalFrameDefault" not in one for one in (called_back, recursive))
    apart = {b - a for a, b in pairwise(at for at, name in enumerate(recursive) if name == "py::recurse")}
    assert (apart == {1}) == (minor >= 11)


@every_known
def test_coroutines_threads_and_calls_without_the_interpreters_lock(minor: int, recorded: RecordResult) -> None:
    ways = python_ways(recorded.traces[0])
    waits = [f"waited@{line('10007')}", f"waits@{line('await')}"]
    [found] = ways[10_008]
    assert found.startswith(" ".join(waits) + " main@")
    [(in_thread, count)] = ways[10_006].items()
    assert count == 400
    run, inner, outer = in_thread.split()[1:]
    assert in_thread.startswith(f"work@{line('10005')} ")
    assert [one.partition("@")[0].rpartition(".")[2] for one in (run, inner, outer)] == [
        "run",
        "_bootstrap_inner",
        "_bootstrap",
    ]
    assert ways[10_012] == {way(minor, f"raw@{line('10012')}", f"main@{line_of('raw()')}"): 1}


@every_known
def test_code_that_dies_gives_its_address_and_not_its_line(minor: int, recorded: RecordResult) -> None:
    """Each size was asked for by one line of a text, all of one name; what runs amid a code's death is known too."""
    ways = python_ways(recorded.traces[0])
    for number in range(50):
        [(found, count)] = ways[20_001 + number].items()
        assert count == 60
        assert found.startswith(f"<module>@{number + 1} exec_many@")
    [noted] = ways[10_011]
    functions = [one.partition("@")[0] for one in noted.split()]
    assert functions == ["note", "die_in_call", "main", "<module>"]


@of_versions(11)
@pytest.mark.thorough
def test_many_deaths_at_one_address_are_told_apart(minor: int, tmp_path: Path) -> None:
    """Each text allocates at a line of its own, and its code lies where that of the text before lay."""
    program = tmp_path / "many.py"
    program.write_text(
        "base = compile('kept = bytearray(10_001)', 'text', 'exec')\n"
        "for number in range(40_000):\n"
        "    exec(base.replace(co_firstlineno=number + 1), {})\n"
    )
    result = record([str(python(minor)), "-I", str(program)], tmp_path / "t.hst", stacks=64)
    ways = python_ways(result.traces[0])[10_002]
    assert set(ways.values()) == {1}
    assert {int(found.split()[0].partition("@")[2]) for found in ways} == set(range(1, 40_001))


THROWS = """\
def inner():
    try:
        yield
    except ValueError:
        kept.append(bytearray(10_001))
        yield
def middle():
    yield from inner()
def outer():
    yield from middle()
kept = []
def throws():
    waits = outer()
    next(waits)
    waits.throw(ValueError())
throws()
"""


@of_versions(11)
def test_an_exception_that_generators_pass_on(minor: int, tmp_path: Path) -> None:
    """Those that it passes through have no run of the interpreter: they stand where their caller runs."""
    (tmp_path / "throws.py").write_text(THROWS)
    result = record([str(python(minor)), "-I", str(tmp_path / "throws.py")], tmp_path / "t.hst", stacks=64)
    path = result.traces[0].path
    [found] = python_ways(result.traces[0])[10_002]
    assert [one.partition("@")[0] for one in found.split()] == ["inner", "middle", "outer", "throws", "<module>"]
    spots, _, _ = spots_of(Path(path))
    with TraceReader(path) as reader:
        tree = reader.stacks()
        assert tree is not None
        ways = {tuple(spots[frame][-1].function for frame in tree.path(site)) for site in sites(reader)}
    [way] = [one for one in ways if "py::inner" in one]
    assert way.index("py::<module>") < way.index("PyEval_EvalCode")
    assert way.index("py::outer") + 1 == way.index("py::throws")


@every_known
def test_a_child_of_fork_and_the_program_that_it_becomes(minor: int, recorded: RecordResult) -> None:
    ways = [python_ways(trace) for trace in recorded.traces]
    assert sorted(10_002 in one for one in ways) == [False, True, True]
    [child] = [one for one in ways if 10_007 in one and 10_002 not in one]
    [again] = [one for one in ways if 10_002 in one and 10_003 not in one]
    [made] = again[10_002]
    assert made.startswith(f"{'Maker.' if minor >= 11 else ''}make@{line('10001')} <module>@")
    assert child[10_007] == {way(minor, f"in_child@{line('10006')}", f"main@{line_of('in_child()')}"): 1}


@every_known
def test_a_depth_keeps_the_innermost_frames(minor: int, tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text("def f(n):\n    return f(n - 1) if n else bytearray(10_001)\nf(50)\n")
    command = [str(python(minor)), "-I", str(tmp_path / "deep.py")]
    [trace] = record(command, tmp_path / "t.hst", processes=Processes(all=False), stacks=20).traces
    [found] = python_ways(trace)[10_002]
    assert 3 <= len(found.split()) < 20
    assert set(found.split()) == {"f@2"}


@every_known
def test_threads_that_the_interpreters_end_meets(minor: int, tmp_path: Path) -> None:
    """They allocate without its lock while it frees what it knows of them."""
    program = tmp_path / "daemons.py"
    program.write_text(
        "import ctypes, threading\n"
        "def work():\n"
        "    libc = ctypes.CDLL(None)\n"
        "    malloc, free = libc.malloc, libc.free\n"
        "    malloc.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]\n"
        "    while True:\n"
        "        free(malloc(10_001))\n"
        "for _ in range(3):\n"
        "    threading.Thread(target=work, daemon=True).start()\n"
        "kept = [bytearray(20_000) for _ in range(2000)]\n"
    )
    for _ in range(3):
        result = record([str(python(minor)), "-I", str(program)], tmp_path / "t.hst", stacks=64)
        assert result.exit_status == 0
        assert set(python_ways(result.traces[0])[20_001]) <= {"<module>@10", "<listcomp>@10 <module>@10"}


@every_known
def test_an_interpreter_in_an_interpreter(minor: int, tmp_path: Path) -> None:
    """What runs in it has no Python frames; those of the first one are known before and after."""
    program = tmp_path / "inner.py"
    program.write_text(
        "import _xxsubinterpreters as inner\n"
        "a = bytearray(10_001)\n"
        "one = inner.create()\n"
        "inner.run_string(one, 'kept = bytearray(10_002)')\n"
        "b = bytearray(10_003)\n"
        "inner.destroy(one)\n"
        "c = bytearray(10_004)\n"
    )
    result = record([str(python(minor)), "-I", str(program)], tmp_path / "t.hst", stacks=64)
    assert result.exit_status == 0
    ways = python_ways(result.traces[0])
    assert [set(ways[size]) for size in (10_002, 10_003, 10_004, 10_005)] == [
        {"<module>@2"},
        {""},
        {"<module>@5"},
        {"<module>@7"},
    ]


@every_known
def test_the_offsets_are_those_of_the_headers(minor: int, tmp_path: Path) -> None:
    about = "import sysconfig; print(sysconfig.get_paths()['include'])"
    said = subprocess.run([str(python(minor)), "-c", about], capture_output=True, text=True, check=True).stdout.strip()
    if not (Path(said) / "internal/pycore_frame.h" if minor >= 11 else Path(said) / "Python.h").exists():
        pytest.skip(f"no headers of Python 3.{minor} (package libpython3-dev)")
    compile_c([PROGRAMS / "python_offsets.c"], tmp_path / "offsets", include=[Path(said), RUNTIME / "recorder"])
    done = subprocess.run([tmp_path / "offsets"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@of_versions(*LATER)
def test_later_versions_name_theirs_in_a_map(minor: int, tmp_path: Path) -> None:
    """Without it a line says so."""
    program = tmp_path / "job.py"
    program.write_text("def f():\n    return bytearray(10_001)\nf()\n")
    command = [str(python(minor)), str(program)]
    [trace] = record(command, tmp_path / "t.hst", processes=Processes(all=False), stacks=64).traces
    assert python_ways(trace)[10_002] == {"": 1}
    [reason] = [one for one in group_sites(Path(trace.path)).reasons if one.endswith(NOT_OF_PYTHON)]
    assert f"python3.{minor}" in reason
    [trace] = record(
        ["env", "PYTHONPERFSUPPORT=1", *command], tmp_path / "p.hst", processes=Processes(all=False), stacks=64
    ).traces
    [found] = python_ways(trace)[10_002]
    assert found.startswith("f@")
    assert not [one for one in group_sites(Path(trace.path)).reasons if one.endswith(NOT_OF_PYTHON)]


UNNAMED, OTHER = Spot("python3.11+0x10", "python3.11+0x10", "python3.11"), Spot("x.so+0x1", "x.so+0x1", "x.so")
NAMED, GENERATED = Spot("list_resize", "python3.11+0x20", "python3.11"), Spot("made", "made", "generated code")
IN_PYTHON = Spot("py::f", "job.py:3", "generated code", "/job.py")
WRAPPER = Spot("malloc", "malloc.c:1", "libc.so")


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ([WRAPPER, UNNAMED, NAMED, IN_PYTHON, UNNAMED], [IN_PYTHON, UNNAMED]),
        ([OTHER, UNNAMED, IN_PYTHON, IN_PYTHON], [IN_PYTHON, IN_PYTHON]),
        ([WRAPPER, NAMED, UNNAMED, IN_PYTHON], [NAMED, UNNAMED, IN_PYTHON]),
        ([WRAPPER, UNNAMED, NAMED], [UNNAMED, NAMED]),
        ([GENERATED, UNNAMED, IN_PYTHON], [GENERATED, UNNAMED, IN_PYTHON]),
        ([IN_PYTHON, UNNAMED], [IN_PYTHON, UNNAMED]),
    ],
)
def test_a_function_without_a_name_allocates_for_one_of_python(path: list[Spot], left: list[Spot]) -> None:
    assert callers(path, [WRAPPERS], set()) == left
