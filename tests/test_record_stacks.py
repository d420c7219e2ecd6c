"""Recorded call stacks against programs whose stacks are known: every path exact, in every kind of frame."""

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
from conftest import process
from systems import MUSL

from heapsmith.codegen.layers import ABOUT_PROCESSORS, RUNTIME
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.trace.reader import TraceReader, verify
from heapsmith.model.trace.stacks import CallTree
from heapsmith.tools.common.symbols import frame_names
from heapsmith.tools.record.record import Processes, RecordResult, record
from heapsmith.tools.record.unseen import RecordedTrace

PROGRAMS = Path(__file__).parent / "programs"


def paths_of(tree: CallTree) -> list[list[str]]:
    """The functions of each site's stack, the innermost first; inlined ones too."""
    text, _ = frame_names(tree)
    sites = range(tree.innermost.size + 1)
    return [[place.function for frame in tree.path(site) for place in text[frame]] for site in sites]


def found(trace: RecordedTrace) -> dict[int, dict[str, int]]:
    """Of each size asked for, the ways from the innermost function to main or the end, and how many took each."""
    verify(trace.path)
    ways: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    with TraceReader(trace.path) as reader:
        tree = reader.stacks()
        assert tree is not None
        paths = paths_of(tree)
        for chunk, site in reader.sited():
            for size, number in zip(chunk.size.tolist(), site.tolist(), strict=True):
                if 100 < size < 130:
                    path = paths[number]
                    path = path[: path.index("main") + 1] if "main" in path else path
                    ways[size][" ".join(path)] += 1
    return {size: dict(way) for size, way in ways.items()}


FLAGS = ("-O1", "-g", "-fno-builtin", "-pthread")
TABLE = "-Wl,--eh-frame-hdr"
"""musl-gcc links without it; then stacks end at the first frame."""


def compiled(folder: Path, *flags: str, compiler: str | None = None) -> list[str]:
    """The command of the program, with its two libraries."""
    compile_c([PROGRAMS / "rec_stacks.c"], folder / "stacks", flags=(*FLAGS, *flags), compiler=compiler)
    for name, room in (("one", 400), ("two", 800)):  # their code is equally long, their frames are not
        library = ("-shared", "-fPIC", f"-DNAME=plugin_{name}", f"-DROOM={room}")
        out = folder / f"{name}.so"
        compile_c([PROGRAMS / "rec_plugin.c"], out, flags=(*FLAGS, *library, *flags), compiler=compiler)
    return [str(folder / name) for name in ("stacks", "one.so", "two.so")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return compiled(tmp_path_factory.mktemp("stacks"))


@pytest.fixture(scope="module")
def recorded(built: list[str], tmp_path_factory: pytest.TempPathFactory) -> RecordResult:
    return record(built, tmp_path_factory.mktemp("trace") / "t.hst", stacks=64)


def check(result: RecordResult) -> dict[int, dict[str, int]]:
    """Check the paths that are the same with each C library; returns all of the parent's."""
    parent, child = result.traces
    assert (parent.drops, parent.nested, parent.sites_wrong) == (0, 0, 0)
    assert parent.sites_checked >= 2
    assert found(child)[106] == {"leaf in_child main": 1}
    ways = found(parent)
    assert ways[101] == {"direct main": 1}
    assert ways[102] == {"recurse " * 6 + "main": 1}
    assert ways[103] == {"leaf left main": 5000}
    assert ways[104] == {"leaf right main": 5000}
    assert ways[113] == {"leaf late main": 1}
    assert ways[110] == {"leaf wobble main": 50}
    assert ways[111] == {"main": 1}
    assert ways[112] == {"grow main": 1}
    [(in_thread, count)] = ways[105].items()
    assert count == 200
    assert in_thread.startswith("leaf in_thread ")
    [(handled, count)] = ways[107].items()
    assert count == 3
    assert handled.startswith("leaf handle ")
    return ways


def test_every_path_is_exact(recorded: RecordResult) -> None:
    [handled] = check(recorded)[107]
    assert handled.endswith(" interrupted main")


def test_what_is_forgotten_goes_back(built: list[str], tmp_path: Path) -> None:
    """4,096 stacks take several pieces of memory; with each dlclose all of them become void."""
    program = compile_c([PROGRAMS / "rec_forgets.c"], tmp_path / "forgets", flags=FLAGS)
    (trace,) = record([str(program), built[1], str(tmp_path / "grown")], tmp_path / "t.hst", stacks=64).traces
    assert (trace.drops, trace.sites_wrong) == (0, 0)
    assert trace.stacks >= 4096
    assert int((tmp_path / "grown").read_text()) < 1024


@pytest.mark.thorough
def test_every_path_of_a_program_of_musl_is_exact(tmp_path: Path) -> None:
    """But through a signal: musl has no unwind information for the way back from a handler."""
    MUSL.tools()
    [handled] = check(record(compiled(tmp_path, TABLE, compiler=MUSL.compiler), tmp_path / "t.hst", stacks=64))[107]
    assert " main" not in handled


@pytest.mark.thorough
def test_without_a_table_a_program_of_musl_has_the_first_frame(tmp_path: Path) -> None:
    MUSL.tools()
    command = compiled(tmp_path, compiler=MUSL.compiler)
    ways = found(record(command, tmp_path / "t.hst", stacks=64).traces[0])
    assert (ways[103], ways[104], ways[112]) == ({"leaf": 5000}, {"leaf": 5000}, {"grow": 1})


@pytest.mark.thorough
def test_a_program_of_musl_is_inspected(tmp_path: Path) -> None:
    """With names of functions, among them of blocks that it never freed."""
    MUSL.tools()
    command = compiled(tmp_path, TABLE, compiler=MUSL.compiler)
    done = process("inspect", "--json", "-o", tmp_path / "out", "--", *command)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/report.html").exists()
    told = msgspec.json.decode(done.stdout)
    for rows in (told["sites"]["sites"], told["leaks"]["leaks"]):
        assert {"leaf", "grow", "direct"} <= {row["path"][0]["function"] for row in rows}


def test_libraries_at_one_address_are_told_apart(recorded: RecordResult) -> None:
    """What a walk remembers of the first one's frames does not hold for the second."""
    ways = found(recorded.traces[0])
    assert ways[108] == {"plugin_one allocate in_plugin main": 1}
    assert ways[109] == {"plugin_two allocate in_plugin main": 1}


@pytest.mark.thorough
def test_a_depth_keeps_the_innermost_frames(built: list[str], tmp_path: Path) -> None:
    ways = found(record(built, tmp_path / "t.hst", processes=Processes(all=False), stacks=3).traces[0])
    assert ways[102] == {"recurse recurse recurse": 1}
    assert ways[104] == {"leaf right main": 5000}


def test_operator_new(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++")
    subprocess.run([compiler, "-O1", "-g", "-o", tmp_path / "new", PROGRAMS / "rec_stacks.cc"], check=True)
    [trace] = record([str(tmp_path / "new")], tmp_path / "t.hst", stacks=64).traces
    ways = found(trace)
    assert ways[120] == {"operator new(unsigned long) made::by_new(int) main": 1}
    [way] = ways[121]
    assert "void made::by_container<char>(unsigned int) main" in way


MAPPINGS = """1001 looks
  1000-3000 at 200 '/a b', 5 words, 502
  5000-6000 at 0 '', 5 words, 502
  6000-7000 at 0 '/of_8_ch', 6 words, 602
1001 looks
3000 5001 6000 7000 is known
1000 looks
3001 looks
7001 looks
3001 1001 looks
1001 3001 looks
1001 5001 is known
is known
  1000-3000 at 10000200 '/a b', 5 words, 502
7001 looks
2fff 5001 is known
6800 looks
  1000-3000 at 10000200 '/a b', 5 words, 502
looks
  1000-3000 at 10000200 '/a b', 5 words, 502
1001 looks
1001 is known
257 free looks
3001 is known
3001 looks
3001 is known
1001 is known
  1000-2000 at 0 '/b', 5 words, 502
  9000-a000 at 12345678 'ppppppppp', 516 words, 20402
9001 looks
9001 1001 is known
200ffff looks
200ffff is known
2010fff looks
8192 told, 0 files open
"""
"""Addresses of stacks, whether they make the recorder look for mappings, and before each what that look tells."""


@pytest.mark.parametrize("where", ["low", "hidden", "data"])
def test_a_return_address_that_leads_nowhere_ends_the_stack(where: str, tmp_path: Path) -> None:
    """As at the bottom of a stack that a program has put in place of another one."""
    compile_c([PROGRAMS / "rec_cut_stack.c"], tmp_path / "cut", flags=("-O0", "-g", "-fno-builtin"))
    result = record([str(tmp_path / "cut"), where], tmp_path / "t.hst", stacks=64)
    assert result.exit_status == 0
    [way] = found(result.traces[0])[101]
    assert way.split()[0] == "cut"


def test_mappings_are_told_once_and_looked_for_no_more_than_needed(tmp_path: Path) -> None:
    """A frame whose address is known costs no look; code that no file has costs at most one part in 32 of the time."""
    folders = [RUNTIME / "recorder", *ABOUT_PROCESSORS]
    compile_c([PROGRAMS / "rec_modules.c"], tmp_path / "modules", flags=("-O1", "-w"), include=folders)
    shown = subprocess.run([tmp_path / "modules"], capture_output=True, text=True, check=True).stdout
    assert shown == MAPPINGS


def test_each_stack_has_one_number_and_one_record(tmp_path: Path) -> None:
    """Ten thousand of them, again where code has gone, where the system refuses memory, and one kept before."""
    folders = [RUNTIME / "recorder", *ABOUT_PROCESSORS]
    compile_c([PROGRAMS / "rec_made_stacks.c"], tmp_path / "stacks", flags=("-O1", "-w"), include=folders)
    done = subprocess.run([tmp_path / "stacks"], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "10000 covered, 4 copies, 1152 KiB in 4 maps, 16384 buckets",
        "buckets are taken evenly",
        "1 stale, 20000 covered, 1 opened, 0 closed",
        "925 more in a window, 20925 in all",
        "11288 more without memory",
        "1 yield, lock 0",
        "1 closed, 2 stale, lock 0",
        "2 opened",
    ]
    assert done.returncode == 0
