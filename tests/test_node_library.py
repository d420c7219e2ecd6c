"""Shards of nodes in the library: which files it reads, what it binds, and what it survives."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from covering import soon
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from loaded import checked_library, unchecked_library
from preloaded import library, program, run, shim
from program import SMALL
from sanitized import ADDRESS_UNDEFINED, THREAD, Sanitizer
from test_nodes import VARIANTS, small
from test_stress import sanitize
from traces import random_trace

from heapsmith.bench.validate.syscalls import memory_calls
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.numa_nodes import node_of, numbers_in, system_nodes, write_nodes
from heapsmith.model.parts.counters import TOTALS
from heapsmith.model.trace.reader import TraceReader
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.replay.script import write_script

BARE = small("bare", shards={"kind": "nodes", "count": 32})
NUMBER = st.integers(0, 20) | st.sampled_from([8190, 8191, 8192, 99_999_999_999])
RANGE = st.one_of(NUMBER.map(str), st.tuples(NUMBER, NUMBER).map(lambda ends: f"{ends[0]}-{ends[1]}"))
LIST = st.lists(RANGE, min_size=1, max_size=5).map(",".join)
TEXT = st.one_of(LIST, LIST.map(lambda text: f"{text}\n"), st.text("0123456789-, \nx", max_size=12))
PATH_MAX = 4096
WATCHED = (*range(22), 8190, 8191)


def folder_of(folder: Path, nodes: dict[int, str], online: str | None = None) -> Path:
    """Files in a folder as Linux would have them for nodes of these numbers."""
    (folder / "online").write_text(online if online is not None else ",".join(map(str, nodes)))
    for node, text in nodes.items():
        (folder / f"node{node}").mkdir()
        (folder / f"node{node}/cpulist").write_text(text)
    return folder


def blocks_on(
    processors: Iterable[int | str], folder: Path | str, *before: str, design: Design = BARE, size: int = 16
) -> tuple[list[tuple[int, int]], str]:
    """Superslab and address of a block on each processor, and what was said besides. before: words of the command."""
    environment = [f"HEAPSMITH=nodes={folder}", f"LD_PRELOAD={preloadable(checked_library(design))}"]
    tool = program("run_nodes")
    command = [*before, "env", *environment, tool, str(size), *map(str, processors)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(int(superslab), int(address, 16)) for superslab, address in rows], done.stderr


def first_alike(found: Sequence[int], of: Sequence[int]) -> list[int]:
    """For each item the first that has the same number."""
    return [of[list(found).index(number)] for number in found]


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(online=TEXT, lists=st.dictionaries(st.integers(0, 20) | st.just(1023), TEXT, max_size=6))
@example(online="1-1,3", lists={1: "2-2", 3: "8191"})
@example(online="0-2\n", lists={0: "8191", 1: "8190", 2: "7,7-7"})
@example(online="0-3", lists={0: "8192", 1: "3-1", 2: "0-8192", 3: "5"})
def test_any_content_of_the_files_is_read_as_the_model_reads_it(
    online: str, lists: dict[int, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = folder_of(tmp_path_factory.mktemp("nodes"), lists, online)
    nodes = system_nodes(folder)
    found, said = blocks_on(WATCHED, folder)
    table = node_of(nodes)[list(WATCHED)] % 32
    assert first_alike([superslab for superslab, _ in found], WATCHED) == first_alike(table.tolist(), WATCHED)
    assert (said == "") == bool(nodes)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3,8\n", [0, 1, 2, 3, 8]),
        ("007", [7]),
        ("5-5", [5]),
        *((text, []) for text in ("", "\n", "3-1", "1,", ",1", "1--2", "-1", "1 2", "0x3", "8192", "0-8192", "1\n\n")),
    ],
)
def test_lists(text: str, numbers: list[int]) -> None:
    assert numbers_in(text) == numbers


def test_a_folder_without_nodes_is_told(tmp_path: Path) -> None:
    found, said = blocks_on([0, 1], tmp_path / "none")
    assert [superslab for superslab, _ in found] == [0, 0]
    assert said == f'heapsmith: HEAPSMITH: bad value in "nodes={tmp_path}/none"\n'
    assert blocks_on([0], "x")[1] == 'heapsmith: HEAPSMITH: bad value in "nodes=x"\n'
    assert blocks_on([0, 1], "")[1] == ""


def test_the_longest_path_that_linux_opens(tmp_path: Path) -> None:
    folder = tmp_path
    while (left := PATH_MAX - 1 - len(f"{folder}/node0/cpulist")) > 0:
        folder /= "x" * (left - 1 if left <= 200 else 100)
    folder.mkdir(parents=True)
    found, said = blocks_on([0, 1], folder_of(folder, {0: "0", 1: "1"}))
    assert ([superslab for superslab, _ in found], said) == ([0, 1], "")
    for more in range(1, 5):
        assert blocks_on([0, 1], f"{folder}{'/' * more}")[1].startswith("heapsmith: HEAPSMITH: bad value in")


def test_the_last_folder_counts(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "last")]
    for folder, nodes in zip(folders, ({0: "0", 1: "1-3"}, {0: "0", 1: "3"}), strict=True):
        folder.mkdir()
        folder_of(folder, nodes)
    found, _ = blocks_on([0, 1, 2, 3], f"{folders[0]},nodes={folders[1]}")
    assert [superslab for superslab, _ in found] == [0, 0, 0, 1]


def test_a_processor_that_no_system_has_is_of_the_first_node(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {4: "1", 5: "2"})
    found, _ = blocks_on([1, 2, 8191, 8192, 1_000_000_000], folder)
    assert [superslab for superslab, _ in found] == [0, 1, 0, 0, 0]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_a_thread_takes_from_the_node_on_which_it_runs(tmp_path: Path) -> None:
    one, other = sorted(os.sched_getaffinity(0))[:2]
    folder = folder_of(tmp_path, {0: str(one), 5: str(other)})
    found, _ = blocks_on([f"@{one}", f"@{other}", f"@{one}", f"@{other}"], folder)
    assert [superslab for superslab, _ in found] == [0, 1, 0, 1]


needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@needs_strace
@pytest.mark.parametrize("is_told", [False, True])
def test_the_library_asks_the_system_unless_it_is_told(is_told: bool, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {0: "0"})
    command = ["strace", "-f", "-e", "trace=openat", "-o", str(tmp_path / "log")]
    environment = {"HEAPSMITH": f"nodes={folder}"} if is_told else {}
    run(
        [*command, "-E", f"LD_PRELOAD={preloadable(checked_library(BARE))}", program("run_nodes"), 16, 0],
        environment=environment,
    )
    opened = re.findall(r'"(.*/(?:online|cpulist))", O_RDONLY\|O_CLOEXEC', (tmp_path / "log").read_text())
    if is_told:
        assert opened == [f"{folder}/online", f"{folder}/node0/cpulist"]
    else:
        assert opened[0] == "/sys/devices/system/node/online"


MBIND = re.compile(r"mbind\((0x[0-9a-f]+), (\d+), MPOL_PREFERRED, \[(.*?)\], (\d+), 0\) += (.*)")


def bound(
    folder: Path, nodes: dict[int, str], processors: Sequence[int], *inject: str, design: Design = BARE
) -> tuple[list[Any], list[str]]:
    """For each processor the node to which its block's superslab was bound, or None; and what the calls said."""
    log = folder / "log"
    strace = ["strace", "-qq", "-f", "-e", "trace=mbind", *inject, "-o", str(log)]
    found, _ = blocks_on(processors, folder_of(folder, nodes), *strace, design=design)
    calls = [match.groups() for match in MBIND.finditer(log.read_text())]
    spans = []
    for start, size, mask, most, _ in calls:
        assert (int(size), int(most)) == (SMALL["superslab_bytes"], 1025)
        words = [int(word, 16) for word in mask.split(", ")]
        (node,) = (bit for bit in range(64 * len(words)) if words[bit // 64] >> bit % 64 & 1)
        spans.append((range(int(start, 16), int(start, 16) + int(size)), node))
    homes = [next((node for span, node in spans if address in span), None) for _, address in found]
    return homes, [said for *_, said in calls]


@needs_strace
@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ({0: "0-3"}, [None, None, None, None]),
        ({0: "0-1", 1: "2-3"}, [0, 0, 1, 1]),
        ({0: "1", 3: "0", 64: "3", 1023: "2"}, [3, 0, 1023, 64]),
        ({1: "", 2: "1", 7: "2-3"}, [2, 2, 7, 7]),  # no node lists processor 0; node 1 has no processors
        ({2: "x", 7: "0-3"}, [None, None, None, None]),
    ],
)
def test_superslabs_are_bound_to_the_node(nodes: dict[int, str], expected: list[int | None], tmp_path: Path) -> None:
    homes, _ = bound(tmp_path, nodes, [0, 1, 2, 3])
    assert homes == expected


@needs_strace
def test_a_shard_of_several_nodes_is_bound_to_the_first(tmp_path: Path) -> None:
    design = small("bare", shards={"kind": "nodes", "count": 2})
    assert bound(tmp_path, {4: "0", 5: "1", 6: "2"}, [2, 1, 0], design=design)[0] == [4, 5, 4]


@needs_strace
def test_a_system_that_binds_nothing_does_no_harm(tmp_path: Path) -> None:
    homes, said = bound(tmp_path, {0: "0", 1: "1"}, [0, 1, 0, 1], "-e", "inject=mbind:error=EPERM")
    assert homes == [0, 1, 0, 1]
    assert len(said) == 2
    assert all("EPERM" in answer for answer in said)


@pytest.mark.thorough
@needs_strace
def test_the_model_counts_calls_that_bind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each superslab, where there is a second node."""
    trace = random_trace(tmp_path / "t.hst", 6000, 7)
    write_script(trace, tmp_path / "script")
    simulator = Simulator(make_plan(small("plain")), compiled=False, nodes=("0-63", "64"))
    alone = Simulator(make_plan(small("plain")), compiled=False, nodes=("0-64",))
    with TraceReader(trace) as reader:
        for chunk in reader:
            simulator.feed(chunk)
            alone.feed(chunk)
    superslabs = simulator.counters().totals["superslabs"]
    assert simulator.state.memory_calls - alone.state.memory_calls == superslabs > 50
    calls = []
    for nodes in ({0: "0-64"}, {0: "0-63", 1: "64"}):
        folder = tmp_path / str(len(nodes))
        folder.mkdir()
        monkeypatch.setenv("HEAPSMITH", f"nodes={folder_of(folder, nodes)}")
        calls.append(memory_calls(tmp_path / "script", unchecked_library(small("plain"))))
    assert calls[1] - calls[0] == superslabs


def test_a_library_that_counts_calls_counts_those_that_bind(tmp_path: Path) -> None:
    design = small("bare", shards={"kind": "nodes"}, counting="everything")
    report = tmp_path / "report.json"
    blocks_on([0, 1, 2, 3], f"{folder_of(tmp_path, {0: '0,2', 1: '1,3'})},stats={report}", design=design)
    assert json.loads(report.read_text())["system"]["mbind"] == 2


def test_files_are_read_where_standard_input_is_closed(tmp_path: Path) -> None:
    """The first file is descriptor 0 then. The program ends with status 1 if it stays open."""
    closed = ["sh", "-c", 'exec "$@" <&-', "sh"]
    assert run([*closed, program("run_nodes"), 16, 0], checked_library(BARE))
    found, said = blocks_on([0, 1], folder_of(tmp_path, {0: "0", 1: "1"}), *closed)
    assert ([superslab for superslab, _ in found], said) == ([0, 1], "")


def test_a_file_that_comes_in_parts_is_read_to_its_end(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {0: "0", 1: "1"})
    (folder / "online").unlink()
    os.mkfifo(folder / "online")

    def write() -> None:
        with (folder / "online").open("wb", buffering=0) as online:
            online.write(b"0,")
            time.sleep(0.2)
            online.write(b"1")

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        found, said = blocks_on([0, 1], folder)
        written.result()
    assert ([superslab for superslab, _ in found], said) == ([0, 1], "")


def two_nodes(folder: Path) -> dict[str, str]:
    """The environment with a node for every other processor."""
    evens, odds = (",".join(map(str, range(first, 64, 2))) for first in (0, 1))
    return {"HEAPSMITH": f"check,nodes={folder_of(folder, {0: evens, 1: odds})}"}


@pytest.mark.parametrize("design", ["nodes", "nodes-processor"])
def test_threads_and_forks_under_load(design: str, tmp_path: Path) -> None:
    built = changed(load("nodes"), design, VARIANTS[design.partition("-")[2] or "plain"])
    environment = two_nodes(tmp_path)
    for mode in ("load", "handler"):
        assert run([program("run_fork"), mode, 20], checked_library(built), environment=environment) == "done\n"


@pytest.mark.parametrize("fault", ["mmap:2", "mmap:8-", "mprotect:2", "mprotect:3-", "madvise:1-", "munmap:1-"])
def test_calls_that_fail_do_no_harm(fault: str, tmp_path: Path) -> None:
    """The program of test_faults.py, on two nodes."""
    command: list[str | Path | int] = [program("run_faults"), TOTALS.index("committed")]
    assert run(command, shim("shim_faults"), library("nodes"), environment={"FAULT": fault, **two_nodes(tmp_path)})


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sanitizer", soon((THREAD, ADDRESS_UNDEFINED), (THREAD,)), ids=lambda sanitizer: sanitizer.name
)
def test_threads_of_several_nodes_have_no_race(
    sanitizer: Sanitizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in two_nodes(tmp_path).items():
        monkeypatch.setenv(name, value)
    sanitize(load("nodes"), sanitizer, tmp_path, "--operations", "8000", "--threads", "4")


def test_the_machine_tells_its_nodes(tmp_path: Path) -> None:
    assert system_nodes(folder_of(tmp_path, {0: "0-1", 2: "", 3: "4,6"})) == ("0-1", "4,6")
    again = tmp_path / "again"
    again.mkdir()
    write_nodes(again, ("0-1", "4,6"))
    assert system_nodes(again) == ("0-1", "4,6")
