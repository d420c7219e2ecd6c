"""The commands of call sites on a recorded program with a planted pin, a planted leak and a planted burst."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Answer
from preloaded import PROGRAMS
from test_cli_mistakes import mistake
from traces import trace_of

import heapsmith.tools.sites.grouping
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.predict.pins_at_moments import Grouped
from heapsmith.model.trace.elf import build_id
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter
from heapsmith.model.trace.stacks import CallTree, Module
from heapsmith.tools.common.perf_map import Generated, covering
from heapsmith.tools.page.collect import collect
from heapsmith.tools.record.record import record
from heapsmith.tools.sites.grouping import Groups, Place, Spot, spots_in

Call = Callable[..., Answer]

CACHED, LEAKED, BURST = 120, 1667, 12_000


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of the program, with call stacks."""
    folder = tmp_path_factory.mktemp("planted")
    flags = ("-O1", "-g", "-fno-builtin")
    compile_c([PROGRAMS / "sites_planted.c"], folder / "planted", flags=flags)
    [trace] = record([str(folder / "planted")], folder / "t.hst", stacks=64).traces
    assert trace.sites_wrong == 0
    return Path(trace.path)


def answered(answer: Answer) -> Any:
    """The JSON of an answer."""
    assert answer.status == 0, answer.err
    return json.loads(answer.out)


def functions(rows: list[Any]) -> list[str]:
    """The innermost function of each row."""
    return [row["path"][0]["function"] for row in rows]


@pytest.mark.thorough
def test_sites_names_the_pin_and_the_burst(call: Call, planted: Path) -> None:
    found = answered(call("sites", planted, "--design", "default", "--design", "lean", "--json"))
    assert functions(found["sites"])[0] == "cache_insert"
    pin = found["sites"][0]
    assert pin["name"] == "cache_insert (sites_planted.c:14)"
    assert (pin["requests"], pin["bytes"], pin["peak_blocks"]) == (CACHED, CACHED * 120, CACHED)
    assert [kept["blocks"] for kept in pin["after"]] == [CACHED, CACHED]
    default, lean = found["designs"]
    assert pin["after"][0]["pinned"] > 0.9 * 60_000 * 128  # nearly all slabs of the requests
    assert pin["after"][1]["pinned"] == CACHED * 4096  # slabs of a page: each block has one of its own
    assert pin["after"][0]["alone"] == CACHED * 4096
    for design in (default, lean):
        for moment in (design["peak"], design["after"], design["end"]):
            assert moment["bytes"] == moment["pinned"] + moment["shared"] + moment["idle"]
    by_peak = answered(call("sites", planted, "--sort", "peak", "--no-advice", "--json"))
    burst = by_peak["sites"][0]
    assert burst["path"][0]["function"] == "load_all"
    assert (burst["peak_blocks"], burst["peak_bytes"]) == (BURST, BURST * 1000)
    assert by_peak["peak_event"] == burst["most_event"]
    assert by_peak["advice"] == []


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="addr2line is not installed")
@pytest.mark.parametrize("by", ["site", "path", "function"])
def test_places_are_symbolised_elsewhere(by: str, call: Call, planted: Path) -> None:
    """Each row's build id is the file's, and another tool finds the same lines at its offsets."""
    found = answered(call("sites", planted, "--by", by, "--no-advice", "--json"))
    pin = found["sites"][0]
    assert len(pin["places"]) == len(pin["path"])
    for spot, places in zip(pin["path"][:2], pin["places"][:2], strict=True):
        for place in places:
            assert (Path(place["file"]), place["build_id"]) == (planted.with_name("planted"), build_id(place["file"]))
            command = ["addr2line", "-f", "-e", place["file"], f"{place['offset']:#x}"]
            name, line = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[:2]
            assert name == spot["function"]
            assert by == "function" or Path(line).name == spot["line"]
    assert sum(len(row["places"][0]) for row in found["sites"]) >= len(found["sites"])


def test_resident_pages_are_pinned_too(call: Call, planted: Path) -> None:
    found = answered(call("sites", planted, "--machine", "default", "--json"))
    assert found["machine"] == "default"
    assert functions(found["sites"])[0] == "cache_insert"
    assert found["sites"][0]["after"][0]["pinned"] > 0.9 * 60_000 * 128
    assert "of the resident bytes after the peak" in found["advice"][0]["text"]
    assert "resident" in call("sites", planted, "--machine", "default", "--no-advice").out


def test_advice_names_pin_burst_and_leak(call: Call, planted: Path) -> None:
    found = answered(call("sites", planted, "--json"))
    pin, burst, leak = found["advice"]
    assert [one["kind"] for one in (pin, burst, leak)] == ["pin", "burst", "leak"]
    assert pin["names"] == ["cache_insert (sites_planted.c:14)"]
    assert f"{CACHED} blocks of cache_insert" in pin["text"]
    assert 0.9 * pin["bytes"] < pin["freed"] <= pin["bytes"]
    assert f"there {pin['looks']:,} requests, " in pin["text"]
    assert "take 41 instructions more, for which tune may refuse it (--max-time)." in pin["text"]
    assert 60_000 + CACHED <= pin["looks"] < sum(site["requests"] for site in found["sites"])
    assert burst["looks"] is leak["looks"] is None
    assert burst["names"] == ["load_all (sites_planted.c:27)"]
    assert burst["freed"] == found["peak_bytes"] - (60_000 * 120 + CACHED * 120 + 1000 * 40)
    assert leak["names"] == ["leak_row (sites_planted.c:20)"]
    assert f"{LEAKED:,} of its {LEAKED:,} blocks" in leak["text"]
    shown = call("sites", planted, "--top", "2")
    assert shown.status == 0
    assert all(one["text"].split()[0] in shown.out for one in found["advice"])
    assert "parse" not in shown.out


@pytest.mark.parametrize(
    ("file", "build", "offset", "why"),
    [
        ("/f/program", "ab", 9, None),
        ("/f/program", "ab", 8, "other rows allocate by the same call"),
        ("/f/program", None, 9, "the file of a call has no build id"),
        (
            "/f/libstdc++.so.6",
            "ab",
            9,
            "a design tells calls by who calls malloc, here the C++ library",
        ),
    ],
)
def test_a_design_sees_the_innermost_call_alone(file: str, build: str | None, offset: int, why: str | None) -> None:
    """Two stacks: a caller each, which calls at 8 and at `offset`."""
    parent, offsets = np.array([-1, -1, 0, 1]), np.array([1, 2, 8, offset])
    tree = CallTree([Module(file, build)], parent, np.zeros(4, np.int64), offsets, np.array([2, 3]))
    paths = [(Spot("f", name, "program"),) for name in ("none", "one", "other")]
    grouped = Grouped(Path("t.hst"), np.array([0, 1, 2]), 3)
    groups = Groups("site", grouped, paths, [0, 1, 1], [], tree, [[{*()}], [{2}], [{3}]], [], [], set())
    assert groups.why_no_design([2]) == why
    assert groups.places(2) == [[Place(file, build, offset)]]


def test_leaks_names_the_leak_first(call: Call, planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    found = answered(call("leaks", planted, "--json"))
    assert functions(found["leaks"])[0] == "leak_row"
    leak, *others = found["leaks"]
    assert (leak["kind"], leak["blocks"], leak["bytes"], leak["requests"]) == ("grows", LEAKED, LEAKED * 40, LEAKED)
    assert sum(leak["born"]) == LEAKED
    assert {row["kind"] for row in others} <= {"once", "start"}
    early = answered(call("leaks", planted, "--at", "1000", "--json"))
    assert early["event"] == 1000
    assert functions(early["leaks"])[:1] == ["parse"]
    assert "leak_row (sites_planted.c:20) grows" in " ".join(call("leaks", planted).out.split())


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (("--by", "function"), "cache_insert"),
        (("--by", "path"), "cache_insert (sites_planted.c:14) < main (sites_planted.c:51)"),
        pytest.param(("--by", "path", "--depth", "1"), "cache_insert (sites_planted.c:14)", marks=pytest.mark.thorough),
        pytest.param(
            ("--depth", "2"),
            "cache_insert (sites_planted.c:14) < main (sites_planted.c:51)",
            marks=pytest.mark.thorough,
        ),
        pytest.param(("--by", "module"), "planted", marks=pytest.mark.thorough),
        (("--skip", "cache_ins.*"), "main (sites_planted.c:51)"),
    ],
)
def test_rows_are_what_is_asked_for(call: Call, planted: Path, options: tuple[str, ...], first: str) -> None:
    found = answered(call("sites", planted, "--no-advice", "--json", *options))
    names = [row["name"] for row in found["sites"]]
    whole = [name for name in names if name.startswith(first)]
    assert whole[:1] == names[:1], names
    assert whole[0] == first or "--by" in options


def test_moments_that_are_asked_for(call: Call, planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    found = answered(call("sites", planted, "--no-advice", "--at", "5000", "--at", "200000", "--json"))
    assert [one["event"] for one in found["designs"][0]["at"]] == [5000, 200_000]
    text = " ".join(call("sites", planted, "--no-advice", "--at", "5000").out.split())
    assert "asked for 5,000" in text


def test_mistakes_about_sites(call: Call, planted: Path, tmp_path: Path) -> None:
    plain = trace_of(tmp_path / "plain.hst", [16] * 9)
    for command in ("sites", "leaks"):
        mistake(call(command, plain), "plain.hst", "no call stacks", "record --stacks")
        mistake(call(command, planted, "--skip", "("), "--skip (", "regular expression")
        mistake(call(command, planted, "--at", "99999999"), "t.hst: has no event 99999999", "0 to 285787")
        wrong = call(command, planted, "--by", "nonsense")
        mistake(wrong, "--by", "'nonsense' is not one of 'site'")
        assert "Value error" not in wrong.err


def test_rows_that_share_pages_get_a_region_together(call: Call, tmp_path: Path) -> None:
    """Of 6,000 blocks of 64 bytes all die but for every 50th, by two sites in turn: a slab has blocks of both."""
    count, path = 6000, tmp_path / "t.hst"
    site = np.where(np.arange(count) % 50 == 0, 2 + np.arange(count) // 50 % 2, 1)
    born = [(Op.MALLOC, 0, block, 64, 0, block) for block in range(count)]
    died = [(Op.FREE, 0, block, 0, 0, count) for block in range(count) if site[block] == 1]
    with TraceWriter(path, command=["t"], source="test", sites=True) as writer:
        sites = np.concatenate([site, np.zeros(len(died), np.int64)]).astype(np.uint32)
        writer.append(Chunk.of(*zip(*born, *died, strict=True)), sites)
        zeros, number = np.zeros(3, np.int64), np.arange(3)
        writer.close({"stacks": CallTree([Module("/no/file", None)], zeros - 1, zeros, number, number).packed()})
    answer = call("sites", path, "--json")
    [advice] = answered(answer)["advice"]
    assert (advice["kind"], sorted(advice["names"])) == ("lasting", ["file+0x1", "file+0x2"])
    assert advice["freed"] > 0.9 * count * 64
    assert "120 blocks of the 2 rows whose blocks last" in advice["text"]
    assert advice["text"].endswith(
        "A pool in the program can do that, a design cannot: the file of a call has no build id."
    )
    assert advice["looks"] is None
    assert "heapsmith: /no/file: cannot be read" in call("sites", path).err


@pytest.mark.thorough
def test_map_names_the_pin(planted: Path) -> None:
    """At the end each slab of the requests has a block of `cache_insert` as its oldest."""
    shown = collect(planted, [load("default")])
    assert shown.births
    maps = shown.found.rows[0].maps
    pinned = (maps.blocks[-1] > 0) & (maps.size[-1] == 120)
    assert pinned.sum() > 100
    names = {shown.births.names[number] for number in shown.births.of(maps.born[-1][pinned]).tolist()}
    assert names == {"cache_insert (sites_planted.c:14)"}


@pytest.mark.thorough
def test_diff_names_what_changed(call: Call, planted: Path, tmp_path: Path) -> None:
    """The program without its leak and with a burst of half the size."""
    source = (PROGRAMS / "sites_planted.c").read_text()
    changed = source.replace("BURST = 12000", "BURST = 6000").replace("LEAKED_EVERY == 0", "LEAKED_EVERY == -1")
    (tmp_path / "sites_planted.c").write_text(changed)
    compile_c([tmp_path / "sites_planted.c"], tmp_path / "planted", flags=("-O1", "-g", "-fno-builtin"))
    [other] = record([str(tmp_path / "planted")], tmp_path / "t.hst", stacks=64).traces
    found = answered(call("diff", planted, other.path, "--json"))
    burst = next(row for row in found["sites"] if row["name"] == "load_all")
    assert burst["first"]["requests"] == BURST
    assert burst["second"]["requests"] == BURST // 2
    leak = next(row for row in found["sites"] if row["name"] == "leak_row")
    assert (leak["first"]["end_bytes"], leak["second"]["requests"]) == (LEAKED * 40, 0)
    by_end = answered(call("diff", planted, other.path, "--sort", "end", "--json"))
    assert by_end["sites"][0] == leak
    assert found["sizes"][0] == {"size": 1000, "requests": [BURST, BURST // 2], "peak_blocks": [BURST, 0]}
    first, second = found["totals"]
    assert first["end_bytes"] - second["end_bytes"] == LEAKED * 40
    same = answered(call("diff", planted, planted, "--by", "site", "--json"))
    assert all(row["first"] == row["second"] for row in same["sites"])
    assert f"{BURST:,} -> {BURST // 2:,}" in call("diff", planted, other.path, "--top", "3").out


def test_diff_of_a_trace_without_stacks_tells_of_sizes(call: Call, planted: Path, tmp_path: Path) -> None:
    plain = trace_of(tmp_path / "plain.hst", [16] * 9)
    answer = call("diff", plain, planted)
    assert answer.status == 0
    assert "no call stacks" in answer.err
    assert answered(call("diff", plain, planted, "--json"))["sites"] is None


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("heaptrack") is None, reason="heaptrack is not installed")
def test_temporary_blocks_are_those_of_heaptrack(call: Call, tmp_path: Path) -> None:
    """The figure that heaptrack prints, of the blocks that its own file has."""
    (tmp_path / "p.c").write_text(TEMPORARY)
    compile_c([tmp_path / "p.c"], tmp_path / "p", flags=("-O0", "-g"))
    whole = ["heaptrack", "-o", str(tmp_path / "whole"), str(tmp_path / "p")]
    said = subprocess.run(whole, check=True, capture_output=True, text=True)
    [count] = re.findall(r"temporary allocations:\s+(\d+)", said.stdout + said.stderr)
    raw = ["heaptrack", "--raw", "-o", tmp_path / "raw", tmp_path / "p"]
    subprocess.run(raw, check=True, capture_output=True)
    [file] = tmp_path.glob("raw*")
    assert call("trace", "import", file, "-o", tmp_path / "t.hst").status == 0
    found = answered(call("sites", tmp_path / "t.hst", "--sort", "temporary", "--json"))
    assert sum(row["temporary"] for row in found["sites"]) == int(count) == 260
    assert [row["temporary"] for row in found["sites"][:3]] == [120, 100, 40]
    assert re.search(r"\btemporary\b", call("sites", tmp_path / "t.hst", "--sort", "temporary").out)
    assert not re.search(r"\btemporary\b", call("sites", tmp_path / "t.hst").out)


TEMPORARY = """\
#include <stdlib.h>
void *volatile block, *volatile other;
int main(void)
{
    for (int at = 0; at < 120; at++) {
        block = malloc(40);
        free(block);
        block = malloc(50);
        other = malloc(60);
        free(block);
        free(other);
        if (at < 100) {
            block = malloc(70);
            block = realloc(block, 140);
            if (at < 40)
                free(block);
        }
    }
}
"""
"""120 blocks are freed at once; 100 more get another size at once, of which 40 are freed at once."""


def test_a_place_is_named_once_however_many_frames_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stacks of a Python program have few places in millions of frames."""
    frames = np.arange(1000)
    tree = CallTree([], frames - 1, np.full(1000, -1), frames * 17 % 7, frames[-1:])
    looked = []

    def counted(functions: list[Generated], address: int) -> Generated | None:
        looked.append(address)
        return covering(functions, address)

    monkeypatch.setattr(heapsmith.tools.sites.grouping, "covering", counted)
    spots, library, _ = spots_in(tree, [Generated(2, 3, "py::f:a.py"), Generated(6, 1, "stub")])
    assert sorted(looked) == list(range(7))
    names = {2: "py::f", 3: "py::f", 4: "py::f", 6: "stub"}
    assert [[one.function for one in row] for row in spots] == [
        [names.get(offset, f"{offset:#x}")] for offset in tree.offset.tolist()
    ]
    assert library == set()
