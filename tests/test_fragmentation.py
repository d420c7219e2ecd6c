"""Fragmentation by call stack, from jemalloc's statistics and heap profile: samples, real programs, simulated slabs."""

import json
import math
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jemalloc_texts
import numpy as np
import pytest
from conftest import Answer
from hypothesis import example, given
from hypothesis import strategies as st

from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.synth.heap_text import Dump, Sampled, read_dump
from heapsmith.tools.peers.statistics import Class
from heapsmith.tools.sampled.fragmentation import ByStack, by_stack
from heapsmith.tools.sampled.profile import Grouped
from heapsmith.tools.sites.grouping import Spot

Call = Callable[..., Answer]

INTERVAL = 65536
FREE = 1244 * 20480 - 40608 * 320
"""Of the class of 320 bytes, as the committed statistics say."""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The committed statistics and profile."""
    statistics, profile = tmp_path / "statistics.json", tmp_path / "jeprof.heap"
    statistics.write_text(jemalloc_texts.STATISTICS)
    profile.write_text(jemalloc_texts.PROFILE)
    return statistics, profile


def stacks_of(call: Call, files: tuple[Path, Path], *words: str) -> dict[str, Any]:
    answer = call("stats", files[0], "--profile", files[1], "--json", *words)
    assert answer.status == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)["stacks"]
    return found


def unseen(samples: int, size: int) -> float:
    """How many blocks samples stand for beside themselves."""
    return samples / math.expm1(size / INTERVAL)


def test_free_bytes_are_split_by_live_blocks(call: Call, files: tuple[Path, Path]) -> None:
    """By hand: 193 and 4 samples of the class of 320 bytes, of which the statistics say 40,608 live in slabs."""
    found = stacks_of(call, files)
    dense, sparse, other, large, *rest = found["rows"]
    assert rest == []
    assert [row["classes"] for row in found["rows"]] == [[320], [320], [1024], [81920]]
    assert [row["samples"] for row in found["rows"]] == [193, 4, 662, 1]
    for row, samples in ((dense, 193), (sparse, 4)):
        part = FREE * unseen(samples, 320) / 40608
        assert row["free_bytes"]["value"] == pytest.approx(part)
        assert 0 < row["free_bytes"]["low"] < part < row["free_bytes"]["high"] <= FREE
        assert row["live_bytes"]["value"] == pytest.approx(320 * (samples + unseen(samples, 320)))
    assert sparse["freed_blocks"] == pytest.approx(191 + unseen(191, 320))
    assert [row["freed_blocks"] for row in (dense, other, large)] == [0, 0, 0]
    assert large["free_bytes"] == {"value": 0, "low": 0, "high": 0}  # in no slab
    told = sum(row["free_bytes"]["value"] for row in found["rows"])
    assert told + found["other_free_bytes"] == pytest.approx(FREE + 9835 * 4096 - 39338 * 1024 + 20480 - 1280)
    assert dense["name"] == "pinning+0x1287"  # of the call, not of its return, and without jemalloc's frames
    assert any("/job/pinning: cannot be read" in line for line in found["reasons"])


def test_the_table_says_what_it_assumes(call: Call, files: tuple[Path, Path]) -> None:
    answer = call("stats", files[0], "--profile", files[1], "--top", "1")
    text = " ".join(answer.out.split())
    assert "3 more" in text
    assert "one each 64.0 KiB on average" in text
    assert "as if all lay at random" in text
    assert f"{call('stats', files[0]).out}" in answer.out


def test_rows_are_what_the_options_say(call: Call, files: tuple[Path, Path]) -> None:
    [row, unknown] = stacks_of(call, files, "--by", "module")["rows"]
    assert (row["name"], row["classes"], row["samples"]) == ("pinning", [320, 1024], 859)
    assert unknown["samples"] == 1
    paths = [row["name"] for row in stacks_of(call, files, "--by", "path")["rows"]]
    assert paths[0] == "pinning+0x1287 < pinning+0x11ed < pinning+0x13ca < libc.so.6+0x27249"


def test_a_stack_of_several_sizes_gets_no_part(call: Call, files: tuple[Path, Path]) -> None:
    """Three blocks of 320 bytes and one of 1,024."""
    before = stacks_of(call, files)
    files[1].write_text(jemalloc_texts.PROFILE.replace("t*: 4: 1280 [195: 62415]", "t*: 4: 1984 [195: 62415]"))
    found = stacks_of(call, files)
    [mixed] = [row for row in found["rows"] if row["mixed"]]
    assert (mixed["samples"], mixed["mixed"], mixed["classes"]) == (4, 4, [])
    assert mixed["free_bytes"] == {"value": 0, "low": 0, "high": 0}
    assert found["rows"][:2] == [before["rows"][0], mixed]  # by its live bytes, as its part is unknown
    assert found["other_free_bytes"] > before["other_free_bytes"]
    assert "several" in call("stats", files[0], "--profile", files[1]).out


def test_files_of_two_moments_are_told(call: Call, files: tuple[Path, Path]) -> None:
    assert not any("one moment" in line for line in stacks_of(call, files)["reasons"])
    files[0].write_text(jemalloc_texts.STATISTICS.replace('"curregs": 40608', '"curregs": 20608'))
    found = stacks_of(call, files)
    assert any("expected both of one moment" in line for line in found["reasons"])
    assert sum(row["free_bytes"]["value"] for row in found["rows"]) + found["other_free_bytes"] == pytest.approx(
        1244 * 20480 - 20608 * 320 + 9835 * 4096 - 39338 * 1024 + 20480 - 1280
    )


EMPTY = """{"jemalloc": {"version": "5.3.0", "arenas": {"page": 4096, "dirty_decay_ms": 0, "bin": [], "lextent": []},
"stats": {"allocated": 0, "active": 0, "resident": 9}, "stats.arenas": {"0": {"nthreads": 1, "pdirty": 0,
"tcache_bytes": 0, "bins": [], "lextents": []}}}}"""
"""Statistics of jemalloc without size classes."""


@pytest.mark.parametrize(
    ("statistics", "profile", "message"),
    [
        (None, "heap profile: 1: 2 [1: 2] @ heapprofile", "line 1: expected `heap_v2/INTERVAL`, got 'heap profile"),
        (None, "", "line 1: expected `heap_v2/INTERVAL`, got ''"),
        (None, "heap_v2/1\n@ 0x1 main\n  t*: 1: 8 [0: 0]\n", "line 2: expected `@ 0xADDRESS ...`, got '@ 0x1 main'"),
        (None, "heap_v2/1\n@ 0x1\n t*: 1: x\n", "line 3: expected `tTHREAD: BLOCKS: BYTES"),
        (None, "heap_v2/1\nMAPPED_LIBRARIES:\nx-y r-xp z 0 0 /a\n", "MAPPED_LIBRARIES: expected lines"),
        ("MALLOC: x", "heap_v2/1\n", "begins as statistics of gperftools"),
        ('<malloc version="1"><total type="mmap" size="0"/><system type="current" size="9"/></malloc>', "", "glibc"),
        ("{}", "heap_v2/1\n", "is of jemalloc's statistics"),
        (EMPTY, "heap_v2/1\n", "statistics without size classes beside a heap profile; expected bins and lextents"),
        (None, "heap_v2/1\n  t*: 1: 8 [0: 0]\n@ 0x1\n", "line 3: expected `t*: BLOCKS: BYTES ...` behind this stack"),
        (None, "heap_v2/1\n@ 0x1\n@ 0x2\n  t*: 1: 8 [0: 0]\n", "line 2: expected `t*: BLOCKS: BYTES ...` behind"),
        (None, "heap_v2/1\n  t*: 9: 72 [0: 0]\n", "line 2: all stacks have 9 blocks in use, and those that follow 0"),
        (
            None,
            "heap_v2/1\n  t*: 0: 0 [9: 72]\n",
            "line 2: all stacks have 9 blocks allocated, and those that follow 0",
        ),
        (
            None,
            jemalloc_texts.PROFILE.replace("t*: 193: 61775", "t*: 999: 61775"),
            "those that follow 1,666: expected no",
        ),
    ],
)
def test_faults_are_named(
    call: Call, files: tuple[Path, Path], statistics: str | None, profile: str, message: str
) -> None:
    files[0].write_text(statistics or jemalloc_texts.STATISTICS)
    files[1].write_text(profile)
    answer = call("stats", files[0], "--profile", files[1])
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert message in answer.err


@pytest.mark.parametrize(("stacks", "samples"), [(0, "0"), (1, "662"), (2, "855"), (3, None), (4, None)])
def test_a_cut_profile_is_refused(call: Call, files: tuple[Path, Path], stacks: int, samples: str | None) -> None:
    """Where a tenth is lacking; else a line says that there are no mappings."""
    places = [match.start() for match in re.finditer("^(?=@|MAPPED)", jemalloc_texts.PROFILE, re.MULTILINE)]
    files[1].write_text(jemalloc_texts.PROFILE[: places[stacks]])
    if samples is None:
        assert any("no mapping" in line for line in stacks_of(call, files)["reasons"])
        return
    answer = call("stats", files[0], "--profile", files[1])
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    total = "1,053 blocks allocated" if stacks == 2 else "862 blocks in use"
    assert f"line 2: all stacks have {total}, and those that follow {samples}: the file is cut" in answer.err


@given(st.lists(st.lists(st.sampled_from([8, 48, 320, 1024, 65536, 1 << 22]), min_size=1, max_size=9), max_size=9))
@example([[8, 1 << 22]] * 9)
@example([[8] * 9, [1 << 22]])
@example([[8, 1 << 18]] * 40)  # each count, 2.3, is rounded
def test_a_whole_profile_is_not_refused(tmp_path_factory: pytest.TempPathFactory, stacks: list[list[int]]) -> None:
    """As jemalloc 5.3 writes the samples of these sizes, and as before; with no mappings, as where /proc lacks."""
    interval = 1 << 19

    def lines(written: Callable[[list[int]], tuple[int, int]]) -> str:
        every = [written(sizes) for sizes in [[size for sizes in stacks for size in sizes], *stacks]]
        all_of, *rows = [f"  t*: {count}: {size} [0: 0]\n" for count, size in every]
        return "".join([f"heap_v2/{interval}\n", all_of, *(f"@ 0x1\n{row}" for row in rows)])

    file = tmp_path_factory.getbasetemp() / "whole.heap"
    for text in (lines(lambda sizes: scaled(sizes, interval)), lines(lambda sizes: (len(sizes), sum(sizes)))):
        file.write_text(text)
        with Source(file) as source:
            assert len(read_dump(source).stacks) == len(stacks)


@pytest.mark.parametrize("rest", ["", "MAPPED_LIBRARIES:\n561772ac7000-561772ac8000 r--p 00000000 fe"])
def test_stacks_in_no_mapping_stay_apart(call: Call, files: tuple[Path, Path], rest: str) -> None:
    text = jemalloc_texts.PROFILE
    files[1].write_text(text[: text.index("MAPPED")] + rest)
    found = stacks_of(call, files)
    names = [row["name"] for row in found["rows"]]
    assert len(names) == len(set(names)) == 4
    assert names[0].startswith("0x7f9369ca262f < 0x7f9369c22044 < 0x561772ac8287 < ")
    assert [row["classes"] for row in found["rows"]] == [[320], [320], [1024], [81920]]
    assert any("no mapping of the profile holds its innermost frames" in line for line in found["reasons"])
    deep = [row["name"] for row in stacks_of(call, files, "--depth", "3")["rows"]]
    assert deep == [" < ".join(name.split(" < ")[:3]) for name in names]
    assert len(stacks_of(call, files, "--by", "function")["rows"]) == 4


def test_a_profile_of_another_process_is_told(call: Call, files: tuple[Path, Path]) -> None:
    """A smaller one, and one of large blocks, of which no class has too many."""

    def reasons(row: str) -> list[str]:
        files[1].write_text(f"heap_v2/65536\n  {row}\n@ 0x7f9369ca2630\n  {row}\n")
        return [line for line in stacks_of(call, files)["reasons"] if "one moment" in line]

    [few] = reasons("t*: 9: 9216 [0: 0]")
    assert "or less in blocks, the statistics 64.3 MiB: expected both of one moment of one process, with sampl" in few
    [many] = reasons(f"t*: 999: {10**9} [0: 0]")
    assert "953.7 MiB or more in blocks, the statistics 64.3 MiB: expected both of one moment of one process" in many
    [most] = reasons(f"t*: {10**18 - 1}: {10**18 - 1} [0: 0]")
    assert "TiB or more in blocks" in most
    assert not reasons("t*: 700: 716800 [0: 0]")
    files[1].write_text(f"heap_v2/{1 << 30}\n  t*: 0: 0 [0: 0]\n")  # as 64.3 MiB may well have no sample
    assert stacks_of(call, files)["reasons"] == []


def test_classes_that_hold_nothing_are_not_listed(call: Call, files: tuple[Path, Path]) -> None:
    """With a profile or without; a class that is not in use yet counts in the reading of a stack."""
    text = jemalloc_texts.STATISTICS.replace('{"curregs": 1, "curslabs": 1}', '{"curregs": 0, "curslabs": 0}')
    files[0].write_text(text)
    for words in ([], ["--profile", files[1]]):
        found = json.loads(call("stats", files[0], *words, "--json").out)
        assert [row["block_bytes"] for row in found["classes"]] == [320, 1024, 16384, 81920]


def test_a_profile_without_blocks_leaves_all_to_others(call: Call, files: tuple[Path, Path]) -> None:
    files[1].write_text("heap_v2/65536\n  t*: 0: 0 [0: 0]\n")
    found = stacks_of(call, files)
    assert found["rows"] == []
    assert found["other_free_bytes"] == FREE + 9835 * 4096 - 39338 * 1024 + 20480 - 1280


SIZES = [8, *range(16, 129, 16), *((4 + i) << k for k in range(5, 12) for i in range(1, 5))][:36]
"""The small classes of jemalloc."""


def alone(classes: list[Class], stacks: list[Sampled], interval: int) -> ByStack:
    """Each stack as a row of its own."""
    names: list[tuple[Spot, ...]] = [(Spot(f"f{number}", "", "m"),) for number in range(len(stacks))]
    return by_stack(classes, Dump(interval, stacks, ""), Grouped("site", names, np.arange(len(stacks)), []))


def scaled(sizes: list[int], interval: int) -> tuple[int, int]:
    """What jemalloc 5.3 writes for samples of these sizes: prof_do_unbias."""
    if not sizes:
        return 0, 0
    share = [1 - math.exp(-size / interval) for size in sizes]
    blocks = sum(round(8 / one) / 8 for one in share)
    bytes_ = sum(round(size / one) for size, one in zip(sizes, share, strict=True))
    kept = 1 - math.exp(-bytes_ / blocks / interval)
    return round(blocks * kept), round(bytes_ * kept)


def counted(samples: int, size: int, interval: int) -> tuple[int, int]:
    """What jemalloc 5.3 writes for samples of one size: src/prof.c, prof_unbias_map_init and prof_do_unbias."""
    share = 1 - math.exp(-size / interval)
    blocks, bytes_ = samples * round(8 / share) / 8, samples * round(size / share)
    kept = 1 - math.exp(-bytes_ / blocks / interval)
    return round(blocks * kept), round(bytes_ * kept)


@given(st.sampled_from(SIZES), st.integers(1, 100_000), st.integers(10, 22), st.booleans())
def test_equal_blocks_are_of_their_class(size: int, samples: int, power: int, is_rounded: bool) -> None:
    """Whatever the interval, and also as jemalloc wrote it before 5.3."""
    interval = 1 << power
    written = counted(samples, size, interval) if is_rounded else (samples, samples * size)
    classes = [Class(one, 10**12, 10**12 if one == size else 0) for one in SIZES]
    [row] = alone(classes, [Sampled((1,), *written, 0, 0)], interval).rows
    assert (row.classes, row.mixed) == ([size], 0)
    assert row.free_bytes.value == pytest.approx(
        samples * math.exp(-size / interval) / -math.expm1(-size / interval), rel=0.1
    )


def test_intervals_hold_the_true_part() -> None:
    """Blocks of three stacks lie at random in slabs of two classes: samples tell each part, 95 times of 100."""
    random = np.random.default_rng(1)
    classes = [Class(64, 60_000, 10**6), Class(1024, 9_000, 5 * 10**6)]
    live = [(0, 50_000), (0, 4_000), (1, 9_000)]
    truth = [classes[at].free_bytes * blocks / (classes[at].live or 0) for at, blocks in live]
    held = []
    for _ in range(300):
        stacks = []
        for at, blocks in live:
            size = classes[at].block_bytes
            share = -math.expm1(-size / INTERVAL)
            samples = int(random.binomial(round(blocks / (1 - share)), share))
            stacks.append(Sampled((1,), samples, samples * size, 0, 0))
        found = {row.path[0].function: row.free_bytes for row in alone(classes, stacks, INTERVAL).rows}
        held += [found[f"f{i}"].low <= true <= found[f"f{i}"].high for i, true in enumerate(truth) if f"f{i}" in found]
    assert len(held) > 800
    assert sum(held) / len(held) > 0.94


PINNING = Path(__file__).parent / "pinning.c"
LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")


def ran(tmp_path: Path, form: str) -> tuple[tuple[Path, Path], dict[str, tuple[int, int, int]]]:
    """The files that the program writes in this form, and what it knows of each function (tests/pinning.c)."""
    if not LIBRARY.exists():
        pytest.skip("libjemalloc.so.2 is not installed (Debian: libjemalloc2)")
    program, files = tmp_path / "pinning", (tmp_path / "statistics.json", tmp_path / "jeprof.heap")
    subprocess.run(["gcc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", PINNING, LIBRARY, "-o", program], check=True)
    environment = os.environ | {"MALLOC_CONF": "prof:true,lg_prof_sample:12,prof_accum:true"}
    answer = subprocess.run([program, form, *files], env=environment, capture_output=True, text=True, check=False)
    if answer.returncode == 3:
        pytest.skip("this jemalloc takes no heap profiles (--enable-prof)")
    assert answer.returncode == 0, answer.stderr
    told = {}
    for line in answer.stdout.splitlines():
        name, *figures = line.split()
        live, part, gone = map(int, figures)
        told[name] = (live, part, gone)
    return files, told


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["mixed", "same", "apart"])
def test_parts_of_a_real_program(call: Call, tmp_path: Path, form: str) -> None:
    """Where blocks of two functions lie mixed, the parts are right; where they lie apart, they are not."""
    files, told = ran(tmp_path, form)
    rows = {row["name"].partition(" ")[0]: row for row in stacks_of(call, files)["rows"]}
    assert {name: rows[name]["classes"] for name in told} == {"sparse": [320], "dense": [320], "other": [1024]}
    for name, (live, part, _) in told.items():
        found = rows[name]
        assert is_near(found["live_bytes"], live)
        if form != "apart" and name != "other":
            assert is_near(found["free_bytes"], part)
    assert rows["other"]["free_bytes"]["value"] < 100_000
    assert rows["sparse"]["freed_blocks"] > 30_000
    assert (rows["dense"]["freed_blocks"] > 30_000) == (form == "same")
    if form == "apart":
        _, part, gone = told["sparse"]
        assert gone >= part > 20 * rows["sparse"]["free_bytes"]["value"]


def is_near(estimate: dict[str, float], true: float) -> bool:
    """Whether a wider interval holds the true value: the program's samples are others each time."""
    return estimate["low"] / 1.5 <= true <= estimate["high"] * 1.5
