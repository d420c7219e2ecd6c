"""The trace tools as a user meets them: options, pipes, mistakes, what trace info says, what samples are carried."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, Answer
from edited_traces import TREE, Made, read, rows, write
from traces import random_chunk

from heapsmith.model.trace.edit.samples import Place, carried
from heapsmith.model.trace.events import WITH_SITE, op_mask
from heapsmith.model.trace.frames import Samples, Touched
from heapsmith.model.trace.reader import TraceReader

Call = Callable[..., Answer]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with stacks, of an event per microsecond."""
    chunk = random_chunk(3000, 9, 3, cross_thread=0.1, live=60)._replace(time_ns=np.arange(3000) * 1000)
    numbers = 1 + np.arange(3000) % TREE.innermost.size
    site = np.where(op_mask(WITH_SITE)[chunk.op], numbers, 0).astype(np.uint32)
    folder = tmp_path_factory.mktemp("tools")
    write(folder / "none.hst", Made(chunk.part(0, 0), None, 500))
    write(folder / "timeless.hst", Made(chunk._replace(time_ns=np.zeros_like(chunk.time_ns)), None, 500))
    return write(folder / "a.hst", Made(chunk, site, 500))


@pytest.mark.parametrize(
    ("words", "events"),
    [
        ("filter a.hst --sizes :", 3000),
        ("slice a.hst --events 10%:20%", 300),
        ("slice a.hst --time 1:1.5", 500),
        ("slice a.hst --peak 50", 100),
        ("merge a.hst a.hst --begin 0,0.25", 6000),
        ("cat a.hst a.hst", 6000),
        ("sample a.hst --rate 100%", 3000),
        ("scale a.hst -n 3 --stagger 1", 9000),
        ("repair a.hst", 3000),
    ],
)
def test_each_tool_makes_a_trace_that_simulate_takes(
    call: Call, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, events: int
) -> None:
    monkeypatch.chdir(path.parent)
    out = tmp_path / "out.hst"
    answer = call("trace", *words.split(), "-o", out, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    assert found["events"] == json.loads(call("trace", "verify", out, "--json").out)["events"]
    alive = found["events"] - events  # a slice bears what is alive first
    assert 0 < alive < 80 if "slice" in words else alive == 0
    table = json.loads(call("simulate", out, "--design", "default", "--json").out)
    assert table["events"] == found["events"]
    assert table["rows"][0]["counters"]


def in_turn(call: Call, monkeypatch: pytest.MonkeyPatch, given: Path, out: Path, words: str) -> str:
    """Run a command with files as its standard input and output; what it says on standard error."""
    kept = os.dup(1)
    with given.open("rb") as source, out.open("wb") as target:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
        os.dup2(target.fileno(), 1)
        try:
            answer = call("trace", *words.split())
        finally:
            os.dup2(kept, 1)
            os.close(kept)
    assert answer.status == 0
    return answer.err


def test_tools_on_standard_streams_are_tools_on_files(
    call: Call, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, half, streams = tmp_path / "small.hst", tmp_path / "half.hst", [tmp_path / "1.hst", tmp_path / "2.hst"]
    assert call("trace", "filter", path, "-o", small, "--sizes", ":200").status == 0
    assert call("trace", "sample", small, "-o", half, "--rate", "0.5").status == 0
    said = in_turn(call, monkeypatch, path, streams[0], "filter - -o - --sizes :200")
    assert said.startswith("out            -\nevents before  3,000\n")
    said = in_turn(call, monkeypatch, streams[0], streams[1], "sample - -o - --rate 0.5 --json")
    assert json.loads(said)["out"] == "-"
    assert [stream.read_bytes() for stream in streams] == [small.read_bytes(), half.read_bytes()]


@pytest.mark.big
def test_tools_on_pipes_are_tools_on_files(call: Call, path: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.hst" for number in range(5)]
    steps = ["filter {} -o {} --sizes :200", "slice {} -o {} --events 5%:90%", "scale {} -o {} -n 3 --stagger 0.1"]
    assert call("trace", "cat", path, path, "-o", files[0], "--free").status == 0
    for number, step in enumerate(steps):
        assert call("trace", *step.format(*files[number : number + 2]).split()).status == 0
    run = " ".join(PROGRAM)
    line = " | ".join(
        [f"{run} trace cat - {path} -o - --free", *(f"{run} trace {step.format('-', '-')}" for step in steps)]
    )
    with path.open("rb") as given:
        subprocess.run(["bash", "-c", f"set -o pipefail; {line} > {files[4]}"], stdin=given, check=True)
    assert files[4].read_bytes() == files[3].read_bytes()


def test_standard_input_is_read_once(call: Call, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert json.loads(call("trace", "verify", "-", "--json").out)["events"] == 3000
    assert not Path(json.loads(call("trace", "verify", path, "--json").out)["path"]).name.startswith("standard")
    answer = call("trace", "merge", "-", "-", "-o", "out.hst")
    assert (answer.status, answer.err) == (
        2,
        "heapsmith: -: standard input can be read once; expected one `-` at most\n",
    )
    answer = call("trace", "diff", "-", "-")
    assert answer.status == 2
    assert "read once" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("filter a.hst --sizes 5", "--sizes 5: expected FIRST:LAST; either may be missing"),
        ("filter a.hst --sizes 9:5", "--sizes 9:5: expected a first bound that is not above the last"),
        ("filter a.hst --sizes 1%:", "--sizes 1%:: '1%' is no bound; expected a number"),
        ("filter a.hst --time x:", "--time x:: 'x' is no bound; expected a number or a share like 25%"),
        ("filter a.hst --threads 1-", "--threads 1-: expected numbers and ranges such as 0,2-5"),
        ("filter a.hst --threads 7", "a.hst: threads: there is no number 7; expected 0 to 2"),
        ("filter a.hst --site 9", "a.hst: sites: there is no number 9; expected 0 to 5"),
        (
            "filter a.hst --site nobody",
            "--site nobody: a.hst has no such site; no name is near, and `heapsmith sites --by site` lists all",
        ),
        (
            "filter a.hst --site made+0x5",
            "--site made+0x5: a.hst has no such site; near are made+0x4d, made+0x1000, unused+0x5, "
            "and `heapsmith sites --by site` lists all",
        ),
        ("filter a.hst --time 99:100", "--time 99:100: lies outside the trace; a.hst has times from 0 to 2.999 ms"),
        ("filter a.hst --time 2:2", "--time 2:2: is empty; a.hst has times from 0 to 2.999 ms"),
        ("slice a.hst --time 3:", "--time 3:: lies outside the trace; a.hst has times from 0 to 2.999 ms"),
        (
            "slice a.hst --events 500%:600%",
            "--events 500%:600%: lies outside the trace; a.hst has events 0 to 2,999",
        ),
        ("slice a.hst --events 3000:", "--events 3000:: lies outside the trace; a.hst has events 0 to 2,999"),
        ("slice a.hst --events 100%:", "--events 100%:: lies outside the trace; a.hst has events 0 to 2,999"),
        ("slice a.hst --events 0:0", "--events 0:0: is empty; a.hst has events 0 to 2,999"),
        ("slice none.hst --events 0:9", "--events 0:9: lies outside the trace; none.hst has no events"),
        (
            "slice timeless.hst --time 0:9",
            "--time 0:9: timeless.hst has no times; expected a trace with times, or a range of events",
        ),
        ("slice a.hst", "expected one of --events, --time and --peak"),
        ("slice a.hst --time :5 --peak 5", "expected one of --events, --time and --peak"),
        ("merge a.hst a.hst --begin 1", "--begin 1: expected a time for each of 2 traces"),
        ("merge a.hst --begin=-1", "--begin -1: expected milliseconds such as 250 or 0.5"),
        ("sample a.hst --rate 0", "--rate 0: expected a share above 0 and at most 1"),
        ("scale a.hst -n 5000", "-n 5000: expected 1 to 1024 copies"),
        ("repair a.hst -o a.hst", "a.hst: this is the trace to repair; expected another file"),
    ],
)
def test_mistakes_are_one_line(call: Call, path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str) -> None:
    monkeypatch.chdir(path.parent)
    answer = call("trace", *words.split(), *([] if "-o" in words.split() else ["-o", "out.hst"]))
    assert (answer.status, answer.err, answer.out) == (2, f"heapsmith: {said}\n", "")
    assert not Path("out.hst").exists()


def test_what_a_tool_cannot_keep_is_said(call: Call, path: Path, tmp_path: Path) -> None:
    chunk = random_chunk(100, 1)
    maps = [write(tmp_path / f"{name}.hst", Made(chunk, None, 500), perf_map=[[0, 16, name]]) for name in "ab"]
    out = tmp_path / "out.hst"
    for tool in ("merge", "cat"):
        answer = call("trace", tool, *maps, "-o", out, "--json")
        lacks = "the names of generated code (perf_map), which differ between the traces"
        assert (answer.status, answer.err) == (0, f"heapsmith: {out} lacks {lacks}\n")
        assert json.loads(answer.out)["dropped"] == [lacks]
    answer = call("trace", "merge", maps[0], maps[0], "-o", out, "--json")
    assert (answer.err, json.loads(answer.out)["dropped"]) == ("", [])
    answer = call("trace", "filter", path, "-o", out, "--sizes", "999999999:")
    assert answer.err == f"heapsmith: {out} has no blocks: none of the trace was chosen\n"
    answer = call("trace", "print", path, "--first", 3000)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"heapsmith: {path}: has no event 3000; expected an event of the trace, 0 to 2999\n"


def test_standard_input_has_its_name(call: Call, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content, words in ((path.read_bytes(), "info -"), (path.read_bytes()[:-9], "verify -"), (b"x", "info -")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        answer = call("trace", *words.split())
        said = answer.out or answer.err
        assert re.match(r"(trace +|heapsmith: )standard input\b", said), said
        assert "heapsmith-" not in said
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert json.loads(call("trace", "verify", "-", "--json").out)["path"] == "standard input"


def test_sites_are_chosen_by_name_and_by_number(call: Call, path: Path, tmp_path: Path) -> None:
    """Names without symbols are a file and a place in it."""
    by_name, by_number = tmp_path / "name.hst", tmp_path / "number.hst"
    assert call("trace", "filter", path, "-o", by_name, "--site", "made+0x4*").status == 0
    assert call("trace", "filter", path, "-o", by_number, "--site", "2").status == 0
    assert rows(read(by_name)) == rows(read(by_number))
    assert 300 < read(by_name).chunk.op.size < 1500


def test_info_of_many_traces_is_a_table_or_a_list(call: Call, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("COLUMNS", "200")
    tenth = "tenth.hst"
    assert call("trace", "sample", path, "-o", tenth, "--rate", "10%", "--seed", "3").status == 0
    found = json.loads(call("trace", "info", path, tenth, "--json").out)
    assert [one["sample_rate"] for one in found] == [1, 0.1]
    lines = call("trace", "info", "a.hst", tenth).out.splitlines()
    assert lines[2].split()[:2] == ["trace", "events"]
    assert [line.split()[0] for line in lines[4:]] == ["a.hst", "tenth.hst"]
    one = call("trace", "info", tenth).out
    assert "sampled           0.1 of the program's blocks" in one
    assert "sample: 0.1 of the blocks, seed 3" in one
    assert "2,048 to 4,095" in one


@pytest.mark.big
def test_a_tool_whose_reader_has_enough_ends_silently(path: Path) -> None:
    line = f"{' '.join(PROGRAM)} trace scale {path} -o - -n 20 | head -c 10"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout.startswith(b"\x89HST")
    assert done.stderr == b""


def test_samples_are_carried_by_place() -> None:
    one = Samples([Touched(1 << 17, 2, 10, 5)], [(0, 10), (50, 30), (100, 20)], 40, [(9, 1), (8, 2)])
    threads = [(0, 0), (0, 1)]
    assert carried([one], [Place()], threads, whole=True) == one
    assert carried([None], [Place()], threads, whole=True) is None
    part = carried([one], [Place(-60, 60, 100)], threads, whole=True)
    assert part is not None
    assert (part.resident, part.resident_peak) == ([(0, 30), (40, 20)], 30)
    few = carried([one], [Place()], [(0, 1)], whole=False)
    assert few == Samples(one.touched, [], 0, [(8, 2)])
    both = carried([one, None, one], [Place(), Place(), Place(25)], [(2, 1), (1, 0), (0, 0)], whole=True)
    assert both is not None
    assert both.touched == [Touched(1 << 17, 4, 20, 10)]
    assert both.resident == [(0, 10), (25, 20), (50, 40), (75, 60), (100, 50), (125, 40)]
    assert both.resident_peak == 60
    assert both.processor == [(8, 2), (0, 0), (9, 1)]
    turns = carried([one, one], [Place(0, last_ns=100, ends=True), Place(110)], threads, whole=True)
    assert turns is not None
    assert turns.resident == [(0, 10), (50, 30), (100, 0), (110, 10), (160, 30), (210, 20)]
    many = Samples([], [(time, 1) for time in range(0, 4096, 2)], 1, [])
    thinned = carried([many, many], [Place(), Place(1)], [], whole=True)
    assert thinned is not None
    assert 512 < len(thinned.resident) <= 1024


def test_a_merge_begins_as_the_recording_says(call: Call, tmp_path: Path) -> None:
    of = Made(random_chunk(40, 1)._replace(time_ns=np.arange(40)), None, 50)
    paths = [write(tmp_path / f"{start}.hst", of, start_ns=start, pid=start) for start in (5_000, 1_000)]
    assert call("trace", "merge", *paths, "-o", tmp_path / "out.hst").status == 0
    assert read(tmp_path / "out.hst").chunk.time_ns.tolist() == [*range(40), *range(4000, 4040)]
    with TraceReader(tmp_path / "out.hst") as trace:
        assert trace.header.command == ["5000.hst", "&", "1000.hst"]
        assert "pid" not in trace.footer.extra
    for path in paths:  # parts keep their places
        assert call("trace", "slice", path, "-o", path, "--events", "10:20").status == 0
    assert call("trace", "merge", *paths, "-o", tmp_path / "out.hst").status == 0
    times = read(tmp_path / "out.hst").chunk.time_ns
    assert sorted(set(times.tolist())) == [*range(10), *range(4000, 4010)]
